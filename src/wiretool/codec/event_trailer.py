"""The mark at the end of an event that can be verified: who wrote it, its number, and a digest of all before that.

Writer and number are u64, the digest is u32, all big-endian. The digest is the CRC-32 of zlib: what it gives for an
event goes on from what it gives for the body, and it is linear: CRC(a ^ b) = CRC(a) ^ CRC(b) ^ CRC(0) for three of one
length. So arrays of digests are looked up, 16 bits of the mark at a time. `zlib.crc32` is the truth they must equal.
"""

import zlib
from collections.abc import Callable, Sequence
from functools import cache
from struct import Struct
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

#: The whole mark; its digest; what the digest covers of it.
MARK_BYTES = 20
DIGEST_BYTES = 4
COVERED_BYTES = MARK_BYTES - DIGEST_BYTES
#: The mark from the number on, which is what differs from one event of a writer to the next.
NUMBER_BYTES = 12
#: Fewer events than this are stamped sooner one by one than as arrays.
STAMPED_ROWS_MIN = 8

_MARK = Struct(">QQI")
_U64 = Struct(">Q")
_STAMP = Struct(">QI")
_UNIT = 1 << 16


class Mark(NamedTuple):
    """What is said at the end of an event."""

    writer: int
    number: int
    digest: int


def digest_from(body_digest: int, writer: int) -> int:
    """The CRC-32 of a body and the writer behind it: what the digests of all its events with that body go on from."""
    return zlib.crc32(_U64.pack(writer), body_digest)


def mark_of(begun: int, writer: int, number: int) -> bytes:
    """The mark of an event whose body and writer have the digest `begun`."""
    return _MARK.pack(writer, number, zlib.crc32(_U64.pack(number), begun))


def read_mark(data: bytes, stop: int) -> Mark:
    """The mark that ends at `stop`; there are MARK_BYTES before it."""
    return Mark(*_MARK.unpack_from(data, stop - MARK_BYTES))


def stamper(buffer: bytearray, stop: int, begun: int) -> Callable[[int], None]:
    """A function that writes number and digest into the event that ends at `stop` of `buffer`."""
    at = stop - NUMBER_BYTES

    def stamp(
        number: int,
        crc32: Callable[[bytes, int], int] = zlib.crc32,
        pack: Callable[[int], bytes] = _U64.pack,
        pack_into: Callable[..., None] = _STAMP.pack_into,
    ) -> None:
        pack_into(buffer, at, number, crc32(pack(number), begun))

    return stamp


def rows_stamper(buffer: bytearray, start: int, count: int, stride: int, begun: int) -> Callable[[int], None]:
    """A function that numbers `count` events, each the last of `stride` bytes from `start` on, from a first number on.

    The buffer keeps its length for as long as the function lives.
    """
    if count < STAMPED_ROWS_MIN:
        return _each(tuple(stamper(buffer, start + stride * (row + 1), begun) for row in range(count)))
    # Other than by this the buffer is not held: it might grow, and be written where it once was.
    held = np.frombuffer(buffer, np.uint8)
    numbers = np.ndarray((count,), ">u8", held, start + stride - NUMBER_BYTES, (stride,))
    digests = np.ndarray((count,), "=u4", held, start + stride - DIGEST_BYTES, (stride,))
    table = _stored_table()

    def stamp(first: int) -> None:
        numbers[:] = np.arange(first, first + count, dtype=np.uint64)
        done = 0
        while done < count:  # once, save where the lowest 16 bits begin anew
            low = (first + done) % _UNIT
            some = min(count - done, _UNIT - low)
            high = zlib.crc32(_U64.pack(first + done - low), begun).to_bytes(4, "big")
            digests[done : done + some] = table[low : low + some] ^ np.frombuffer(high, "=u4")
            done += some

    return stamp


def _each(stamps: tuple[Callable[[int], None], ...]) -> Callable[[int], None]:
    if len(stamps) == 1:
        return stamps[0]

    def stamp(first: int) -> None:
        for number, one in enumerate(stamps, first):
            one(number)

    return stamp


class Marks(NamedTuple):
    """The marks of many events, an array of each part."""

    writers: NDArray[np.uint64]
    numbers: NDArray[np.uint64]
    digests: NDArray[np.uint32]
    #: The 16 bytes that the digests cover, as eight numbers of 16 bits.
    units: NDArray[Any]


def read_marks(rows: NDArray[np.uint8]) -> Marks:
    """The marks at the end of rows of bytes, all of one length."""
    raw = np.ascontiguousarray(rows[:, -MARK_BYTES:])
    parts = raw.reshape(-1).view(np.dtype([("writer", ">u8"), ("number", ">u8"), ("digest", ">u4")]))
    return Marks(
        parts["writer"].astype(np.uint64),
        parts["number"].astype(np.uint64),
        parts["digest"].astype(np.uint32),
        raw[:, :COVERED_BYTES].view(">u2"),
    )


def unmarked_digest(body_digest: int) -> int:
    """The digest of an event with such a body whose writer and number are 0."""
    return zlib.crc32(bytes(COVERED_BYTES), body_digest)


def digests_of(marks: Marks, unmarked: int | Sequence[int]) -> NDArray[np.uint32]:
    """The digests that events of these writers and numbers have, by their unmarked ones (one for all, or of each)."""
    found = np.full(len(marks.units), unmarked, np.uint32)
    for unit, table in enumerate(_tables()):
        found ^= table[marks.units[:, unit]]
    return found


@cache
def _tables() -> tuple[NDArray[np.uint32], ...]:
    """For each unit of a mark what each of its 65,536 values does to the digest."""
    each = [_byte_table(COVERED_BYTES - 1 - place) for place in range(COVERED_BYTES)]
    return tuple((each[at][:, None] ^ each[at + 1][None, :]).reshape(-1) for at in range(0, COVERED_BYTES, 2))


def _byte_table(behind: int) -> NDArray[np.uint32]:
    """What each value of a byte does to a CRC-32 that so many bytes follow."""
    zero = zlib.crc32(bytes(1 + behind))
    return np.array([zlib.crc32(bytes([value]) + bytes(behind)) ^ zero for value in range(256)], np.uint32)


@cache
def _stored_table() -> NDArray[np.uint32]:
    """The table of the last unit, its values laid out as they are stored."""
    return _tables()[-1].astype(">u4").view("=u4")
