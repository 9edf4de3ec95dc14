"""The one bounded reader: a read past the end raises Truncated and moves nothing."""

import struct
from typing import NamedTuple

from wiretool.errors import DecodeError, Truncated


class Span(NamedTuple):
    """What the bytes [offset, offset + length) of a message mean."""

    offset: int
    length: int
    path: str
    type: str
    value: object


class Cursor:
    """Reads `data[at:end]` forwards. With `spans` a list, each leaf that is read is noted there."""

    __slots__ = ("at", "data", "end", "spans")

    def __init__(self, data: bytes, at: int = 0, end: int | None = None, *, spans: list[Span] | None = None) -> None:
        self.data = data
        self.at = at
        self.end = len(data) if end is None else end
        self.spans = spans

    @property
    def left(self) -> int:
        """Bytes not read yet."""
        return self.end - self.at

    def take(self, count: int, path: str, *, kind: str = "truncated-field") -> bytes:
        """The next `count` bytes; Truncated when fewer are left, DecodeError(kind) when `count` is negative."""
        if count < 0:
            raise DecodeError(kind, f"a length of {count}", path=path, offset=self.at)
        if count > self.left:
            raise Truncated(kind, f"expected {count} bytes, {self.left} left", path=path, offset=self.at)
        start = self.at
        self.at = start + count
        return self.data[start : self.at]

    def unpack(self, form: struct.Struct, path: str) -> int:
        """The next fixed-width number."""
        value: int = form.unpack(self.take(form.size, path))[0]
        return value

    def note(self, start: int, path: str, type_name: str, value: object) -> None:
        """Remember what the bytes from `start` to here were."""
        if self.spans is not None:
            self.spans.append(Span(start, self.at - start, path, type_name, value))
