"""How far a table is read before what it said is given out, so that a batch stays small whatever comes."""

import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from wiretool import limits
from wiretool.capture.columns.segments import SegmentTable
from wiretool.capture.tcp.stream_events import Data, Finding, Item
from wiretool.codec.columns import Integers

#: What is expected before anything is known, and how fast good order is believed in.
BYTES_PER_RECORD, EASED_TIMES = 64, 4
#: How short frames may well be, and what is shorter than those of which there are many.
FRAME_BYTES, TINY_BYTES = 8, 16
#: How much of that is aimed at, where the last frames were so short that a table has more.
TOGETHER_SHARE = 0.75


class Pace:
    """Finds where to pause, from what was read so far."""

    def __init__(self) -> None:
        #: How many times as many bytes as there are on the wire the messages of some connection may come to.
        self.growth = 1
        #: Payload bytes for each record that is read by itself, as far as is known.
        self._bytes_per_record: float = BYTES_PER_RECORD
        #: Payload bytes that have no more frames than are read together, as far as is known.
        self._bytes_together = math.inf

    def is_much(self, frames: int, tiny: int) -> bool:
        """Whether so many frames, and tiny ones among them, are more than may be read without a pause.

        Were each of them a record, they would be no more than at the beginning; and tiny ones no more than a batch.
        """
        return _share(frames, tiny) > 1

    def note_frames(self, size: int, frames: int, tiny: int) -> None:
        """Note the frames in payload of a size, and the tiny ones: pauses keep the next parts below `is_much`."""
        most = size / _share(frames, tiny) * TOGETHER_SHARE if frames else math.inf
        self._bytes_together = min(most, self._bytes_together * EASED_TIMES)

    def pause(self, table: SegmentTable, start: int, growth_of: Callable[[bytes], int] | None = None) -> int:
        """The row before which to pause, having read up to `start`; there may be no such row.

        `growth_of` says of a flow's key how many times as many bytes its messages may come to, if that matters.
        """
        lengths = table.lengths[start:]
        rows = len(lengths)
        if self._bytes_per_record * limits.BATCH_RECORDS_MAX < len(table.data):
            rows = _within(lengths, int(self._bytes_per_record * limits.BATCH_RECORDS_MAX))
        if self._bytes_together < len(table.data):
            rows = min(rows, _within(lengths, int(self._bytes_together)))
        if self.growth > 1 and growth_of is not None:
            growth = np.array([growth_of(key) for key in table.keys], np.int64)
            rows = min(rows, _within(lengths * growth[table.flows[start:]], limits.BATCH_BYTES_MAX))
        return start + max(rows, 1)

    def note(self, table: SegmentTable, start: int, stop: int, records: int) -> None:
        """These rows gave so many records that were read by themselves; without payload they tell nothing."""
        size = int(table.lengths[start:stop].sum())
        if not size:
            return
        most = min(self._bytes_per_record * EASED_TIMES, limits.BATCH_BYTES_MAX)
        self._bytes_per_record = min(size / records, most) if records else most


def _share(frames: int, tiny: int) -> float:
    """Return the number of frames, and of tiny ones among them, as a share of what is read without a pause."""
    most = limits.BATCH_RECORDS_MAX * BYTES_PER_RECORD / FRAME_BYTES
    return max(frames / most, tiny / limits.BATCH_RECORDS_MAX)


def _within(sizes: Integers, most: int) -> int:
    """How many of the first ones come to at most so much together."""
    return int(np.searchsorted(np.cumsum(sizes), most, "right"))


def in_parts(items: Sequence[Item], growth: int) -> Iterator[Sequence[Item]]:
    """Items of one packet in parts, each of which gives a batch at most; `growth` as in `Pace.pause`."""
    start, size = 0, 0
    most = min(limits.BATCH_BYTES_MAX // growth, FRAME_BYTES * limits.BATCH_RECORDS_MAX)
    for at, item in enumerate(items):
        length = len(item.data) if isinstance(item, Data | Finding) else 0
        if at > start and (at - start >= limits.BATCH_ITEMS_MAX or size + length > most):
            yield items[start:at]
            start, size = at, 0
        size += length
    yield items[start:]
