"""Conversations recorded with a real store, spoken to the mock: what it says at each step beside what was said."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID

import msgspec

from wiretool.codec.compiled import decoder
from wiretool.codec.message import Message
from wiretool.protocols.pravega.commands import BY_CODE
from wiretool.protocols.pravega.framing import EXTENTS, HEADER_BYTES, PAYLOAD_BYTES_MAX, encode, type_at
from wiretool.protocols.pravega.framing import frame as framed
from wiretool.protocols.pravega.messages import AppendBlockEnd, KeepAlive, Padding, SegmentRead
from wiretool.protocols.pravega.segments import SegmentCreated, StreamSegmentInfo
from wiretool.protocols.pravega.server.mock import PravegaMock
from wiretool.protocols.pravega.structures import TableEntries, TableEntry, TableKey, TableValue
from wiretool.protocols.pravega.tables import TableEntriesDeltaRead, UpdateTableEntries
from wiretool.server.mock import Action, Close, Send

PROBES = Path(__file__).with_name("probes.json")
MAIN_PORT, ADMIN_PORT = 12345, 9999
#: Conversations whose client half-closes its side behind what it sent, which the recording has no step for.
HALF_CLOSED = ("frame_half_then_fin",)
#: For so long the server has been up when a conversation begins.
UP_MS = 30_000
#: When the server was started, in the epoch: some tokens of the recording have expired then, and others not yet.
START_NS = 1_795_241_780_000_000_000
_NS_PER_MS = 1_000_000


class Said(NamedTuple):
    """What came on a connection between two steps, and how it was afterwards."""

    messages: list[Message]
    end: str


def probes() -> list[Mapping[str, Any]]:
    """Every recorded conversation."""
    found: list[Mapping[str, Any]] = json.loads(PROBES.read_text())
    return found


def is_on_main_port(probe: Mapping[str, Any]) -> bool:
    """Whether it was with the plain server: no authorisation, one store, no traces, not the admin port."""
    ports = {connection["server_port"] for connection in probe["connections"].values()}
    return bool(probe["server"] == "0.13.0" and ports == {MAIN_PORT})


class Stage:
    """A mock and the connections to it, by the names that the recording gives them."""

    def __init__(self, mock: PravegaMock, ports: Mapping[str, int]) -> None:
        self.mock = mock
        self.now_ns = START_NS
        self._ports = ports
        self._numbers: dict[str, int] = {}
        self._heard: dict[int, bytes] = {}
        self._closed: set[int] = set()

    def send(self, name: str, data: bytes) -> None:
        number = self.open(name)
        self._note(self.mock.received(number, data, self.now_ns))

    def close(self, name: str) -> None:
        self._note(self.mock.lost(self._numbers[name], self.now_ns))

    def finish(self, name: str) -> None:
        self._note(self.mock.ended(self._numbers[name], self.now_ns))

    def wait(self, ms: int) -> None:
        """Let time pass; whatever is due meanwhile happens when it is due."""
        until_ns = self.now_ns + ms * _NS_PER_MS
        while (wake_ns := self.mock.wake_ns) is not None and wake_ns <= until_ns:
            self.now_ns = wake_ns
            self._note(self.mock.woken(wake_ns))
        self.now_ns = until_ns

    def hear(self, name: str) -> Said:
        number = self.open(name)
        data = self._heard.pop(number, b"")
        return Said(list(messages_in(data)), "fin" if number in self._closed else "open")

    def open(self, name: str) -> int:
        if name not in self._numbers:
            self._numbers[name] = len(self._numbers) + 1
            door = "admin" if self._ports.get(name) == ADMIN_PORT else "store"
            self._note(self.mock.opened(self._numbers[name], door, self.now_ns))
        return self._numbers[name]

    def _note(self, actions: list[Action]) -> None:
        for action in actions:
            if isinstance(action, Send):
                assert action.connection not in self._closed
                self._heard[action.connection] = self._heard.get(action.connection, b"") + action.data
            elif isinstance(action, Close):
                self._closed.add(action.connection)


def play(probe: Mapping[str, Any], mock: PravegaMock) -> Iterator[tuple[Said, Said]]:
    """What the mock says at each step at which something was heard, and what the real store had said."""
    ports = {name: connection["server_port"] for name, connection in probe["connections"].items()}
    stage = Stage(mock, ports)
    stage.open("before all")
    stage.wait(UP_MS)
    #: Names that the real store made up, and those that the mock did in their place.
    made_up: dict[bytes, bytes] = {}
    for step in probe["steps"]:
        if step["op"] == "send":
            stage.send(step["conn"], _renamed(bytes_of(step), made_up))
            if probe["name"] in HALF_CLOSED:
                stage.finish(step["conn"])
        elif step["op"] == "close":
            stage.close(step["conn"])
        else:
            stage.wait(step["waited_ms"])
            ours = stage.hear(step["conn"])
            theirs = list(messages_in(bytes_of(step)))
            made_up |= _made_up(ours.messages, theirs)
            theirs = list(messages_in(_renamed(bytes_of(step), made_up)))
            yield (
                Said([comparable(message) for message in ours.messages], ours.end),
                Said([comparable(message) for message in theirs], step["end"]),
            )


def bytes_of(step: Mapping[str, Any]) -> bytes:
    """What went over the wire; large payloads are kept as length and hash, and made again from how they begin."""
    packed = step["hex"]
    if isinstance(packed, str):
        return bytes.fromhex(packed)
    data = b"".join(_large(frame) for frame in step["frames"])
    assert (len(data), hashlib.sha256(data).hexdigest()) == (packed["length"], packed["sha256"])
    return data


def _large(frame: Mapping[str, Any]) -> bytes:
    """The frame again whose payload was too large to be kept."""
    fields = frame["fields"]
    match frame["type"]:
        case "PADDING":
            return encode(Padding(length=fields["zeros"]["length"]), "client")
        case "KEEP_ALIVE":
            return encode(KeepAlive(), "client")
        case "APPEND_BLOCK_END":
            return encode(
                AppendBlockEnd(
                    writer_id=str(UUID(fields["writer"])),
                    size_of_whole_events=fields["size"],
                    data=_filled(fields["data"]),
                    num_events=fields["nevents"],
                    last_event_number=fields["last"],
                    request_id=fields["rid"],
                ),
                "client",
            )
        case "SEGMENT_READ":
            return encode(
                SegmentRead(
                    segment=fields["segment"],
                    offset=fields["offset"],
                    at_tail=fields["tail"],
                    end_of_segment=fields["end"],
                    data=_filled(fields["data"]),
                    request_id=fields["rid"],
                ),
                "server",
            )
        case "UPDATE_TABLE_ENTRIES":
            ((key, version, _), (value, _)) = fields["entries"][0]
            entry = TableEntry(
                key=TableKey(data=bytes.fromhex(key), key_version=version), value=TableValue(data=_filled(value))
            )
            whole = UpdateTableEntries(
                request_id=fields["rid"], segment=fields["segment"], table_entries=TableEntries(entries=(entry,))
            )
            payload = encode(whole, "client")[HEADER_BYTES:-8]  # the offset was left out
            return framed(UpdateTableEntries.declaration.type_id, payload, PAYLOAD_BYTES_MAX["client"])
    raise AssertionError(frame["type"])


def _filled(packed: Mapping[str, Any]) -> bytes:
    """Equal events of one letter, or a part of one: as much as there was."""
    first, length = bytes.fromhex(packed["first64"]), int(packed["length"])
    unit = first[:8] + first[8:9] * int.from_bytes(first[4:8], "big") if first[:4] == bytes(4) else first
    return (unit * (length // len(unit) + 1))[:length]


def messages_in(data: bytes) -> Iterator[Message]:
    """What the server says in whole frames; nothing is left over in them."""
    at = 0
    while at < len(data):
        end = at + EXTENTS["server"](data, at, len(data))
        message, stop = decoder(BY_CODE[type_at(data, at)])(data, at + HEADER_BYTES, end)
        assert stop == end
        yield message
        at = end


def comparable(message: Message) -> Message:
    """Without what a server makes up: the time, where it failed, and the order inside a delta."""
    if isinstance(message, StreamSegmentInfo):
        return msgspec.structs.replace(message, last_modified=0)
    if isinstance(message, TableEntriesDeltaRead):
        entries = sorted(message.entries.entries, key=lambda entry: entry.key.key_version)
        return msgspec.structs.replace(message, entries=TableEntries(entries=tuple(entries)))
    if "server_stack_trace" in message.__struct_fields__:
        return msgspec.structs.replace(message, server_stack_trace="")
    return message


def _made_up(ours: list[Message], theirs: list[Message]) -> dict[bytes, bytes]:
    """The names of transient segments: theirs -> ours."""
    return {
        theirs_made.segment.encode(): ours_made.segment.encode()
        for ours_made, theirs_made in zip(ours, theirs, strict=False)
        if isinstance(ours_made, SegmentCreated) and isinstance(theirs_made, SegmentCreated)
        if "#transient." in ours_made.segment and "#transient." in theirs_made.segment
    }


def _renamed(data: bytes, made_up: Mapping[bytes, bytes]) -> bytes:
    """With our names in the place of theirs, which are as long."""
    for theirs, ours in made_up.items():
        assert len(theirs) == len(ours)
        data = data.replace(theirs, ours)
    return data
