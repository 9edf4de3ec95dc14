"""Numbers over records: messages, reply times, connections, segments, streams and roads."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

from wiretool import limits
from wiretool.analysis.latency import Latencies
from wiretool.analysis.replies import Asked, ReplyTimes
from wiretool.analysis.subjects import Subject, Subjects
from wiretool.codec.message import Side
from wiretool.ledger import Ledger
from wiretool.records import Record

OTHERS = "(others)"
K = TypeVar("K")


@dataclass(slots=True)
class Row:
    """What was counted of one thing."""

    frames: int = 0
    bytes: int = 0
    replies: Latencies = field(default_factory=Latencies)

    def count(self, frames: int, size: int) -> None:
        """Count frames, and their bytes."""
        self.frames += frames
        self.bytes += size

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
    problem_bytes: int = 0
    other_bytes: int = 0
    #: Those of them that the server sent.
    server_other_bytes: int = 0
    #: Version of TLS and server name, if it is a TLS connection; and whether it was decrypted.
    tls: str = ""
    is_decrypted: bool = False
    first_ns: int | None = None
    last_ns: int = 0

    @property
    def duration_ns(self) -> int:
        """From its first to its last record."""
        return 0 if self.first_ns is None else self.last_ns - self.first_ns

    def see(self, first_ns: int, last_ns: int) -> None:
        """Note when records of it were captured."""
        self.first_ns = first_ns if self.first_ns is None else min(self.first_ns, first_ns)
        self.last_ns = max(self.last_ns, last_ns)

    def count_sides(self, frames: int, size: int, server_bytes: int, first_ns: int, last_ns: int) -> None:
        """Count frames, their bytes, and those of them from the server; note when they were captured."""
        self.count(frames, size)
        self.client_bytes += size - server_bytes
        self.server_bytes += server_bytes
        self.see(first_ns, last_ns)

    def count_other(self, record: Record) -> None:
        """Count what is no frame."""
        if record.kind == "gap":
            self.gaps += 1
            self.gap_bytes += record.length
        elif record.kind == "problem":
            self.problems += 1
            self.problem_bytes += record.length
        else:
            self.other_bytes += record.length
            self.server_other_bytes += record.length * (record.side == "server")

    @property
    def captured_bytes(self) -> tuple[int, int]:
        """Return the bytes of the client and of the server in frames and of other protocols."""
        client_others = self.other_bytes - self.server_other_bytes
        return self.client_bytes + client_others, self.server_bytes + self.server_other_bytes


#: What a row of messages is of: protocol, message, who sent it.
MessageKey = tuple[str, str, Side]


class Request(NamedTuple):
    """What its replies want to know of a request."""

    message: MessageKey
    subjects: tuple[Subject, ...]


class Stats:
    """Add every record in order, then read the rows; `stats_bulk` counts records of batches at once."""

    def __init__(self) -> None:
        self.total = ConnectionRow()
        self.messages: dict[MessageKey, Row] = {}
        self.connections: dict[int | str, ConnectionRow] = {}
        self.subjects: dict[Subject, Row] = {}
        #: What later records are looked up in.
        self.times = ReplyTimes()
        self.about = Subjects()
        self.asked: Asked[Request] = Asked()

    def add_all(self, records: Iterable[Record]) -> None:
        """Count records."""
        for record in records:
            self.add(record)

    def add(self, record: Record) -> None:
        """Count one record."""
        self.times.note(record)
        if record.kind == "frame":
            self._frame(record)
        else:
            self.add_other(record)

    def add_other(self, record: Record) -> None:
        """Count a record that is no frame; its time is noted already."""
        for row in (self.total, self.connection_row(record.connection, record.client, record.server, record.protocol)):
            row.see(record.time_ns, record.time_ns)
            row.count_other(record)

    def _frame(self, record: Record) -> None:
        message: MessageKey = (record.protocol, record.message, record.side)
        asked = None if record.reply_to is None else self.asked.of(record.n, record.reply_to)
        subjects = self.about.of(record) or (asked.subjects if asked else ())
        connection = self.connection_row(record.connection, record.client, record.server, record.protocol)
        server_bytes = record.length if record.side == "server" else 0
        for row in (self.total, connection):
            row.count_sides(1, record.length, server_bytes, record.time_ns, record.time_ns)
        rows = [self.message_row(message), *map(self.subject_row, subjects)]
        for each in rows:
            each.count(1, record.length)
        if record.reply_to is None:
            self.asked.note(record.n, Request(message, subjects))
            return
        latency_ns = self.times.latency_ns(record)
        if latency_ns is None:
            return
        rows[:1] = [self.message_row(asked.message)] if asked else []
        for each in (self.total, connection, *rows):
            each.replies.add(latency_ns)

    def note_tls(self, book: Ledger) -> None:
        """Note which of the connections are TLS."""
        for each in book.connections:
            if each.tls and each.connection in self.connections:
                row = self.connections[each.connection]
                row.tls, row.is_decrypted = each.tls, each.is_decrypted

    def message_row(self, key: MessageKey) -> Row:
        """The row of a message, a new one where it has none yet."""
        if key not in self.messages and len(self.messages) >= limits.STATS_ROWS_MAX:
            key = (key[0], OTHERS, key[2])
        return _row(self.messages, key)

    def subject_row(self, subject: Subject) -> Row:
        """The row of a subject, a new one where it has none yet."""
        if subject not in self.subjects and len(self.subjects) >= limits.STATS_ROWS_MAX:
            subject = Subject(subject.kind, OTHERS)
        return _row(self.subjects, subject)

    def connection_row(self, number: int, client: str, server: str, protocol: str) -> ConnectionRow:
        """The row of a connection, a new one where it has none yet; its protocol is the first that is named."""
        key: int | str = number
        if key not in self.connections and len(self.connections) >= limits.STATS_ROWS_MAX:
            key = OTHERS
        row = self.connections.get(key)
        if row is None:
            row = ConnectionRow(client=client, server=server) if key != OTHERS else ConnectionRow()
            self.connections[key] = row
        row.protocol = row.protocol or protocol
        return row

    def as_json(self) -> Mapping[str, Any]:
        """Everything, for a program."""
        return {"total": self.total_as_json(), **{name: list(rows) for name, rows in self.tables_as_json()}}

    def total_as_json(self) -> Mapping[str, Any]:
        """The numbers over all connections by name, none of them a structure."""
        return _total_json(self.total)

    def tables_as_json(self) -> Iterator[tuple[str, Iterator[Mapping[str, Any]]]]:
        """Yield the name and the rows of each table; a row is made when it is asked for, as there may be very many."""
        yield (
            "messages",
            (
                {"protocol": protocol, "message": message, "side": side, **row.as_json()}
                for (protocol, message, side), row in self.messages.items()
            ),
        )
        yield "connections", (_connection_json(key, row) for key, row in self.connections.items())
        yield (
            "subjects",
            ({"kind": subject.kind, "name": subject.name, **row.as_json()} for subject, row in self.subjects.items()),
        )


def _row(rows: dict[K, Row], key: K) -> Row:
    row = rows.get(key)
    if row is None:
        row = rows[key] = Row()
    return row


def _total_json(row: ConnectionRow) -> dict[str, Any]:
    return {
        **row.as_json(),
        "client_bytes": row.client_bytes,
        "server_bytes": row.server_bytes,
        "gaps": row.gaps,
        "gap_bytes": row.gap_bytes,
        "problems": row.problems,
        "problem_bytes": row.problem_bytes,
        "other_bytes": row.other_bytes,
        "duration_ns": row.duration_ns,
        "frames_per_s": per_second(row.frames, row.duration_ns),
        "bytes_per_s": per_second(row.bytes, row.duration_ns),
    }


def _connection_json(key: int | str, row: ConnectionRow) -> dict[str, Any]:
    names: dict[str, Any] = {"connection": key, "client": row.client, "server": row.server, "protocol": row.protocol}
    if row.tls:
        client_bytes, server_bytes = row.captured_bytes
        sizes = {"client_captured_bytes": client_bytes, "server_captured_bytes": server_bytes}
        names |= {"tls": row.tls, "decrypted": row.is_decrypted} | sizes
    return {**names, **_total_json(row)}


def per_second(count: int, duration_ns: int) -> float:
    """How many in a second; 0 where no time passed."""
    return round(count * 1e9 / duration_ns, 3) if duration_ns > 0 else 0.0
