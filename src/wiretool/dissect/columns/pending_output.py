"""The records since the last batch, divided between it and the next one."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from wiretool.batches.batch import FrameRun
from wiretool.records import Record


class PendingOutput(NamedTuple):
    """Columns, and records that were read one by one."""

    runs: list[FrameRun]
    records: list[Record]

    def cut(self, number: int) -> tuple["PendingOutput", "PendingOutput"]:
        """Return the records with smaller numbers, and the others."""
        runs = [_cut(run, int(np.searchsorted(run.frames.numbers, number))) for run in self.runs]
        before = PendingOutput(
            [run for run, _ in runs if run.groups], [each for each in self.records if each.n < number]
        )
        return before, PendingOutput(
            [run for _, run in runs if run.groups], [each for each in self.records if each.n >= number]
        )


def _cut(run: FrameRun, row: int) -> tuple[FrameRun, FrameRun]:
    """The run with those of its groups' frames that are before a row, and with the others."""
    if row == len(run.frames.numbers):
        return run, replace(run, groups=[])
    parts = [
        [group.take(group.rows < row) for group in run.groups],
        [group.take(group.rows >= row) for group in run.groups],
    ]
    before, behind = ([group for group in groups if len(group.rows)] for groups in parts)
    return replace(run, groups=before), replace(run, groups=behind)
