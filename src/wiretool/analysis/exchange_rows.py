"""What frames are to exchanges, as arrays: who asks, who answers, what about, how much, and what went wrong."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from wiretool.analysis.streams_bulk import numbers_named
from wiretool.analysis.subjects import mention_of
from wiretool.analysis.subjects_bulk import Codes, MentionCodes, alone, distinct
from wiretool.batches.batch import Batch, FrameRun
from wiretool.batches.rows import records_of, values_of
from wiretool.codec.columns import Column, Flags, Integers, Lists, Numbers, Sparse, Struct
from wiretool.codec.message import Side
from wiretool.protocols.base.columns import NO_REPLY, Group
from wiretool.protocols.base.exchanges import Exchanges, value_in
from wiretool.protocols.base.registry import PROTOCOLS
from wiretool.records import Record

#: What a frame is: nothing to exchanges, what is answered at times, what waits for its answer.
NOT_ASKING, MAY_ASK, ASKS = 0, 1, 2
#: Of how many events there are: that is not known.
UNKNOWN = -1


class Source(NamedTuple):
    """A message that one side says on a connection."""

    connection: int
    client: str
    server: str
    protocol: str
    message: str
    side: Side


def exchanges_of(protocol: str) -> Exchanges:
    """What a protocol says of asking and answering."""
    declared = PROTOCOLS.get(protocol)
    return Exchanges() if declared is None else declared.exchanges


@cache
def role_of(protocol: str, message: str, side: Side) -> int:
    """What a message of that name is, where it is no answer."""
    declared = exchanges_of(protocol)
    if (message, side) in declared.asks:
        return ASKS
    return MAY_ASK if (message, side) in declared.may_ask else NOT_ASKING


class FrameRows:
    """The frames of a batch, a row each; `ordered` puts them in the order of connection and number."""

    def __init__(self, batch: Batch, sources: Codes[Source], failures: Codes[str | None]) -> None:
        """Codes are given for where frames are from, and for what went wrong."""
        self.mention_codes = MentionCodes()
        self._sources = sources
        self._failures = failures
        self._parts: dict[str, list[Integers]] = defaultdict(list)
        for run in batch.runs:
            for group in run.groups:
                if len(group.rows):
                    self._add_group(run, group)
        frames = [record for record in batch.records if record.kind == "frame"]
        if frames:
            self._add_records(frames)

    def columns(self) -> Mapping[str, Integers]:
        """All of them by name, ordered; nothing where there are no frames."""
        columns = {name: np.concatenate(parts) for name, parts in self._parts.items()}
        if not columns:
            return {}
        n, connection = columns["n"], columns["connection"]
        is_one = bool((connection == connection[0]).all())
        if is_one and bool((n[1:] > n[:-1]).all()):
            return columns
        order = np.argsort(n, kind="stable") if is_one else np.lexsort((n, connection))
        return {name: column[order] for name, column in columns.items()}

    def _add(self, count: int, **columns: Integers | int) -> None:
        for name, column in columns.items():
            self._parts[name].append(np.broadcast_to(np.asarray(column, np.int64), count))

    # -- columns -------------------------------------------------------------------------------------------------------

    def _add_group(self, run: FrameRun, group: Group) -> None:
        frames, rows = run.frames, group.rows
        size = frames.ends[rows] - frames.starts[rows]
        role: Integers | int = run.code_sides(rows, lambda side: role_of(run.protocol, group.name, side))
        unless = exchanges_of(run.protocol).unless
        if unless in group.columns:
            is_answer = np.array(values_of(group.columns[unless], frames.data), np.bool_)
            role = np.where(is_answer, np.minimum(role, MAY_ASK), role)
        asks = bool(np.any(role != NOT_ASKING))
        mentions = self.mention_codes.of_group(run, group)
        self._add(
            len(rows),
            n=frames.numbers[rows],
            connection=run.numbers_of_connections(rows),
            time_ns=run.times[rows],
            size=_appended(group, size, frames.data) if asks else size,
            source=self._sources_of(run, group),
            role=role,
            subjects=mentions.subjects,
            key_name=mentions.key_name,
            reply=NO_REPLY if group.reply_to is None else group.reply_to,
            events=_events(group, frames.data) if asks else UNKNOWN,
            failure=self._failures_in(run, group),
        )

    def _sources_of(self, run: FrameRun, group: Group) -> Integers:
        """Return where each frame of a group is from, as a code."""
        owner, is_server = run.connection_of[group.rows], run.frames.is_server[group.rows]
        found, of_row = distinct(2 * owner + is_server, 2 * len(run.connections))
        codes = self._sources.all_of(_source(run, group.name, *divmod(code, 2)) for code in found.tolist())
        every: Integers = codes[of_row]
        return every

    def _failures_in(self, run: FrameRun, group: Group) -> Integers | int:
        """What the answers of a group say went wrong: only those are looked at in which it can be so."""
        if group.reply_to is None:
            return 0
        declared = exchanges_of(run.protocol)
        is_suspect = (group.reply_to != NO_REPLY) & _suspects(declared, group)
        codes = np.zeros(len(group.rows), np.int64)
        if is_suspect.any():
            records = records_of(alone(run, group.take(is_suspect)))
            codes[is_suspect] = self._failures.all_of(declared.failure(group.name, each.fields) for each in records)
        return codes

    # -- records -------------------------------------------------------------------------------------------------------

    def _add_records(self, records: Sequence[Record]) -> None:
        rows = zip(*map(self._row_of, records), strict=True)
        names = ("n", "connection", "time_ns", "size", "source", "role", "reply", "events", "failure")
        columns = {name: np.array(row, np.int64) for name, row in zip(names, rows, strict=True)}
        mentions = self.mention_codes.of_each(map(mention_of, records))
        self._add(len(records), **columns, subjects=mentions.subjects, key_name=mentions.key_name)

    def _row_of(self, record: Record) -> tuple[int, ...]:
        declared = exchanges_of(record.protocol)
        role = role_of(record.protocol, record.message, record.side)
        if declared.unless and value_in(record.fields, declared.unless):
            role = min(role, MAY_ASK)
        failure = None if record.reply_to is None else declared.failure(record.message, record.fields)
        where = record.connection, record.client, record.server, record.protocol
        return (
            record.n,
            record.connection,
            record.time_ns,
            _whole(record.append, "length", record.length) if role else record.length,
            self._sources.of(Source(*where, record.message, record.side)),
            role,
            NO_REPLY if record.reply_to is None else record.reply_to,
            _events_of(record) if role else UNKNOWN,
            self._failures.of(failure),
        )


def _source(run: FrameRun, message: str, owner: int, is_server: int) -> Source:
    return Source(*run.connections[owner], run.protocol, message, "server" if is_server else "client")


def _suspects(declared: Exchanges, group: Group) -> Flags:
    """The frames that may say that something went wrong."""
    if group.name in declared.failures:
        return np.ones(len(group.rows), np.bool_)
    is_suspect = np.zeros(len(group.rows), np.bool_)
    for name, fine in declared.fine.items():
        found = numbers_named(group.columns, name)
        if found is None:
            return np.ones(len(group.rows), np.bool_)
        is_suspect[found.rows[~np.isin(found.ids, list(fine))]] = True
    return is_suspect


# -- appends -----------------------------------------------------------------------------------------------------------


def _appended(group: Group, size: Integers, data: bytes) -> Integers:
    """The bytes of each request: of an append those that it stores."""
    if group.append is None or "length" not in group.append:
        return size
    return _numbers(group.append["length"], size, data)


def _events(group: Group, data: bytes) -> Integers | int:
    """The events in each append, as far as they are known."""
    if group.append is not None:
        if "event_count" in group.append:
            return _numbers(group.append["event_count"], np.full(len(group.rows), UNKNOWN), data)
        return UNKNOWN if group.events is None else np.bincount(group.events.rows, minlength=len(group.rows))
    if "payload" not in group.columns or group.cls is not None:
        return UNKNOWN
    counts = _batched_counts(group.columns["payload"])
    if counts is not None:
        return counts
    return np.array([_batched(payload) for payload in values_of(group.columns["payload"], data)], np.int64)


def _numbers(column: Column, default: Integers, data: bytes) -> Integers:
    match column:
        case Numbers(numbers, has):
            return numbers if has is None else np.where(has, numbers, default)
    pairs = zip(values_of(column, data), default.tolist(), strict=True)
    return np.array([value if type(value) is int else other for value, other in pairs], np.int64)


def _batched_counts(payload: Column) -> Integers | None:
    """How many events the batches in payloads hold; None where that takes a look at each."""
    match payload:
        case Sparse(Struct({"hex": _, **more}), has) if len(more) < 2:
            counts = np.full(len(has), UNKNOWN)
            for batches in more.values():
                match batches:
                    case Lists(each, Struct({"records": Lists(inner, _)})):
                        counts[has] = np.bincount(np.repeat(np.arange(len(each)), each), inner, len(each))
                    case Lists(each, Struct()):
                        counts[has] = each
                    case _:
                        return None
            return counts
    return None


def _batched(payload: Any) -> int:
    """The events in the batches of a payload's JSON form."""
    lists = [each for each in payload.values() if isinstance(each, list)] if isinstance(payload, Mapping) else []
    return sum(len(batch.get("records", (None,))) for each in lists for batch in each) if lists else UNKNOWN


def _events_of(record: Record) -> int:
    if record.append is not None:
        if "event_count" in record.append:
            return _whole(record.append, "event_count", UNKNOWN)
        return UNKNOWN if record.events is None else len(record.events)
    return _batched(record.fields.get("payload")) if isinstance(record.fields, Mapping) else UNKNOWN


def _whole(append: Mapping[str, Any] | None, name: str, default: int) -> int:
    value = None if append is None else append.get(name)
    return value if type(value) is int else default
