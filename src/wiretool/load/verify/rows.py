"""Many stored events at once, their marks as rows of an array: which of them are as they were written."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wiretool.codec.columns import gathered
from wiretool.codec.event_trailer import MARK_BYTES, digests_of, read_marks, unmarked_digest
from wiretool.load.events import Filler, Head

#: Events that are worth the trouble, and bytes that are looked at together.
ROWS_MIN = 16
ROWS_BYTES_MAX = 1024 * 1024
#: Larger events are few: one by one they go as fast.
EVENT_BYTES_MAX = 32 * 1024
#: Rows of one size that the first look is at, and events that go one by one at most after looks that were in vain.
WINDOW_ROWS = 256
PATIENCE_MAX = 1_024
#: Beginnings of events that are remembered, in bytes of all together.
BEGINS_BYTES_MAX = 8 * 1024 * 1024
#: No writer comes so far; numbers above do not fit where they are compared.
NUMBER_MAX = 2**62


@dataclass(frozen=True, slots=True)
class Rows:
    """Events one behind the other: row i is `data[places[i] : places[i + 1]]`, if its head tells its length.

    `bad` are the rows that are not an event of this run just as it was written, whatever else they are.
    """

    places: NDArray[np.int64]
    writers: NDArray[np.uint64]
    numbers: NDArray[np.int64]
    bad: list[int]

    @property
    def count(self) -> int:
        """How many rows there are."""
        return len(self.writers)


class RowsReader:
    """Reads rows where that is worth it: of one size if they seem to be, of any where they are not."""

    def __init__(self, head: Head, filler: Filler, tag: int) -> None:
        self._head = head
        self._filler = filler
        self._tag = tag
        self._window = WINDOW_ROWS
        self._is_even = True
        self._patience = 0
        self._penalty = 0
        #: By size: head and body of an event, and its unmarked digest.
        self._begins: dict[int, tuple[bytes, int]] = {}
        self._room = BEGINS_BYTES_MAX

    def read(self, data: bytes, at: int) -> Rows | None:
        """The rows from `at` on; None where they go one by one."""
        if self._patience:
            self._patience -= 1
            return None
        return self._even(data, at) if self._is_even else self._uneven(data, at)

    def note(self, rows: Rows, taken: int) -> None:
        """So many of the rows were rows indeed: where they are few, the next look is another one, or later."""
        if taken >= ROWS_MIN:
            self._penalty = 0
        elif self._is_even:
            self._is_even = False
        else:
            self._wait()
        self._window = min(4 * self._window, ROWS_BYTES_MAX) if taken == rows.count else max(2 * taken, WINDOW_ROWS)

    def _wait(self) -> None:
        self._penalty = min(2 * self._penalty or ROWS_MIN, PATIENCE_MAX)
        self._patience = self._penalty
        self._is_even = True

    def _even(self, data: bytes, at: int) -> Rows | None:
        """Rows that are all as long as the event at `at`."""
        if len(data) - at < self._head.width:
            return None
        size = self._head.size_at(data, at)
        begin = self._begin_of(size)
        stride = self._head.width + size
        count = min((len(data) - at) // stride, ROWS_BYTES_MAX // stride, self._window) if begin is not None else 0
        if begin is None or count < ROWS_MIN:
            return None
        raw, unmarked = begin
        rows = np.frombuffer(data, np.uint8, count * stride, at).reshape(count, stride)
        same = rows[:, :-MARK_BYTES] == np.frombuffer(raw, np.uint8)
        # Of rows that are all good this takes a third of the time.
        good = np.ones(count, np.bool_) if same.all() else same.all(axis=1)
        return self._rows(at + stride * np.arange(count + 1), rows, good, unmarked)

    def _uneven(self, data: bytes, at: int) -> Rows | None:
        """Rows of any length, as far as each begins as it should."""
        places, unmarked = self._walk(data, at)
        if len(unmarked) < ROWS_MIN:
            self._wait()
            return None
        # As long as sizes vary; some that are alike in between do not count.
        self._is_even = places[-1] - at == (places[1] - at) * len(unmarked)
        marks_at = np.array(places[1:]) - MARK_BYTES
        marks = gathered(data, marks_at, f"V{MARK_BYTES}").view(np.uint8).reshape(-1, MARK_BYTES)
        return self._rows(np.array(places), marks, np.ones(len(marks), np.bool_), unmarked)

    def _walk(self, data: bytes, at: int) -> tuple[list[int], list[int]]:
        """Where events begin, and where the last one ends; and the unmarked digests of all."""
        places, unmarked = [at], []
        length_at, width = len(self._head.fixed), self._head.width
        end, limit = len(data), at + ROWS_BYTES_MAX
        while at < limit:
            size = int.from_bytes(data[at + length_at : at + width], "big")
            begin = self._begins.get(size) or self._begin_of(size)
            if begin is None or not data.startswith(begin[0], at):
                break
            at += width + size
            if at > end:
                break
            places.append(at)
            unmarked.append(begin[1])
        return places, unmarked

    def _rows(
        self, places: NDArray[Any], rows: NDArray[np.uint8], good: NDArray[np.bool_], unmarked: int | list[int]
    ) -> Rows:
        """Of rows whose bodies are `good` those whose marks are, too."""
        marks = read_marks(rows)
        good &= marks.digests == digests_of(marks, unmarked)
        good &= marks.writers >> np.uint64(32) == self._tag
        good &= marks.numbers < NUMBER_MAX
        return Rows(places, marks.writers, marks.numbers.astype(np.int64), np.flatnonzero(~good).tolist())

    def _begin_of(self, size: int) -> tuple[bytes, int] | None:
        """How every event of that size begins; None where it is too small or large."""
        if not MARK_BYTES <= size <= EVENT_BYTES_MAX:
            return None
        found = self._begins.get(size)
        if found is None:
            length = size - MARK_BYTES
            found = self._head.of(size) + bytes(self._filler.body(length)), unmarked_digest(self._filler.digest(length))
            self._keep(size, found)
        return found

    def _keep(self, size: int, begin: tuple[bytes, int]) -> None:
        self._room -= len(begin[0])
        if self._room < 0:
            self._begins.clear()
            self._room = BEGINS_BYTES_MAX - len(begin[0])
        self._begins[size] = begin
