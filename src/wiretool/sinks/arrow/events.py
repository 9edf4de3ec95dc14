"""The table of events: each one inside an append or a record batch, with the number of the frame that it came in."""

import zlib
from bisect import bisect_left
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from wiretool.batches.batch import Batch, FrameRun
from wiretool.batches.rows import records_of, values_of
from wiretool.codec.columns import (
    NO_INTEGERS,
    Column,
    Flags,
    Integers,
    Lists,
    Made,
    Numbers,
    Spans,
    Sparse,
    Struct,
    Uuids,
    begins_of,
)
from wiretool.codec.message import Message
from wiretool.protocols.base.columns import Events, Group
from wiretool.protocols.base.events import NO_EVENTS, EventLayout
from wiretool.protocols.base.registry import PROTOCOLS
from wiretool.records import Record
from wiretool.sinks.arrow.arrays import coded_of, coded_uuids_of, numbers_of
from wiretool.sinks.arrow.frames import utf8
from wiretool.sinks.arrow.leaves import CODED
from wiretool.sinks.arrow.messages import in_order

#: As they are gathered. `offset` is that of the event's first byte in the stream of its side, null where its bytes do
#: not stand in one piece in the frame; `crc32` is zlib's, of those bytes.
SCHEMA = pa.schema(
    [
        ("n", pa.int64()),
        ("connection", pa.int64()),
        ("writer", CODED),
        ("event_number", pa.int64()),
        ("offset", pa.int64()),
        ("length", pa.int64()),
        ("crc32", pa.int64()),
    ]
)
#: What names the writer in the appends of a protocol.
WRITERS = ("writer_id", "connection_id")


class EventTables:
    """Makes the tables of batch after batch: an append may end in another batch than the one its block was in."""

    schema = SCHEMA

    def __init__(self) -> None:
        self._blocks = Blocks()

    def table(self, batch: Batch) -> pa.Table | None:
        """The events of a batch, in the order of their frames; None where it has none."""
        self._blocks.enter(batch)
        tables = [
            table
            for run in batch.runs
            for group in run.groups
            if (table := _of_group(run, group, self._blocks)) is not None and table.num_rows
        ]
        rows = [row for record in batch.records for row in _rows_of(record, self._blocks)]
        if rows:
            tables.append(_of_rows(rows))
        self._blocks.leave()
        return in_order(tables) if tables else None

    def give(self, connections: Collection[int]) -> Mapping[int, "Block"]:
        """The open blocks of these connections, for other tables to `take`; they are kept here no longer."""
        return self._blocks.give(connections)

    def take(self, blocks: Mapping[int, "Block"]) -> None:
        """Go on with open blocks of connections that nothing is known of here."""
        self._blocks.take(blocks)


# -- columns -------------------------------------------------------------------------------------------------------


def _of_group(run: FrameRun, group: Group, blocks: "Blocks") -> pa.Table | None:
    events = group.events
    if events is None and group.cls is not None:
        return None
    events = events or _in_batches(group)
    if events is None or not isinstance(events.body, Spans):
        # Events of which some were cut, or what has no form as arrays: each is looked for by itself.
        records = records_of(Batch(0, 0, [replace(run, groups=[group])], ()))
        rows = [row for record in records for row in _rows_of(record, blocks)]
        return _of_rows(rows) if rows else None
    frame_rows = group.rows[events.rows]
    starts, lengths = events.body.starts, events.body.lengths
    offset: pa.Array = pa.nulls(len(frame_rows), pa.int64())
    if len(starts) and group.events is not None:
        offset = _offsets(run, bool(run.frames.is_server[frame_rows[0]]), starts, lengths)
    columns = [
        numbers_of(run.frames.numbers[frame_rows]),
        numbers_of(run.numbers_of_connections(frame_rows)),
        _writers(group, events.rows, run.frames.data),
        _event_numbers(events.columns.get("event_number"), len(frame_rows), run.frames.data),
        offset,
        numbers_of(lengths),
        numbers_of(_checksums(run.frames.data, starts, lengths)),
    ]
    return pa.Table.from_arrays(columns, schema=SCHEMA)


def _in_batches(group: Group) -> Events | None:
    """What the batches in payloads hold, as `_batched` has it; None where that does not show without a look at each."""
    match group.columns.get("payload"):
        case Sparse(Struct({"hex": Made(Spans() as whole), **more}), has) if len(more) < 2:
            if not more:
                return Events(NO_INTEGERS, {}, whole.take(NO_INTEGERS))
            (batches,) = more.values()
        case _:
            return None
    match batches:
        case Lists(counts, Struct({"base_offset": Numbers(base, None), "records": Lists(inner, Struct(records))})):
            rows, base = np.repeat(_repeated(has, counts), inner), np.repeat(base, inner)
            match records:
                case {"offset_delta": Numbers(delta, None), "body": Made(Spans() as body)}:
                    return Events(rows, {"event_number": _sums(base, delta)}, body)
        case Lists(counts, Struct({"meta": Struct({"base_offset": Numbers() as numbers}), "payload": Made(body)})):
            return Events(_repeated(has, counts), {"event_number": numbers}, body)
    return None


