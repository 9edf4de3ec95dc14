"""The events in the bytes of many appends at once."""

from collections.abc import Callable
from itertools import islice
from typing import Any

import numpy as np

from wiretool.codec.columns import NO_INTEGERS, Column, Flags, Integers, Numbers, Objects, Spans, gathered
from wiretool.codec.frames.boundaries import Hops, PrefixedHeaders, walk_ranges
from wiretool.codec.frames.buffer import whole_frames
from wiretool.protocols.base.columns import Events
from wiretool.protocols.pravega.appends import EVENT_HEAD, EVENT_PREFIX, event_extent, spans_of
from wiretool.protocols.pravega.framing import HEADER_BYTES

_HEADER = np.dtype([("type", ">i4"), ("length", ">u4")])
_EVENT = int.from_bytes(EVENT_HEAD, "big")


class LateEvents(Events):
    """Events that are looked for when somebody asks for one of their columns: who counts messages never does."""

    def __init__(self, find: Callable[[], Events]) -> None:
        object.__setattr__(self, "_find", find)

    def __getattr__(self, name: str) -> Any:
        """A field that is not set yet."""
        if name not in ("rows", "columns", "body"):
            raise AttributeError(name)
        found = self._find()
        for each in ("rows", "columns", "body"):
            object.__setattr__(self, each, getattr(found, each))
        return getattr(found, name)

    def take(self, kept: Flags) -> "LateEvents":
        return LateEvents(lambda: Events.take(self, kept))

    def moved(self, order: Integers) -> "LateEvents":
        return LateEvents(lambda: Events.moved(self, order))


class Appended:
    """The bytes of appends: `spans` of the data, and of those that a block cut, one more in the block and its end."""

    def __init__(self, spans: Spans, cut: Integers, begun: Spans, ended: Spans) -> None:
        self.spans = spans
        #: Which of them were cut, ascending; the beginning and the rest of what was.
        self.cut = cut
        self.begun = begun
        self.ended = ended

    @property
    def lengths(self) -> Integers:
        """The bytes of each append."""
        lengths = self.spans.lengths.copy()
        lengths[self.cut] += self.begun.lengths + self.ended.lengths
        return lengths

    def take(self, kept: Flags) -> "Appended":
        """Those that are kept."""
        if kept.all():
            return self
        mine = kept[self.cut]
        cut = (np.cumsum(kept) - 1)[self.cut[mine]]
        return Appended(self.spans.take(kept), cut, self.begun.take(mine), self.ended.take(mine))


def events_in(data: bytes, appended: Appended, counts: Integers, last_numbers: Integers) -> Events:
    """The events of appends, as `appends.events_of` does one by one."""
    is_whole = np.ones(len(counts), np.bool_)
    is_whole[appended.cut] = False
    rows, starts, stops = whole_events(data, appended.spans, counts, is_whole)
    if not len(appended.cut):
        return _numbered(rows, Spans(starts, stops - starts, is_text=False), stops - starts, counts, last_numbers)
    bodies = [data[start:stop] for start, stop in zip(starts.tolist(), stops.tolist(), strict=True)]
    cut_rows: list[int] = []
    for place, row in enumerate(appended.cut.tolist()):
        parts = (appended.spans, row), (appended.begun, place), (appended.ended, place)
        whole = b"".join(_bytes_of(data, *part) for part in parts)
        found = [whole[start:stop] for start, stop in spans_of(whole, 0, len(whole), int(counts[row]))]
        cut_rows += [row] * len(found)
        bodies += found
    every = np.concatenate((rows, np.array(cut_rows, np.int64)))
    order = np.argsort(every, kind="stable")
    lengths = np.array([len(body) for body in bodies], np.int64)[order]
    return _numbered(every[order], Objects([bodies[place] for place in order.tolist()]), lengths, counts, last_numbers)


def _bytes_of(data: bytes, spans: Spans, row: int) -> bytes:
    start = int(spans.starts[row])
    return data[start : start + int(spans.lengths[row])]


def _numbered(rows: Integers, body: Column, lengths: Integers, counts: Integers, last_numbers: Integers) -> Events:
    """The events with their numbers, where each one that is counted is there."""
    found = np.bincount(rows, minlength=len(counts))
    place = np.arange(len(rows)) - np.repeat(np.cumsum(found) - found, found)
    numbers = (last_numbers - counts + 1)[rows] + place
    columns = {"event_number": Numbers(numbers, (found == counts)[rows]), "length": Numbers(lengths)}
    return Events(rows, columns, body)


class EventHeaders(PrefixedHeaders):
    """Headers of events, of which each range may have as many as are counted."""

    def __init__(self, counts: Integers) -> None:
        super().__init__([EVENT_PREFIX], np.zeros(len(counts), np.int64), NO_INTEGERS)
        self._left = counts.copy()

    def ends(self, data: bytes, starts: Integers, stops: Integers, ranges: Integers) -> Integers:
        self._left[ranges] -= 1
        return np.where(self._left[ranges] < 0, stops + 1, super().ends(data, starts, stops, ranges))

    def walk(self, data: bytes, start: int, stop: int, index: int) -> Hops:
        left = max(int(self._left[index]), 0)
        found = list(islice(whole_frames(data, event_extent, start, stop), left))
        return Hops(np.array([begin for begin, _ in found], np.int64), found[-1][1] if found else start, 0)


def whole_events(data: bytes, spans: Spans, counts: Integers, is_asked: Flags) -> tuple[Integers, Integers, Integers]:
    """The EVENT frames that make up each span: the span of each, where its body begins and ends.

    Of a span that is not made of them, of more than `counts`, or not asked for, there are none.
    """
    asked = np.flatnonzero(is_asked)
    begins = spans.starts[asked]
    stops = begins + spans.lengths[asked]
    found = walk_ranges(data, begins, stops, EventHeaders(counts[asked]))
    is_made = found.ends == stops
    heads = gathered(data, found.starts, _HEADER)
    is_made[found.range_of[heads["type"] != _EVENT]] = False
    kept = is_made[found.range_of]
    starts = found.starts[kept] + HEADER_BYTES
    return asked[found.range_of[kept]], starts, starts + heads["length"][kept]
