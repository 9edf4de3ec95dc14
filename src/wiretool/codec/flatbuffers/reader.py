"""The bounded reader of FlatBuffers: slot by slot, as declared. The compiled one must agree with it on everything.

The FlatBuffers library checks no bounds. Here every offset, vtable, count and text is held against the buffer before it
is followed, and what can be reached over shared offsets is bounded too (limits.py).
"""

import struct
from contextlib import suppress
from typing import Any, NamedTuple

from wiretool import limits
from wiretool.codec.cursor import Span
from wiretool.codec.flatbuffers.declaration import (
    BytesSlot,
    Scalar,
    ScalarsSlot,
    SlotType,
    StringSlot,
    Table,
    TableSlot,
    TablesSlot,
    UnionSlot,
    slots_of,
)
from wiretool.errors import DecodeError, OverLimit

_U16 = struct.Struct("<H")
_I32 = struct.Struct("<i")
_U32 = struct.Struct("<I")


class Found(NamedTuple):
    """A table, and the paths of the required fields that it lacks."""

    value: Any
    missing: tuple[str, ...] = ()


def read_root(
    cls: type[Table],
    data: bytes,
    at: int = 0,
    end: int | None = None,
    *,
    kind: str = "bad_flatbuffer",
    exact: bool = False,
    spans: list[Span] | None = None,
) -> Found:
    """The table that the buffer `data[at:end]` is the root of; DecodeError(kind) where it is none.

    `exact` also refuses what a reader passes over but a writer of this very schema never makes: slots that it does not
    declare, fields not aligned, laid over one another or holding their default, text without its zero byte.
    `spans` is given what each byte that was looked at means; see `annotate_root`.
    """
    return Reader(data, at, len(data) if end is None else end, kind, exact=exact, spans=spans).root(cls)


def annotate_root(cls: type[Table], data: bytes, at: int, end: int, path: str) -> list[Span]:
    """Spans that tile `data[at:end]`, a buffer with that root: as far as it decodes, the rest as not referenced."""
    spans: list[Span] = []
    reader = Reader(data, at, end, "bad_flatbuffer", exact=False, spans=spans)
    with suppress(DecodeError):
        reader.root(cls, path)
    return tile(spans, data, at, end, path)


def tile(spans: list[Span], data: bytes, at: int, end: int, path: str) -> list[Span]:
    """The spans in order, each byte once, and what lies between them named padding or not referenced."""
    out: list[Span] = []
    for span in sorted((span for span in spans if span.length), key=lambda span: span.offset):
        if span.offset > at:
            out.append(_filler(data, at, span.offset, path))
            at = span.offset
        if span.offset == at:
            out.append(span)
            at += span.length
    if at < end:
        out.append(_filler(data, at, end, path))
    return out


def _filler(data: bytes, at: int, end: int, path: str) -> Span:
    raw = data[at:end]
    return Span(at, end - at, f"{path}.({'not referenced' if any(raw) else 'padding'})", "bytes", raw)


