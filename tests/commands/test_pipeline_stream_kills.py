"""A stream that is killed again and again while its capture grows: no row is lost or doubled.

`python -m tests.bench.stream_kills` does the same more often, and on Spark.
"""

import random
from collections.abc import Sequence
from pathlib import Path

from tests.bench.growing import Growing, Growth
from tests.bench.stream_kills import Ground, Running, Tally, differences, trial
from tests.helpers.forked import Forked
from tests.helpers.row_sets import READERS

#: When each of the runs is killed: see MOMENTS.
KILLS = ("making", "done", "any", "making", "done")
#: What each of them finds, and what is written while it runs at most.
BYTES = 300_000


def start(words: Sequence[str]) -> Running:
    return Forked(*words)


def test_killed_streams_lose_and_double_nothing(tmp_path: Path) -> None:
    growth = Growth(
        tmp_path / "captures",
        rotate_bytes=200_000,
        piece_bytes=16 * 1024,
        connections=8,
        interval_ns=1_000_000,
        taps=2,
        misses=30,
    )
    growing, rng, tally = Growing(growth), random.Random(4), Tally()
    ground = Ground(tmp_path, growing, later_s=0.05)
    for moment in KILLS:
        while growing.bytes < ground.allotted + BYTES:
            growing.step()
        ground.allotted += 2 * BYTES
        trial(ground, start, rng, "driver", moment, tally)
    growing.close()
    assert (tally.odd, tally.wrong) == ([], [])
    assert tally.in_flight > 0
    found = differences(ground, start)
    assert [each for each in found if not each.is_exact] == []
    rows = {(each.reader, each.table): each.rows for each in found}
    assert all(rows[reader, "frames"] > 1_000 for reader in READERS)
    assert rows["manifest", "gaps"] > 0
