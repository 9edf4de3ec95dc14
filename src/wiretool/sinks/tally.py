"""The ledger of what is shown, also where that ends before the captures do."""

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from wiretool.errors import CaptureError
from wiretool.ledger import Account, ConnectionAccount, Ledger
from wiretool.records import Record

if TYPE_CHECKING:  # NumPy takes as long to load as all that small captures need
    from wiretool.batches.batch import Batch, Ends, FrameRun


class Tally:
    """Makes `shown` the ledger of the records up to the last one that was let through.

    A reader is ahead of what is shown, in columns by many frames: its own ledger, `reading`, is right once all is read.
    Where reading may stop early, records are counted as they go by, until it is known that it did not.
    """

    def __init__(self, *, may_stop: bool) -> None:
        #: For the reader, and what becomes of it: one ledger, unless reading may stop.
        self.reading = Ledger()
        self.shown = Ledger() if may_stop else self.reading
        #: Records up to the last one that was let through; counted where reading may stop.
        self.seen = 0
        self._may_stop = may_stop
        self._rows: dict[int, ConnectionAccount] = {}

    def records(self, records: Iterable[Record]) -> Iterator[Record]:
        """All records, counted up to the last one that was asked for."""
        return self._counted(records) if self._may_stop else iter(records)

    def batches(
        self, batches: "Iterator[Batch]", *, keep: "Callable[[Batch], Batch] | None" = None, count: int | None = None
    ) -> "Iterator[Batch]":
        """What `keep` leaves of the batches, `count` records at most, which is for one where reading may stop."""
        assert self._may_stop or count is None, "where it stops is known from the start"
        chosen = keep or _all_of
        return self._up_to(batches, chosen, count) if self._may_stop else map(chosen, batches)

    def add(self, record: Record) -> None:
        """Count one record."""
        self.seen += 1
        account = self._account(record, record.protocol)
        if record.kind == "frame":
            account.frames += 1
            account.frame_bytes += record.length
        elif record.kind == "gap":
            account.gaps += 1
            account.gap_bytes += record.length
            return
        elif record.kind == "problem":
            account.problems += 1
            account.problem_bytes += record.length
        else:
            account.other_bytes += record.length
        account.payload_bytes += record.length

    def add_batch(self, batch: "Batch") -> None:
        """Count the records of a batch, as `add` would one by one."""
        for record in batch.records:
            self.add(record)
        for run in batch.runs:
            self.seen += sum(len(group.rows) for group in run.groups)
            self._add_run(run)

    def _add_run(self, run: "FrameRun") -> None:
        import numpy as np

        rows = np.concatenate([group.rows for group in run.groups])
        owner, count = run.connection_of[rows], len(run.connections)
        frames = np.bincount(owner, minlength=count).tolist()
        sizes = np.bincount(owner, run.frames.ends[rows] - run.frames.starts[rows], count).astype(np.int64).tolist()
        for ends, number, size in zip(run.connections, frames, sizes, strict=True):
            if number:
                account = self._account(ends, run.protocol)
                account.frames += number
                account.frame_bytes += size
                account.payload_bytes += size

    def _counted(self, records: Iterable[Record]) -> Iterator[Record]:
        try:
            for record in records:
                self.add(record)
                yield record
        except CaptureError:  # comes when all before the damage was told
            self._all_read()
            raise
        self._all_read()

    def _up_to(
        self, batches: "Iterator[Batch]", keep: "Callable[[Batch], Batch]", count: int | None
    ) -> "Iterator[Batch]":
        from wiretool.batches.rows import records_of

        try:
            while (batch := next(batches, None)) is not None:
                kept = keep(batch)
                if count is not None and kept.count >= count:
                    yield self._last(batch, records_of(kept)[:count])
                    return
                self.add_batch(batch)
                count = None if count is None else count - kept.count
                yield kept
                del batch, kept  # or two would be held while the next one is read
        except CaptureError:
            self._all_read()
            raise
        self._all_read()

    def _last(self, batch: "Batch", kept: list[Record]) -> "Batch":
        """The records kept of a batch behind which nothing is shown; those of it up to the last of them are counted."""
        from wiretool.batches.rows import batch_of, records_of

        for record in records_of(batch):
            if record.n <= kept[-1].n:
                self.add(record)
        return batch_of(kept)

    def _all_read(self) -> None:
        self.shown.connections[:] = self.reading.connections
        self.shown.packets = self.reading.packets

    def _account(self, of: "Record | Ends", protocol: str) -> Account:
        """The account of a connection, by anything that is of it."""
        if of.connection not in self._rows:
            self._rows[of.connection] = self.shown.open(of.connection, of.client, of.server)
        row = self._rows[of.connection]
        row.protocol = protocol
        return row.account


def _all_of(batch: "Batch") -> "Batch":
    return batch