class Reader:
    """One buffer being read. Positions count from its beginning."""

    def __init__(
        self, data: bytes, at: int, end: int, kind: str, *, exact: bool, spans: list[Span] | None = None
    ) -> None:
        self.data = data
        self.base = at
        self.size = end - at
        self.kind = kind
        self.exact = exact
        self.spans = spans
        self.missing: list[str] = []
        self.tables_left = min(limits.FLATBUFFER_TABLES_MAX, self.size)
        self.bytes_left = limits.FLATBUFFER_SHARING_MAX * self.size

    def root(self, cls: type[Table], path: str = "") -> Found:
        """The table that the first four bytes lead to."""
        path = path or cls.__name__
        at = self.number(_U32, 0, path)
        self.note(0, 4, f"{path}.(root)", "offset", at)
        value = self.table(cls, at, path, 1)
        return Found(value, tuple(self.missing))

    def fail(self, why: str, path: str, at: int) -> DecodeError:
        """The error to raise for what is wrong at `at`, or at the end where `at` is behind it."""
        return DecodeError(self.kind, why, path=path, offset=self.base + min(max(at, 0), self.size))

    def note(self, at: int, length: int, path: str, type_name: str, value: object) -> None:
        """Remember what these bytes are."""
        if self.spans is not None:
            self.spans.append(Span(self.base + at, length, path, type_name, value))

    def number(self, form: struct.Struct, at: int, path: str) -> Any:
        """The number at `at`."""
        if at < 0 or at + form.size > self.size:
            raise self.fail(f"expected {form.size} bytes at {at} of a buffer of {self.size}", path, at)
        return form.unpack_from(self.data, self.base + at)[0]

    # -- tables ----------------------------------------------------------------------------------------------------

    def table(self, cls: type[Table], at: int, path: str, depth: int) -> Table:
        """The table at `at`."""
        if depth > limits.NESTING_MAX:
            raise OverLimit(self.kind, f"tables nest deeper than {limits.NESTING_MAX}", path=path, offset=self.base)
        self.tables_left -= 1
        if self.tables_left < 0:
            raise OverLimit(self.kind, "more tables than the buffer can hold", path=path, offset=self.base)
        vtable, offsets = self.offsets(at, path)
        values: dict[str, Any] = {}
        slots = slots_of(cls)
        for index, (name, wire, default) in enumerate(slots):
            offset = offsets[index] if index < len(offsets) else 0
            self.note(vtable + 4 + 2 * index, 2 if index < len(offsets) else 0, f"{path}.{name}.(slot)", "u16", offset)
            if offset:
                values[name] = self.slot(wire, at + offset, f"{path}.{name}", depth, values)
            elif wire.is_required:
                self.missing.append(f"{path}.{name}")
                values[name] = None
            else:
                values[name] = default
        if self.exact:
            self.check_layout(slots, offsets, values, at, vtable, path)
        return cls(**values)

    def offsets(self, at: int, path: str) -> tuple[int, tuple[int, ...]]:
        """Where the vtable of the table at `at` is, and for each slot in it where in the table the field is."""
        back = self.number(_I32, at, path)
        vtable = at - back
        size = self.number(_U16, vtable, path)
        table_size = self.number(_U16, vtable + 2, path)
        if size < 4 or size % 2 or vtable + size > self.size:
            raise self.fail(f"a vtable of {size} bytes at {vtable} of a buffer of {self.size}", path, vtable)
        self.note(at, 4, f"{path}.(vtable)", "offset", back)
        self.note(vtable, 2, f"{path}.(vtable size)", "u16", size)
        self.note(vtable + 2, 2, f"{path}.(table size)", "u16", table_size)
        start = self.base + vtable + 4
        return vtable, struct.unpack_from(f"<{(size - 4) // 2}H", self.data, start)

    def check_layout(
        self,
        slots: tuple[tuple[str, SlotType, Any], ...],
        offsets: tuple[int, ...],
        values: dict[str, Any],
        at: int,
        vtable: int,
        path: str,
    ) -> None:
        """DecodeError where a writer of this schema would have laid the table out differently."""
        # Not the table size: Go's builder shares a vtable between tables that differ in it alone.
        if at % 4 or vtable % 2:
            raise self.fail("a table that is not aligned", path, at)
        if any(offsets[len(slots) :]):
            raise self.fail(f"more than the {len(slots)} slots declared", path, vtable)
        used = 4
        fields = sorted((offset, *slot) for slot, offset in zip(slots, offsets, strict=False) if offset)
        for offset, name, wire, default in fields:
            if offset < used or (at + offset) % wire.inline:
                raise self.fail("a field that is not aligned, or lies over another", f"{path}.{name}", at + offset)
            if isinstance(wire, Scalar) and values[name] == default:
                raise self.fail(f"{default} is the default and never written", f"{path}.{name}", at + offset)
            used = offset + wire.inline

    # -- slots -----------------------------------------------------------------------------------------------------

    def slot(self, wire: SlotType, at: int, path: str, depth: int, values: dict[str, Any]) -> Any:
        """What the field at `at` holds or leads to."""
        if isinstance(wire, Scalar):
            value = self.number(wire.packed, at, path)
            self.note(at, wire.inline, path, wire.name, wire.meaning(value))
            return value
        step = self.number(_U32, at, path)
        self.note(at, 4, f"{path}.(offset)", "offset", step)
        return self.behind(wire, at + step, path, depth, values)

    def behind(self, wire: SlotType, at: int, path: str, depth: int, values: dict[str, Any]) -> Any:
        """What an offset leads to."""
        if isinstance(wire, StringSlot):
            return self.text(at, path)
        if isinstance(wire, TableSlot):
            return self.table(wire.cls, at, path, depth + 1)
        if isinstance(wire, TablesSlot):
            return self.tables(wire, at, path, depth)
        if isinstance(wire, UnionSlot):
            return self.member(wire, at, path, depth, values)
        if isinstance(wire, BytesSlot):
            return self.blob(at, path)
        assert isinstance(wire, ScalarsSlot)
        return self.numbers(wire.element, at, path)

    def count(self, at: int, width: int, path: str) -> int:
        """How many elements of `width` bytes the vector at `at` has; they are all there."""
        count: int = self.number(_U32, at, path)
        if at + 4 + count * width > self.size:
            why = f"{count} elements of {width} bytes at {at} of a buffer of {self.size}"
            raise self.fail(why, path, at)
        self.bytes_left -= count * width
        if self.bytes_left < 0:
            raise OverLimit(self.kind, "more bytes than the buffer can hold", path=path, offset=self.base + at)
        self.note(at, 4, f"{path}.(count)", "u32", count)
        return count

    def text(self, at: int, path: str) -> str:
        count = self.count(at, 1, path)
        start = self.base + at + 4
        raw = self.data[start : start + count]
        try:
            value = raw.decode()
        except UnicodeDecodeError as err:
            raise self.fail(f"0x{raw[err.start]:02x} is not UTF-8", path, at + 4 + err.start) from err
        if self.exact and self.data[start + count : self.base + self.size][:1] != b"\0":
            raise self.fail("text without its zero byte", path, at)
        self.note(at + 4, count, path, "string", value)
        if at + 4 + count < self.size and self.data[start + count] == 0:
            self.note(at + 4 + count, 1, f"{path}.(end)", "zero byte", 0)
        return value

    def blob(self, at: int, path: str) -> bytes:
        count = self.count(at, 1, path)
        start = self.base + at + 4
        value = self.data[start : start + count]
        self.note(at + 4, count, path, "bytes", value)
        return value

    def numbers(self, element: Scalar, at: int, path: str) -> tuple[Any, ...]:
        count = self.count(at, element.inline, path)
        values = struct.unpack_from(f"<{count}{element.form}", self.data, self.base + at + 4)
        if self.spans is not None:
            for index, value in enumerate(values):
                where = at + 4 + index * element.inline
                self.note(where, element.inline, f"{path}[{index}]", element.name, element.meaning(value))
        if self.exact and (at + 4) % element.inline:
            raise self.fail("a vector that is not aligned", path, at)
        return values

    def tables(self, wire: TablesSlot, at: int, path: str, depth: int) -> tuple[Table, ...]:
        count = self.count(at, 4, path)
        out: list[Table] = []
        for index in range(count):
            where = at + 4 + 4 * index
            step = self.number(_U32, where, path)
            self.note(where, 4, f"{path}[{index}].(offset)", "offset", step)
            out.append(self.table(wire.cls, where + step, f"{path}[{index}]", depth + 1))
        return tuple(out)

    def member(self, wire: UnionSlot, at: int, path: str, depth: int, values: dict[str, Any]) -> Table | None:
        cls = wire.classes.get(values[wire.tag])
        if cls is None:
            if self.exact:
                raise self.fail(f"tag {values[wire.tag]} names no table", path, at)
            return None
        return self.table(cls, at, path, depth + 1)
