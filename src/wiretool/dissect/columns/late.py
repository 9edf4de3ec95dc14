"""Replies that were told behind a hole, after what came later: what they seem to answer may not be their request."""

from dataclasses import replace

import numpy as np

from wiretool import limits
from wiretool.codec.columns import Flags, Integers
from wiretool.dissect.columns.placing import PlacedFrames
from wiretool.dissect.packet_index import Stretches
from wiretool.protocols.base.columns import NO_REPLY, Group


class Late:
    """Which of the frames were told behind a hole, so late that what they seem to answer came after them.

    As `Watch._records` finds it. The stretches of the watch are extended by those of the frames, as these are told.
    """

    def __init__(self, placed: PlacedFrames, latest: int, stretches: Stretches) -> None:
        self._placed = placed
        self._latest = latest
        self._stretches = stretches
        self._done = 0
        #: Before this row nothing new is emitted.
        self._due = 0
        #: The latest packet in which a frame up to each begins.
        self._running = np.maximum.accumulate(np.maximum(placed.first, latest))
        #: Number and packet of each stretch that a late frame may look up: those from before, and the new ones.
        self._every = self._all_stretches() if (placed.last < self._running).any() else None

    def _all_stretches(self) -> tuple[Integers, Integers]:
        numbers_before, packets_before = self._stretches.columns()
        new = self._placed.stretches
        numbers, packets = self._placed.frames.numbers[new], self._placed.first[new]
        return np.concatenate((numbers_before, numbers)), np.concatenate((packets_before, packets))

    def catch_up(self, row: int) -> int:
        """The stretches in front of that of a row are told; the latest packet in which a frame before it begins."""
        if row >= self._due:
            self._emit(int(np.searchsorted(self._placed.stretches, row, "right")) - (row < len(self._running)))
        return int(self._running[row - 1]) if row else self._latest

    def _emit(self, stop: int) -> None:
        """Extend the index of the watch up to this many groups."""
        every = self._placed.stretches
        self._due = int(every[stop + 1]) if stop + 1 < len(every) else len(self._running)
        start = max(self._done, stop - limits.REMEMBERED_STRETCHES_MAX)
        if stop > start:
            begins = every[start:stop]
            columns = self._placed.frames.numbers[begins].tolist(), self._placed.first[begins].tolist()
            self._stretches.extend(*columns)
            self._done = stop

    def are_wrong(self, rows: Integers, reply_to: Integers) -> Flags:
        """Return whether what late frames with replies seem to answer came after them."""
        are_wrong: Flags = self._packets_of(reply_to, rows) > self._placed.last[rows]
        return are_wrong

    def _packets_of(self, numbers: Integers, rows: Integers) -> Integers:
        """As `Stretches.packet_of` says it of each number when the row is told."""
        assert self._every is not None, "some frame is late"
        firsts, packets = self._every
        ends = len(firsts) - len(self._placed.stretches) + np.searchsorted(self._placed.stretches, rows, "right") - 1
        at = np.minimum(np.searchsorted(firsts, numbers, "right"), ends)
        is_known = at > np.maximum(ends - limits.REMEMBERED_STRETCHES_MAX, 0)
        return np.where(is_known, packets[at - 1], 0)


def without_replies(group: Group, places: Integers) -> Group:
    """Return a group of which the frames at some places answer nothing."""
    if group.reply_to is None or not len(places):
        return group
    reply_to = group.reply_to.copy()
    reply_to[places] = NO_REPLY
    return replace(group, reply_to=reply_to)
