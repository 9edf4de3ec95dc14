"""Many frames of a connection at once: envelopes, headers, payloads and pairs as arrays, what is odd one by one.

A frame is odd when something is wrong in it, or when what it says changes more than which requests are open.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, takewhile
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np

from wiretool import limits
from wiretool.codec.columns import Choice, Column, Flags, Integers, Made, Numbers, Spans, Sparse, Struct
from wiretool.codec.flatbuffers import Table
from wiretool.codec.flatbuffers_columns import gather, read_tables
from wiretool.codec.hops import Hops, Prefix, hop
from wiretool.codec.message import Side, fields_of
from wiretool.protocols.bulk import NO_REPLY, BulkConversation, Frames, Group
from wiretool.protocols.sbp.bulk_pairs import Pairs
from wiretool.protocols.sbp.bulk_payloads import Batches, read_entries
from wiretool.protocols.sbp.forms import form_of
from wiretool.protocols.sbp.framing import FIXED_BYTES, LENGTH_BYTES, MAGIC
from wiretool.protocols.sbp.messages import (
    APPEND,
    CHECKSUM_BYTES,
    FETCH,
    FLATBUFFERS,
    GOAWAY,
    RESPONSE,
    SEAL_RANGE,
    SYSTEM_ERROR,
    Operation,
    SbpFrame,
)
from wiretool.protocols.sbp.session import SbpConversation

_PREFIX = Prefix(LENGTH_BYTES, 0, LENGTH_BYTES, limits.SBP_FRAME_LENGTH_MIN, limits.SBP_FRAME_LENGTH_MAX)
#: What ends or turns a conversation, and what is held against the kind of server.
_ODD = (GOAWAY, SEAL_RANGE)
#: Frames that are worth arrays.
FRAMES_MIN = 16


def _envelope() -> np.dtype[Any]:
    """The fixed bytes of a frame, as it is declared up to its header."""
    fixed = takewhile(lambda field: field.wire.form, fields_of(SbpFrame))
    front = [("frame_length", ">u4"), ("magic", "u1")]
    return np.dtype([*front, *((field.name, ">" + field.wire.form) for field in fixed), ("header_length", "u1", 3)])


_ENVELOPE = _envelope()


@dataclass(frozen=True, slots=True)
class Envelopes:
    """What all frames say of themselves, a row a frame."""

    opcode: Integers
    flags: Integers
    stream_id: Integers
    header_format: Integers
    header_length: Integers
    payload_start: Integers
    payload_length: Integers
    checksum: Integers

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


def _is_whole(data: bytes, envelopes: Envelopes) -> Flags:
    """Which frames are as long as they say, with the checksum of their payload."""
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


class SbpBulk(BulkConversation):
    """Requests and responses of one connection."""

    def __init__(self, conversation: SbpConversation) -> None:
        self._conversation = conversation
        self._pairs = Pairs(conversation)

    def is_ready(self) -> bool:
        return True

    def split(self, side: Side, data: bytes, start: int, end: int, guesses: Integers) -> Hops:
        hops = hop(data, start, end, _PREFIX, guesses)
        begins = np.append(hops.starts, hops.end) + LENGTH_BYTES
        magics = np.frombuffer(data, np.uint8)[begins[begins < end]]
        return hops._replace(is_broken=hops.is_broken or bool((magics != MAGIC).any()))

    def read(self, frames: Frames, read_one: Callable[[int], None]) -> Sequence[Group]:
        first, count = 0, len(frames.starts)
        while first < count and (not self._conversation.is_decided or count - first < FRAMES_MIN):
            read_one(first)
            first += 1
        if first == count:
            return []
        envelopes = envelopes_of(frames)
        kinds = self._kinds(frames, envelopes, first)
        is_bulk = np.zeros(count, np.bool_)
        for kind in kinds:
            is_bulk[kind.rows] = True
        reply_to = self._in_turn(frames, envelopes, is_bulk, first, read_one)
        return [_group(frames, envelopes, kind, is_bulk[kind.rows], reply_to) for kind in kinds]

    def _in_turn(
        self, frames: Frames, envelopes: Envelopes, is_bulk: Flags, first: int, read_one: Callable[[int], None]
    ) -> Integers:
        """What each frame answers; those that are read one by one are no longer bulk."""
        reply_to = np.full(len(is_bulk), NO_REPLY, np.int64)
        for start, stop in _stretches(is_bulk, first):
            at = start
            while at < stop:
                if is_bulk[at]:
                    at = self._pairs.read(frames, envelopes, at, stop, reply_to)
                if at < stop:
                    is_bulk[at] = False
                    read_one(at)
                    at += 1
        return reply_to

    # -- what frames carry -----------------------------------------------------------------------------------------

    def _kinds(self, frames: Frames, envelopes: Envelopes, first: int) -> list[Kind]:
        keys = envelopes.opcode << 8 | envelopes.flags & (RESPONSE | SYSTEM_ERROR)
        is_whole = _is_whole(frames.data, envelopes)
        is_whole[:first] = False
        kinds = []
        for key in np.unique(keys[is_whole]).tolist():
            frame = SbpFrame(opcode=key >> 8, flags=key & 0xFF)
            operation = self._conversation.schema.operation(frame.opcode)
            if operation is not None and frame.opcode != 0 and frame.opcode not in _ODD:
                rows = np.flatnonzero(is_whole & (keys == key))
                kinds.append(self._kind(frames, envelopes, operation, frame, rows))
        return kinds

    def _kind(
        self, frames: Frames, envelopes: Envelopes, operation: Operation, frame: SbpFrame, rows: Integers
    ) -> Kind:
        """Frames of an operation, with the flags of `frame`: those that are read whole."""
        schema, mine = self._conversation.schema, envelopes.take(rows)
        has_payload = mine.payload_length > 0
        header = _headers(schema.header_table(frame), frames.data, frames.starts[rows] + FIXED_BYTES, mine)
        is_read = header.is_read & (header.has | (not schema.wants_header(frame)))
        if frame.opcode == APPEND and not frame.is_response:
            is_read &= has_payload
        starts, lengths = mine.payload_start[has_payload], mine.payload_length[has_payload]
        payload: dict[str, Column] = {"hex": _hex(starts, lengths)}
        batches = self._batches(frame, header.tables(has_payload), frames.data, starts, starts + lengths)
        if batches is not None:
            is_read[has_payload] &= batches.is_read
            payload[schema.batches_key] = batches.column
        payloads = Sparse(Struct(payload, len(starts)), has_payload)
        if is_read.all():
            return Kind(operation, rows, header.column, payloads)
        return Kind(operation, rows[is_read], header.column.take(is_read), payloads.take(is_read))

    def _batches(
        self, frame: SbpFrame, headers: "TablesOf | None", data: bytes, starts: Integers, ends: Integers
    ) -> Batches | None:
        """The batches in payloads, if frames of this kind carry such; `headers` are the tables in front of them."""
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

    def tables(self, rows: Flags) -> TablesOf | None:
        """The tables of some of the frames; None where headers are none."""
        if self.cls is None or self.fields is None:
            return None
        return TablesOf(self.cls, self.has[rows], self.fields.take(rows[self.has]))


def _headers(cls: type[Table] | None, data: bytes, starts: Integers, envelopes: Envelopes) -> Headers:
    """The headers that begin at these places: tables of `cls`, or bytes of any kind."""
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


def _group(frames: Frames, envelopes: Envelopes, kind: Kind, kept: Flags, reply_to: Integers) -> Group:
    """The frames of a kind that were kept, their columns those of the form of a frame."""
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


def _stretches(flags: Flags, first: int) -> Iterator[tuple[int, int]]:
    """The stretches of equal flags from `first` on, one after the other."""
    bounds = np.flatnonzero(np.diff(flags[first:])) + first + 1
    yield from pairwise([first, *bounds.tolist(), len(flags)])
