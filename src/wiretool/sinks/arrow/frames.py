"""The table of frames: what every record has, one row each, also for gaps, problems and bytes of no protocol."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from wiretool.batches.batch import Batch, FrameRun
from wiretool.batches.rows import values_of
from wiretool.codec.columns import Choice, Column, Flags, Integers, Numbers, Uuids
from wiretool.codec.json_text import json_text
from wiretool.codec.types import uuid_text
from wiretool.protocols.base.columns import NO_REPLY, Group
from wiretool.records import Record
from wiretool.sinks.arrow.arrays import coded_of, distinct_uuids
from wiretool.sinks.arrow.leaves import CODED, plain, whole

#: The values of an append that have a column, as the protocols name them: Pravega's, and the draft's.
APPEND_TEXTS = ("segment", "writer_id", "connection_id")
APPEND_NUMBERS = ("event_number", "event_count", "expected_length", "connection_offset", "request_id", "length")
#: All of it that has none, as a JSON object.
APPEND_REST = "append_rest"

Codes = NDArray[np.int32]
_TIME = pa.timestamp("us")
#: The columns in their order, as they are gathered: text that comes again and again is coded.
SCHEMA = pa.schema(
    [
        ("n", pa.int64()),
        ("kind", CODED),
        ("time", _TIME),
        ("time_ns", pa.int64()),
        ("connection", pa.int64()),
        ("client", CODED),
        ("server", CODED),
        ("side", CODED),
        ("protocol", CODED),
        ("message", CODED),
        ("first_packet", pa.int64()),
        ("last_packet", pa.int64()),
        ("offset", pa.int64()),
        ("length", pa.int64()),
        ("reply_to", pa.int64()),
        ("error", CODED),
        ("why", CODED),
        ("left_over", pa.binary()),
        *((f"append_{name}", CODED) for name in APPEND_TEXTS),
        *((f"append_{name}", pa.int64()) for name in APPEND_NUMBERS),
        (APPEND_REST, CODED),
    ]
)
#: The columns whose values are gathered as codes of words.
_CODED = tuple(field.name for field in SCHEMA if field.type == CODED)


class Gathered:
    """The columns of one batch, put together out of stretches: numbers as they are, text as codes."""

    def __init__(self) -> None:
        self._numbers: dict[str, list[tuple[int, Integers]]] = defaultdict(list)
        self._has: dict[str, list[tuple[int, Flags]]] = defaultdict(list)
        self._codes: dict[str, list[tuple[int, Codes]]] = defaultdict(list)
        self._words: dict[str, dict[str | None, int]] = defaultdict(dict)
        self._left_over: dict[int, bytes] = {}
        self._count = 0

    # -- what comes in -------------------------------------------------------------------------------------------------

    def add_run(self, run: FrameRun) -> None:
        """The frames of a run, group by group."""
        connections = run.numbers_of_connections()
        ends = {
            name: np.array([self._code(name, getattr(each, name)) for each in run.connections], np.int32)
            for name in ("client", "server")
        }
        for group in run.groups:
            self._add_group(run, group, connections, ends)

    def _add_group(self, run: FrameRun, group: Group, connections: Integers, ends: Mapping[str, Codes]) -> None:
        """The frames of a group; `connections` is by frame of the run, codes of `ends` by connection of the run."""
        rows, frames = group.rows, run.frames
        starts = frames.starts[rows]
        self._always("n", frames.numbers[rows])
        self._always("time_ns", run.times[rows])
        self._always("connection", connections[rows])
        self._always("first_packet", run.first_packets[rows])
        self._always("last_packet", run.last_packets[rows])
        self._always("offset", run.offsets[rows])
        self._always("length", frames.ends[rows] - starts)
        for name, text in (
            ("kind", "frame"),
            ("protocol", run.protocol),
            ("message", group.name),
        ):
            # One value for all rows: no memory is filled with it yet.
            self._put_codes(name, np.broadcast_to(np.int32(self._code(name, text or None)), len(rows)))
        owner = run.connection_of[rows]
        for name, codes in ends.items():
            self._put_codes(name, codes[owner] if len(codes) > 1 else np.broadcast_to(codes, len(rows)))
        sides = np.array([self._code("side", "client"), self._code("side", "server")], np.int32)
        self._put_codes("side", sides[frames.is_server[rows].astype(np.int64)])
        if group.reply_to is not None:
            self._put("reply_to", group.reply_to, group.reply_to != NO_REPLY)
        if group.append is not None:
            self._add_append(group.append, frames.data, len(rows))
        self._count += len(rows)

    def _add_append(self, append: Mapping[str, Column], data: bytes, count: int) -> None:
        rest: list[dict[str, Any]] = [{} for _ in range(count)] if append.keys() - _APPENDS else []
        for name, column in append.items():
            key = f"append_{name}"
            if name in APPEND_TEXTS:
                self._put_codes(key, self._codes_of(key, column, data))
            elif name in APPEND_NUMBERS and isinstance(column, Numbers):
                self._put(key, column.values, column.has)
            elif isinstance(column, Choice) and not len(column.values):
                pass  # none has it
            elif name in APPEND_NUMBERS:
                self._put_values(key, values_of(column, data))
            else:
                for left, value in zip(rest, values_of(column, data), strict=True):
                    left[name] = value
        if rest:
            self._put_texts(APPEND_REST, (json_text(left) for left in rest))

    def add_records(self, records: Sequence[Record]) -> None:
        """Records of any kind."""
        for name, number in _RECORD_NUMBERS.items():
            self._always(name, np.fromiter(map(number, records), np.int64, len(records)))
        for name, text in _RECORD_TEXTS.items():
            self._put_texts(name, map(text, records))
        self._put_values("reply_to", [record.reply_to for record in records])
        for index, record in enumerate(records):
            if record.left_over:
                self._left_over[self._count + index] = record.left_over
        if any(record.append is not None for record in records):
            self._add_appends([record.append or {} for record in records])
        self._count += len(records)

    def _add_appends(self, appends: Sequence[Mapping[str, Any]]) -> None:
        rest = [{name: value for name, value in append.items() if not _has_column(name, value)} for append in appends]
        for name in APPEND_TEXTS:
            values = (
                append.get(name) if name not in left else None for append, left in zip(appends, rest, strict=True)
            )
            self._put_texts(f"append_{name}", values)
        for name in APPEND_NUMBERS:
            numbers = [
                append.get(name) if name not in left else None for append, left in zip(appends, rest, strict=True)
            ]
            self._put_values(f"append_{name}", numbers)
        self._put_texts(APPEND_REST, (json_text(left) if left else None for left in rest))

    # -- stretches -----------------------------------------------------------------------------------------------------

    def _always(self, name: str, values: Integers) -> None:
        self._numbers[name].append((self._count, values))

    def _put(self, name: str, values: Integers, has: Flags | None) -> None:
        """Numbers of the stretch that begins here; of one that has none of that name nothing is put."""
        self._has[name].append((self._count, np.ones(len(values), np.bool_) if has is None else has))
        self._always(name, values)

    def _put_values(self, name: str, values: Sequence[int | None]) -> None:
        has = np.fromiter((value is not None for value in values), np.bool_, len(values))
        if has.any():
            self._put(name, np.fromiter((value or 0 for value in values), np.int64, len(values)), has)

    def _put_codes(self, name: str, codes: Codes) -> None:
        self._codes[name].append((self._count, codes))

    def _put_texts(self, name: str, texts: Iterable[str | None]) -> None:
        self._put_codes(name, np.array([self._code(name, text) for text in texts], np.int32))

    def _code(self, name: str, text: str | None) -> int:
        if text is None:
            return -1
        words = self._words[name]
        return words.setdefault(text, len(words))

    def _codes_of(self, name: str, column: Column, data: bytes) -> Codes:
        if isinstance(column, Choice):
            table = np.array([*(self._code(name, value) for value in column.values), -1], np.int32)
            codes: Codes = table[column.codes]
            return codes
        if isinstance(column, Uuids):
            kinds, indices = distinct_uuids(column.raw)
            return np.array([self._code(name, uuid_text(each.tobytes())) for each in kinds], np.int32)[indices]
        return np.array([self._code(name, value) for value in values_of(column, data)], np.int32)

    # -- what comes out ------------------------------------------------------------------------------------------------

    def table(self) -> pa.Table:
        """All rows in the order of their numbers."""
        numbers = np.concatenate([values for _, values in self._numbers["n"]])
        #: The place of each row in that order.
        self._places = _places_of(numbers)
        arrays = [self._array(field) for field in SCHEMA]
        return pa.Table.from_arrays(arrays, schema=SCHEMA)

    def _array(self, field: pa.Field) -> pa.Array:
        name = field.name
        if name == "time":
            return pa.array(self._placed(self._numbers["time_ns"]) // 1000).view(_TIME)
        if name == "left_over":
            return self._left_overs()
        if name in _CODED:
            return _coded(self._codes_in_order(self._codes[name]), list(self._words[name]))
        if name not in self._numbers:
            return pa.nulls(self._count, field.type)
        values = self._placed(self._numbers[name])
        has = self._placed(self._has[name], np.bool_) if name in self._has else np.True_
        return pa.array(values, mask=None if has.all() else ~has)

    def _codes_in_order(self, parts: Sequence[tuple[int, Codes]]) -> Codes:
        """The code of each row, -1 where no stretch has one."""
        values = {int(codes[0]) if len(codes) and codes.strides == (0,) else None for _, codes in parts}
        if not parts or (
            None not in values and len(values) == 1 and sum(len(codes) for _, codes in parts) == self._count
        ):
            return np.full(self._count, values.pop() if parts else -1, np.int32)
        codes: Codes = self._placed(parts, np.int32, -1)
        return codes

    def _placed(self, parts: Sequence[tuple[int, Any]], kind: Any = np.int64, missing: int = 0) -> Any:
        """The values of all parts in order, `missing` where none has one."""
        is_whole = sum(len(values) for _, values in parts) == self._count
        out = np.empty(self._count, kind) if is_whole else np.full(self._count, missing, kind)
        for at, values in parts:
            stretch = slice(at, at + len(values))
            out[stretch if self._places is None else self._places[stretch]] = values
        return out

    def _left_overs(self) -> pa.Array:
        if not self._left_over:
            return pa.nulls(self._count, pa.binary())
        values: list[bytes | None] = [None] * self._count
        for row, left_over in self._left_over.items():
            values[row if self._places is None else int(self._places[row])] = left_over
        return pa.array(values, pa.binary())


def _places_of(numbers: Integers) -> Integers | None:
    """Return the place of each number among all of them in order; None where they are in order."""
    if (numbers[1:] > numbers[:-1]).all():
        return None
    places: Integers = numbers - numbers.min()
    if places.max() + 1 == len(numbers):  # as in every batch of which no record was filtered out
        return places
    places = np.empty(len(numbers), np.int64)
    places[np.argsort(numbers, kind="stable")] = np.arange(len(numbers))
    return places


_APPENDS = {*APPEND_TEXTS, *APPEND_NUMBERS}
_RECORD_NUMBERS: Mapping[str, Callable[[Record], int]] = {
    "n": lambda record: record.n,
    "time_ns": lambda record: record.time_ns,
    "connection": lambda record: record.connection,
    "first_packet": lambda record: record.packets[0],
    "last_packet": lambda record: record.packets[1],
    "offset": lambda record: record.offset,
    "length": lambda record: record.length,
}
_RECORD_TEXTS: Mapping[str, Callable[[Record], str | None]] = {
    "kind": lambda record: record.kind,
    "client": lambda record: record.client,
    "server": lambda record: record.server,
    "side": lambda record: record.side,
    "protocol": lambda record: record.protocol or None,
    "message": lambda record: record.message or None,
    "error": lambda record: record.error or None,
    "why": lambda record: record.why or None,
}


def frame_table(batch: Batch) -> pa.Table:
    """One row for each record of a batch, in order; there is at least one."""
    gathered = Gathered()
    for run in batch.runs:
        gathered.add_run(run)
    if batch.records:
        gathered.add_records(batch.records)
    return gathered.table()


def _coded(codes: Codes, words: Sequence[str | None]) -> pa.Array:
    """Words by their codes. Text from the wire may hold half a surrogate pair, which has no UTF-8: it is escaped."""
    return coded_of(codes, [word if word is None else utf8(word) for word in words])


def utf8(text: str) -> str:
    """The text, with an escape for what has no form in UTF-8."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def _has_column(name: str, value: Any) -> bool:
    """Whether a value of an append has its place in a column."""
    if value is None and name in _APPENDS:
        return True
    if name in APPEND_TEXTS:
        return isinstance(value, str)
    try:
        return name in APPEND_NUMBERS and whole(value) == value
    except ValueError:
        return False


def readers(schema: pa.Schema) -> pa.Schema:
    """A schema as readers of the files see it."""
    return pa.schema([(field.name, plain(field.type)) for field in schema])
