"""Frames with their length at a fixed place of their header: one declaration for rows, columns, mocks and loads."""

from collections.abc import Callable
from dataclasses import dataclass
from struct import Struct

from wiretool.errors import DecodeError

#: An Extent (codec/frames/buffer.py), of a bytearray too.
PrefixExtent = Callable[[bytes | bytearray, int, int], int]
#: Names what is wrong in a header: its length, and the byte in the place of the magic one where that is another.
Refusal = Callable[[int, int | None], DecodeError]


@dataclass(frozen=True, slots=True)
class Prefix:
    """The length of a frame in its header: a u32 at `length_at`, of the bytes after `counted_from`."""

    header_bytes: int
    length_at: int
    counted_from: int
    length_min: int
    length_max: int
    #: Of its bytes.
    order: str = ">"
    #: The place and value of a byte that every frame has; it may be after `header_bytes`.
    magic: tuple[int, int] | None = None

    def extent(self, refuse: Refusal) -> PrefixExtent:
        """Return the function that finds the end of a single frame, as `Conversation.extent` for one side.

        It raises what `refuse` returns for a length that is not allowed, and for another magic byte.
        """
        unpack = Struct(f"{self.order}I").unpack_from
        header_bytes, length_at, counted_from = self.header_bytes, self.length_at, self.counted_from
        low, high, magic = self.length_min, self.length_max, self.magic

        def find_extent(data: bytes | bytearray, at: int, end: int) -> int:
            if end - at < header_bytes:
                return 0
            length: int = unpack(data, at + length_at)[0]
            if not low <= length <= high:
                raise refuse(length, None)
            return counted_from + length

        def find_magic_extent(data: bytes | bytearray, at: int, end: int) -> int:
            extent = find_extent(data, at, end)
            if extent and magic_at < end - at and data[at + magic_at] != value:
                raise refuse(extent - counted_from, data[at + magic_at])
            return extent

        if magic is None:
            return find_extent
        magic_at, value = magic
        return find_magic_extent
