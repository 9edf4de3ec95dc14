"""The bytes of one segment in chunks: appending copies little, reading no more than is asked, dropping whole chunks."""

from bisect import bisect_right

#: Appends below this are joined to chunks; what is larger stays as it came, a chunk of its own.
JOINED_BYTES_MAX = 2 * 1024
CHUNK_BYTES = 64 * 1024


class Chunks:
    """Bytes `start` to `end` of a log that grows at its end and is dropped from its beginning."""

    __slots__ = ("_open", "_starts", "_stored", "end", "start")

    def __init__(self, start: int = 0) -> None:
        self.start = start
        self.end = start
        #: Where each chunk begins; that of the first may lie before `start`.
        self._starts: list[int] = []
        self._stored: list[bytes | bytearray] = []
        #: The last chunk, while more fits into it.
        self._open: bytearray | None = None

    def append(self, data: bytes | bytearray) -> bool:
        """Put `data` behind the last byte; whether that began a new chunk."""
        size = len(data)
        if not size:
            return False
        chunk = self._open
        if chunk is not None and size < JOINED_BYTES_MAX and len(chunk) < CHUNK_BYTES:
            chunk += data
            self.end += size
            return False
        self._open = bytearray(data) if size < JOINED_BYTES_MAX else None
        self._starts.append(self.end)
        self._stored.append(bytes(data) if self._open is None else self._open)
        self.end += size
        return True

    def adopt(self, other: "Chunks") -> list[int]:
        """Put all that `other` has behind the last byte; where new chunks were begun for it."""
        begun: list[int] = []
        for piece in other.pieces(other.start, other.end):
            at = self.end
            if self.append(piece):
                begun.append(at)
        return begun

    def read(self, at: int, size: int) -> bytes:
        """Up to `size` bytes from `at` on, which must not lie before `start`."""
        return b"".join(self.pieces(at, min(at + size, self.end)))

    def pieces(self, at: int, stop: int) -> list[bytes | bytearray]:
        """The bytes `at` to `stop` as they are stored."""
        if at >= stop:
            return []
        index = bisect_right(self._starts, at) - 1
        found: list[bytes | bytearray] = []
        while at < stop:
            chunk, begin = self._stored[index], self._starts[index]
            found.append(chunk if at == begin and stop - begin >= len(chunk) else chunk[at - begin : stop - begin])
            at = begin + len(chunk)
            index += 1
        return found

    def drop(self, before: int) -> int:
        """Forget the bytes before an offset within `start` to `end`; how many bytes were freed by that."""
        self.start = before
        index = len(self._starts) if before == self.end else max(0, bisect_right(self._starts, before) - 1)
        freed = sum(map(len, self._stored[:index]))
        del self._starts[:index], self._stored[:index]
        if not self._stored:
            self._open = None
        return freed

    def is_kept(self, begin: int) -> bool:
        """Whether the chunk that began at an offset is still there."""
        return bool(self._starts) and begin >= self._starts[0]

    @property
    def first_chunk_end(self) -> int:
        """Where the oldest chunk ends."""
        return self._starts[1] if len(self._starts) > 1 else self.end
