"""What a protocol gives the column path: many frames of many connections at once, as arrays."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from wiretool.codec.columns import Column, Columns, Flags, Integers
from wiretool.codec.frames.boundaries import FrameBoundaries, find_boundaries
from wiretool.codec.frames.prefix import Prefix
from wiretool.codec.message import Message, Side
from wiretool.protocols.base.conversation import Conversation
from wiretool.protocols.base.protocol import Protocol

#: In a column of `reply_to`: it answers nothing. In a column of trust: only the conversation knows.
NO_REPLY, UNSURE = -1, -1


@dataclass(frozen=True, slots=True)
class Frames:
    """Whole frames in the order of their records: `data[starts[i] : ends[i]]`.

    `numbers` are those of their records; they grow.
    """

    data: bytes
    starts: Integers
    ends: Integers
    is_server: Flags
    numbers: Integers

    def take(self, rows: Integers) -> "Frames":
        """Return some of them."""
        return Frames(self.data, self.starts[rows], self.ends[rows], self.is_server[rows], self.numbers[rows])


@dataclass(frozen=True, slots=True)
class Events:
    """The events of messages: event i is of row `rows[i]` of its group (ascending), in `data` of the frames.

    `columns` are what is said of each beside its bytes, in the order of its JSON form; `body` comes last there.
    """

    rows: Integers
    columns: Columns
    body: Column

    def take(self, kept: Flags) -> "Events":
        """Those of the rows of the group that are kept."""
        mine = kept[self.rows]
        rows = (np.cumsum(kept) - 1)[self.rows[mine]]
        columns = {name: column.take(mine) for name, column in self.columns.items()}
        return Events(rows, columns, self.body.take(mine))

    def moved(self, order: Integers) -> "Events":
        """Return those of a group whose row i was `order[i]` before."""
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        rows = place[self.rows]
        by_row = np.argsort(rows, kind="stable")
        columns = {name: column.take(by_row) for name, column in self.columns.items()}
        return Events(rows[by_row], columns, self.body.take(by_row))


@dataclass(frozen=True, slots=True)
class Group:
    """The frames of one message class among many, as columns; `rows` are their places there, ascending.

    Without a class the columns make up the fields in their JSON form, by name.
    """

    cls: type[Message] | None
    name: str
    rows: Integers
    columns: Columns
    #: Numbers of the records that they answer, NO_REPLY for none; nothing where none of them does.
    reply_to: Integers | None = None
    #: What each completes, in the form of `Reading.append`, and the events of that.
    append: Mapping[str, Column] | None = None
    events: Events | None = None

    def take(self, kept: Flags) -> "Group":
        """Those of its frames that are kept."""
        return Group(
            self.cls,
            self.name,
            self.rows[kept],
            {name: column.take(kept) for name, column in self.columns.items()},
            None if self.reply_to is None else self.reply_to[kept],
            None if self.append is None else {name: column.take(kept) for name, column in self.append.items()},
            None if self.events is None else self.events.take(kept),
        )

    def moved(self, places: Integers) -> "Group":
        """Return it for frames of which the one at `places[i]` was at place i before."""
        rows = places[self.rows]
        order = np.argsort(rows, kind="stable")
        made: dict[int, Column] = {}

        def moved(columns: Columns) -> Columns:
            return {name: made.setdefault(id(column), column.take(order)) for name, column in columns.items()}

        return Group(
            self.cls,
            self.name,
            rows[order],
            moved(self.columns),
            None if self.reply_to is None else self.reply_to[order],
            None if self.append is None else moved(self.append),
            None if self.events is None else self.events.moved(order),
        )


class NewFrames(NamedTuple):
    """The first frames of connections: groups, and by connection whether it was read, and whether it may go on so.

    `state` is known to the reader that goes on.
    """

    groups: Sequence[Group]
    is_read: Flags
    may_go_on: Flags
    state: Any = None


class Weights(NamedTuple):
    """Trust in frames, each by a conversation that has read the earlier ones; and whether that is decided then.

    `trial` returns a conversation that has learned from the frames of the connection with an index.
    """

    trust: Integers
    is_decided: Flags
    trial: Callable[[int], Conversation | None] = lambda index: None


def read_singly(owner: Integers, count: int, leave: Callable[[Flags], None], read_one: Callable[[int], None]) -> None:
    """Read each frame by itself; frame i is of connection `owner[i]`, out of `count`."""
    leave(np.bincount(owner, minlength=count) > 0)
    for row in np.argsort(owner, kind="stable").tolist():
        read_one(row)


class ProtocolColumns(ABC):
    """Reads frames of many conversations of a protocol at once."""

    #: Whether it can weigh the first frames of connections.
    can_weigh = False

    #: Whether messages may be packed, so that `expanded_bytes` has to be asked.
    may_expand = False
    #: Bytes of a header that tells the length of its frame, where `read_middle` reads connections; else 0.
    middle_header_bytes = 0

    @abstractmethod
    def find_boundaries(
        self, data: bytes, begins: Integers, stops: Integers, is_server: Flags, guesses: Integers
    ) -> FrameBoundaries:
        """Find the frames of each `data[begins[i] : stops[i]]`, bytes of one side; see `codec/frames/boundaries.py`.

        Where a frame ends must not depend on what was read before it.
        """

    def expanded_bytes(
        self, frames: Frames, owner: Integers, conversations: Sequence[Conversation], bytes_max: int
    ) -> int:
        """Return how many bytes the packed messages in frames may come to; any larger number for more than `bytes_max`.

        Frame i is of `conversations[owner[i]]`; those of a side are in order. They will be read next.
        """
        return 0

    def growth(self, conversation: Conversation) -> int:
        """Return how many times as many bytes its messages may come to as there are on the wire, as far as is known."""
        return 1

    def read(
        self,
        frames: Frames,
        owner: Integers,
        conversations: Sequence[Conversation],
        leave: Callable[[Flags], None],
        read_one: Callable[[int], None],
    ) -> Sequence[Group]:
        """Read frames, of which frame i is of `conversations[owner[i]]`; return groups of those that arrays can read.

        `read_one` is called with each other row, in the order of its conversation; before, `leave` is called with all
        conversations that may have such rows.
        """
        read_singly(owner, len(conversations), leave, read_one)
        return []

    def weigh(self, frames: Frames, owner: Integers) -> Weights:
        """Return how well the first frames of connections fit; frame i is of connection `owner[i]`, which ascend."""
        return Weights(np.full(len(owner), UNSURE), np.zeros(len(owner), np.bool_))

    def read_new(self, frames: Frames, owner: Integers, count: int) -> NewFrames:
        """Read the first frames of `count` connections; conversations are not made.

        It changes no state: the caller has the frames of the other connections read with `read`.
        """
        return NewFrames([], np.zeros(count, np.bool_), np.zeros(count, np.bool_))

    def read_middle(self, frames: Frames, owner: Integers, count: int, is_first: Flags) -> NewFrames:
        """Do so for connections whose beginning was not captured.

        `is_first`: a frame is whole in the first payload of its flow, and must prove the protocol.
        """
        return NewFrames([], np.zeros(count, np.bool_), np.zeros(count, np.bool_))

    def open(self) -> "SteadyReader":
        """Return a reader for the connections of one reading."""
        return SteadyReader(self)


class SteadyReader:
    """Reads frames of the connections that it took over, by their slots."""

    def __init__(self, columns: ProtocolColumns) -> None:
        self.columns = columns
        self._conversations: dict[int, Conversation] = {}

    def take_over(self, slot: int, conversation: Conversation) -> None:
        """Own the state of a conversation until it is released."""
        self._conversations[slot] = conversation

    def release(self, slots: Integers) -> list[Conversation]:
        """Bring conversations up to date, which own their state from now on; return them."""
        return [self._conversations.pop(slot) for slot in slots.tolist()]

    def forget(self, slots: Integers) -> None:
        """Drop conversations that are over."""
        for slot in slots.tolist():
            self._conversations.pop(slot, None)

    def conversations(self, slots: Integers) -> list[Conversation]:
        """Return the conversations in these slots."""
        return [self._conversations[slot] for slot in slots.tolist()]

    def read(
        self,
        frames: Frames,
        owner: Integers,
        slots: Integers,
        leave: Callable[[Flags], None],
        read_one: Callable[[int], None],
    ) -> Sequence[Group]:
        """Read frames as `ProtocolColumns.read`; frame i is of the conversation in `slots[owner[i]]`."""
        return self.columns.read(frames, owner, self.conversations(slots), leave, read_one)


class OpeningReader(SteadyReader, ABC):
    """Goes on with connections after their first frames, which were read without conversations."""

    @abstractmethod
    def open(self, slots: Integers, frames: NewFrames, indices: Integers) -> None:
        """Own connections that may go on; they have these indices in the frames."""


class PrefixedColumns(ProtocolColumns):
    """Reads frames whose headers have their length at a fixed place."""

    def __init__(self, prefixes: Mapping[Side, Prefix]) -> None:
        """`prefixes` describe the headers of each side; they differ only in the greatest length."""
        self._prefixes = [prefixes["client"], prefixes["server"]]

    def find_boundaries(
        self, data: bytes, begins: Integers, stops: Integers, is_server: Flags, guesses: Integers
    ) -> FrameBoundaries:
        return find_boundaries(data, begins, stops, self._prefixes, is_server.astype(np.int64), guesses)


def columns_of(protocol: Protocol) -> ProtocolColumns | None:
    """Return what reads frames of connections of that protocol; None where each is read by itself."""
    columns: ProtocolColumns | None = protocol.part("columns", ProtocolColumns)
    return columns
