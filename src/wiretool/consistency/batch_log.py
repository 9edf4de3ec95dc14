"""A stretch of offsets as its writers and readers see it: acknowledged batches, and those that reads returned.

A batch has a base offset, which no other batch of the same place has.
"""

from bisect import bisect_left, insort
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from wiretool.consistency.model import Anomaly, AnomalyName


@dataclass(slots=True, eq=False)
class AppendedBatch:
    """A batch with its acknowledgement."""

    #: The number of its record, and of that of its acknowledgement.
    n: int
    acknowledged: int
    base: int
    events: int
    content: bytes
    #: Whether a read returned it or showed it to be missing, and whether it is an anomaly.
    is_judged: bool = False
    is_reported: bool = False


class FetchedBatch(NamedTuple):
    """A batch in the answer to a read."""

    base: int
    content: bytes


class Fetch(NamedTuple):
    """A read and its answer: the batches from an offset on, in order, up to a limit or to the size of an answer."""

    #: The numbers of the records.
    asked: int
    n: int
    offset: int
    batches: Sequence[FetchedBatch]
    #: Where there are no batches: none has a base from the offset to this. 0 where the answer does not deny any.
    limit: int = 0
    #: At the end of what a read returns, batches may be missing that were acknowledged at this record or later.
    acknowledged_before: int = 0


class BatchLog:
    """The batches of one place. `is_strict`: the server never gives an offset to two batches."""

    def __init__(self, label: str, *, is_strict: bool) -> None:
        self.label = label
        self._is_strict = is_strict
        #: Acknowledged events that a read returned or showed to be missing.
        self.judged = 0
        self.held_bytes = 0
        #: The first offset that was not trimmed.
        self.start = 0
        self._batches: list[AppendedBatch] = []

    @property
    def has_acknowledged(self) -> bool:
        """Return whether there is something to read back."""
        return bool(self._batches) and self._batches[-1].base >= self.start

    @property
    def first_offset(self) -> int:
        """Return the offset of the first acknowledged batch that was not trimmed."""
        return next((each.base for each in self._batches if each.base >= self.start), self.start)

    def acknowledge(self, batch: AppendedBatch) -> list[Anomaly]:
        """A batch was acknowledged at its base offset.

        Where another one was before, a server that restarted has given the offset again: both are forgotten, unless
        that may not be.
        """
        other = self._batch_at(batch.base)
        if other is not None:
            self._batches.remove(other)
            if not self._is_strict:
                return []
        insort(self._batches, batch, key=_base_of)
        self.held_bytes += len(batch.content)
        if other is None:
            return []
        why = f"record {batch.acknowledged} acknowledges another batch at offset {batch.base:,}"
        return self._report("lost-event", other, why, batch.acknowledged)

    def trim(self, offset: int) -> None:
        """Batches before an offset may be gone."""
        self.start = max(self.start, offset)

    def read(self, fetch: Fetch) -> list[Anomaly]:
        """Compare the answer to a read with the batches that were acknowledged."""
        anomalies: list[Anomaly] = []
        seen: set[int] = set()
        for fetched in fetch.batches:
            if fetched.base in seen:
                anomalies += self._judge_copy(fetched, fetch.n)
            else:
                anomalies += self._judge(fetched, fetch.n)
            seen.add(fetched.base)
        shown = min(fetch.asked, fetch.acknowledged_before)
        if not seen:
            return self._judge_missing(fetch, seen, range(fetch.offset, fetch.limit), shown)
        between = range(min(fetch.offset, *seen), max(seen) + 1)
        # A batch that begins before the offset is the last one that does.
        after = range(max(seen) + 1, fetch.offset + 1)
        return [
            *anomalies,
            *self._judge_missing(fetch, seen, between, fetch.asked),
            *self._judge_missing(fetch, seen, after, shown),
        ]

    def _judge(self, fetched: FetchedBatch, n: int) -> list[Anomaly]:
        batch = self._batch_at(fetched.base)
        if batch is None or batch.is_reported:
            return []
        if batch.content == fetched.content:
            self._count_judged(batch)
            return []
        why = f"the batch at offset {batch.base:,} differs from the one that was appended"
        return self._report("changed-event", batch, why, n)

    def _judge_copy(self, fetched: FetchedBatch, n: int) -> list[Anomaly]:
        batch = self._batch_at(fetched.base)
        if batch is None:
            return []
        return self._report("doubled-event", batch, f"one answer has the batch at offset {batch.base:,} twice", n)

    def _judge_missing(self, fetch: Fetch, seen: set[int], bases: range, before: int) -> list[Anomaly]:
        """Report the batches with a base among these that are not in the answer, if acknowledged before a record."""
        anomalies = []
        low = bisect_left(self._batches, max(bases.start, self.start), key=_base_of)
        high = bisect_left(self._batches, bases.stop, key=_base_of)
        for batch in self._batches[low:high]:
            if batch.base not in seen and batch.acknowledged < before:
                why = f"a read from offset {fetch.offset:,} on does not return the batch at offset {batch.base:,}"
                anomalies += self._report("lost-event", batch, why, fetch.n)
        return anomalies

    def _batch_at(self, base: int) -> AppendedBatch | None:
        index = bisect_left(self._batches, base, key=_base_of)
        found = self._batches[index] if index < len(self._batches) else None
        return found if found is not None and found.base == base and base >= self.start else None

    def _report(self, name: AnomalyName, batch: AppendedBatch, why: str, n: int) -> list[Anomaly]:
        """Report a batch, unless it was reported before."""
        if batch.is_reported:
            return []
        batch.is_reported = True
        self._count_judged(batch)
        return [Anomaly(name, self.label, why, (batch.n, batch.acknowledged, n))]

    def _count_judged(self, batch: AppendedBatch) -> None:
        if not batch.is_judged:
            batch.is_judged = True
            self.judged += batch.events


def _base_of(batch: AppendedBatch) -> int:
    return batch.base
