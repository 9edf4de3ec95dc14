"""Invalid frames: changes of the bytes of a valid one, as `Send.change` takes them."""

import zlib
from collections.abc import Callable

from wiretool.protocols.sbp.framing import FIXED_BYTES, HEADER_LENGTH_AT, LENGTH_BYTES
from wiretool.protocols.sbp.messages import CHECKSUM_BYTES

Change = Callable[[bytes], bytes]
#: Where the magic code stands.
MAGIC_AT = 4


def with_length(length: int) -> Change:
    """Write another Frame Length."""
    return lambda data: length.to_bytes(LENGTH_BYTES, "big") + data[LENGTH_BYTES:]


def longer_by(count: int) -> Change:
    """Add to the Frame Length, with the bytes as they are."""
    return lambda data: (int.from_bytes(data[:LENGTH_BYTES], "big") + count).to_bytes(4, "big") + data[LENGTH_BYTES:]


def little_endian_length(data: bytes) -> bytes:
    """Write the Frame Length with its lowest byte first."""
    return data[:LENGTH_BYTES][::-1] + data[LENGTH_BYTES:]


def with_magic(magic: int) -> Change:
    """Write another magic code."""
    return lambda data: data[:MAGIC_AT] + bytes((magic,)) + data[MAGIC_AT + 1 :]


def with_header_length(length: int) -> Change:
    """Write another Header Length."""
    return lambda data: data[:HEADER_LENGTH_AT] + length.to_bytes(3, "big") + data[FIXED_BYTES:]


def longer_header(data: bytes) -> bytes:
    """Say that the header takes one byte more than the frame has for it."""
    return with_header_length(len(data) - FIXED_BYTES - CHECKSUM_BYTES + 1)(data)


def wrong_checksum(data: bytes) -> bytes:
    """Invert the checksum."""
    return data[:-CHECKSUM_BYTES] + bytes(byte ^ 0xFF for byte in data[-CHECKSUM_BYTES:])


def little_endian_checksum(data: bytes) -> bytes:
    """Write the checksum with its lowest byte first."""
    return data[:-CHECKSUM_BYTES] + data[-CHECKSUM_BYTES:][::-1]


def first(count: int) -> Change:
    """Send the first bytes only; a negative number leaves out so many at the end."""
    return lambda data: data[:count]


def after(count: int) -> Change:
    """Send the bytes from a place on."""
    return lambda data: data[count:]


def padded_to(length: int) -> Change:
    """Fill the payload with zeros up to a Frame Length, with the right checksum."""

    def change(data: bytes) -> bytes:
        payload = bytes(length - (len(data) - LENGTH_BYTES))
        body = data[LENGTH_BYTES:-CHECKSUM_BYTES] + payload
        return length.to_bytes(LENGTH_BYTES, "big") + body + zlib.crc32(payload).to_bytes(CHECKSUM_BYTES, "big")

    return change


def payload(change: Change) -> Change:
    """Change the payload, and make length and checksum fit it."""

    def changed(data: bytes) -> bytes:
        at = FIXED_BYTES + int.from_bytes(data[HEADER_LENGTH_AT:FIXED_BYTES], "big")
        new = change(data[at:-CHECKSUM_BYTES])
        body = data[LENGTH_BYTES:at] + new + zlib.crc32(new).to_bytes(CHECKSUM_BYTES, "big")
        return len(body).to_bytes(LENGTH_BYTES, "big") + body

    return changed


def header(raw: bytes) -> Change:
    """Put other bytes in the place of the header, and make the lengths fit them."""

    def changed(data: bytes) -> bytes:
        at = FIXED_BYTES + int.from_bytes(data[HEADER_LENGTH_AT:FIXED_BYTES], "big")
        body = data[LENGTH_BYTES:HEADER_LENGTH_AT] + len(raw).to_bytes(3, "big") + raw + data[at:]
        return len(body).to_bytes(LENGTH_BYTES, "big") + body

    return changed
