"""Numbers over records: messages, reply times, connections, segments, streams and roads."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from wiretool import limits
from wiretool.codec.message import Side
from wiretool.records import Record
from wiretool.sessions.latency import Latencies
from wiretool.sessions.replies import ReplyTimes
from wiretool.sessions.subjects import Subject, Subjects

OTHERS = "(others)"


@dataclass(slots=True)
class Row:
    """What was counted of one thing."""

    frames: int = 0
    bytes: int = 0
    replies: Latencies = field(default_factory=Latencies)

    def count(self, record: Record) -> None:
        """Count a frame."""
        self.frames += 1
        self.bytes += record.length

    def as_json(self) -> dict[str, Any]:
        """The numbers by name; times only where there are any."""
        out: dict[str, Any] = {"frames": self.frames, "bytes": self.bytes}
        if self.replies.count:
            out["replies"] = self.replies.count
            out["reply_p50_ns"] = self.replies.quantile_ns(0.50)
            out["reply_p99_ns"] = self.replies.quantile_ns(0.99)
            out["reply_max_ns"] = self.replies.max_ns
        return out


@dataclass(slots=True)
class ConnectionRow(Row):
    """One connection; bytes of frames, of holes, and of what was no frame."""

    client: str = ""
    server: str = ""
    protocol: str = ""
    client_bytes: int = 0
    server_bytes: int = 0
    gaps: int = 0
    gap_bytes: int = 0
    problems: int = 0
    other_bytes: int = 0
    first_ns: int = 0
    last_ns: int = 0

    @property
    def duration_ns(self) -> int:
        """From its first to its last record."""
        return self.last_ns - self.first_ns


#: What a row of messages is of: protocol, message, who sent it.
MessageKey = tuple[str, str, Side]


class Stats:
    """Add every record in order, then read the rows."""

    def __init__(self) -> None:
        self.total = ConnectionRow()
        self.messages: dict[MessageKey, Row] = {}
        self.connections: dict[int | str, ConnectionRow] = {}
        self.subjects: dict[Subject, Row] = {}
        self._times = ReplyTimes()
        self._about = Subjects()
        self._asked: dict[int, MessageKey] = {}

    def add_all(self, records: Iterable[Record]) -> None:
        """Count records."""
        for record in records:
            self.add(record)

    def add(self, record: Record) -> None:
        """Count one record."""
        self._times.note(record)
        connection = self._connection(record)
        for row in (self.total, connection):
            _count(row, record)
        if record.kind == "frame":
            self._frame(record, connection)

    def _frame(self, record: Record, connection: ConnectionRow) -> None:
        key: MessageKey = (record.protocol, record.message, record.side)
        self._message(key).count(record)
        subjects = [self._subject(subject) for subject in self._about.of(record)]
        for row in subjects:
            row.count(record)
        if record.reply_to is None:
            self._ask(record.n, key)
            return
        latency_ns = self._times.latency_ns(record)
        if latency_ns is None:
            return
        asked = self._asked.get(record.reply_to)
        request = [self._message(asked)] if asked is not None else []
        for each in (self.total, connection, *subjects, *request):
            each.replies.add(latency_ns)

    def _ask(self, n: int, key: MessageKey) -> None:
        if len(self._asked) >= limits.REQUESTS_OPEN_MAX:
            del self._asked[next(iter(self._asked))]
        self._asked[n] = key

    def _message(self, key: MessageKey) -> Row:
        if key not in self.messages and len(self.messages) >= limits.STATS_ROWS_MAX:
            key = (key[0], OTHERS, key[2])
        return self.messages.setdefault(key, Row())

    def _subject(self, subject: Subject) -> Row:
        if subject not in self.subjects and len(self.subjects) >= limits.STATS_ROWS_MAX:
            subject = Subject(subject.kind, OTHERS)
        return self.subjects.setdefault(subject, Row())

    def _connection(self, record: Record) -> ConnectionRow:
        key: int | str = record.connection
        if key not in self.connections and len(self.connections) >= limits.STATS_ROWS_MAX:
            key = OTHERS
        row = self.connections.get(key)
        if row is None:
            client, server = (record.client, record.server) if key != OTHERS else ("", "")
            row = self.connections[key] = ConnectionRow(client=client, server=server, first_ns=record.time_ns)
        row.protocol = row.protocol or record.protocol
        return row

    def as_json(self) -> Mapping[str, Any]:
        """Everything, for a program."""
        return {
            "total": _total_json(self.total),
            "messages": [
                {"protocol": protocol, "message": message, "side": side, **row.as_json()}
                for (protocol, message, side), row in self.messages.items()
            ],
            "connections": [_connection_json(key, row) for key, row in self.connections.items()],
            "subjects": [
                {"kind": subject.kind, "name": subject.name, **row.as_json()} for subject, row in self.subjects.items()
            ],
        }


def _count(row: ConnectionRow, record: Record) -> None:
    row.first_ns = min(row.first_ns or record.time_ns, record.time_ns)
    row.last_ns = max(row.last_ns, record.time_ns)
    if record.kind == "frame":
        row.count(record)
        if record.side == "client":
            row.client_bytes += record.length
        else:
            row.server_bytes += record.length
    elif record.kind == "gap":
        row.gaps += 1
        row.gap_bytes += record.length
    elif record.kind == "problem":
        row.problems += 1
    else:
        row.other_bytes += record.length


def _total_json(row: ConnectionRow) -> dict[str, Any]:
    return {
        **row.as_json(),
        "client_bytes": row.client_bytes,
        "server_bytes": row.server_bytes,
        "gaps": row.gaps,
        "gap_bytes": row.gap_bytes,
        "problems": row.problems,
        "other_bytes": row.other_bytes,
        "duration_ns": row.duration_ns,
        "frames_per_s": per_second(row.frames, row.duration_ns),
        "bytes_per_s": per_second(row.bytes, row.duration_ns),
    }


def _connection_json(key: int | str, row: ConnectionRow) -> dict[str, Any]:
    names = {"connection": key, "client": row.client, "server": row.server, "protocol": row.protocol}
    return {**names, **_total_json(row)}


def per_second(count: int, duration_ns: int) -> float:
    """How many in a second; 0 where no time passed."""
    return round(count * 1e9 / duration_ns, 3) if duration_ns > 0 else 0.0
