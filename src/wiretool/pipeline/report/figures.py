"""What a report asks the gold tables for: figures, each a table of rows that lead back to packets."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from wiretool.pipeline.gold import SILENCE_NS, STORM_CONNECTIONS, STORM_NS

#: How a value is told: as it is, grouped in thousands, in bytes, as a time that passed, as a moment.
Kind = Literal["text", "count", "bytes", "time", "moment"]
#: What of the captures a row is about: two packets of an exchange, all between two moments, what is missing or wrong
#: there, the connections of a host, a message, a whole protocol.
Lead = Literal["exchange", "stretch", "trouble", "storm", "message", "protocol"]
Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its key in rows, its heading, how its values are told, and whether it may be left out for room."""

    key: str
    head: str
    kind: Kind = "count"
    is_spare: bool = False

    @property
    def is_number(self) -> bool:
        """Whether its values stand to the right."""
        return self.kind in ("count", "bytes", "time")


@dataclass(frozen=True, slots=True)
class Question:
    """A figure that is asked for: how, and how its rows lead back."""

    name: str
    title: str
    note: str
    sql: str
    columns: Sequence[Column]
    lead: Lead


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure: rows of `count` in all; each has `slice`, a command that cuts its packets out of the captures."""

    question: Question
    rows: Sequence[Row]
    count: int


_PROTOCOL = Column("protocol", "protocol", "text")
_WHERE = (Column("client", "client", "text", is_spare=True), Column("server", "server", "text", is_spare=True))
_CONNECTION = Column("connection", "connection", "text", is_spare=True)
_OF_GROUPS = (
    Column("exchanges", "exchanges"),
    Column("unanswered", "unanswered"),
    Column("errors", "errors"),
    Column("bytes", "bytes", "bytes"),
    Column("events", "events"),
    Column("slowest_ns", "slowest", "time"),
    Column("connections", "connections"),
    _CONNECTION,
)

QUESTIONS: tuple[Question, ...] = (
    Question(
        "protocols",
        "Protocols and their bytes",
        "A connection counts for one protocol. Missing bytes are in gaps, wrong ones in problems, others in no "
        "known protocol.",
        "SELECT * FROM gold.totals ORDER BY payload_bytes DESC, protocol",
        (
            _PROTOCOL,
            Column("connections", "connections"),
            Column("packets", "packets"),
            Column("frames", "frames"),
            Column("payload_bytes", "bytes", "bytes"),
            Column("gaps", "gaps"),
            Column("gap_bytes", "missing", "bytes"),
            Column("problems", "problems"),
            Column("problem_bytes", "wrong", "bytes"),
            Column("other_bytes", "others", "bytes"),
            Column("duplicate_bytes", "twice", "bytes"),
            Column("first_ns", "from", "moment", is_spare=True),
        ),
        "protocol",
    ),
    Question(
        "messages",
        "Messages",
        "",
        """SELECT protocol, message, side, sum(frames)::BIGINT AS frames, sum(bytes)::BIGINT AS bytes,
            sum(exchanges)::BIGINT AS exchanges, sum(unanswered)::BIGINT AS unanswered, sum(errors)::BIGINT AS errors,
            sum(events)::BIGINT AS events, epoch_ns(min(minute)) AS first_ns,
            least(epoch_ns(max(minute))::HUGEINT + 59999999999, 9223372036854775807)::BIGINT AS last_ns
        FROM gold.minutes GROUP BY ALL ORDER BY frames DESC, protocol, message, side""",
        (
            _PROTOCOL,
            Column("message", "message", "text"),
            Column("side", "from", "text"),
            Column("frames", "frames"),
            Column("bytes", "bytes", "bytes"),
            Column("exchanges", "exchanges"),
            Column("unanswered", "unanswered"),
            Column("errors", "errors"),
            Column("events", "events"),
        ),
        "message",
    ),
    Question(
        "times",
        "Latency of replies",
        "From the request to its first reply, as captured; quantiles have three correct digits.",
        """SELECT times.*, slowest.* EXCLUDE (protocol, request) FROM gold.times JOIN (
            SELECT protocol, request, arg_max(client, (latency_ns, connection, n)) AS client,
                arg_max(server, (latency_ns, connection, n)) AS server,
                arg_max(connection, (latency_ns, connection, n)) AS connection,
                arg_max(n, (latency_ns, connection, n)) AS n,
                arg_max(reply_n, (latency_ns, connection, n)) AS reply_n,
                arg_max(time_ns, (latency_ns, connection, n)) AS first_ns,
                arg_max(time_ns + latency_ns, (latency_ns, connection, n)) AS last_ns
            FROM exchanges WHERE latency_ns IS NOT NULL GROUP BY ALL
        ) AS slowest USING (protocol, request) ORDER BY answered DESC, protocol, request""",
        (
            _PROTOCOL,
            Column("request", "request", "text"),
            Column("answered", "answered"),
            Column("p50_ns", "p50", "time"),
            Column("p90_ns", "p90", "time"),
            Column("p99_ns", "p99", "time"),
            Column("p999_ns", "p99.9", "time"),
            Column("most_ns", "max", "time"),
        ),
        "exchange",
    ),
    Question(
        "slowest",
        "Slowest exchanges",
        "",
        """SELECT protocol, request, reply, latency_ns, subject, error, client, server, connection, n, reply_n,
            time_ns AS first_ns, time_ns + latency_ns AS last_ns
        FROM exchanges WHERE latency_ns IS NOT NULL ORDER BY latency_ns DESC, time_ns, connection, n""",
        (
            Column("latency_ns", "time", "time"),
            _PROTOCOL,
            Column("request", "request", "text"),
            Column("reply", "answer", "text"),
            Column("subject", "about", "text"),
            Column("first_ns", "asked at", "moment"),
            *_WHERE,
            _CONNECTION,
            Column("n", "n", "text", is_spare=True),
        ),
        "exchange",
    ),
    Question(
        "subjects",
        "Segments, streams and roads",
        "Bytes of requests and replies; the command extracts the connection with most bytes.",
        "SELECT * FROM gold.subjects ORDER BY bytes DESC, protocol, subject_kind, subject",
        (Column("subject_kind", "", "text"), Column("subject", "about", "text"), _PROTOCOL, *_OF_GROUPS),
        "stretch",
    ),
    Question(
        "writers",
        "Writers",
        "",
        "SELECT * FROM gold.writers ORDER BY bytes DESC, protocol, writer",
        (Column("writer", "writer", "text"), _PROTOCOL, *_OF_GROUPS),
        "stretch",
    ),
    Question(
        "errors",
        "Errors",
        "Errors in replies, in the protocol's words; the command extracts the first one.",
        "SELECT * FROM gold.errors ORDER BY count DESC, protocol, request, error",
        (
            Column("count", ""),
            Column("error", "error", "text"),
            Column("request", "request", "text"),
            _PROTOCOL,
            Column("connections", "connections"),
            Column("first_ns", "first at", "moment"),
            *_WHERE,
            _CONNECTION,
            Column("n", "n", "text", is_spare=True),
        ),
        "exchange",
    ),
    Question(
        "storms",
        "Reconnect storms",
        f"{STORM_CONNECTIONS} connections or more from one host to one server, opened within {STORM_NS // 10**9} s.",
        "SELECT * FROM gold.storms ORDER BY connections DESC, first_ns, host, server",
        (
            Column("connections", "connections"),
            Column("host", "host", "text"),
            Column("server", "server", "text"),
            _PROTOCOL,
            Column("first_ns", "from", "moment"),
            Column("last_ns", "to", "moment"),
            Column("resets", "reset"),
            Column("silent", "without a frame"),
        ),
        "storm",
    ),
    Question(
        "silences",
        "Idle connections",
        f"Open connections without a frame for {SILENCE_NS // 10**9} s or more; the longest time of each.",
        "SELECT * FROM gold.silences ORDER BY silence_ns DESC, connection",
        (
            Column("silence_ns", "silent for", "time"),
            Column("open_ns", "open for", "time"),
            Column("frames", "frames"),
            _PROTOCOL,
            Column("first_ns", "from", "moment"),
            Column("client", "client", "text"),
            Column("server", "server", "text"),
            Column("closed", "closed", "text"),
            _CONNECTION,
        ),
        "stretch",
    ),
    Question(
        "losses",
        "Missing and wrong bytes",
        "",
        "SELECT * FROM gold.losses ORDER BY gap_bytes DESC, problem_bytes DESC, problems DESC, connection",
        (
            Column("gap_bytes", "missing", "bytes"),
            Column("gaps", "gaps"),
            Column("problems", "problems"),
            Column("problem_bytes", "wrong", "bytes"),
            Column("payload_bytes", "of", "bytes"),
            _PROTOCOL,
            Column("client", "client", "text"),
            Column("server", "server", "text"),
            _CONNECTION,
        ),
        "trouble",
    ),
)
