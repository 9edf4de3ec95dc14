"""Keeps the records of batches for which an expression is true."""

from wiretool.batches.batch import Batch
from wiretool.batches.rows import records_of
from wiretool.where import Clock, Names, Selection


class BatchFilter:
    """What `where.Selection` is to records."""

    def __init__(self, names: Names, clock: Clock, *, expression: str = "", connection: int | None = None) -> None:
        """UsageError where the expression makes no sense."""
        self._selection = Selection(names, clock, expression=expression, connection=connection)

    def keep(self, batch: Batch) -> Batch:
        """The batch with only the records that are wanted."""
        records = [record for record in records_of(batch) if self._selection(record)]
        return Batch(batch.first_n, len(records), (), records)
