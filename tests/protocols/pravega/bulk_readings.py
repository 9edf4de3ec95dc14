"""Frames read one by one and in bulk, as the same kind of readings: what holds one path to the other."""

import random
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from wiretool.batches.rows import values_of
from wiretool.codec.columns import Flags
from wiretool.codec.message import Side
from wiretool.protocols.base.columns import NO_REPLY, Events, Frames, Group, ProtocolColumns, SteadyReader
from wiretool.protocols.base.conversation import Conversation, Reading

#: Who says it, and the bytes of the frame.
Said = tuple[Side, bytes]
#: The number of the record of a frame, and what it says: name, fields, defects, reply, append, events, left over.
Told = dict[int, tuple[Any, ...]]
#: Numbers of records: they only have to grow.
STEP = 3


def by_rows(conversation: Conversation, said: Sequence[Said]) -> Told:
    """What the session says of frames, one after the other."""
    numbers = range(1, len(said) * STEP + 1, STEP)
    return {
        n: _plain(conversation.read(side, data, 0, len(data), n)) for n, (side, data) in zip(numbers, said, strict=True)
    }


def by_bulk(
    session: "Conversation | Counted",
    talk: Conversation,
    columns: ProtocolColumns,
    said: Sequence[Said],
    cuts: Sequence[int],
) -> Told:
    """What columns say of the same frames of a conversation, given to them in as many parts as `cuts` and one.

    `session` reads those of them that are read by themselves.
    """
    told: Told = {}
    bounds = [0, *sorted(cuts), len(said)]
    for start, stop in pairwise(bounds):
        frames = frames_of(said[start:stop], start * STEP + 1)
        reader = columns.open()
        reader.take_over(0, talk)
        left: list[Conversation] = []

        def leave(_: Flags, reader: SteadyReader = reader, left: list[Conversation] = left) -> None:
            left += reader.release(np.arange(1 - len(left)))

        owner = np.zeros(len(frames.starts), np.int64)
        groups = reader.read(frames, owner, np.zeros(1, np.int64), leave, _reader(session, frames, told))
        leave(np.ones(1, np.bool_))
        for group in groups:
            for n, reading in readings_of(frames, group):
                assert n not in told, "a frame is told once"
                told[n] = reading
    return told


