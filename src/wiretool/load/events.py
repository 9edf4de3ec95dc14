"""Events that can be verified: a body, then a mark of who wrote it, its number and a digest.

The body is the beginning of one filler that all events of a run share: whoever reads an event can make it anew, and its
digest is computed once for each size.
"""

import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from random import Random

from wiretool.codec.event_trailer import MARK_BYTES, digest_from, mark_of, rows_stamper

_BLOCK_BYTES = 64 * 1024
#: Digests of bodies that are remembered, one a size; sizes past that are computed each time.
_DIGESTS_MAX = 65_536


def tag_of(run: str) -> int:
    """The 32 bits by which writers of a run are known."""
    return zlib.crc32(run.encode())


def writer_of(run: str, worker: int, index: int) -> int:
    """A writer's number: 32 bits of the run, 16 of the load process, 16 of the writer in it."""
    assert 0 <= worker < 1 << 16
    assert 0 <= index < 1 << 16
    return tag_of(run) << 32 | worker << 16 | index


def writer_name(writer: int) -> str:
    """A writer in words: its process and its place in it."""
    return f"{writer >> 16 & 0xFFFF}.{writer & 0xFFFF}"


@dataclass(frozen=True, slots=True)
class Head:
    """What stands in front of each event as it is stored: always the same bytes, then its length in four."""

    fixed: bytes = b""

    @property
    def width(self) -> int:
        """Bytes in front of an event."""
        return len(self.fixed) + 4

    def of(self, size: int) -> bytes:
        """The head of an event of `size` bytes."""
        return self.fixed + size.to_bytes(4, "big")

    def size_at(self, data: bytes, at: int) -> int:
        """Bytes of the event whose head is at `at`; -1 where none is. The head is there as a whole."""
        length_at = at + len(self.fixed)
        if not data.startswith(self.fixed, at):
            return -1
        return int.from_bytes(data[length_at : length_at + 4], "big")


class Filler:
    """Bytes without a pattern, the same for each seed: every body is their beginning. One serves all writers."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._bytes = b""
        self._digests: dict[int, int] = {}

    def body(self, length: int) -> memoryview:
        """The body of that many bytes."""
        if length > len(self._bytes):
            # Twice as much at a time, so that growing sizes do not copy it again and again.
            have = len(self._bytes) // _BLOCK_BYTES
            blocks = range(have, max(-(-length // _BLOCK_BYTES), 2 * have))
            self._bytes += b"".join(Random(f"{self._seed}/{block}").randbytes(_BLOCK_BYTES) for block in blocks)
        return memoryview(self._bytes)[:length]

    def digest(self, length: int) -> int:
        """The CRC-32 of that body."""
        digest = self._digests.get(length)
        if digest is None:
            digest = zlib.crc32(self.body(length))
            if len(self._digests) < _DIGESTS_MAX:
                self._digests[length] = digest
        return digest

    def event(self, size: int, writer: int, number: int) -> bytes:
        """A whole event, its mark included."""
        length = size - MARK_BYTES
        return bytes(self.body(length)) + mark_of(digest_from(self.digest(length), writer), writer, number)


class Maker:
    """Makes the events of one writer as they are stored, each behind its head.

    With `is_verified` off they are filler alone, and nothing numbers them. Sizes are at least 1, or MARK_BYTES.
    """

    def __init__(self, writer: int, *, head: Head, filler: Filler, is_verified: bool = True) -> None:
        self._writer = writer
        self._head = head
        self._filler = filler
        self._mark_bytes = MARK_BYTES if is_verified else 0

    def template(self, count: int, size: int) -> bytearray:
        """A batch of events of one size, numbered from 1 on: to be numbered anew in place, time and again."""
        return bytearray(self.batch([size] * count, 1))

    def numbering(self, buffer: bytearray, start: int, count: int, size: int) -> Callable[[int], None]:
        """A function that numbers the events of a template, which begins at `start` of `buffer`, from `first` on.

        While it lives, the buffer keeps its length.
        """
        if not self._mark_bytes:
            return _leave
        return rows_stamper(buffer, start, count, self._head.width + size, self._begun(size))

    def batch(self, sizes: Iterable[int], first: int) -> bytes:
        """Events of these sizes, numbered from `first` on: the slower way, for sizes that vary."""
        parts: list[bytes | memoryview] = []
        for number, size in enumerate(sizes, first):
            parts += self._head.of(size), self._filler.body(size - self._mark_bytes)
            if self._mark_bytes:
                parts.append(mark_of(self._begun(size), self._writer, number))
        return b"".join(parts)

    def _begun(self, size: int) -> int:
        return digest_from(self._filler.digest(size - MARK_BYTES), self._writer)


def _leave(first: int) -> None:
    """Numbers nothing."""
