"""The values of requests for filters of their replies: what `where.history` keeps of records, kept of batches."""

from typing import Any

from wiretool.batches.batch import Batch
from wiretool.filter.history import Getter, History, Steps
from wiretool.sinks.arrow.filter_compare import each_of
from wiretool.sinks.arrow.filter_values import Rows


def begin_batch(history: History, batch: Batch) -> None:
    """Show a history the frames of a batch, before its records are filtered."""
    for steps, values in history.requests.items():
        values.begin_batch(batch.first_n, batch.count, _BatchValues(batch, steps, values.get, history))


class _BatchValues:
    """One value of each frame of a batch, found when it is first asked for."""

    def __init__(self, batch: Batch, steps: Steps, get: Getter, history: History) -> None:
        self._batch: Batch | None = batch
        self._steps = steps
        self._get = get
        self._history = history
        self._values: list[Any] = []

    def __call__(self, place: int) -> Any:
        """Return the value of the frame at a place in the batch; None for what is not a frame."""
        if self._batch is not None:
            self._values = self._find(self._batch)
            self._batch = None  # its data may be large
        return self._values[place]

    def _find(self, batch: Batch) -> list[Any]:
        found: list[Any] = [None] * batch.count
        for run in batch.runs:
            in_hex: list[Any] = []
            for group in run.groups:
                rows = Rows(run, group, self._history, in_hex)
                places = (run.frames.numbers[group.rows] - batch.first_n).tolist()
                for place, value in zip(places, self._values_of(rows), strict=True):
                    found[place] = value
        for record in batch.records:
            if record.kind == "frame":
                found[record.n - batch.first_n] = self._get(record)
        return found

    def _values_of(self, rows: Rows) -> list[Any]:
        column = rows.at(self._steps)
        return [self._get(record) for record in rows.records()] if column is None else each_of(column, len(rows))
