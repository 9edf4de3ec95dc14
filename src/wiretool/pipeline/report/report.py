"""What the tables of a pipeline come to: figures whose rows lead back to packets, and what happened over time."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from wiretool.errors import CaptureError
from wiretool.pipeline.damaged_tables import ANEW
from wiretool.pipeline.gold import GOLD, MINUTE_NS, counts_per, latency_per, quantiles_of
from wiretool.pipeline.layout import Manifest
from wiretool.pipeline.report.figures import QUESTIONS, Figure, Question, Row
from wiretool.pipeline.report.leads import with_leads
from wiretool.pipeline.views import Tables, Times, check_files, opened

#: Steps of time in which what happens is drawn, and how many there are at most.
STEPS_NS = tuple(seconds * 10**9 for seconds in (1, 10, 60, 600, 3_600, 21_600, 86_400, 7 * 86_400, 365 * 86_400))
STEPS_MAX = 400
#: Requests whose times are drawn.
DRAWN_MAX = 6


@dataclass(frozen=True, slots=True)
class Course:
    """What happened in each step of time: counts by protocol, and how long answers took by request."""

    step_ns: int
    #: `step_ns` after which they begin, by `at_ns`; with protocol, frames, bytes, exchanges, unanswered, errors.
    counts: Sequence[Row]
    #: With protocol, request, answered and quantiles.
    times: Sequence[Row]


@dataclass(frozen=True, slots=True)
class Report:
    """All of it."""

    root: Path
    manifest: Manifest
    times: Times
    #: Of what was captured, None where nothing was.
    first_ns: int | None
    last_ns: int | None
    figures: Sequence[Figure]
    course: Course


def report_on(root: Path, times: Times, top: int) -> Report:
    """The report on the tables in a folder, of rows in those times, at most `top` in each figure.

    UsageError where these are no tables, CaptureError where a file of theirs is damaged.
    """
    with opened(root, times, more=GOLD, messages=lambda _: False) as tables:
        try:
            return _report(tables, times, top)
        except duckdb.Error as err:
            check_files(tables.root, tables.manifest)
            raise CaptureError(str(root), f"tables that cannot be read; {ANEW}") from err


def _report(tables: Tables, times: Times, top: int) -> Report:
    figures = [_figure(tables, question, top) for question in QUESTIONS]
    # Connections that are not over have frames, and no total yet.
    ((first_ns, last_ns),) = tables.database.execute(
        """SELECT min(first_ns), max(last_ns)
        FROM (FROM gold.totals SELECT first_ns, last_ns UNION ALL FROM frames SELECT min(time_ns), max(time_ns))"""
    ).fetchall()
    course = _course(tables, figures)
    return Report(tables.name, tables.manifest, times, first_ns, last_ns, with_leads(tables, figures), course)


def _figure(tables: Tables, question: Question, top: int) -> Figure:
    rows = rows_of(tables, f"{question.sql} LIMIT {top}")
    if len(rows) < top:
        return Figure(question, rows, len(rows))
    ((count,),) = tables.database.execute(f"SELECT count(*) FROM ({question.sql})").fetchall()
    return Figure(question, rows, count)


def rows_of(tables: Tables, query: str) -> list[dict[str, Any]]:
    """The rows of a query by the names of its columns."""
    found = tables.database.execute(query)
    names = [column[0] for column in found.description or ()]
    return [dict(zip(names, row, strict=True)) for row in found.fetchall()]


# -- over time ---------------------------------------------------------------------------------------------------------


def _course(tables: Tables, figures: Sequence[Figure]) -> Course:
    ((low, high),) = tables.database.execute("SELECT min(time_ns), max(time_ns) FROM frames").fetchall()
    step_ns = step_of(0 if low is None else high - low)
    counts = rows_of(
        tables,
        f"""SELECT epoch_ns(minute) AS at_ns, protocol, sum(frames)::BIGINT AS frames, sum(bytes)::BIGINT AS bytes,
            sum(exchanges)::BIGINT AS exchanges, sum(unanswered)::BIGINT AS unanswered, sum(errors)::BIGINT AS errors
        FROM ({counts_per(step_ns)}) GROUP BY ALL ORDER BY at_ns, protocol""",
    )
    named = next(figure for figure in figures if figure.question.name == "times")
    drawn = {(row["protocol"], row["request"]) for row in named.rows[:DRAWN_MAX]}
    quantiles = quantiles_of(f"({latency_per(step_ns)})", "minute", "protocol", "request")
    times = rows_of(tables, f"SELECT epoch_ns(minute) AS at_ns, * EXCLUDE (minute) FROM ({quantiles}) ORDER BY ALL")
    return Course(step_ns, counts, [row for row in times if (row["protocol"], row["request"]) in drawn])


def step_of(span_ns: int) -> int:
    """The shortest step of which not too many make up a span."""
    return next((step for step in STEPS_NS if span_ns // step < STEPS_MAX), STEPS_NS[-1])


assert MINUTE_NS in STEPS_NS, "hours are drawn from the gold tables"
