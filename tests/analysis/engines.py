"""Statistics of captures by both ways, rows and columns, with all that they remember for later records."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from wiretool.analysis.stats import Row, Stats
from wiretool.analysis.stats_bulk import BatchCounter
from wiretool.dissect.columns.read import read_batches
from wiretool.dissect.dissector import Source, read
from wiretool.errors import CaptureError
from wiretool.sinks.text.stats import stats_text


class Numbers(NamedTuple):
    """What is shown of statistics, the exact times behind it, and which keys are remembered, in their order."""

    json: Any
    text: str
    times: Sequence[Any]
    known: Sequence[Any]


def numbers_of(stats: Stats) -> Numbers:
    """What can be seen of statistics from outside, and what later records would see."""
    every: Iterable[Row] = (
        stats.total,
        *stats.messages.values(),
        *stats.connections.values(),
        *stats.subjects.values(),
    )
    times = [(row.replies.count, row.replies.min_ns, row.replies.max_ns, dict(row.replies._buckets)) for row in every]
    return Numbers(stats.as_json(), stats_text(stats), times, list(stats.about.known.items()))


def by_rows(captures: Source | Sequence[Source], **options: Any) -> Numbers:
    """The statistics of the row path."""
    stats = Stats()
    with suppress(CaptureError):
        stats.add_all(read(captures, **options))
    return numbers_of(stats)


def by_columns(captures: Source | Sequence[Source], **options: Any) -> Numbers:
    """Those of the column path."""
    stats = Stats()
    counter = BatchCounter(stats)
    with suppress(CaptureError):
        for batch in read_batches(captures, **options):
            counter.add(batch)
            counter.flush()
    return numbers_of(stats)
