"""What a capture recorded, as something that can be spoken again: connections, and what happened on them in turn."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Literal, NamedTuple

from wiretool.codec.message import Side
from wiretool.errors import CaptureError
from wiretool.records import Record

How = Literal["fin", "rst"]


@dataclass(eq=False, slots=True)
class Dialogue:
    """One recorded connection."""

    number: int
    client: str
    server: str
    #: Name of the protocol; empty where it is none of ours.
    protocol: str = ""
    #: Whether its first bytes were captured.
    is_opened: bool = False
    #: Whether anything of its server was captured: bytes, or its end.
    is_heard: bool = True
    #: Frames and other records of both sides, in the order in which they were told.
    records: list[Record] = field(default_factory=list)
    #: The numbers of the copy that it is of, and of the copy of that; none for what was recorded.
    copies: tuple[int, ...] = ()

    @property
    def name(self) -> str:
        """How people are told of it."""
        return f"connection {self.number} ({self.client} -> {self.server})"


class Opened(NamedTuple):
    """A connection began, or its first bytes were seen."""

    time_ns: int
    dialogue: Dialogue


class Told(NamedTuple):
    """A record of either side."""

    time_ns: int
    dialogue: Dialogue
    record: Record


class Ended(NamedTuple):
    """A side sent its last byte, or reset the connection."""

    time_ns: int
    dialogue: Dialogue
    side: Side
    how: How


Event = Opened | Told | Ended


@dataclass(slots=True)
class Recording:
    """All that happened, in the order of time, on connections of our protocols and others."""

    dialogues: list[Dialogue] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    #: The capture is damaged: what came after that is not here. And what is wrong with it.
    is_cut: bool = False
    damage: CaptureError | None = None

    def of(self, protocol: str) -> list[Dialogue]:
        """The connections on which a protocol is spoken."""
        return [dialogue for dialogue in self.dialogues if dialogue.protocol == protocol]

    def beside(self, others: "Iterable[Recording]") -> "Recording":
        """This recording and others as one."""
        found = Recording(list(self.dialogues), list(self.events), self.is_cut)
        for other in others:
            found.dialogues += other.dialogues
            found.events += other.events
        return found

    def exchanges(self, protocol: str) -> "list[Exchange]":
        """The exchanges on all connections of a protocol, in the order in which they were asked."""
        found = [exchange for dialogue in self.of(protocol) for exchange in exchanges_of(dialogue.records)]
        return sorted(found, key=lambda exchange: exchange.request.n)

    def without(self, dialogues: Collection[Dialogue]) -> "Recording":
        """What happened on other connections than these."""
        if not dialogues:
            return self
        left = [dialogue for dialogue in self.dialogues if dialogue not in dialogues]
        events = [event for event in self.events if event.dialogue not in dialogues]
        return Recording(left, events, self.is_cut)

    def between(self, first_ns: int, last_ns: int) -> "Recording":
        """What happened in that time, both ends included; what began earlier begins in the middle."""
        cut: dict[Dialogue, Dialogue] = {}
        is_at_end = not self.events or self.events[-1].time_ns <= last_ns
        found = Recording(is_cut=self.is_cut and is_at_end, damage=self.damage if is_at_end else None)
        begun = {event.dialogue: event.time_ns for event in self.events if isinstance(event, Opened)}
        for event in self.events:
            if isinstance(event, Opened) or not first_ns <= event.time_ns <= last_ns:
                continue
            whole = event.dialogue
            if whole not in cut:
                is_opened = whole.is_opened and begun[whole] >= first_ns
                cut[whole] = Dialogue(
                    whole.number, whole.client, whole.server, whole.protocol, is_opened, whole.is_heard
                )
                found.dialogues.append(cut[whole])
                found.events.append(Opened(max(begun[whole], first_ns), cut[whole]))
            found.events.append(event._replace(dialogue=cut[whole]))
            if isinstance(event, Told):
                cut[whole].records.append(event.record)
        found.events.sort(key=lambda event: event.time_ns)
        return found


@dataclass(eq=False, slots=True)
class Exchange:
    """A request and what was said to it: a reply, several, or none (it hangs in the air what became of it)."""

    request: Record
    replies: list[Record] = field(default_factory=list)


def exchanges_of(records: Iterable[Record]) -> list[Exchange]:
    """The exchanges of one connection: every frame of the client, with the replies to it."""
    exchanges: dict[int, Exchange] = {}
    for record in records:
        if record.kind != "frame":
            continue
        if record.side == "client":
            exchanges[record.n] = Exchange(record)
        elif record.reply_to in exchanges:
            exchanges[record.reply_to].replies.append(record)
    return list(exchanges.values())


def pushed(records: Iterable[Record]) -> list[Record]:
    """What the server of one connection said without being asked."""
    return [
        record for record in records if record.kind == "frame" and record.side == "server" and record.reply_to is None
    ]


def in_turn(dialogues: Iterable[Dialogue]) -> list[Record]:
    """Return the records of several connections by time; those of one side of a connection stay in their order."""
    placed: list[tuple[int, Record]] = []
    for dialogue in dialogues:
        latest: dict[Side, int] = {}
        for record in dialogue.records:
            latest[record.side] = max(record.time_ns, latest.get(record.side, record.time_ns))
            placed.append((latest[record.side], record))
    return [record for _, record in sorted(placed, key=itemgetter(0))]
