"""Gold tables: what the tables of a pipeline come to, each a view of the schema `gold` over them.

All but `storms` and `silences` can be added up over several folders of tables; so can `latency`, whose buckets are
those of analysis/latency.py: quantiles come of sums of counts, and are the same as of all times at once.
"""

from wiretool.analysis.latency import BUCKETS

MINUTE_NS = 60 * 10**9
#: A storm: so many connections of one client's host to one server, or more, each begun within this time of the one so
#: many before it.
STORM_CONNECTIONS = 10
STORM_NS = 10 * 10**9
#: A silence: so long a time on an open connection in which neither side says a frame.
SILENCE_NS = 60 * 10**9
#: The quantiles of times, by the name of their column.
QUANTILES = {"p50_ns": 0.5, "p90_ns": 0.9, "p99_ns": 0.99, "p999_ns": 0.999}

_FUNCTIONS = (
    "CREATE SCHEMA gold",
    *BUCKETS.macros("gold"),
    # "10.0.0.1:40000" or "[::1]:40000"
    r"CREATE MACRO gold.host_of(endpoint) AS regexp_replace(endpoint, ':[0-9]+$', '')",
)


def counts_per(step_ns: int) -> str:
    """A SELECT of frames and their bytes, and requests and what became of them, for each step of time and message.

    A request is in the step in which it was asked.
    """
    step = _step(step_ns)
    return f"""WITH sent AS (
        SELECT {step} AS minute, protocol, message, side, count(*) AS frames, sum(length) AS bytes
        FROM frames WHERE kind = 'frame' GROUP BY ALL
    ), asked AS (
        SELECT {step} AS minute, protocol, request AS message, side, count(*) AS exchanges,
            count(*) FILTER (reply IS NULL) AS unanswered, count(error) AS errors, sum(events) AS events
        FROM exchanges GROUP BY ALL
    )
    SELECT minute, protocol, message, side, coalesce(frames, 0) AS frames, coalesce(bytes, 0)::BIGINT AS bytes,
        coalesce(exchanges, 0) AS exchanges, coalesce(unanswered, 0) AS unanswered, coalesce(errors, 0) AS errors,
        coalesce(events, 0)::BIGINT AS events
    FROM sent FULL JOIN asked USING (minute, protocol, message, side)"""


def latency_per(step_ns: int) -> str:
    """A SELECT of how many answers to each request took how long, for each step of time.

    A row for each bucket: how many fell into it, and the least and the most of these.
    """
    return f"""SELECT {_step(step_ns)} AS minute, protocol, request, gold.bucket_of(latency_ns) AS bucket,
        count(*) AS count, min(latency_ns) AS least_ns, max(latency_ns) AS most_ns
    FROM exchanges WHERE latency_ns IS NOT NULL GROUP BY ALL"""


def _step(step_ns: int) -> str:
    """The beginning of the step that a row is in, also before 1970: `//` rounds toward zero."""
    steps = f"(time_ns // {step_ns} - (time_ns % {step_ns} < 0)::BIGINT)"
    return f"make_timestamp({steps} * {step_ns // 1000})"


def quantiles_of(source: str, *keys: str) -> str:
    """A SELECT of the quantiles of buckets out of a relation like `gold.latency`, for each value of the keys."""
    by = ", ".join(keys)
    shares = ",\n        ".join(
        f"least(greatest(min(gold.value_of(bucket)) FILTER (upto >= greatest(ceil(every * {share}::DOUBLE), 1)),"
        f" min(least_ns)), max(most_ns)) AS {name}"
        for name, share in QUANTILES.items()
    )
    return f"""SELECT {by}, max(every)::BIGINT AS answered, min(least_ns) AS least_ns, {shares}, max(most_ns) AS most_ns
    FROM (
        SELECT *, sum(count) OVER (PARTITION BY {by} ORDER BY bucket) AS upto,
            sum(count) OVER (PARTITION BY {by}) AS every
        FROM (
            SELECT {by}, bucket, sum(count) AS count, min(least_ns) AS least_ns, max(most_ns) AS most_ns
            FROM {source} GROUP BY ALL
        )
    ) GROUP BY {by}"""


MINUTES = f"CREATE VIEW gold.minutes AS {counts_per(MINUTE_NS)}"
LATENCY = f"CREATE VIEW gold.latency AS {latency_per(MINUTE_NS)}"
#: How long the answers to each request took.
TIMES = f"CREATE VIEW gold.times AS {quantiles_of('gold.latency', 'protocol', 'request')}"
#: The same for each minute.
TIMES_OF_MINUTES = (
    f"CREATE VIEW gold.times_of_minutes AS {quantiles_of('gold.latency', 'minute', 'protocol', 'request')}"
)

#: What stands in each group of exchanges, and of which connection most of it is, and when there.
_GROUPED = """SELECT {by}, sum(exchanges)::BIGINT AS exchanges, sum(unanswered)::BIGINT AS unanswered,
        sum(errors)::BIGINT AS errors, sum(bytes)::BIGINT AS bytes, sum(events)::BIGINT AS events,
        max(slowest_ns) AS slowest_ns, count(*) AS connections,
        arg_max(connection, (exchanges, connection)) AS connection,
        arg_max(client, (exchanges, connection)) AS client, arg_max(server, (exchanges, connection)) AS server,
        arg_max(first_ns, (exchanges, connection)) AS first_ns, arg_max(last_ns, (exchanges, connection)) AS last_ns
    FROM (
        SELECT {by}, connection, client, server, count(*) AS exchanges, count(*) FILTER (reply IS NULL) AS unanswered,
            count(error) AS errors, sum(request_bytes + coalesce(reply_bytes, 0)) AS bytes,
            coalesce(sum(events), 0) AS events, max(latency_ns) AS slowest_ns, min(time_ns) AS first_ns,
            max(time_ns + coalesce(latency_ns, 0)) AS last_ns
        FROM exchanges WHERE {condition} GROUP BY ALL
    ) GROUP BY ALL"""
