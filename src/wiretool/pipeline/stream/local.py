"""Batches of a stream made in this process."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from wiretool.capture.index import read_span
from wiretool.pipeline.rows import rows_of
from wiretool.pipeline.shuffle import Shuffle
from wiretool.pipeline.stream.batch import Task, Told, read_batch
from wiretool.pipeline.stream.plan import Stretch


def read_here(task: Task, stretches: Sequence[Stretch], floor_ns: int, root: Path) -> list[Told]:
    """Make the tables of a batch under `root`; what each part has come to.

    No row has an earlier turn than `floor_ns`: what is older came late. Errors as `read_batch` has them.
    """
    with Shuffle(root, len(task.states)) as shuffle:
        for place, path, span in stretches:
            for segments in read_span(Path(path), span):
                turns = np.maximum(segments.turns, floor_ns)
                shuffle.add(rows_of(replace(segments, turns=turns), place))
        return [read_batch(task, part, shuffle.sorted(part), root) for part in shuffle.partitions]