def by_together(
    talks: Sequence[Conversation], together: ProtocolColumns, saids: Sequence[Sequence[Said]], luck: random.Random
) -> tuple[list[Told], list[int], int]:
    """Read frames of several conversations together.

    Return the readings of each, the conversation of each frame, and how many frames were read by themselves.
    """
    owners = [index for index, said in enumerate(saids) for _ in said]
    luck.shuffle(owners)
    waiting = [iter(said) for said in saids]
    frames = frames_of([next(waiting[index]) for index in owners], 1)
    readings: list[Told] = [{} for _ in talks]
    singles: list[int] = []
    readers = [_reader(talk, frames, told) for talk, told in zip(talks, readings, strict=True)]

    def read_one(row: int) -> None:
        singles.append(row)
        readers[owners[row]](row)

    reader, slots = together.open(), np.arange(len(talks))
    is_left = np.zeros(len(talks), np.bool_)

    def leave(those: Flags) -> None:
        reader.release(slots[those & ~is_left])
        is_left[those] = True

    for slot, talk in enumerate(talks):
        reader.take_over(slot, talk)
    groups = reader.read(frames, np.array(owners, np.int64), slots, leave, read_one)
    leave(~is_left)
    for group in groups:
        for n, reading in readings_of(frames, group):
            assert n not in readings[owners[n // STEP]], "a frame is read once"
            readings[owners[n // STEP]][n] = reading
    return readings, owners, len(singles)


def slow_frames(
    rows: Conversation,
    talk: Conversation,
    columns: ProtocolColumns,
    state_of: Callable[[Any], Any],
    said: Sequence[Said],
    cuts: Sequence[int],
) -> int:
    """How many of the frames the session of the column path read itself; AssertionError where the two ways differ.

    `rows` and `talk` are conversations that stand alike; so they have to when all is said.
    """
    session = Counted(talk)
    expected, told = by_rows(rows, said), by_bulk(session, talk, columns, said, cuts)
    for n, reading in expected.items():
        assert told[n] == reading, f"frame {n // STEP}"
    assert len(told) == len(expected)
    assert state_of(talk) == state_of(rows)
    return session.count


class Counted:
    """A session, and how often it was asked to read."""

    def __init__(self, conversation: Conversation) -> None:
        self.count = 0
        self._conversation = conversation

    def read(self, side: Side, data: bytes, at: int, end: int, n: int) -> Reading:
        """What the session says of a frame."""
        self.count += 1
        return self._conversation.read(side, data, at, end, n)


def frames_of(said: Sequence[Said], first: int) -> Frames:
    """The frames of a part: those of the client stand in front of those of the server, as in a run."""
    starts, ends = np.zeros(len(said), np.int64), np.zeros(len(said), np.int64)
    data = b""
    for side in ("client", "server"):
        for row, (sender, frame) in enumerate(said):
            if sender == side:
                starts[row], ends[row] = len(data), len(data) + len(frame)
                data += frame
    is_server = np.array([side == "server" for side, _ in said], np.bool_)
    return Frames(data, starts, ends, is_server, np.arange(len(said)) * STEP + first)


def _reader(conversation: Conversation | Counted, frames: Frames, told: Told) -> Callable[[int], None]:
    def read_one(row: int) -> None:
        n = int(frames.numbers[row])
        assert n not in told, "a frame is read once"
        side: Side = "server" if frames.is_server[row] else "client"
        reading = conversation.read(side, frames.data, int(frames.starts[row]), int(frames.ends[row]), n)
        told[n] = _plain(reading)

    return read_one


def _plain(reading: Reading) -> tuple[Any, ...]:
    defects = [(type(defect), str(defect)) for defect in reading.defects]
    append = None if reading.append is None else dict(reading.append)
    return (reading.message, reading.fields, defects, reading.reply_to, append, reading.events, reading.left_over)


def readings_of(frames: Frames, group: Group) -> Iterator[tuple[int, tuple[Any, ...]]]:
    """What the columns of a group say of each of its frames."""
    assert group.cls is not None
    columns = {name: values_of(column, frames.data) for name, column in group.columns.items()}
    appends = {name: values_of(column, frames.data) for name, column in (group.append or {}).items()}
    events = None if group.events is None else _events(frames, group.events, len(group.rows))
    for index, row in enumerate(group.rows.tolist()):
        fields = group.cls(**{name: values[index] for name, values in columns.items()})
        reply = NO_REPLY if group.reply_to is None else int(group.reply_to[index])
        append = {name: values[index] for name, values in appends.items()} if group.append is not None else None
        told = None if events is None else events[index]
        answered = None if reply == NO_REPLY else reply
        yield int(frames.numbers[row]), (group.name, fields, [], answered, append, told, b"")


def _events(frames: Frames, events: Events, count: int) -> list[list[dict[str, Any]]]:
    out: list[list[dict[str, Any]]] = [[] for _ in range(count)]
    columns = [values_of(column, frames.data) for column in events.columns.values()]
    bodies = values_of(events.body, frames.data)
    for row, body, *values in zip(events.rows.tolist(), bodies, *columns, strict=True):
        form = {name: value for name, value in zip(events.columns, values, strict=True) if value is not None}
        out[row].append({**form, "data": body.hex()})
    return out


def harmed(data: bytes, luck: random.Random) -> bytes:
    """A whole frame with something wrong in its payload, or another type."""
    kind = luck.choice(["cut", "longer", "noise", "type"])
    payload = bytearray(data[8:])
    if kind == "cut":
        payload = payload[: luck.randrange(len(payload) + 1)]
    elif kind == "longer":
        payload += luck.randbytes(luck.choice([1, 8, 30]))
    elif kind == "noise" and payload:
        payload[luck.randrange(len(payload))] = luck.randrange(256)
    head = data[:4] if kind != "type" else luck.choice([b"\0\0\3\xe7", b"\xff\xff\xff\x01", b"\0\0\0\x7f"])
    return head + len(payload).to_bytes(4, "big") + bytes(payload)
