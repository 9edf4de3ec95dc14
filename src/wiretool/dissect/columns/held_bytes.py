"""The bytes of unfinished frames of many flows, for `steady_watches`; and when each part of them came."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from wiretool import limits
from wiretool.codec.columns import Integers
from wiretool.codec.frames.splitter import Mark


class Marks(NamedTuple):
    """Bytes up to `ends` of each flow came with a packet."""

    flows: Integers
    ends: Integers
    packets: Integers
    times: Integers

    def take(self, rows: Any) -> "Marks":
        """Return some of them."""
        return Marks(*(column[rows] for column in self))

    def joined(self, others: "Marks") -> "Marks":
        """Return these, then others."""
        return Marks(*(np.concatenate(pair) for pair in zip(self, others, strict=True)))


NO_MARKS = Marks(*(np.zeros(0, np.int64) for _ in range(4)))


class HeldBytes:
    """The bytes that are held of flows, by index of the flow; of most of them none are."""

    def __init__(self) -> None:
        self._rests: dict[int, bytes] = {}
        self._marks = NO_MARKS

    @property
    def marks_cost(self) -> int:
        """Return the memory that is counted for the marks, in bytes."""
        return limits.UNFINISHED_SEGMENT_BYTES * len(self._marks.flows)

    def rest(self, flow: int) -> bytes:
        """Return the bytes held of a flow with some."""
        return self._rests[flow]

    def marks(self, flows: Integers, count: int) -> Marks:
        """Return the marks of some of so many flows, by their place in `flows`."""
        places = np.full(count, -1)
        places[flows] = np.arange(len(flows))
        place = places[self._marks.flows]
        return self._marks._replace(flows=place).take(place >= 0)

    def add(self, rests: Mapping[int, bytes], marks: Marks) -> None:
        """Hold bytes of flows of which none are held."""
        self._rests.update(rests)
        self._marks = self._marks.joined(marks)

    def take(self, flows: Integers, count: int) -> dict[int, tuple[bytes, list[Mark]]]:
        """Return the bytes of some of so many flows, with their marks; they are held no more."""
        out = {flow: (self._rests.pop(flow), list[Mark]()) for flow in flows.tolist() if flow in self._rests}
        is_mine = np.zeros(count, np.bool_)
        is_mine[flows] = True
        is_mine = is_mine[self._marks.flows]
        for flow, *mark in zip(*(column.tolist() for column in self._marks.take(is_mine)), strict=True):
            out[flow][1].append(Mark(*mark))
        self._marks = self._marks.take(~is_mine)
        return out
