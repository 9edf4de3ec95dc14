"""The batches that a replay sent to one range, in the order of their offsets.

Every acknowledged batch that follows the one before it is settled. An answer is judged by these and by the few batches
after them, so a long recording costs no more for each request than a short one.
"""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Self

_BASE = attrgetter("base")


@dataclass(eq=False, slots=True)
class Batch:
    """A batch that was sent: its content, when it was sent, and when it was acknowledged, if it was."""

    meta: Mapping[str, Any]
    payload: Any
    length: int
    #: The offsets of its first record, and after its last one.
    base: int
    end: int
    sent: int
    acknowledged: int | None = None

    @classmethod
    def sent_as(cls, entry: Mapping[str, Any], sent: int) -> Self:
        """Return the batch of an entry of an APPEND."""
        meta = entry["meta"]
        base = int(meta.get("base_offset", 0))
        end = base + int(meta.get("last_offset_delta", 0))
        return cls(meta, entry["payload"], entry["length"], base, end, sent)


class LiveRange:
    """A range that a server has, and the batches that were sent to it and not refused."""

    def __init__(self, start: int) -> None:
        self.start = start
        self.is_sealed = False
        #: Acknowledged batches, each where the one before it ends; and for each the latest acknowledgement up to it.
        self._settled: list[Batch] = []
        self._acknowledged: list[int] = []
        #: All other batches, by offset and in the order in which they were sent.
        self._others: list[Batch] = []

    def add(self, batch: Batch) -> None:
        """Take a batch that is sent."""
        insort(self._others, batch, key=_BASE)

    def remove(self, batch: Batch) -> None:
        """Forget a batch that was refused."""
        at = self._find(batch)
        if at is not None:
            del self._others[at]

    def acknowledge(self, batch: Batch, now: int) -> None:
        """Note that a batch was acknowledged."""
        batch.acknowledged = now
        while (following := self._find_acknowledged(self._settled_end)) is not None:
            self._settled.append(self._others.pop(following))
            latest = self._settled[-1].acknowledged or 0
            self._acknowledged.append(max([latest, *self._acknowledged[-1:]]))

    def line(self) -> list[Batch]:
        """Return the batches that follow each other from the start on; of two at one offset the acknowledged one."""
        return [*self._settled, *self._following(None)]

    def certain_count(self, sent: int) -> int:
        """Return how many batches from the start on were durable when something was sent."""
        return bisect_left(self._acknowledged, sent)

    def certain_end(self, sent: int) -> int:
        """Return where the last of them ends."""
        count = self.certain_count(sent)
        return self._settled[count - 1].end if count else self.start

    def end(self, *, without: Batch | None = None) -> int:
        """Return where the last batch of the line ends; one batch may be left out."""
        return max((batch.end for batch in self._following(without)), default=self._settled_end)

    def has_end(self, offset: int, *, without: Batch | None = None) -> bool:
        """Return whether a range may end at an offset: where it starts, or where a batch of the line ends."""
        if offset in (self.start, self._settled_end):
            return True
        if offset < self._settled_end:
            at = bisect_left(self._settled, offset, key=_BASE)
            return at < len(self._settled) and self._settled[at].base == offset
        return any(batch.end == offset for batch in self._following(without))

    @property
    def _settled_end(self) -> int:
        return self._settled[-1].end if self._settled else self.start

    def _following(self, without: Batch | None) -> Iterator[Batch]:
        """Yield the batches of the line after the settled ones."""
        offset = self._settled_end
        while (batch := self._best_at(offset, without)) is not None:
            yield batch
            offset = batch.end

    def _best_at(self, offset: int, without: Batch | None) -> Batch | None:
        """Return the batch at an offset, an acknowledged one rather than another."""
        there = [batch for batch in self._at(offset) if batch is not without and batch.end > offset]
        return min(there, key=lambda batch: batch.acknowledged is None, default=None)

    def _at(self, offset: int) -> list[Batch]:
        """Return all batches at an offset that are not settled."""
        first, last = self._span(offset)
        return self._others[first:last]

    def _span(self, offset: int) -> tuple[int, int]:
        return bisect_left(self._others, offset, key=_BASE), bisect_right(self._others, offset, key=_BASE)

    def _find(self, batch: Batch) -> int | None:
        """Return the place of a batch among those that are not settled."""
        return next((at for at in range(*self._span(batch.base)) if self._others[at] is batch), None)

    def _find_acknowledged(self, offset: int) -> int | None:
        """Return the place of an acknowledged batch that begins at an offset."""
        places = range(*self._span(offset))
        return next((at for at in places if self._is_acknowledged(self._others[at])), None)

    @staticmethod
    def _is_acknowledged(batch: Batch) -> bool:
        return batch.acknowledged is not None and batch.end > batch.base
