"""How far a table is read before what it said is given out, so that a batch stays small whatever comes."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from wiretool import limits
from wiretool.capture.items import Data, Finding, Item
from wiretool.capture.segments import SegmentTable
from wiretool.codec.columns import Integers

#: What is expected before anything is known, and how fast good order is believed in.
BYTES_PER_RECORD, EASED_TIMES = 64.0, 4


class Pace:
    """Finds where to pause, from what was read so far."""

    def __init__(self) -> None:
        #: How many times as many bytes as there are on the wire the messages of some connection may come to.
        self.growth = 1
        #: Payload bytes for each record that is read by itself, as far as is known.
        self._bytes_per_record = BYTES_PER_RECORD

    def pause(self, table: SegmentTable, start: int, growth_of: Callable[[bytes], int]) -> int:
        """The row before which to pause, having read up to `start`; there may be no such row.

        `growth_of` says of a flow's key how many times as many bytes its messages may come to.
        """
        lengths = table.lengths[start:]
        rows = len(lengths)
        if self._bytes_per_record * limits.BATCH_RECORDS_MAX < len(table.data):
            rows = _within(lengths, int(self._bytes_per_record * limits.BATCH_RECORDS_MAX))
        if self.growth > 1:
            growth = np.array([growth_of(key) for key in table.keys], np.int64)
            rows = min(rows, _within(lengths * growth[table.flows[start:]], limits.BATCH_BYTES_MAX))
        return start + max(rows, 1)

    def note(self, table: SegmentTable, start: int, stop: int, records: int) -> None:
        """These rows gave so many records that were read by themselves."""
        size = int(table.lengths[start:stop].sum())
        most = self._bytes_per_record * EASED_TIMES
        self._bytes_per_record = min(size / records, most) if records else most


def _within(sizes: Integers, most: int) -> int:
    """How many of the first ones come to at most so much together."""
    return int(np.searchsorted(np.cumsum(sizes), most, "right"))


def in_parts(items: Sequence[Item], growth: int) -> Iterator[Sequence[Item]]:
    """Items of one packet in parts, each of which gives a batch at most; `growth` as in `Pace.pause`."""
    start, size = 0, 0
    for at, item in enumerate(items):
        length = len(item.data) * growth if isinstance(item, Data | Finding) else 0
        if at > start and (at - start >= limits.BATCH_ITEMS_MAX or size + length > limits.BATCH_BYTES_MAX):
            yield items[start:at]
            start, size = at, 0
        size += length
    yield items[start:]