SUBJECTS = "CREATE VIEW gold.subjects AS " + _GROUPED.format(
    by="protocol, subject_kind, subject", condition="subject IS NOT NULL"
)
WRITERS = "CREATE VIEW gold.writers AS " + _GROUPED.format(by="protocol, writer", condition="writer IS NOT NULL")


def first_of(value: str, name: str = "") -> str:
    """The value in the first of some exchanges."""
    return f"arg_min({value}, (time_ns, connection, n)) AS {name or value}"


#: What answers said went wrong; the first of each kind leads back.
ERRORS = f"""CREATE VIEW gold.errors AS
    SELECT protocol, request, error, count(*) AS count, count(DISTINCT connection) AS connections,
        {first_of("connection")}, {first_of("client")}, {first_of("server")}, {first_of("n")},
        {first_of("reply_n")}, min(time_ns) AS first_ns, {first_of("time_ns + latency_ns", "last_ns")}
    FROM exchanges WHERE error IS NOT NULL GROUP BY ALL"""

#: Many connections of one host to one server at once: those whose beginning was captured.
STORMS = f"""CREATE VIEW gold.storms AS
    WITH begun AS (
        SELECT *, gold.host_of(client) AS host,
            lead(time_ns, {STORM_CONNECTIONS - 1}) OVER (PARTITION BY gold.host_of(client), server ORDER BY time_ns)
                AS many_ns
        FROM ledger WHERE is_opened
    ), covered AS (
        SELECT *, max(CASE WHEN many_ns - time_ns <= {STORM_NS} THEN many_ns END)
            OVER (PARTITION BY host, server ORDER BY time_ns) AS until_ns
        FROM begun
    ), within AS (
        SELECT *, lag(until_ns) OVER (PARTITION BY host, server ORDER BY time_ns) AS before_ns
        FROM covered
    ), numbered AS (
        SELECT *, sum((before_ns IS NULL OR before_ns < time_ns)::INTEGER)
            OVER (PARTITION BY host, server ORDER BY time_ns) AS storm
        FROM within WHERE time_ns <= until_ns
    )
    SELECT host, server, any_value(protocol) AS protocol, count(*) AS connections,
        count(*) FILTER (closed = 'rst') AS resets, count(*) FILTER (frames = 0) AS silent, min(time_ns) AS first_ns,
        max(time_ns) AS last_ns, arg_min(connection, (time_ns, connection)) AS connection
    FROM numbered GROUP BY host, server, storm"""

#: Connections on which nothing was said for long: the longest such time of each, from one frame to the next, or from
#: the beginning, or up to the end.
SILENCES = f"""CREATE VIEW gold.silences AS
    WITH moments AS (
        SELECT connection, time_ns FROM frames WHERE kind = 'frame'
        UNION ALL SELECT connection, time_ns FROM ledger WHERE frames > 0
        UNION ALL SELECT connection, last_ns FROM ledger WHERE frames > 0
    ), waits AS (
        SELECT connection, lag(time_ns) OVER (PARTITION BY connection ORDER BY time_ns) AS first_ns, time_ns AS last_ns
        FROM moments
    ), longest AS (
        SELECT connection, max(last_ns - first_ns) AS silence_ns, arg_max(first_ns, last_ns - first_ns) AS first_ns,
            arg_max(last_ns, last_ns - first_ns) AS last_ns
        FROM waits GROUP BY connection HAVING max(last_ns - first_ns) >= {SILENCE_NS}
    )
    SELECT longest.*, ledger.client, ledger.server, ledger.protocol, ledger.frames,
        ledger.last_ns - ledger.time_ns AS open_ns, ledger.closed
    FROM longest JOIN ledger USING (connection)"""

#: What is missing or wrong in each connection where anything is.
LOSSES = """CREATE VIEW gold.losses AS
    SELECT connection, client, server, protocol, gaps, gap_bytes, problems, problem_bytes, other_bytes, payload_bytes,
        time_ns AS first_ns, last_ns
    FROM ledger WHERE gaps > 0 OR problems > 0"""
#: What became of all bytes, by protocol.
TOTALS = """CREATE VIEW gold.totals AS
    SELECT protocol, count(*) AS connections, sum(packets)::BIGINT AS packets, sum(frames)::BIGINT AS frames,
        sum(payload_bytes)::BIGINT AS payload_bytes, sum(frame_bytes)::BIGINT AS frame_bytes,
        sum(problem_bytes)::BIGINT AS problem_bytes, sum(other_bytes)::BIGINT AS other_bytes,
        sum(gaps)::BIGINT AS gaps, sum(gap_bytes)::BIGINT AS gap_bytes, sum(problems)::BIGINT AS problems,
        sum(duplicate_bytes)::BIGINT AS duplicate_bytes, min(time_ns) AS first_ns, max(last_ns) AS last_ns
    FROM ledger GROUP BY protocol"""

#: All of them, in the order in which they can be made.
GOLD: tuple[str, ...] = (
    *_FUNCTIONS,
    MINUTES,
    LATENCY,
    TIMES,
    TIMES_OF_MINUTES,
    SUBJECTS,
    WRITERS,
    ERRORS,
    STORMS,
    SILENCES,
    LOSSES,
    TOTALS,
)