def _repeated(has: Flags, counts: Integers) -> Integers:
    """The rows that have a payload, each as often as it has batches."""
    return np.repeat(np.flatnonzero(has), counts)


def _sums(base: Integers, delta: Integers) -> Numbers:
    """The numbers of events, as far as they fit 64 bits."""
    numbers = base + delta
    fits = (numbers >= base) == (delta >= 0)
    return Numbers(numbers, None if fits.all() else fits)


def _offsets(run: FrameRun, is_server: bool, starts: Integers, lengths: Integers) -> pa.Array:
    """Where in the stream of their side events are that lie within one frame each."""
    frames = run.frames
    mine = np.flatnonzero(frames.is_server == is_server)
    if len(run.connections) > 1:
        mine = mine[np.argsort(frames.starts[mine], kind="stable")]
    row = mine[np.maximum(np.searchsorted(frames.starts[mine], starts, "right") - 1, 0)]
    is_within = (starts >= frames.starts[row]) & (starts + lengths <= frames.ends[row])
    return numbers_of(starts - frames.starts[row] + run.offsets[row], None if is_within.all() else is_within)


def _checksums(data: bytes, starts: Integers, lengths: Integers) -> Integers:
    """The CRC-32 of each span of the data."""
    crc32, view = zlib.crc32, memoryview(data)
    spans = zip(starts.tolist(), (starts + lengths).tolist(), strict=True)
    return np.fromiter((crc32(view[start:end]) for start, end in spans), np.int64, len(starts))


def _writers(group: Group, rows: Integers, data: bytes) -> pa.Array:
    append = group.append or {}
    column = next((append[name] for name in WRITERS if name in append), None)
    if column is None:
        return coded_of(np.full(len(rows), -1), ())
    if isinstance(column, Uuids):
        return coded_uuids_of(column.raw[rows])
    return pa.array(values_of(column.take(rows), data), pa.string()).dictionary_encode()


def _event_numbers(column: Column | None, count: int, data: bytes) -> pa.Array:
    if column is None:
        return pa.nulls(count, pa.int64())
    if isinstance(column, Numbers):
        return numbers_of(column.values, column.has)
    return pa.array(values_of(column, data), pa.int64())


# -- records -------------------------------------------------------------------------------------------------------


class Row(NamedTuple):
    """An event in the order of the columns."""

    n: int
    connection: int
    writer: str | None
    event_number: int | None
    offset: int | None
    length: int
    crc32: int


def _of_rows(rows: Sequence[Row]) -> pa.Table:
    columns = [list(column) for column in zip(*rows, strict=True)]
    arrays = [
        pa.array(column, pa.string()).dictionary_encode() if field.type == CODED else pa.array(column, field.type)
        for field, column in zip(SCHEMA, columns, strict=True)
    ]
    return pa.Table.from_arrays(arrays, schema=SCHEMA)


def _rows_of(record: Record, blocks: "Blocks") -> Iterator[Row]:
    if record.events is not None:
        yield from _rows_of_append(record, record.events, blocks)
    elif isinstance(record.fields, Mapping):
        for number, body in layout_of(record.protocol).batched(record.fields.get("payload")):
            yield Row(record.n, record.connection, None, _held(number), None, len(body), zlib.crc32(body))


def _rows_of_append(record: Record, events: Sequence[Mapping[str, Any]], blocks: "Blocks") -> Iterator[Row]:
    append = record.append or {}
    writer = next((append[name] for name in WRITERS if isinstance(append.get(name), str)), None)
    bodies, layout = [bytes.fromhex(event["data"]) for event in events], layout_of(record.protocol)
    own = _place_of(record, bodies, layout)
    offsets = _following(record.offset + own, bodies, layout) if own is not None else [None] * len(bodies)
    if own is None and (block := blocks.before(record)) is not None:
        offsets = block.places_of(bodies)
    for event, body, offset in zip(events, bodies, offsets, strict=True):
        name, number = None if writer is None else utf8(writer), _held(event.get("event_number"))
        yield Row(record.n, record.connection, name, number, offset, len(body), zlib.crc32(body))


def _held(number: int | None) -> int | None:
    """The number of an event; None where it takes more than 64 bits: it is counted from one that is told."""
    return number if number is not None and -(2**63) <= number < 2**63 else None


def _following(offset: int, bodies: Sequence[bytes], layout: EventLayout) -> list[int | None]:
    """Where events begin of which the first does at `offset`, with a header before each other one."""
    out: list[int | None] = []
    for body in bodies:
        out.append(offset)
        offset += len(body) + layout.header_bytes
    return out


def _place_of(record: Record, bodies: Sequence[bytes], layout: EventLayout) -> int | None:
    """Where in the frame the first of the events begins that stand in it one after the other, each behind its header.

    None where they do not, as when they came in the block before it.
    """
    if not isinstance(record.fields, Message) or not bodies:
        return None
    first = layout.first_body(type(record.fields))
    if first is None:
        return None
    whole = b"".join(layout.framed(body) for body in bodies)
    return first if record.raw.startswith(whole, first - layout.header_bytes) else None


