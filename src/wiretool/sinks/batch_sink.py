"""What every sink of batches does, and row sinks as such."""

from abc import ABC, abstractmethod

from wiretool.batches.batch import Batch
from wiretool.batches.rows import records_of
from wiretool.sinks.sink import Sink


class BatchSink(ABC):
    """Takes batches in order. `begin` before the first, `end` after the last, even when reading broke off."""

    def begin(self) -> None:  # noqa: B027  (most forms have nothing in front)
        """Write what stands in front of the records."""

    @abstractmethod
    def write(self, batch: Batch) -> None:
        """Write the records of one batch, in their order."""

    def end(self) -> None:  # noqa: B027
        """Write what stands behind the records."""


class RowByRow(BatchSink):
    """A sink of records, given batches."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink

    def begin(self) -> None:
        self._sink.begin()

    def write(self, batch: Batch) -> None:
        for record in records_of(batch):
            self._sink.write(record)

    def end(self) -> None:
        self._sink.end()
