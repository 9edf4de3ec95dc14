"""Many frames of a connection by their classes: the fields of each class as columns, read all at once.

The draft has the same header, so this is for both.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from wiretool.codec.columns import (
    Columns,
    Flags,
    Integers,
    Numbers,
    Spans,
    Uuids,
    gathered,
    has_columns,
    read_columns,
)
from wiretool.codec.message import Message, Side
from wiretool.codec.types import uuid_text
from wiretool.protocols.base.columns import NO_REPLY, Frames
from wiretool.protocols.pravega.framing import HEADER_BYTES

#: The code of a frame that is read one by one.
SLOW = -1
#: Frames of a class that are worth columns.
KIND_MIN = 4
#: Frames of a class on average from which on columns are faster than single frames.
KIND_FRAMES_MIN = 8
#: What a step gives for a frame that the session is to read.
REFUSED = -2
#: The types of all messages are from here on, and how many there may be.
_TYPE_MIN, _TYPES = -128, 256


class Kind:
    """The frames of one class: `rows` are their places, ascending."""

    def __init__(self, cls: type[Message], frames: Frames, rows: Integers, columns: Columns) -> None:
        self.cls = cls
        self.frames = frames
        self.rows = rows
        self.columns = columns
        #: What the session adds to each: the record that it answers, or the code of the segment that it appends to.
        self.added = np.full(len(rows), NO_REPLY, np.int64)

    def take(self, kept: Flags) -> "Kind":
        """Those that are kept."""
        if kept.all():
            return self
        columns = {name: column.take(kept) for name, column in self.columns.items()}
        kind = Kind(self.cls, self.frames, self.rows[kept], columns)
        kind.added = self.added[kept]
        return kind

    def between(self, start: int, stop: int) -> tuple[int, int]:
        """Which of them are the frames [start, stop)."""
        first, last = np.searchsorted(self.rows, (start, stop)).tolist()
        return first, last

    def part(self, start: int, stop: int) -> "Part":
        """Those that are the frames [start, stop), as lists."""
        return Part(self, *self.between(start, stop))

    def numbers(self, name: str) -> Integers:
        """A column of whole numbers."""
        column = self.columns[name]
        assert isinstance(column, Numbers)
        return column.values

    def spans(self, name: str) -> Spans:
        """A column of bytes or text."""
        column = self.columns[name]
        assert isinstance(column, Spans)
        return column

    def ids(self, name: str = "writer_id") -> Integers:
        """A column of UUIDs as two numbers each."""
        column = self.columns[name]
        assert isinstance(column, Uuids)
        return column.raw.view(np.int64)


class Part:
    """The values of some frames of a kind in a row, for who goes through them one by one."""

    def __init__(self, kind: Kind, first: int, last: int) -> None:
        self.kind = kind
        self.first = first
        self.last = last
        self.rows: list[int] = kind.rows[first:last].tolist()
        #: The numbers of their records.
        self.records: list[int] = kind.frames.numbers[kind.rows[first:last]].tolist()

    def numbers(self, name: str) -> list[int]:
        """Whole numbers by the name of their field; -1 for each where the class has no such field."""
        if name not in self.kind.columns:
            return [-1] * len(self.rows)
        values: list[int] = self.kind.numbers(name)[self.first : self.last].tolist()
        return values

    def texts(self, name: str) -> list[str]:
        """Texts by the name of their field."""
        data, spans = self.kind.frames.data, self.kind.spans(name)
        starts = spans.starts[self.first : self.last]
        stops = starts + spans.lengths[self.first : self.last]
        return [data[start:stop].decode("ascii") for start, stop in zip(starts.tolist(), stops.tolist(), strict=True)]

    def ids(self, name: str = "writer_id") -> list[str]:
        """UUIDs by the name of their field."""
        return texts_of(self.kind.ids(name)[self.first : self.last])


def texts_of(ids: Integers) -> list[str]:
    """The canonical texts of UUIDs that are two numbers each."""
    raw = ids.tobytes()
    return [uuid_text(raw[at : at + 16]) for at in range(0, len(raw), 16)]


class Kinds(NamedTuple):
    """The kinds of some frames by their code, and the code of each frame, SLOW for the others."""

    kinds: dict[int, Kind]
    codes: Integers

    def drop(self, code: int, dropped: Flags) -> None:
        """Read some of a kind one by one."""
        if dropped.any():
            kind = self.kinds.pop(code)
            self.codes[kind.rows[dropped]] = SLOW
            if not dropped.all():
                self.kinds[code] = kind.take(~dropped)


class Catalogue:
    """The classes of a protocol that arrays can read, and the code of each."""

    def __init__(self, senders: Mapping[Side, Iterable[type[Message]]]) -> None:
        every = dict.fromkeys(cls for classes in senders.values() for cls in classes if has_columns(cls))
        #: A class stands at its code.
        self.classes: Sequence[type[Message]] = list(every)
        self.codes: Mapping[type[Message], int] = {cls: code for code, cls in enumerate(self.classes)}
        self._lookup = np.concatenate([self._codes_of(senders[side]) for side in ("client", "server")])

    def _codes_of(self, classes: Iterable[type[Message]]) -> Integers:
        """The code by the type less `_TYPE_MIN`; the last is for types that are no message's."""
        codes = np.full(_TYPES + 1, SLOW, np.int64)
        for cls in classes:
            at = cls.declaration.type_id - _TYPE_MIN
            assert 0 <= at < _TYPES, f"type {cls.declaration.type_id} is out of reach"
            codes[at] = self.codes.get(cls, SLOW)
        return codes

    def are_worth_columns(self, frames: Frames) -> bool:
        """Return whether there are enough frames of each class on average."""
        codes = self._codes_in(frames)
        return len(codes) >= KIND_FRAMES_MIN * int(np.count_nonzero(np.bincount(codes + 1)[1:]))

    def _codes_in(self, frames: Frames) -> Integers:
        types = gathered(frames.data, frames.starts, ">i4").astype(np.int64) - _TYPE_MIN
        # What is below 0 is very large without its sign: one comparison finds all that are out of reach.
        known = np.minimum(types.view(np.uint64), np.uint64(_TYPES)).view(np.int64)
        codes: Integers = self._lookup[known + frames.is_server * (_TYPES + 1)]
        return codes

    def kinds_of(self, frames: Frames) -> Kinds:
        """The frames by class. SLOW: no such class, too few of it, a field that is not plain, bytes left over."""
        codes = self._codes_in(frames)
        # The last is there for SLOW, which is -1.
        is_there = np.zeros(len(self.classes) + 1, np.bool_)
        is_there[codes] = True
        found = Kinds({}, codes)
        for code in np.flatnonzero(is_there[:-1]).tolist():
            rows = np.flatnonzero(codes == code)
            if len(rows) < KIND_MIN:
                codes[rows] = SLOW
                continue
            cls, ends = self.classes[code], frames.ends[rows]
            decoded = read_columns(cls, frames.data, frames.starts[rows] + HEADER_BYTES, ends)
            found.kinds[code] = Kind(cls, frames, rows, decoded.columns)
            found.drop(code, ~(decoded.is_read & (decoded.stops == ends)))
        return found


