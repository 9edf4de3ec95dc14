"""Groups of Pravega frames: fields, replies, appends and their events."""

from collections.abc import Mapping, Sequence

import numpy as np

from wiretool.codec.columns import Choice, Column, Flags, Integers, Numbers
from wiretool.protocols.base.columns import NO_REPLY, Events, Group
from wiretool.protocols.pravega.columns.blocks import Joins
from wiretool.protocols.pravega.columns.events import LateEvents, events_in
from wiretool.protocols.pravega.columns.kinds import SLOW, Kind, Kinds
from wiretool.protocols.pravega.messages import AppendBlockEnd, ConditionalBlockEnd


class GroupBuilder:
    """Builds groups; `added` of a kind has the record that each frame answers, or the segment that it appends to."""

    def __init__(self, joins: Joins | None, segments: Sequence[str | None]) -> None:
        """`joins` are the appends of the AppendBlockEnd frames; `segments` has the segment of each code."""
        self._joins = joins
        self._segments = segments

    def groups(self, found: Kinds) -> list[Group]:
        """Return the groups of the frames that are not SLOW by now."""
        groups = [self.group(kind, found.codes[kind.rows] != SLOW) for kind in found.kinds.values()]
        return [group for group in groups if len(group.rows)]

    def group(self, kind: Kind, kept: Flags) -> Group:
        """Return the group of the kept frames of a kind."""
        append: Mapping[str, Column] | None = None
        events: Events | None = None
        if kind.cls is AppendBlockEnd:
            append, events = self._appended(kind, kept)
        elif kind.cls is ConditionalBlockEnd:
            append, events = self._appended_alone(kind, kept)
        kind = kind.take(kept)
        is_reply = append is None and bool((kind.added != NO_REPLY).any())
        replies = kind.added if is_reply else None
        return Group(kind.cls, kind.cls.declaration.name, kind.rows, kind.columns, replies, append, events)

    def _appended(self, kind: Kind, kept: Flags) -> tuple[Mapping[str, Column], Events]:
        assert self._joins is not None, "the ends are joined"
        kind, appended = kind.take(kept), self._joins.appended.take(kept)
        counts, numbers = kind.numbers("num_events"), kind.numbers("last_event_number")
        none = Choice(np.full(len(counts), -1, np.int64), ())
        append = self._append(kind, "last_event_number", kind.columns["num_events"], none, appended.lengths)
        data = kind.frames.data
        return append, LateEvents(lambda: events_in(data, appended, counts, numbers))

    def _appended_alone(self, kind: Kind, kept: Flags) -> tuple[Mapping[str, Column], Events]:
        kind = kind.take(kept)
        one = Numbers(np.ones(len(kind.rows), np.int64))
        data, expected = kind.spans("data"), kind.columns["expected_offset"]
        return self._append(kind, "event_number", one, expected, data.lengths), _no_events(data)

    def _append(
        self, kind: Kind, number: str, count: Column, expected: Column, lengths: Integers
    ) -> Mapping[str, Column]:
        """Return the appends that they complete, in the form of `appends.block_form`."""
        return {
            "segment": Choice(kind.added, self._segments),
            "writer_id": kind.columns["writer_id"],
            "event_number": kind.columns[number],
            "event_count": count,
            "expected_length": expected,
            "request_id": kind.columns["request_id"],
            "length": Numbers(lengths),
        }


def _no_events(data: Column) -> Events:
    none = np.zeros(0, np.int64)
    return Events(none, {"event_number": Numbers(none), "length": Numbers(none)}, data.take(none))
