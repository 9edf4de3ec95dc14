"""Frames of many connections that were emitted together, for `steady_watches`: `late` looks them up."""

from collections.abc import Sequence

import numpy as np

from wiretool import limits
from wiretool.codec.columns import Integers, begins_of

#: Groups that are kept, at least, before the oldest are forgotten.
_GROUPS_MAX = 1 << 16
#: Parts in which these are looked through one by one.
_PARTS_MAX = 16
#: In place of the slot of a group that was taken.
_TAKEN = -1
_NO_GROUPS = np.zeros((3, 0), np.int64)


class FrameGroups:
    """The last groups of each connection, by its slot: the number of the first record, and the packet.

    There are at least so many of each as are looked up.
    """

    def __init__(self) -> None:
        #: Groups as they were added, one of them in each column: slots, numbers and packets.
        self._parts: list[Integers] = []
        self._count = 0
        self._most = _GROUPS_MAX

    def add(self, slots: Integers, numbers: Integers, packets: Integers, count: int) -> None:
        """Add groups of connections, which have some of so many slots."""
        self._parts.append(np.stack((slots, numbers, packets)))
        self._count += len(slots)
        if self._count > self._most:
            self._forget(count)

    def _forget(self, count: int) -> None:
        """Keep those groups of each connection that are looked up: the last ones. No array of all of them is made."""
        later = np.zeros(count, np.int64)
        for at in range(len(self._parts) - 1, -1, -1):
            each = self._parts[at]
            order = np.argsort(each[0], kind="stable")
            order = order[each[0, order] != _TAKEN]
            slots = each[0, order]
            begins = begins_of(slots)
            counts = np.diff(begins, append=len(slots))
            rank = np.repeat(begins + counts, counts) - np.arange(len(slots)) + later[slots]
            later[slots[begins]] += counts
            self._parts[at] = each[:, np.sort(order[rank <= limits.REMEMBERED_STRETCHES_MAX])]
        self._parts = [each for each in self._parts if each.shape[1]]
        self._count = sum(each.shape[1] for each in self._parts)
        self._most = max(_GROUPS_MAX, self._count * 3 // 2)

    def take(self, slots: Integers, count: int) -> dict[int, tuple[Sequence[int], Sequence[int]]]:
        """Return numbers and packets of the groups of connections with some, which are dropped."""
        found = self._split(slots, count)
        if not found.shape[1]:
            return {}
        found = found[:, np.argsort(found[0], kind="stable")]
        firsts = begins_of(found[0])
        of, numbers, packets = found[0, firsts].tolist(), found[1].tolist(), found[2].tolist()
        bounds = zip(of, firsts.tolist(), np.append(firsts[1:], len(numbers)).tolist(), strict=True)
        return {slot: (numbers[first:stop], packets[first:stop]) for slot, first, stop in bounds}

    def drop(self, slots: Integers, count: int) -> None:
        """Forget the groups of connections."""
        self._split(slots, count)

    def _split(self, slots: Integers, count: int) -> Integers:
        """Return the groups of connections, which are dropped."""
        is_asked = np.zeros(count + 1, np.bool_)
        is_asked[slots] = True  # the last one is that of groups that were taken
        if len(self._parts) > _PARTS_MAX and self._count <= _GROUPS_MAX:
            self._parts = [np.concatenate(self._parts, 1)]
        found = [_NO_GROUPS]
        for each in self._parts:
            rows = np.flatnonzero(is_asked[each[0]])
            if len(rows):
                found.append(each[:, rows])
                each[0, rows] = _TAKEN
        return np.concatenate(found, 1)
