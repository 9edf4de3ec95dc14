"""Reads together the deferred first bytes of many connections whose beginning is not in the capture."""

from collections.abc import Collection
from typing import cast

import numpy as np

from wiretool.bulk.numbering import Numbers
from wiretool.bulk.pace import Pace
from wiretool.bulk.pending_output import PendingOutput
from wiretool.bulk.plain_reading import read_plain_segments
from wiretool.bulk.steady_watches import SteadyWatches
from wiretool.bulk.watch import BulkWatch
from wiretool.capture.items import Connection
from wiretool.capture.plain_runs import PlainSegments
from wiretool.capture.runs import Run
from wiretool.capture.segments import SegmentTable
from wiretool.codec.columns import Integers

#: Connections below which each is read for itself: arrays would cost more.
CONNECTIONS_MIN = 8


def read_together(
    watches: Collection[BulkWatch], table: SegmentTable, numbers: Numbers, pace: Pace, output: PendingOutput
) -> None:
    """Read the deferred runs of watches that are in step; the others stay deferred."""
    if len(watches) < CONNECTIONS_MIN:
        return
    runs = [run for watch in watches if (run := watch.take_run(table)) is not None]
    left = runs
    if len(runs) >= CONNECTIONS_MIN:
        steady, plain = SteadyWatches(), _segments(table, runs)
        left = read_plain_segments(plain, steady, _watch_of, numbers, pace, output)
        steady.release(plain.slots)
    for run in left:
        _watch_of(run.connection).put_off_run(run)


def _watch_of(connection: Connection) -> BulkWatch:
    return cast(BulkWatch, connection.reader)


def _emitted_at(table: SegmentTable, runs: list[Run]) -> Integers:
    """Return by row of the table the packet at which its frames are emitted."""
    packets = table.numbers.copy()
    for run in runs:
        for rows in (run.client.rows, run.server.rows):
            packets[rows] = run.told_at(rows)
    return packets


def _segments(table: SegmentTable, runs: list[Run]) -> PlainSegments:
    """Return the runs, one of each connection, with its place as its slot."""
    flows = [
        (index, side == "server", run.side(side))
        for index, run in enumerate(runs)
        for side in ("client", "server")
        if run.side(side).size
    ]
    return PlainSegments(
        table,
        [run.connection for run in runs],
        np.arange(len(runs)),
        np.concatenate([each.rows for _, _, each in flows]),
        np.cumsum([0, *(len(each.rows) for _, _, each in flows)]),
        np.array([each.offset for _, _, each in flows], np.int64),
        np.array([index for index, _, _ in flows], np.int64),
        np.array([is_server for _, is_server, _ in flows], np.bool_),
        emitted_at=_emitted_at(table, runs),
    )
