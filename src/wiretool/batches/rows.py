"""Batches as Records again: for what looks at one record at a time, and to hold the column path to the row path."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from operator import attrgetter
from typing import Any

from wiretool.batches.batch import Batch, FrameRun
from wiretool.codec.columns import (
    Choice,
    Column,
    Columns,
    Lists,
    Made,
    Numbers,
    Objects,
    Spans,
    Sparse,
    Struct,
    Uuids,
)
from wiretool.codec.types import uuid_text
from wiretool.protocols.base.columns import NO_REPLY, Events, Group
from wiretool.records import Record


def batch_of(records: Sequence[Record]) -> Batch:
    """Records that were read one by one as a batch; there is at least one, in order."""
    return Batch(records[0].n, len(records), (), records)


def records_of(batch: Batch) -> list[Record]:
    """Every record of a batch, in order."""
    records = list(batch.records)
    for run in batch.runs:
        for group in run.groups:
            records += _records(run, group)
    records.sort(key=attrgetter("n"))
    return records


def values_of(column: Column, data: bytes) -> list[Any]:
    """The values of a column as a message has them; `data` are the bytes that its spans are of."""
    match column:
        case Numbers(values, None):
            return list(values.tolist())
        case Numbers(values, has):
            assert has is not None, "the case before this one"
            return [value if is_there else None for value, is_there in zip(values.tolist(), has.tolist(), strict=True)]
        case Spans(starts, lengths, is_text):
            spans = zip(starts.tolist(), (starts + lengths).tolist(), strict=True)
            raw = [data[start:end] for start, end in spans]
            return [each.decode("ascii") for each in raw] if is_text else list(raw)
        case Uuids(raw_ids):
            return [uuid_text(raw_ids[row].tobytes()) for row in range(len(raw_ids))]
        case Choice(codes, values):
            return [None if code < 0 else values[code] for code in codes.tolist()]
        case Objects(values):
            return list(values)
        case Made(inner, make):
            return [make(value) for value in values_of(inner, data)]
        case Sparse(inner, has):
            found = iter(values_of(inner, data))
            return [next(found) if is_there else None for is_there in has.tolist()]
        case Struct(columns, count):
            return _structs(columns, data, count)
        case Lists(counts, items):
            found = iter(values_of(items, data))
            return [list(islice(found, count)) for count in counts.tolist()]


def _structs(columns: Columns, data: bytes, count: int) -> list[dict[str, Any]]:
    """Structures without the values that they do not have."""
    if not columns:
        return [{} for _ in range(count)]
    names = tuple(columns)
    rows = zip(*(values_of(column, data) for column in columns.values()), strict=True)
    return [{name: value for name, value in zip(names, row, strict=True) if value is not None} for row in rows]


def _records(run: FrameRun, group: Group) -> Iterator[Record]:
    rows, data = group.rows, run.frames.data
    columns = [values_of(column, data) for column in group.columns.values()]
    names = tuple(group.columns)
    appends = _forms(group.append, data, len(rows))
    events = _events(group.events, data, len(rows))
    replies = [None] * len(rows) if group.reply_to is None else group.reply_to.tolist()
    starts, ends = run.frames.starts[rows].tolist(), run.frames.ends[rows].tolist()
    connections = [run.connections[index] for index in run.connection_of[rows].tolist()]
    first, last = run.first_packets[rows].tolist(), run.last_packets[rows].tolist()
    numbers, times, offsets = run.frames.numbers[rows].tolist(), run.times[rows].tolist(), run.offsets[rows].tolist()
    for index, row in enumerate(rows.tolist()):
        values = {name: column[index] for name, column in zip(names, columns, strict=True)}
        fields = values if group.cls is None else group.cls(**values)
        yield Record(
            n=numbers[index],
            kind="frame",
            time_ns=times[index],
            connection=connections[index].connection,
            client=connections[index].client,
            server=connections[index].server,
            side=run.side(row),
            packets=(first[index], last[index]),
            offset=offsets[index],
            length=ends[index] - starts[index],
            protocol=run.protocol,
            message=group.name,
            fields=fields,
            reply_to=None if replies[index] in (None, NO_REPLY) else replies[index],
            append=appends[index],
            events=events[index],
            raw=data[starts[index] : ends[index]],
        )


def _forms(columns: Mapping[str, Column] | None, data: bytes, count: int) -> Sequence[dict[str, Any] | None]:
    if columns is None:
        return [None] * count
    values = [values_of(column, data) for column in columns.values()]
    return [dict(zip(columns, row, strict=True)) for row in zip(*values, strict=True)]


def _events(events: Events | None, data: bytes, count: int) -> Sequence[list[Mapping[str, Any]] | None]:
    """The events of each row, in their JSON form; a value that an event does not have is left out."""
    if events is None:
        return [None] * count
    out: list[list[Mapping[str, Any]]] = [[] for _ in range(count)]
    names = tuple(events.columns)
    columns = [values_of(column, data) for column in events.columns.values()]
    bodies = values_of(events.body, data)
    for row, body, *values in zip(events.rows.tolist(), bodies, *columns, strict=True):
        form = {name: value for name, value in zip(names, values, strict=True) if value is not None}
        out[row].append({**form, "data": body.hex()})
    return out
