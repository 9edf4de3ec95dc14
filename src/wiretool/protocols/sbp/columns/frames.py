"""Many frames of SBP at once: envelopes, headers and payloads as arrays.

The frames may be of many connections with one schema.
"""

from dataclasses import dataclass
from itertools import takewhile
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np

from wiretool.codec.columns import Choice, Column, Flags, Integers, Made, Numbers, Spans, Sparse, Struct
from wiretool.codec.flatbuffers.columns import gather, read_tables
from wiretool.codec.flatbuffers.declaration import Table
from wiretool.codec.message import fields_of
from wiretool.protocols.base.columns import Frames, Group
from wiretool.protocols.sbp.columns.payloads import Batches, read_entries
from wiretool.protocols.sbp.forms import form_of
from wiretool.protocols.sbp.framing import FIXED_BYTES
from wiretool.protocols.sbp.messages import (
    APPEND,
    CHECKSUM_BYTES,
    FETCH,
    FLATBUFFERS,
    RESPONSE,
    SEAL_RANGE,
    SYSTEM_ERROR,
    Operation,
    SbpFrame,
    Schema,
)
from wiretool.protocols.sbp.session import SEAL_KIND_PLACEMENT_DRIVER

#: Frames of a kind on average from which on arrays are faster than single frames.
KIND_FRAMES_MIN = 8


def _envelope() -> np.dtype[Any]:
    """The fixed bytes of a frame, as it is declared up to its header."""
    fixed = takewhile(lambda field: field.wire.form, fields_of(SbpFrame))
    front = [("frame_length", ">u4"), ("magic", "u1")]
    return np.dtype([*front, *((field.name, ">" + field.wire.form) for field in fixed), ("header_length", "u1", 3)])


_ENVELOPE = _envelope()


@dataclass(frozen=True, slots=True)
class Envelopes:
    """Header fields that all frames have: arrays with one element per frame."""

    opcode: Integers
    flags: Integers
    stream_id: Integers
    header_format: Integers
    header_length: Integers
    payload_start: Integers
    payload_length: Integers
    checksum: Integers

    @property
    def keys(self) -> Integers:
        """Return the kind of each frame: the operation, and whether it is a response or a system error."""
        keys: Integers = self.opcode << 8 | self.flags & (RESPONSE | SYSTEM_ERROR)
        return keys

    @property
    def are_worth_columns(self) -> bool:
        """Return whether there are enough frames of each kind on average."""
        return len(self.opcode) >= KIND_FRAMES_MIN * len(np.unique(self.keys))

    def take(self, rows: Integers) -> "Envelopes":
        """Those of some rows."""
        return Envelopes(*(getattr(self, name)[rows] for name in self.__slots__))


def envelopes_of(frames: Frames) -> Envelopes:
    """The envelopes of frames; a payload of negative length is none."""
    view = np.frombuffer(frames.data, np.uint8)
    fixed = gather(view, frames.starts, _ENVELOPE)
    high, middle, low = fixed["header_length"].astype(np.int64).T
    header_length = high << 16 | middle << 8 | low
    payload_start = frames.starts + FIXED_BYTES + header_length
    named = {name: fixed[name].astype(np.int64) for name in ("opcode", "flags", "stream_id", "header_format")}
    return Envelopes(
        **named,
        header_length=header_length,
        payload_start=payload_start,
        payload_length=frames.ends - CHECKSUM_BYTES - payload_start,
        checksum=gather(view, frames.ends - CHECKSUM_BYTES, ">u4").astype(np.int64),
    )


def find_whole(data: bytes, envelopes: Envelopes) -> Flags:
    """Return which frames are as long as they say, with the checksum of their payload."""
    lengths = envelopes.payload_length
    is_whole = lengths >= 0
    rows = np.flatnonzero(lengths > 0)
    starts, view = envelopes.payload_start[rows], memoryview(data)
    spans = zip(starts.tolist(), (starts + lengths[rows]).tolist(), strict=True)
    found = np.array([crc32(view[start:end]) for start, end in spans], np.int64)
    is_whole[rows] = found == envelopes.checksum[rows]
    return is_whole


@dataclass(frozen=True, slots=True)
class Kind:
    """Frames that carry the same: rows among all, header and payload of each."""

    operation: Operation
    rows: Integers
    header: Column
    payload: Column


