"""Counts of many rows of `Stats` as arrays by row, until they are added to the rows."""

from collections.abc import Iterator
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from wiretool.analysis.latency_bulk import LatencyArrays
from wiretool.analysis.stats import ConnectionRow, Row
from wiretool.codec.columns import Flags, Integers

R = TypeVar("R", bound=Row)


class FrameCounts(NamedTuple):
    """Adjacent frames of the same rows, counted together: how many, their bytes, sender, first and last time."""

    frames: Integers
    bytes: Integers
    is_server: Flags
    first_ns: Integers
    last_ns: Integers

    def take(self, kept: Integers | Flags) -> "FrameCounts":
        """Return some of them."""
        frames, size, is_server, first_ns, last_ns = self
        return FrameCounts(frames[kept], size[kept], is_server[kept], first_ns[kept], last_ns[kept])


class RowArrays(Generic[R]):
    """Counts and latencies of rows of one kind; each row has a place, from 0 on."""

    def __init__(self) -> None:
        self.rows: list[R] = []
        self._place_of: dict[int, int] = {}
        self._clear()

    def _clear(self) -> None:
        self._frames = self._bytes = np.zeros(0, np.int64)
        self._latencies = LatencyArrays()

    def _make_room(self, more: int) -> None:
        none = np.zeros(more, np.int64)
        self._frames, self._bytes = np.append(self._frames, none), np.append(self._bytes, none)
        self._latencies.make_room(more)

    def place_of(self, row: R) -> int:
        """Return the place of a row, a new one where it has none."""
        place = self._place_of.setdefault(id(row), len(self.rows))
        if place == len(self.rows):
            self.rows.append(row)
        return place

    def count(self, places: Integers, counts: FrameCounts) -> None:
        """Count frames of the rows at these places."""
        if len(self.rows) > len(self._frames):
            self._make_room(len(self.rows) - len(self._frames))
        np.add.at(self._frames, places, counts.frames)
        np.add.at(self._bytes, places, counts.bytes)

    def count_replies(self, places: Integers, times_ns: Integers, counts: Integers) -> None:
        """Count replies of rows of which frames were counted: for each time a number of replies."""
        self._latencies.add(places, times_ns, counts)

    def pour(self) -> None:
        """Add everything to the rows."""
        self._pour_frames()
        for place, times in self._latencies.by_row():
            self.rows[place].replies.add_counted(*times)
        self._clear()

    def _pour_frames(self) -> None:
        for row, frames, size in self._counted(self._frames, self._bytes):
            row.count(frames, size)

    def _counted(self, *columns: Integers) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of which frames were counted, each with its values in columns."""
        places = np.flatnonzero(self._frames)
        rows = [self.rows[place] for place in places.tolist()]
        return zip(rows, *(column[places].tolist() for column in columns), strict=True)


class ConnectionArrays(RowArrays[ConnectionRow]):
    """Counts of connections, which are those of all of them, too."""

    def __init__(self, total: ConnectionRow) -> None:
        super().__init__()
        self._total = total

    def _clear(self) -> None:
        super()._clear()
        self._server_bytes = self._first_ns = self._last_ns = np.zeros(0, np.int64)

    def _make_room(self, more: int) -> None:
        super()._make_room(more)
        bounds = np.iinfo(np.int64)
        self._server_bytes = np.append(self._server_bytes, np.zeros(more, np.int64))
        self._first_ns = np.append(self._first_ns, np.full(more, bounds.max))
        self._last_ns = np.append(self._last_ns, np.full(more, bounds.min))

    def count(self, places: Integers, counts: FrameCounts) -> None:
        super().count(places, counts)
        np.add.at(self._server_bytes, places, np.where(counts.is_server, counts.bytes, 0))
        np.minimum.at(self._first_ns, places, counts.first_ns)
        np.maximum.at(self._last_ns, places, counts.last_ns)

    def pour(self) -> None:
        if self._frames.any():
            sums = int(self._frames.sum()), int(self._bytes.sum()), int(self._server_bytes.sum())
            self._total.count_sides(*sums, int(self._first_ns.min()), int(self._last_ns.max()))
        if (times := self._latencies.total()) is not None:
            self._total.replies.add_counted(*times)
        super().pour()

    def _pour_frames(self) -> None:
        columns = self._frames, self._bytes, self._server_bytes, self._first_ns, self._last_ns
        for row, *numbers in self._counted(*columns):
            row.count_sides(*numbers)
