"""The records and notes since the last batch, of which the next one is made: the last step of reading."""

from bisect import bisect_left
from collections.abc import Callable, Iterator
from operator import itemgetter

from wiretool import limits
from wiretool.batches.batch import Batch
from wiretool.capture.columns.streams import NEVER
from wiretool.dissect.columns.final_numbers import batch_of
from wiretool.dissect.columns.numbering import Numbers
from wiretool.dissect.columns.pending_output import PendingOutput


class PendingBatch:
    """The records since the last batch, with provisional numbers, and what was noted."""

    def __init__(self, numbers: Numbers, tell: Callable[[str], None]) -> None:
        """`tell` is called with the notes that belong to a batch."""
        self._numbers = numbers
        self._tell = tell
        self.output = PendingOutput([], [])
        #: The most that the items may come to that were read by themselves.
        self.expanded_bytes = 0
        #: Notes, and where among the records.
        self._notes: list[tuple[int, str]] = []

    @property
    def is_full(self) -> bool:
        """Return whether there is enough for a batch."""
        return len(self.output.records) >= limits.BATCH_RECORDS_MAX or self.expanded_bytes > limits.BATCH_BYTES_MAX

    def note(self, text: str) -> None:
        """Add a note before the next record."""
        self._notes.append((self._numbers.next, text))

    def take(self, before: int = NEVER) -> Iterator[Batch]:
        """Yield the records with smaller numbers, each with its final one, in batches; report notes in their order.

        One batch as a rule, also of no records; more where more records were read by themselves than one may have.
        """
        for bound in self._bounds(before):
            yield self._batch(bound)
        yield self._batch(before)

    def _bounds(self, before: int) -> Iterator[int]:
        """Yield numbers between which there are not too many records; those with equal numbers stay together."""
        numbers, start = sorted(record.n for record in self.output.records if record.n < before), 0
        while start + limits.BATCH_RECORDS_MAX < len(numbers):
            bound = numbers[start + limits.BATCH_RECORDS_MAX]
            if bound > numbers[start]:
                yield bound
            start = bisect_left(numbers, bound, start + 1)

    def _batch(self, before: int) -> Batch:
        output, self.output = (self.output, PendingOutput([], [])) if before == NEVER else self.output.cut(before)
        notes = sorted(self._notes, key=itemgetter(0))
        self._notes = [note for note in notes if note[0] >= before]
        for _, text in notes[: len(notes) - len(self._notes)]:
            self._tell(text)
        self.expanded_bytes = 0
        return batch_of(output, self._numbers)
