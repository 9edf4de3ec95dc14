"""The bytes of one client on their way to whole frames."""

from collections.abc import Callable, Iterator

#: Bytes of the frame that begins at `data[at]`, 0 where too few are there to tell (protocols/base/conversation.py).
Extent = Callable[[bytes, int, int], int]


def whole_frames(data: bytes, extent: Extent, at: int = 0, end: int | None = None) -> Iterator[tuple[int, int]]:
    """Yield where each whole frame of `data[at:end]` begins and ends: one after another from `at` on.

    `extent` is asked when the caller is done with the frames before. DecodeError: no frame can begin so.
    """
    end = len(data) if end is None else end
    while (size := extent(data, at, end)) and at + size <= end:
        yield at, at + size
        at += size


class Inbox:
    """Keeps what was fed until whole frames of it are taken; each frame is held against its limits by `extent`."""

    __slots__ = ("_at", "_data", "_extent", "_need", "_parts", "held")

    def __init__(self, extent: Extent) -> None:
        self._extent = extent
        self._data = b""
        self._at = 0
        #: Behind `_data`, while the frame at its front is far from whole: joined once, not with every piece.
        self._parts: list[bytes] = []
        #: Bytes not taken yet.
        self.held = 0
        self._need = 0

    def feed(self, data: bytes) -> None:
        """The next bytes."""
        if not self._parts and self._at == len(self._data):
            self._data, self._at = data, 0
        else:
            self._parts.append(data)
        self.held += len(data)

    def clear(self) -> None:
        """Drop all bytes that were not taken, at once: a link that ended can wait long for the garbage collector."""
        self._data, self._at, self.held, self._need = b"", 0, 0, 0
        self._parts.clear()

    def next(self) -> bytes | None:
        """The next whole frame, or None where more bytes are needed. DecodeError: no frame can begin so."""
        size = self.held
        if not size or size < self._need:
            return None
        if self._parts:
            self._data = self._data[self._at :] + b"".join(self._parts)
            self._at = 0
            self._parts.clear()
        data, at = self._data, self._at
        end = len(data)
        length = self._extent(data, at, end)
        if length <= 0 or length > size:
            self._need = length
            return None
        self._need = 0
        self._at = at + length
        self.held = size - length
        return data if length == end else data[at : at + length]