class FrameReader:
    """Reads frames of one schema."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema

    def kinds(self, frames: Frames, envelopes: Envelopes, is_asked: Flags, is_range_server: Flags) -> list[Kind]:
        """Return the kinds of the frames that are asked for, without those that must be read by themselves.

        `is_range_server` are the frames of connections that are known to be with a range server.
        """
        keys, kinds = envelopes.keys, list[Kind]()
        for key in np.unique(keys[is_asked]).tolist():
            frame = SbpFrame(opcode=key >> 8, flags=key & 0xFF)
            operation = self.schema.operation(frame.opcode)
            if operation is None or frame.opcode == 0:
                continue
            rows = np.flatnonzero(is_asked & (keys == key))
            is_any_kind = frames.is_server[rows] | is_range_server[rows]
            kinds.append(self._kind(frames, envelopes, operation, frame, rows, is_any_kind))
        return kinds

    def _kind(
        self,
        frames: Frames,
        envelopes: Envelopes,
        operation: Operation,
        frame: SbpFrame,
        rows: Integers,
        is_any_kind: Flags,
    ) -> Kind:
        """Return the frames of an operation, with the flags of `frame`, that are read whole.

        `is_any_kind` are the frames that may seal a range of any kind.
        """
        schema, mine = self.schema, envelopes.take(rows)
        has_payload = mine.payload_length > 0
        header = read_headers(schema.header_table(frame), frames.data, frames.starts[rows] + FIXED_BYTES, mine)
        is_read = header.is_read & (header.has | (not schema.wants_header(frame)))
        if frame.opcode == APPEND and not frame.is_response:
            is_read &= has_payload
        if frame.opcode == SEAL_RANGE and not frame.is_response:
            is_read &= is_any_kind | ~header.is_other("kind", SEAL_KIND_PLACEMENT_DRIVER)
        starts, lengths = mine.payload_start[has_payload], mine.payload_length[has_payload]
        payload: dict[str, Column] = {"hex": _hex(starts, lengths)}
        batches = self.batches(frame, header.tables(has_payload), frames.data, starts, starts + lengths)
        if batches is not None:
            is_read[has_payload] &= batches.is_read
            payload[schema.batches_key] = batches.column
        payloads = Sparse(Struct(payload, len(starts)), has_payload)
        if is_read.all():
            return Kind(operation, rows, header.column, payloads)
        return Kind(operation, rows[is_read], header.column.take(is_read), payloads.take(is_read))

    def batches(
        self, frame: SbpFrame, headers: "TablesOf | None", data: bytes, starts: Integers, ends: Integers
    ) -> Batches | None:
        """Return the batches in payloads, if frames of this kind carry such; `headers` are the tables before them."""
        return read_entries(data, starts, ends) if frame.opcode in (APPEND, FETCH) else None


class TablesOf(NamedTuple):
    """The header tables of some frames: what each says, of those that have one."""

    cls: type[Table]
    has: Flags
    fields: Struct


class Headers(NamedTuple):
    """The headers of frames: their column, which have one, which were read, and the tables of those that have one."""

    column: Sparse
    has: Flags
    is_read: Flags
    cls: type[Table] | None = None
    fields: Struct | None = None

    def is_other(self, name: str, value: int) -> Flags:
        """Return which headers have a number of this name that is not the value."""
        out = np.zeros(len(self.has), np.bool_)
        column = None if self.fields is None else self.fields.columns.get(name)
        if isinstance(column, Numbers):
            out[self.has] = column.values != value
        return out

    def tables(self, rows: Flags) -> TablesOf | None:
        """The tables of some of the frames; None where headers are none."""
        if self.cls is None or self.fields is None:
            return None
        return TablesOf(self.cls, self.has[rows], self.fields.take(rows[self.has]))


def read_headers(cls: type[Table] | None, data: bytes, starts: Integers, envelopes: Envelopes) -> Headers:
    """Read the headers that begin at these places: tables of `cls`, or bytes of any kind."""
    has = envelopes.header_length > 0
    is_read = np.ones(len(has), np.bool_)
    starts, lengths = starts[has], envelopes.header_length[has]
    if cls is None:
        raw = Struct({"raw_hex": _hex(starts, lengths)}, len(starts))
        return Headers(Sparse(raw, has), has, is_read)
    fields, is_read[has] = read_tables(cls, data, starts, starts + lengths)
    is_read &= ~has | (envelopes.header_format == FLATBUFFERS)
    tables = Struct({"table": _always(cls.__name__, fields.count), "fields": fields}, fields.count)
    return Headers(Sparse(tables, has), has, is_read, cls, fields)


# -- fields ------------------------------------------------------------------------------------------------------------


def group_of(frames: Frames, envelopes: Envelopes, kind: Kind, kept: Flags, reply_to: Integers) -> Group:
    """Return the kept frames of a kind; their columns are those of the form of a frame."""
    rows = kind.rows[kept]
    mine, is_all = envelopes.take(rows), bool(kept.all())
    form = form_of(
        total=frames.ends[rows] - frames.starts[rows],
        opcode=kind.operation.code,
        name=kind.operation.name,
        flags=mine.flags,
        stream_id=mine.stream_id,
        header_format=mine.header_format,
        header_length=mine.header_length,
        payload_length=mine.payload_length,
        checksum=Made(Numbers(mine.checksum), "{:08x}".format),
        header=kind.header if is_all else kind.header.take(kept),
        payload=kind.payload if is_all else kind.payload.take(kept),
    )
    columns = {name: _column(value, len(rows)) for name, value in form.items()}
    return Group(None, kind.operation.name, rows, columns, reply_to[rows])


def _column(value: Any, count: int) -> Column:
    """A column of what the form of many frames has in one place: one value for all, an array, or a column as it is."""
    if isinstance(value, np.ndarray):
        return Numbers(value)
    if isinstance(value, int):
        return Numbers(np.full(count, value))
    return _always(value, count) if isinstance(value, str) else value


def _hex(starts: Integers, lengths: Integers) -> Made:
    return Made(Spans(starts, lengths, is_text=False), bytes.hex)


def _always(value: Any, count: int) -> Choice:
    return Choice(np.zeros(count, np.int64), (value,))
