"""The bytes of one capture, read forward only, and unpacked when they are gzip or zstd."""

import zlib
from collections.abc import Callable, Iterator
from typing import BinaryIO, Protocol

import zstandard

from wiretool.errors import CaptureError, system_reason

#: Bytes asked of the system at once: large enough that a call costs nothing beside parsing what it gives.
CHUNK_BYTES = 256 * 1024
#: Packed bytes unpacked at once: a damaged file loses what these would have given, a bomb can give no more.
PIECE_BYTES = 256


class Source:
    """A window on one capture: `buffer[at:]` is what was read and not used yet."""

    __slots__ = ("_before", "_chunks", "at", "buffer", "name")

    def __init__(self, name: str, chunks: Iterator[bytes]) -> None:
        self.name = name
        self.buffer = b""
        self.at = 0
        self._before = 0
        self._chunks = chunks

    @property
    def left(self) -> int:
        """Bytes of the window."""
        return len(self.buffer) - self.at

    def fill(self, size: int) -> bool:
        """Widen the window to `size` bytes, waiting for no more than these; False when the capture ends before."""
        have = self.left
        if have >= size:
            return True
        parts = [self.buffer[self.at :]]
        try:
            for chunk in self._chunks:
                parts.append(chunk)
                have += len(chunk)
                if have >= size:
                    break
        finally:  # what is sound before a damage stays in the window
            self._before += self.at
            self.buffer, self.at = b"".join(parts), 0
        return have >= size

    def rest(self) -> Iterator[bytes]:
        """The window, and then all that follows."""
        yield self.buffer[self.at :]
        yield from self._chunks

    def error(self, why: str, ahead: int = 0) -> CaptureError:
        """The error `why` at the byte `ahead` of the window."""
        return CaptureError(self.name, why, offset=self._before + self.at + ahead)


class Unpacker(Protocol):
    """What zlib's and zstandard's objects have in common."""

    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, /) -> bytes: ...


def _gunzipper() -> Unpacker:
    return zlib.decompressobj(wbits=31)


def _unzstder() -> Unpacker:
    return zstandard.ZstdDecompressor().decompressobj()


#: The first bytes of a packed file, how it is called, and what unpacks one member of it.
PACKINGS: tuple[tuple[bytes, str, Callable[[], Unpacker]], ...] = (
    (b"\x1f\x8b", "gzip", _gunzipper),
    (b"\x28\xb5\x2f\xfd", "zstd", _unzstder),
)


def open_source(name: str, stream: BinaryIO) -> Source:
    """The bytes of `stream` from its first on, unpacked if those say that they are packed."""
    source = Source(name, _read_chunks(name, stream))
    source.fill(4)
    for magic, packing, fresh in PACKINGS:
        if source.buffer.startswith(magic):
            return Source(name, _unpack(source, packing, fresh))
    return source


def _read_chunks(name: str, stream: BinaryIO) -> Iterator[bytes]:
    """What the stream has, as soon as it has it."""
    read = getattr(stream, "read1", None) or stream.read
    done = 0
    try:
        while chunk := read(CHUNK_BYTES):
            done += len(chunk)
            yield chunk
    except BrokenPipeError:  # of an output that is written before a pipe is awaited
        raise
    except OSError as err:
        raise CaptureError(name, f"cannot be read: {system_reason(err)}", offset=done) from err


def _pieces(packed: Source) -> Iterator[bytes]:
    for chunk in packed.rest():
        for at in range(0, len(chunk), PIECE_BYTES):
            yield chunk[at : at + PIECE_BYTES]


def _unpack(packed: Source, packing: str, fresh: Callable[[], Unpacker]) -> Iterator[bytes]:
    """The members of a packed file one after another; what is sound before a damage comes out before the error."""
    done, member = 0, _Member(fresh)
    try:
        for piece in _pieces(packed):
            for out in member.feed(piece):
                done += len(out)
                yield out
    except (zlib.error, zstandard.ZstdError) as err:
        raise CaptureError(packed.name, f"the {packing} data is damaged: {err}", offset=done) from err
    if member.is_open:
        raise CaptureError(packed.name, f"the {packing} data ends early", offset=done)


class _Member:
    """Unpacks packed members that follow each other, with or without zero bytes between them."""

    def __init__(self, fresh: Callable[[], Unpacker]) -> None:
        self._fresh = fresh
        self._unpacker = fresh()
        self.is_open = False

    def feed(self, piece: bytes) -> Iterator[bytes]:
        while piece := piece if self.is_open else piece.lstrip(b"\0"):
            self.is_open = True
            if out := self._unpacker.decompress(piece):
                yield out
            piece = self._after_member()

    def _after_member(self) -> bytes:
        if not self._unpacker.eof:
            return b""
        rest = self._unpacker.unused_data
        self._unpacker, self.is_open = self._fresh(), False
        return rest
