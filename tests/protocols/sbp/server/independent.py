"""Frames and tables written and read without any declaration of ours: slots by hand, with the `flatbuffers` library."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Sequence
from typing import Any

import flatbuffers
from flatbuffers import number_types as N
from flatbuffers.table import Table as Reader

#: What writes a slot: given the builder, after everything it points to.
Slot = Callable[[Any], None]


class Writer:
    """Builds one header, from the inside out."""

    def __init__(self) -> None:
        self._builder: Any = flatbuffers.Builder(0)

    def text(self, value: str) -> int:
        where: int = self._builder.CreateString(value)
        return where

    def table(self, count: int, *slots: Slot) -> int:
        """A table of so many slots."""
        self._builder.StartObject(count)
        for slot in slots:
            slot(self._builder)
        where: int = self._builder.EndObject()
        return where

    def tables(self, places: Sequence[int]) -> int:
        """A vector of tables."""
        self._builder.StartVector(4, len(places), 4)
        for place in reversed(places):
            self._builder.PrependUOffsetTRelative(place)
        where: int = self._builder.EndVector()
        return where

    def longs(self, values: Sequence[int]) -> int:
        """A vector of int64."""
        self._builder.StartVector(8, len(values), 8)
        for value in reversed(values):
            self._builder.PrependInt64(value)
        where: int = self._builder.EndVector()
        return where

    def finish(self, root: int) -> bytes:
        self._builder.Finish(root)
        return bytes(self._builder.Output())


def byte(slot: int, value: int, default: int = 0) -> Slot:
    return lambda builder: builder.PrependInt8Slot(slot, value, default)


def int32(slot: int, value: int, default: int = 0) -> Slot:
    return lambda builder: builder.PrependInt32Slot(slot, value, default)


def int64(slot: int, value: int, default: int = 0) -> Slot:
    return lambda builder: builder.PrependInt64Slot(slot, value, default)


def to(slot: int, where: int) -> Slot:
    """A slot that leads to a string, vector or table."""
    return lambda builder: builder.PrependUOffsetTRelativeSlot(slot, where, 0)


class Seen:
    """A table as the library reads it."""

    def __init__(self, table: Any) -> None:
        self._table = table

    @classmethod
    def root(cls, data: bytes) -> Seen:
        return cls(Reader(bytearray(data), struct.unpack_from("<I", data)[0]))

    def has(self, slot: int) -> bool:
        return bool(self._table.Offset(4 + 2 * slot))

    def number(self, slot: int, flags: Any, default: int = 0) -> int:
        offset = self._table.Offset(4 + 2 * slot)
        return int(self._table.Get(flags, offset + self._table.Pos)) if offset else default

    def code(self, slot: int) -> int:
        """An int16 enum."""
        return self.number(slot, N.Int16Flags)

    def text(self, slot: int) -> str | None:
        offset = self._table.Offset(4 + 2 * slot)
        return self._table.String(offset + self._table.Pos).decode() if offset else None

    def table(self, slot: int) -> Seen:
        offset = self._table.Offset(4 + 2 * slot)
        assert offset, f"slot {slot} is empty"
        return Seen(Reader(self._table.Bytes, self._table.Indirect(offset + self._table.Pos)))

    def tables(self, slot: int) -> list[Seen]:
        offset = self._table.Offset(4 + 2 * slot)
        if not offset:
            return []
        start, count = self._table.Vector(offset), self._table.VectorLen(offset)
        return [Seen(Reader(self._table.Bytes, self._table.Indirect(start + 4 * index))) for index in range(count)]


def frame(opcode: int, stream_id: int, header: bytes = b"", payload: bytes = b"", flags: int = 0) -> bytes:
    """A frame, byte by byte as sbp.md §1.1 has it."""
    fixed = struct.pack(">BHBIB", 23, opcode, flags, stream_id, 1) + len(header).to_bytes(3, "big")
    body = fixed + header + payload + struct.pack(">I", zlib.crc32(payload) if payload else 0)
    return struct.pack(">I", len(body)) + body


def parts(data: bytes) -> tuple[int, int, int, bytes, bytes]:
    """Opcode, flags, stream identifier, header and payload of the one frame in `data`."""
    length, magic, opcode, flags, stream_id, header_format = struct.unpack_from(">IBHBIB", data)
    assert (length + 4, magic, header_format) == (len(data), 23, 1)
    header_length = int.from_bytes(data[13:16], "big")
    header, payload = data[16 : 16 + header_length], data[16 + header_length : -4]
    assert int.from_bytes(data[-4:], "big") == (zlib.crc32(payload) if payload else 0)
    return opcode, flags, stream_id, header, payload
