"""Packets of a pcap file: either byte order, micro- or nanoseconds, and Kuznetzov's longer record headers."""

from collections.abc import Iterator
from functools import partial
from struct import Struct
from typing import NamedTuple

from wiretool.capture.files.source import Source
from wiretool.capture.packets import Packet
from wiretool.limits import PACKET_BYTES_MAX

FILE_HEADER_BYTES = 24

#: Packet(...) of a tuple of its fields, without the cost of naming them.
_packet = partial(tuple.__new__, Packet)


class Variant(NamedTuple):
    """What the first four bytes of a file tell."""

    order: str
    fraction_ns: int
    record: Struct


def _variant(order: str, fraction_ns: int, more: str = "") -> Variant:
    return Variant(order, fraction_ns, Struct(f"{order}IIII{more}"))


#: By the first four bytes of the file.
VARIANTS = {
    b"\xd4\xc3\xb2\xa1": _variant("<", 1000),
    b"\xa1\xb2\xc3\xd4": _variant(">", 1000),
    b"\x4d\x3c\xb2\xa1": _variant("<", 1),
    b"\xa1\xb2\x3c\x4d": _variant(">", 1),
    b"\x34\xcd\xb2\xa1": _variant("<", 1000, "8x"),
    b"\xa1\xb2\xcd\x34": _variant(">", 1000, "8x"),
}


def read_pcap(source: Source) -> Iterator[Packet]:
    """Packets in file order, numbered from 1; raises CaptureError where the file stops making sense."""
    return read_records(source, *read_head(source))


def read_head(source: Source) -> tuple[Variant, int]:
    """The variant of a pcap file and its link type; the window is moved to the first record."""
    variant = VARIANTS[source.buffer[:4]]
    if not source.fill(FILE_HEADER_BYTES):
        raise source.error(f"the file header ends early: expected {FILE_HEADER_BYTES} bytes, {source.left} left")
    # The upper half holds the length of a frame check sequence; the IP length leaves that out by itself.
    link_type = Struct(variant.order + "I").unpack_from(source.buffer, 20)[0] & 0xFFFF
    source.at = FILE_HEADER_BYTES
    return variant, link_type


def read_records(source: Source, variant: Variant, link_type: int, number: int = 1) -> Iterator[Packet]:
    """The packets of all records from the window on, of which the first is number `number`."""
    unpack, header_bytes = variant.record.unpack_from, variant.record.size
    fraction_ns = variant.fraction_ns
    while source.fill(header_bytes):
        buffer, at, end = source.buffer, source.at, len(source.buffer)
        while at + header_bytes <= end:
            seconds, fraction, captured, length = unpack(buffer, at)
            start = at + header_bytes
            if captured > end - start:
                break
            source.at = at = start + captured
            time_ns = seconds * 1_000_000_000 + fraction * fraction_ns
            data = buffer[start:at]
            yield _packet((number, time_ns, link_type, data, length if length > captured else captured))
            number += 1
        else:
            continue
        _await_record(source, number, header_bytes, captured)
    if source.left:
        raise _ends_early(source, number, header_bytes)


def _await_record(source: Source, number: int, header_bytes: int, captured: int) -> None:
    """Widen the window to a whole record."""
    check_claim(source, number, captured)
    if not source.fill(header_bytes + captured):
        source.at += header_bytes
        raise _ends_early(source, number, captured)


def check_claim(source: Source, number: int, captured: int) -> None:
    """CaptureError where the record at the window says that it is larger than any packet."""
    if captured > PACKET_BYTES_MAX:
        raise source.error(f"packet {number} claims {captured} bytes, more than {PACKET_BYTES_MAX}")


def _ends_early(source: Source, number: int, wants: int) -> Exception:
    return source.error(f"the record of packet {number} ends early: expected {wants} bytes, {source.left} left")