@cache
def layout_of(protocol: str) -> EventLayout:
    """Return where events lie in the frames of a protocol."""
    layout: EventLayout | None = PROTOCOLS[protocol].part("events", EventLayout) if protocol in PROTOCOLS else None
    return layout or NO_EVENTS


# -- blocks --------------------------------------------------------------------------------------------------------


class Block(NamedTuple):
    """A block of appends: the number of its frame, where that is in the stream, and its bytes."""

    n: int
    offset: int
    raw: bytes
    protocol: str

    def places_of(self, bodies: Sequence[bytes]) -> list[int | None]:
        """Where in the stream the events begin that are whole in the block; None for the others."""
        layout = layout_of(self.protocol)
        at, out = layout.block_head, list[int | None]()
        for body in bodies:
            frame = layout.framed(body)
            is_there = self.raw.startswith(frame, at)
            out.append(self.offset + at + layout.header_bytes if is_there else None)
            at = at + len(frame) if is_there else len(self.raw) + 1
        return out


#: Bytes of blocks that are kept for a later batch; of the events in others it is not told where they are.
OPEN_BYTES_MAX = 32 * 1024 * 1024


class Blocks:
    """The blocks of a batch by connection, and those before it that were not ended in it."""

    def __init__(self) -> None:
        self._open: dict[int, Block] = {}
        self._records: dict[int, list[Record]] = {}
        #: Rows of a run, with the number of the first; a connection's are in order and do not overlap.
        self._groups: dict[int, list[tuple[int, FrameRun, Integers]]] = {}
        self._ends: dict[int, int] = {}

    def enter(self, batch: Batch) -> None:
        """The next batch."""
        self._records, self._groups, self._ends = {}, {}, {}
        for record in batch.records:
            if _is(record, layout_of(record.protocol).block) and record.raw:
                self._records.setdefault(record.connection, []).append(record)
            elif _is(record, layout_of(record.protocol).block_end) and record.kind == "frame":
                self._ends[record.connection] = record.n
        for run in batch.runs:
            layout = layout_of(run.protocol)
            for group in run.groups if layout.block is not None else ():
                if group.cls is layout.block:
                    for connection, mine in _by_connection(run, group):
                        first = int(run.frames.numbers[mine[0]])
                        self._groups.setdefault(connection, []).append((first, run, mine))
                elif group.cls is layout.block_end:
                    for connection, mine in _by_connection(run, group):
                        last = int(run.frames.numbers[mine[-1]])
                        self._ends[connection] = max(last, self._ends.get(connection, 0))

    def before(self, record: Record) -> Block | None:
        """The last block of the connection in front of a frame."""
        return self._last(record.connection, record.n)

    def leave(self) -> None:
        """Keep the blocks that may be ended in a later batch."""
        for connection in {*self._open, *self._records, *self._groups}:
            block = self._last(connection, 1 << 62)
            if block is not None and block.n > self._ends.get(connection, 0):
                self._open[connection] = block
            else:
                self._open.pop(connection, None)
        if sum(len(block.raw) for block in self._open.values()) > OPEN_BYTES_MAX:
            self._open.clear()

    def give(self, connections: Collection[int]) -> Mapping[int, Block]:
        """The open blocks of these, which are kept no longer."""
        return {each: self._open.pop(each) for each in connections if each in self._open}

    def take(self, blocks: Mapping[int, Block]) -> None:
        """Open blocks of others."""
        self._open.update(blocks)

    def _last(self, connection: int, n: int) -> Block | None:
        found = [self._open[connection]] if connection in self._open else []
        records = self._records.get(connection, [])
        at = bisect_left(records, n, key=attrgetter("n"))
        if at:
            last = records[at - 1]
            found.append(Block(last.n, last.offset, last.raw, last.protocol))
        groups = self._groups.get(connection, [])
        place = bisect_left(groups, n, key=itemgetter(0))
        if place:
            _, run, mine = groups[place - 1]
            row = mine[int(np.searchsorted(run.frames.numbers[mine], n)) - 1]
            raw = run.frames.data[run.frames.starts[row] : run.frames.ends[row]]
            found.append(Block(int(run.frames.numbers[row]), int(run.offsets[row]), raw, run.protocol))
        return max(found, key=attrgetter("n"), default=None)


def _is(record: Record, cls: type[Message] | None) -> bool:
    return cls is not None and record.message == cls.declaration.name


def _by_connection(run: FrameRun, group: Group) -> Iterator[tuple[int, Integers]]:
    """Yield the number of each connection that has frames in a group, and the rows of these."""
    owner = run.connection_of[group.rows]
    order = np.argsort(owner, kind="stable")
    begins = begins_of(owner[order])
    for start, stop in zip(begins.tolist(), [*begins[1:].tolist(), len(order)], strict=False):
        if stop > start:
            yield run.connections[owner[order[start]]].connection, group.rows[order[start:stop]]
