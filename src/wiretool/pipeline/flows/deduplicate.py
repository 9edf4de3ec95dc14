"""Packets that several taps have seen, taken once."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from wiretool.codec.columns import Flags, Integers

#: How far apart in time two taps may have seen one packet, their clocks being what they are. What comes later with the
#: same mark was sent again: a sender waits for 200 ms at least (Linux, TCP_RTO_MIN).
WINDOW_NS = 100_000_000


@dataclass(slots=True)
class Seen:
    """A packet, and the files that have a copy of it."""

    turn_ns: int
    length: int
    files: set[int] = field(default_factory=set)


class Once:
    """Tells the packets of one flow, which come in order, from their copies in other files.

    Two packets with one mark are copies of one another if they are in different files, and no more than `WINDOW_NS`
    apart. Each copy stands for one packet: what was sent twice and seen twice by each tap is there twice. A copy with
    more captured bytes than the first has them for itself.
    """

    def __init__(self) -> None:
        self._seen: dict[int, list[Seen]] = {}
        #: Rows that came last, as long as all are of one file and nothing has to be looked up.
        self._tail: tuple[Integers, ...] = ()
        self._files: set[int] = set()

    def firsts(self, files: Integers, turns: Integers, marks: Integers, lengths: Integers) -> Flags | None:
        """Which of the next packets are not copies; None where none is."""
        new = set(np.unique(files).tolist())
        if len(self._files | new) < 2:
            self._files = new
            self._tail = _latest([*self._tail], [files, turns, marks, lengths])
            return None
        self._files |= new
        tail, self._tail = self._tail, ()
        if tail:
            self._look(*tail)
        is_first = self._look(files, turns, marks, lengths)
        self._forget(int(turns[-1]) - WINDOW_NS)
        return None if is_first.all() else is_first

    def _look(self, files: Integers, turns: Integers, marks: Integers, lengths: Integers) -> Flags:
        """Which rows are no copies. One by one only those are looked at that have a mark in common with others."""
        _, of_row, counts = np.unique(marks, return_inverse=True, return_counts=True)
        is_open = (counts > 1)[of_row] | (turns >= turns[-1] - WINDOW_NS)
        if self._seen:
            is_open |= np.isin(marks, np.fromiter(self._seen, np.int64, len(self._seen)))
        is_first = np.ones(len(marks), np.bool_)
        rows = zip(*(column[is_open].tolist() for column in (files, turns, marks, lengths)), strict=True)
        is_first[is_open] = [self._is_first(*row) for row in rows]
        return is_first

    def _is_first(self, file: int, turn_ns: int, mark: int, length: int) -> bool:
        same = self._seen.setdefault(mark, [])
        for seen in same:
            if file not in seen.files and turn_ns - seen.turn_ns <= WINDOW_NS and length <= seen.length:
                seen.files.add(file)
                return False
        same.append(Seen(turn_ns, length, {file}))
        return True

    def _forget(self, before_ns: int) -> None:
        kept = {mark: [seen for seen in same if seen.turn_ns >= before_ns] for mark, same in self._seen.items()}
        self._seen = {mark: same for mark, same in kept.items() if same}
        self._files = {file for same in self._seen.values() for seen in same for file in seen.files}


def _latest(before: Sequence[Integers], now: Sequence[Integers]) -> tuple[Integers, ...]:
    """Those of the rows that a copy may still come of; the turns are the second column."""
    columns = [np.concatenate(each) for each in zip(before, now, strict=True)] if before else now
    first = int(np.searchsorted(columns[1], columns[1][-1] - WINDOW_NS))
    return tuple(column[first:] for column in columns)