class Walk:
    """Goes through frames in turn, a step for each. It keeps no step: those that hold it back would make a circle.

    A step is a generator over the frames of a class, made of a part of them. Each `next` does what the session does
    with the next frame, in the same state, and gives what it adds to the columns; REFUSED where anything is out of the
    ordinary: then nothing has changed, and the session reads the frame itself.
    """

    def __init__(self, found: Kinds, read_one: Callable[[int], None]) -> None:
        self._kinds, self._codes = found
        self._read_one = read_one

    def go(
        self, rows: Integers, step: Callable[[int, Part], Iterator[int]], turns: Iterable[int] | None = None
    ) -> None:
        """Read these frames. Of each kind that is among them, all from the first to the last are.

        `turns` yields the rows again: it may do something before each.
        """
        if not len(rows):
            return
        codes = self._codes[rows]
        present = np.flatnonzero(np.bincount(codes + 1)[1:]).tolist()
        parts = {code: self._kinds[code].part(int(rows[0]), int(rows[-1]) + 1) for code in present}
        steps = {code: step(code, part) for code, part in parts.items()}
        added: dict[int, list[int]] = {code: [] for code in present}
        for row, code in zip(rows.tolist() if turns is None else turns, codes.tolist(), strict=True):
            if code == SLOW:
                self._read_one(row)
                continue
            value = next(steps[code])
            added[code].append(value)
            if value == REFUSED:
                self.give_back(row)
        for code, part in parts.items():
            part.kind.added[part.first : part.last] = added[code]

    def give_back(self, row: int) -> None:
        """Have the session read a frame, if it has not yet."""
        if self._codes[row] != SLOW:
            self._codes[row] = SLOW
            self._read_one(row)
