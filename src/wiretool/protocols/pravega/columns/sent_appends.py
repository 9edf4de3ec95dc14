"""Appends and acknowledgements of many connections, matched by number."""

from typing import Any, Literal, NamedTuple

import numpy as np

from wiretool.codec.columns import NO_INTEGERS, Flags, Integers
from wiretool.protocols.base.columns import NO_REPLY
from wiretool.protocols.pravega.columns.kinds import Kind

#: Codes of numbers together with their connections are below this.
_CODES_MAX = 1 << 62


class Half(NamedTuple):
    """Appends or acknowledgements: the connection, number and row of each, ordered by connection.

    Of one connection it is the writer instead.
    """

    kind: Kind | None
    owner: Integers
    numbers: Integers
    rows: Integers
    #: Their places among the frames of the kind.
    places: Integers | slice = slice(None)

    @classmethod
    def of(cls, kind: Kind | None, owner: Integers, name: str) -> "Half":
        """Return the frames of a kind with the numbers of that name; `owner` is by frame."""
        if kind is None:
            return cls(None, NO_INTEGERS, NO_INTEGERS, NO_INTEGERS)
        return cls(kind, owner[kind.rows], kind.numbers(name), kind.rows)

    @classmethod
    def of_places(cls, kind: Kind | None, places: Integers, owner: Integers, name: str) -> "Half":
        """Return the frames at these places of a kind; `owner` is of each of them, in any order."""
        if kind is None:
            return cls(None, NO_INTEGERS, NO_INTEGERS, NO_INTEGERS)
        order = np.argsort(owner, kind="stable")
        places = places[order]
        return cls(kind, owner[order], kind.numbers(name)[places], kind.rows[places], places)

    def add(self, values: Integers) -> None:
        """Note what the session adds to each."""
        if self.kind is not None:
            self.kind.added[self.places] = values


class Waiting(NamedTuple):
    """Appends that wait for their acknowledgements, in order: connection, number, record and request id of each."""

    owner: Integers
    numbers: Integers
    records: Integers
    ids: Integers

    def take(self, rows: Any) -> "Waiting":
        """Return some of them."""
        return Waiting(*(column[rows] for column in self))

    def joined(self, others: "Waiting") -> "Waiting":
        """Return these, then others."""
        return Waiting(*(np.concatenate(pair) for pair in zip(self, others, strict=True)))


NO_WAITING = Waiting(NO_INTEGERS, NO_INTEGERS, NO_INTEGERS, NO_INTEGERS)


class Appends:
    """The appends of each connection in order: waiting ones of earlier tables, then new ones."""

    def __init__(self, appends: Half, waiting: Waiting, count: int) -> None:
        """`waiting` are those of earlier tables, `count` is that of the connections."""
        owner, numbers, records, ids = waiting
        if appends.kind is not None:
            records = np.concatenate((records, appends.kind.frames.numbers[appends.rows]))
            ids = np.concatenate((ids, appends.kind.numbers("request_id")[appends.places]))
        rows = np.concatenate((np.full(len(owner), -1), appends.rows))
        numbers, owner = np.concatenate((numbers, appends.numbers)), np.concatenate((owner, appends.owner))
        order = np.argsort(owner, kind="stable") if len(waiting.owner) else slice(None)
        self.owner, self.numbers, self.rows = owner[order], numbers[order], rows[order]
        self._records, self._ids = records[order], ids[order]
        self.is_new = self.rows >= 0
        #: By connection: the index of its first append, and the end of the last.
        self.bounds: Integers = np.searchsorted(self.owner, np.arange(count + 1))

    def answered_by(self, acks: Half) -> Integers:
        """Return the record of the append with the number of each acknowledgement, if it was sent before it."""
        if not len(self.numbers):
            return np.full(len(acks.numbers), NO_REPLY, np.int64)
        at = self._places(acks.owner, acks.numbers)
        at = np.minimum(at, len(self.numbers) - 1)
        is_sent = (self.numbers[at] == acks.numbers) & (self.owner[at] == acks.owner) & (self.rows[at] < acks.rows)
        return np.where(is_sent, self._records[at], NO_REPLY)

    def last(self) -> tuple[Flags, Integers]:
        """Return the connections with new appends, and the number of the last one of each."""
        ends = self.bounds[1:]
        has_new = ends > self.bounds[:-1]
        has_new[has_new] = self.is_new[ends[has_new] - 1]
        return has_new, self.numbers[ends[has_new] - 1]

    def waiting(self, acks: Half) -> Waiting:
        """Return the appends that wait on after these acknowledgements."""
        firsts = self.bounds[:-1].copy()
        if len(acks.owner) and len(self.owner):
            is_last = np.append(acks.owner[1:] != acks.owner[:-1], True)
            owner, numbers, rows = acks.owner[is_last], acks.numbers[is_last], acks.rows[is_last]
            upto = np.minimum(self._places(owner, numbers, "right"), self._rows_before(owner, rows))
            firsts[owner] = np.maximum(upto, firsts[owner])
        every = Waiting(self.owner, self.numbers, self._records, self._ids)
        return every.take(np.arange(len(self.owner)) >= firsts[self.owner])

    def _places(self, owner: Integers, numbers: Integers, side: Literal["left", "right"] = "left") -> Integers:
        """Return the index among the appends at which each number of a connection sorts."""
        least, most = int(self.numbers.min()), int(self.numbers.max())
        lows = np.zeros(len(self.bounds) - 1, np.int64)
        lows[self.owner[::-1]] = self.numbers[::-1]
        span = most - least + 3
        if span * len(lows) >= _CODES_MAX:
            return self._places_one_by_one(owner, numbers, side)
        asked = np.clip(np.where(numbers < least, -1, np.clip(numbers, least, most) - lows[owner]), -1, span - 2)
        known = self.owner * span + (self.numbers - lows[self.owner] + 1)
        places: Integers = np.searchsorted(known, owner * span + asked + 1, side)
        return places

    def _places_one_by_one(self, owner: Integers, numbers: Integers, side: Literal["left", "right"]) -> Integers:
        """Do the same for numbers that are too far apart for one sort key with their connection."""
        places = np.empty(len(owner), np.int64)
        for index in np.unique(owner).tolist():
            begin, end = self.bounds[index : index + 2].tolist()
            mine = owner == index
            places[mine] = begin + np.searchsorted(self.numbers[begin:end], numbers[mine], side)
        return places

    def _rows_before(self, owner: Integers, rows: Integers) -> Integers:
        """Return the index after the last append of each connection before a row."""
        span = max(int(self.rows.max(initial=0)), int(rows.max(initial=0))) + 2
        places: Integers = np.searchsorted(self.owner * span + self.rows + 1, owner * span + rows + 1, "right")
        return places


def falls(owner: Integers, numbers: Integers) -> Flags:
    """Return whether each number, from the second on, is not larger than the one before of the same connection."""
    falls: Flags = (owner[1:] == owner[:-1]) & (numbers[1:] <= numbers[:-1])
    return falls
