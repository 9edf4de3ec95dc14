"""The records and notes since the last batch, of which the next one is made: the last step of reading."""

from collections.abc import Callable
from operator import itemgetter

from wiretool import limits
from wiretool.batches.batch import Batch
from wiretool.bulk.final_numbers import batch_of
from wiretool.bulk.numbering import Numbers
from wiretool.bulk.pending_output import PendingOutput
from wiretool.capture.bulk_streams import NEVER


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

    def take(self, before: int = NEVER) -> Batch:
        """Return the batch of records with smaller numbers, each with its final one; report notes in their order."""
        output, self.output = (self.output, PendingOutput([], [])) if before == NEVER else self.output.cut(before)
        notes = sorted(self._notes, key=itemgetter(0))
        self._notes = [note for note in notes if note[0] >= before]
        for _, text in notes[: len(notes) - len(self._notes)]:
            self._tell(text)
        self.expanded_bytes = 0
        return batch_of(output, self._numbers)
