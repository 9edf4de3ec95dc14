"""Frames of a connection read one by one and in bulk, to be compared."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from wiretool.batches.rows import values_of
from wiretool.codec.columns import Flags
from wiretool.codec.message import Side
from wiretool.protocols.base.columns import NO_REPLY, Frames
from wiretool.protocols.sbp.columns.conversation import SbpColumns
from wiretool.protocols.sbp.session import SbpConversation

Said = Sequence[tuple[Side, bytes]]


class Outcome(NamedTuple):
    """What each frame said, and how the conversation stands afterwards."""

    readings: list[tuple[Any, ...]]
    state: tuple[Any, ...]


def one_by_one(conversation: SbpConversation, said: Said) -> Outcome:
    """The row path; the numbers of the records are 10, 20, ..."""
    readings = []
    for row, (side, data) in enumerate(said):
        reading = conversation.read(side, data, 0, len(data), 10 * (row + 1))
        readings.append(_told(reading.message, reading.fields, reading.defects, reading.reply_to))
    return Outcome(readings, state_of(conversation))


def in_bulk(conversation: SbpConversation, columns: SbpColumns, said: Said) -> tuple[Outcome, int]:
    """The column path, and how many frames took the slow way."""
    data = b"".join(each for _, each in said)
    ends = np.cumsum([len(each) for _, each in said])
    starts = ends - np.array([len(each) for _, each in said])
    is_server = np.array([side == "server" for side, _ in said])
    readings: list[tuple[Any, ...]] = [()] * len(said)
    slow: list[int] = []
    left: list[Flags] = []

    def read_one(row: int) -> None:
        assert left, "a conversation is left before a frame of it is read by itself"
        slow.append(row)
        reading = conversation.read(said[row][0], data, int(starts[row]), int(ends[row]), 10 * (row + 1))
        readings[row] = _told(reading.message, reading.fields, reading.defects, reading.reply_to)

    frames = Frames(data, starts, ends, is_server, 10 * (np.arange(len(said)) + 1))
    owner = np.zeros(len(said), np.int64)
    for group in columns.read(frames, owner, [conversation], left.append, read_one):
        assert group.cls is None
        assert group.reply_to is not None
        values = zip(*(values_of(column, data) for column in group.columns.values()), strict=True)
        for row, answered, each in zip(group.rows.tolist(), group.reply_to.tolist(), values, strict=True):
            assert readings[row] == (), "told twice"
            fields = dict(zip(group.columns, each, strict=True))
            readings[row] = _told(group.name, fields, (), None if answered == NO_REPLY else answered)
    assert slow == sorted(slow), "frames go the slow way in their turn"
    return Outcome(readings, state_of(conversation)), len(slow)


def _told(message: str, fields: Any, defects: Sequence[Any], reply_to: int | None) -> tuple[Any, ...]:
    # The text of the fields too: their order is that of the JSON form.
    return message, fields, repr(fields), [(each.kind, each.reason) for each in defects], reply_to


def state_of(conversation: SbpConversation) -> tuple[Any, ...]:
    """Return all that a conversation remembers of what was sent."""
    requests = [(side, each.count, list(each.all_open())) for side, each in conversation.requests.items()]
    return conversation.phase, conversation.role, frozenset(conversation.heard), conversation.schema.name, requests
