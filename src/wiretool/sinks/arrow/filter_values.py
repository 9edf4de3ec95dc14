"""What a path of a filter expression leads to in the frames of one class, as a column."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from wiretool.batches.batch import Batch, Ends, FrameRun
from wiretool.batches.rows import records_of, values_of
from wiretool.codec.columns import Choice, Column, Flags, Integers, Made, Numbers, Spans, Sparse, Struct, Uuids
from wiretool.codec.message import fields_of
from wiretool.codec.types import Data, WireType, uuid_text
from wiretool.filter.history import History, Steps
from wiretool.filter.values import address_part
from wiretool.protocols.base.columns import NO_REPLY, Group
from wiretool.records import Record
from wiretool.sinks.arrow.arrays import hex_of, spans_of

#: Where what is written in hex is taken from an array of all data in hex; text has 32-bit offsets.
HEX_BYTES_MAX = 1 << 29
#: Of two times below this, either side of the epoch, the difference fits 64 bits.
TIME_NS_MAX = 1 << 62


@dataclass(frozen=True, slots=True)
class Same:
    """One value for every row, in JSON form."""

    value: Any


@dataclass(frozen=True, slots=True)
class Codes:
    """Values that come again, in JSON form; row i has `values[codes[i]]`, None where the code is -1."""

    codes: Integers
    values: Sequence[Any]


@dataclass(frozen=True, slots=True)
class Plain:
    """Numbers, truths or text as an array: int64, double, bool or string, null where there is none."""

    array: pa.Array


@dataclass(frozen=True, slots=True)
class Each:
    """A value for every row, in JSON form."""

    values: Sequence[Any]


Values = Same | Codes | Plain | Each


@dataclass(slots=True)
class Rows:
    """Frames of one class in a run, all or those `picked`, and their values by path."""

    run: FrameRun
    group: Group
    history: History
    #: The data of the run in hex; shared by all groups of a run, made when it is asked for.
    in_hex: list[pa.Buffer]
    picked: Integers | None = None

    def __len__(self) -> int:
        return len(self.group.rows if self.picked is None else self.picked)

    def taken(self, kept: Integers) -> "Rows":
        """Some of them, by their places among these."""
        picked = kept if self.picked is None else self.picked[kept]
        return Rows(self.run, self.group, self.history, self.in_hex, picked)

    def records(self) -> list[Record]:
        """The records of the frames, in their order."""
        group = self.group
        if self.picked is not None:
            is_picked = np.zeros(len(group.rows), np.bool_)
            is_picked[self.picked] = True
            group = group.take(is_picked)
        return records_of(Batch(0, len(group.rows), [replace(self.run, groups=[group])], ()))

    def at(self, steps: Steps) -> Values | None:
        """What the steps lead to, the same values as `where.getter` has; None where only the records have them."""
        first, rest = steps[0], steps[1:]
        if first == "fields":
            return self._field(str(rest[0]), rest[1:]) if rest else None
        if first == "append":
            return self._append(str(rest[0]), rest[1:]) if rest else self._whole_append()
        if first == "events":
            return Same(None) if self.group.events is None else None
        if first == "packets" and len(rest) == 1:
            return self._packet(rest[0])
        if first == "request":
            return self._of_requests(rest or ("n",))
        if first in ("client", "server") and rest:
            return self._of_ends(lambda ends: address_part(getattr(ends, str(first)), str(rest[0])))
        return None if rest else self._common(str(first))

    @property
    def _rows(self) -> Integers:
        """Their places in the run."""
        return self.group.rows if self.picked is None else self.group.rows[self.picked]

    def _common(self, name: str) -> Values | None:
        """What every frame has."""
        run, rows = self.run, self._rows
        match name:
            case "kind":
                return Same("frame")
            case "connection" | "client" | "server":
                return self._of_ends(lambda ends: getattr(ends, name))
            case "protocol":
                return Same(run.protocol or None)
            case "message":
                return Same(self.group.name or None)
            case "error" | "why" | "left_over":
                return Same(None)
            case "n":
                return Plain(pa.array(run.frames.numbers[rows]))
            case "time_ns":
                return Plain(pa.array(run.times[rows]))
            case "time":
                return self._time()
            case "offset":
                return Plain(pa.array(run.offsets[rows]))
            case "length":
                return Plain(pa.array((run.frames.ends - run.frames.starts)[rows]))
            case "side":
                return Codes(run.frames.is_server[rows].astype(np.int64), ("client", "server"))
            case "reply_to":
                return self._reply_to()
            case "latency":
                return self._latency()
        return None

    def _of_ends(self, value_of: Callable[[Ends], Any]) -> Values:
        """Return what is the same for all frames of a connection."""
        values = [value_of(ends) for ends in self.run.connections]
        return Same(values[0]) if len(values) == 1 else Codes(self.run.connection_of[self._rows], values)

    def _time(self) -> Values:
        """Seconds since the first record: ns as double by 1e9, which is how Python divides these too."""
        times = self.run.times[self._rows]
        first = self.history.first_ns(int(times[0]))
        if max(abs(first), abs(int(times.min())), abs(int(times.max()))) >= TIME_NS_MAX:
            return Each([(time_ns - first) / 1e9 for time_ns in times.tolist()])
        return Plain(pa.array((times - first).astype(np.float64) / 1e9))

    def _replies(self) -> Integers | None:
        """Numbers of their requests, NO_REPLY where there is none."""
        reply_to = self.group.reply_to
        return reply_to if reply_to is None or self.picked is None else reply_to[self.picked]

    def _of_requests(self, steps: Steps) -> Values:
        """A value of the request of each of them."""
        reply_to = self._replies()
        if reply_to is None:
            return Same(None)
        of = self.history.requests[steps].of
        pairs = zip(self.run.frames.numbers[self._rows].tolist(), reply_to.tolist(), strict=True)
        return Each([None if request == NO_REPLY else of(n, request) for n, request in pairs])

    def _latency(self) -> Values:
        """Seconds from the request, as `where.getter` has them."""
        requested = self._of_requests(("time_ns",))
        if not isinstance(requested, Each):
            return requested
        pairs = zip(requested.values, self.run.times[self._rows].tolist(), strict=True)
        latencies = [None if begin_ns is None else (time_ns - begin_ns) / 1e9 for begin_ns, time_ns in pairs]
        return Plain(pa.array(latencies, pa.float64()))

    def _reply_to(self) -> Values:
        reply_to = self._replies()
        if reply_to is None:
            return Same(None)
        return Plain(pa.array(reply_to, mask=reply_to == NO_REPLY))

    def _packet(self, which: str | int) -> Values:
        if which not in (0, 1):
            return Same(None)
        packets = self.run.last_packets if which else self.run.first_packets
        return Plain(pa.array(packets[self._rows]))

    def _field(self, name: str, rest: Steps) -> Values | None:
        column, cls = self.group.columns.get(name), self.group.cls
        if cls is None:
            return Same(None) if column is None else self._values(column, None, rest)
        wire = next((each.wire for each in fields_of(cls) if each.name == name), None)
        if wire is None:
            return Same(None)
        return None if column is None else self._values(column, wire, rest)

    def _append(self, name: str, rest: Steps) -> Values | None:
        if self.group.append is None or name not in self.group.append:
            return Same(None)
        return self._values(self.group.append[name], None, rest)

    def _whole_append(self) -> Values | None:
        return Same(None) if self.group.append is None else None

    def _values(self, column: Column, wire: WireType | None, rest: Steps) -> Values:
        """A column in JSON form (`wire` says how; without, the values are that already), or what is inside it."""
        found, rest = (column, rest) if wire is not None else _descended(column, rest)
        if found is None:
            return Same(None)
        return self._converted(found if self.picked is None else found.take(self.picked), wire, rest)

    def _converted(self, column: Column, wire: WireType | None, rest: Steps) -> Values:
        match column:
            case Numbers(values, has) if not rest and values.dtype.kind in "bi":
                whole = values if values.dtype.kind == "b" else values.astype(np.int64, copy=False)
                return Plain(pa.array(whole, mask=None if has is None else ~has))
            case Spans() | Made(Spans()) if not rest:
                text = self._text(column, wire)
                if text is not None:
                    return text
            case Uuids(raw) if not rest:
                return _uuids(raw)
            case Choice(codes, choices):
                return Codes(codes, [_inside(_json(value, wire), rest) for value in choices])
            case Sparse(inner, has):
                return _spread(self._converted(inner, wire, rest), has)
        return Each([_inside(_json(value, wire), rest) for value in values_of(column, self.run.frames.data)])

    def _text(self, column: Spans | Made, wire: WireType | None) -> Values | None:
        """Text, or bytes in hex, as an array; None for what is neither."""
        data, is_hex = self.run.frames.data, isinstance(wire, Data)
        if isinstance(column, Made):
            is_hex, made = column.make is bytes.hex, column.column
            assert isinstance(made, Spans), "the argument"
            column = made
        if column.is_text and not is_hex:
            return Plain(spans_of(data, column.starts, column.lengths, pa.string()))
        if column.is_text or not is_hex or len(data) > HEX_BYTES_MAX:
            return None
        if not self.in_hex:
            self.in_hex.append(hex_of(data))
        return Plain(spans_of(self.in_hex[0], 2 * column.starts, 2 * column.lengths, pa.string()))


def _descended(column: Column, steps: Steps) -> tuple[Column | None, Steps]:
    """The column inside structures to which the first steps lead, None where there is none; and the other steps."""
    while steps:
        match column:
            case Struct(columns):
                inner = columns.get(str(steps[0]))
            case Sparse(Struct(columns), has):
                inner = columns.get(str(steps[0]))
                inner = None if inner is None else Sparse(inner, has)
            case _:
                break
        if inner is None:
            return None, ()
        column, steps = inner, steps[1:]
    return column, steps


def _spread(values: Values, has: Flags) -> Values:
    """Values of the rows with `has`, among all rows."""
    places = np.where(has, np.cumsum(has) - 1, -1)
    match values:
        case Same(value):
            return Codes(np.where(has, 0, -1), [value])
        case Plain(array):
            return Plain(array.take(pa.array(places, mask=~has)))
        case Codes(codes, choices):
            return Codes(np.append(codes, -1)[places], choices)
        case Each(every):
            return Each([None if place < 0 else every[place] for place in places.tolist()])


def _uuids(raw: Any) -> Values:
    kinds, codes = np.unique(np.ascontiguousarray(raw).view("V16")[:, 0], return_inverse=True)
    return Codes(codes.astype(np.int64), [uuid_text(kind.tobytes()) for kind in kinds])


def _json(value: Any, wire: WireType | None) -> Any:
    return value if wire is None or value is None else wire.to_json(value)


def _inside(value: Any, steps: Steps) -> Any:
    """What is inside a value; None where the steps lead nowhere."""
    for step in steps:
        if isinstance(step, int):
            value = value[step] if isinstance(value, list | tuple) and step < len(value) else None
        else:
            value = value.get(step) if isinstance(value, Mapping) else None
    return value
