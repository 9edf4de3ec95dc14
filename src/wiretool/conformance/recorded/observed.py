"""Recorded traffic as conformance cases look at it: messages of one connection in order, with gaps and ends."""

import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from wiretool.analysis.dialogues import Dialogue, Ended, Event, Opened, Recording, Told
from wiretool.codec.jsonform import json_form
from wiretool.codec.message import Message, Side

#: The name of bytes that are not a message.
UNDECODABLE = "(undecodable)"


class Observed(NamedTuple):
    """A message that was captured."""

    #: The number of its record.
    n: int
    time_ns: int
    side: Side
    name: str
    fields: Mapping[str, Any]
    #: What is wrong with it, in words.
    problems: tuple[str, ...]
    #: The number of the request that it answers.
    reply_to: int | None
    raw: bytes
    #: What a protocol makes of an append: segment, writer, numbers.
    append: Mapping[str, Any] | None = None
    events: tuple[Mapping[str, Any], ...] = ()


class Closing(NamedTuple):
    """A side sent its last byte (fin) or broke the connection off (rst)."""

    time_ns: int
    side: Side
    how: str


class Missing(NamedTuple):
    """Bytes of a side that were not captured."""

    time_ns: int
    side: Side
    length: int


Item = Observed | Closing | Missing


@dataclass(eq=False)
class ObservedConnection:
    """One recorded connection."""

    number: int
    client: str
    server: str
    protocol: str
    #: Whether its beginning was captured, and anything of its server.
    is_whole: bool
    has_server: bool
    opened_ns: int
    items: list[Item] = field(default_factory=list)
    #: When the last packet of the recording was captured.
    recorded_until_ns: int = 0
    #: Whether both directions were captured: something of each side, here or on others between these hosts.
    is_two_sided: bool = True

    @cached_property
    def messages(self) -> list[Observed]:
        """The messages of both sides."""
        return [item for item in self.items if isinstance(item, Observed)]

    @cached_property
    def by_number(self) -> Mapping[int, Observed]:
        """The messages by the number of their record."""
        return {message.n: message for message in self.messages}

    @cached_property
    def has_gap(self) -> bool:
        """Return whether bytes are missing."""
        return any(isinstance(item, Missing) for item in self.items)

    def sent_by(self, side: Side) -> list[Observed]:
        """Return the messages of one side."""
        return [message for message in self.messages if message.side == side]

    def exchanges(self) -> Iterator[tuple[Observed, Observed]]:
        """Yield each reply with its request."""
        for message in self.messages:
            request = self.by_number.get(message.reply_to) if message.reply_to is not None else None
            if request is not None:
                yield request, message


def observe(recording: Recording, protocol: str) -> list[ObservedConnection]:
    """Return the connections of a recording on which a protocol is spoken."""
    found: dict[Dialogue, ObservedConnection] = {}
    problems = _problems(recording)
    until_ns = max((event.time_ns for event in recording.events), default=0)
    for event in _in_stream_order(event for event in recording.events if event.dialogue.protocol == protocol):
        dialogue = event.dialogue
        if dialogue not in found:
            found[dialogue] = ObservedConnection(
                dialogue.number,
                dialogue.client,
                dialogue.server,
                dialogue.protocol,
                dialogue.is_opened,
                dialogue.is_heard,
                event.time_ns,
                recorded_until_ns=until_ns,
            )
        if not isinstance(event, Opened):
            item = _item(event, problems)
            if item is not None:
                found[dialogue].items.append(item)
    _note_directions(found.values())
    return list(found.values())


def _hosts(connection: ObservedConnection) -> tuple[str, str]:
    """Return the addresses of the client and the server, without ports."""
    return connection.client.rpartition(":")[0], connection.server.rpartition(":")[0]


def _note_directions(connections: Collection[ObservedConnection]) -> None:
    """Note where both directions were captured; a side may be silent on one of the connections between two hosts."""
    asking = {_hosts(each) for each in connections if any(item.side == "client" for item in each.items)}
    answering = {_hosts(each) for each in connections if each.has_server}
    for each in connections:
        each.is_two_sided = _hosts(each) in asking & answering


def _in_stream_order(events: Iterable[Event]) -> list[Event]:
    """Return events by time; those of one side stay in the order of its bytes, and ends come last of their instant."""
    placed = list(enumerate(events))
    latest: dict[tuple[int, Side], tuple[int, int]] = {}
    keys = {at: (event.time_ns, at) for at, event in placed}
    told = [(event.record.n, at, event) for at, event in placed if isinstance(event, Told)]
    for _, at, event in sorted(told, key=lambda each: each[0]):
        side = (id(event.dialogue), event.record.side)
        keys[at] = latest[side] = max(keys[at], latest.get(side, keys[at]))
    for at, ended in placed:
        if isinstance(ended, Ended):
            keys[at] = max(keys[at], latest.get((id(ended.dialogue), ended.side), keys[at]))
    placed.sort(key=lambda each: (keys[each[0]][0], _end_rank(each[1]), keys[each[0]][1], _rank_of(each[1])))
    return [event for _, event in placed]


def _end_rank(event: Event) -> int:
    """Return the place of an end in its instant: after the messages, and that of the client last."""
    return (1 if event.side == "server" else 2) if isinstance(event, Ended) else 0


def _rank_of(event: Event) -> float:
    """Return the place of an event among those with which it shares a packet."""
    if isinstance(event, Told):
        return event.record.n
    return math.inf if isinstance(event, Ended) else 0


def _problems(recording: Recording) -> Mapping[int, tuple[str, ...]]:
    """Return what is wrong with frames, by the number of their record; such a problem record has no bytes."""
    found: dict[int, tuple[str, ...]] = {}
    for dialogue in recording.dialogues:
        last: dict[Side, int] = {}
        for record in dialogue.records:
            if record.kind == "frame":
                last[record.side] = record.n
            elif record.kind == "problem" and not record.length and record.side in last:
                n = last[record.side]
                found[n] = (*found.get(n, ()), f"{record.error}: {record.why}")
    return found


def _item(event: Told | Ended, problems: Mapping[int, tuple[str, ...]]) -> Item | None:
    if isinstance(event, Ended):
        return Closing(event.time_ns, event.side, event.how)
    record = event.record
    if record.kind == "gap":
        return Missing(record.time_ns, record.side, record.length)
    if record.kind == "problem" and record.length:
        why = (f"{record.error}: {record.why}",)
        return Observed(record.n, record.time_ns, record.side, UNDECODABLE, {}, why, None, record.raw)
    if record.kind != "frame":
        return None
    fields = record.fields
    found = problems.get(record.n, ())
    if record.left_over:
        found = (*found, f"{len(record.left_over)} bytes after the last field")
    return Observed(
        record.n,
        record.time_ns,
        record.side,
        record.message,
        json_form(fields) if isinstance(fields, Message) else dict(fields or {}),
        found,
        record.reply_to,
        record.raw,
        record.append,
        tuple(record.events or ()),
    )
