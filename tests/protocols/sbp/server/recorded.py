"""Conversations with real servers out of captures, spoken again to a mock, and how its answers differ."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.conftest import HERE, SHARED, folders
from tests.helpers.truth import captures_below
from wiretool.capture.files.reading import read_packets
from wiretool.capture.tcp.reassembler import Streams
from wiretool.capture.tcp.segments_of_packets import read_segments
from wiretool.capture.tcp.stream_events import Connection, Data, End
from wiretool.codec.flatbuffers.declaration import Table, TablesSlot, slots_of
from wiretool.errors import DecodeError
from wiretool.protocols.sbp.framing import FrameReading, extent, read_frame
from wiretool.protocols.sbp.messages import PING, SbpFrame, Schema
from wiretool.protocols.sbp.schema import LATEST
from wiretool.server.mock import Action, Close, Mock, Send

SECOND = 1_000_000_000
#: How far apart two closes of the same cause may be: the recorder's own delays.
CLOSE_TOLERANCE_NS = SECOND // 4


class Event(NamedTuple):
    """Something that the client did."""

    time_ns: int
    connection: int
    what: str
    data: bytes = b""


@dataclass
class Side:
    """What a server said on one connection."""

    server: str = ""
    data: bytearray = field(default_factory=bytearray)
    #: When it closed; None where it did not.
    closed_ns: int | None = None
    #: Somebody has reset the connection: how it would have ended does not show.
    is_reset: bool = False
    #: The client was the first to say that it is done.
    is_left: bool = False


@dataclass
class Recording:
    """A capture as one timed list of what clients did, and what the servers said."""

    events: list[Event]
    sides: dict[int, Side]
    end_ns: int


class Answer(NamedTuple):
    """What of an answer is held against the recorded one."""

    connection: int
    opcode: int
    flags: int
    stream_id: int
    code: int | None
    entries: tuple[int, ...] = ()


def read_recording(path: Path, ports: frozenset[int]) -> Recording:
    """The connections to servers on these ports."""
    streams = Streams(ports)
    items: list[Any] = [item for segment in read_segments(read_packets([path])) for item in streams.feed(segment)]
    items += streams.end()
    recording = Recording([], {}, 0)
    for item in items:
        connection: Connection = item.connection
        recording.end_ns = max(recording.end_ns, connection.last_ns)
        if connection.server_port not in ports:
            continue
        if connection.id not in recording.sides:
            recording.sides[connection.id] = Side(connection.server)
            recording.events.append(Event(connection.first_ns, connection.id, "open"))
        side = recording.sides[connection.id]
        if isinstance(item, Data):
            if item.side == "client":
                recording.events.append(Event(item.time_ns, connection.id, "data", item.data))
            else:
                side.data += item.data
        elif isinstance(item, End) and item.how == "rst":
            recording.events.append(Event(item.time_ns, connection.id, "rst"))
            side.is_reset = True
        elif isinstance(item, End) and item.how == "fin":
            if item.side == "client":
                recording.events.append(Event(item.time_ns, connection.id, "fin"))
                side.is_left = side.closed_ns is None
            else:
                side.closed_ns = item.time_ns
    recording.events.sort(key=lambda event: event.time_ns)
    return recording


def frames_of(data: bytes) -> Iterator[bytes]:
    """The whole frames at the front of a stream."""
    at = 0
    while at < len(data):
        try:
            length = extent(data, at, len(data))
        except DecodeError:
            return
        if not length or length > len(data) - at:
            return
        yield bytes(data[at : at + length])
        at += length


def answers_of(schema: Schema, sides: dict[int, Side]) -> Counter[Answer]:
    """The answers on all connections."""
    found: Counter[Answer] = Counter()
    for number, side in sides.items():
        for data in frames_of(bytes(side.data)):
            found[answer_of(number, read_frame(schema, data, 0, len(data)))] += 1
    return found


def answer_of(number: int, reading: FrameReading) -> Answer:
    """A frame of a server as an answer."""
    frame: SbpFrame = reading.frame
    status = getattr(frame.header, "status", None)
    code = status.code if status else None
    return Answer(number, frame.opcode, frame.flags, frame.stream_id, code, codes_in(frame.header))


def codes_in(header: Any) -> tuple[int, ...]:
    """The codes of the results in a header; those of APPEND are in the order of the request, others in any."""
    if not isinstance(header, Table):
        return ()
    lists = [getattr(header, name) or () for name, wire, _ in slots_of(type(header)) if isinstance(wire, TablesSlot)]
    codes = [result.status.code for results in lists for result in results if getattr(result, "status", None)]
    return tuple(codes if hasattr(header, "entries") else sorted(codes))


class Player:
    """Speaks the client sides of a recording to mocks, at the recorded times."""

    def __init__(self, recording: Recording, mock_of: Callable[[str], tuple[Mock, str]]) -> None:
        self._recording = recording
        self._mock_of = mock_of
        self._mocks: list[Mock] = []
        self.sides: dict[int, Side] = {number: Side(side.server) for number, side in recording.sides.items()}

    def play(self) -> dict[int, Side]:
        """What the mocks said."""
        for event in self._recording.events:
            self._advance(event.time_ns)
            mock, door = self._mock(event.connection)
            if event.what == "stop":
                actions = mock.stopped(event.time_ns)
            elif event.what == "open":
                actions = mock.opened(event.connection, door, event.time_ns)
            elif event.what == "data":
                actions = mock.received(event.connection, event.data, event.time_ns)
            elif event.what == "fin":
                actions = mock.ended(event.connection, event.time_ns)
            else:
                actions = mock.lost(event.connection, event.time_ns)
            self._carry_out(mock, actions, event.time_ns)
        self._advance(self._recording.end_ns)
        return self.sides

    def _mock(self, number: int) -> tuple[Mock, str]:
        mock, door = self._mock_of(self.sides[number].server)
        if mock not in self._mocks:
            self._mocks.append(mock)
        return mock, door

    def _advance(self, until_ns: int) -> None:
        for mock in self._mocks:
            while mock.wake_ns is not None and mock.wake_ns <= until_ns:
                now_ns = mock.wake_ns
                self._carry_out(mock, mock.woken(now_ns), now_ns)

    def _carry_out(self, mock: Mock, actions: Sequence[Action], now_ns: int) -> None:
        for action in actions:
            side = self.sides[action.connection]
            if isinstance(action, Send):
                side.data += action.data
            elif isinstance(action, Close) and side.closed_ns is None:
                side.closed_ns = now_ns
        for number in {action.connection for action in actions if isinstance(action, Send)}:
            if more := mock.drained(number, now_ns):
                self._carry_out(mock, more, now_ns)


@dataclass
class Comparison:
    """How a mock's answers differ from the recorded ones."""

    recorded: int
    same: int
    missing: list[Answer]
    extra: list[Answer]
    #: Connections of which the end differs.
    ends: list[int]
    #: Connections on which PINGs are answered in another order; real servers answer these in turn, but for one capture.
    pings: list[int]

    @property
    def figures(self) -> tuple[int, int, int]:
        """Answers that are missing, answers that are too many, and connections that end otherwise."""
        return len(self.missing), len(self.extra), len(self.ends)

    def __str__(self) -> str:
        told = f"{self.same} of {self.recorded} answers, {len(self.extra)} more, {len(self.ends)} other ends"
        return f"{told}, {len(self.pings)} other orders of PINGs"


def compare(schema: Schema, recorded: dict[int, Side], ours: dict[int, Side], *, lingers: bool) -> Comparison:
    """The answers of the mock against those of the server, in any order, as real servers give them, but for PINGs.

    A real range server is slow to close what its client has left, or never does: that counts only if it `lingers` too.
    """
    theirs, mine = answers_of(schema, recorded), answers_of(schema, ours)
    ends = [
        number
        for number, side in recorded.items()
        if (lingers or not side.is_left) and _end_differs(side, ours[number])
    ]
    return Comparison(
        recorded=theirs.total(),
        same=(theirs & mine).total(),
        missing=sorted((theirs - mine).elements(), key=str),
        extra=sorted((mine - theirs).elements(), key=str),
        ends=ends,
        pings=[number for number, side in recorded.items() if _pings_differ(side, ours[number])],
    )


def _pings_differ(theirs: Side, ours: Side) -> bool:
    """Whether PINGs that both have answered are answered in another order."""
    first, second = _pings(theirs), _pings(ours)
    return [each for each in first if each in second] != [each for each in second if each in first]


def _pings(side: Side) -> dict[int, None]:
    """The PINGs that a server has answered, by when it did first."""
    frames = (read_frame(LATEST, data, 0, len(data)).frame for data in frames_of(bytes(side.data)))
    return dict.fromkeys(frame.stream_id for frame in frames if frame.opcode == PING)


def _end_differs(theirs: Side, ours: Side) -> bool:
    if theirs.is_reset:
        return False
    if theirs.closed_ns is None or ours.closed_ns is None:
        return theirs.closed_ns is not ours.closed_ns
    return abs(theirs.closed_ns - ours.closed_ns) > CLOSE_TOLERANCE_NS


def recordings_of(config: pytest.Config, schema: str, known: Sequence[str]) -> list[Any]:
    """Return the captures of a schema as parameters; one of a known name that is missing is an error."""
    paths = captures_of(config, schema)
    missing = sorted(set(known) - {name_of(path) for path in paths})
    if missing:
        raise pytest.UsageError(f"captures are missing: {', '.join(missing)}")
    return [pytest.param(path, id="/".join(path.parts[-3:])) for path in paths]


def captures_of(config: pytest.Config, schema: str) -> list[Path]:
    """The captures of a schema, by their truth files: our own, those beside the project, and those asked for."""
    every = folders(config, "--captures", HERE.parent / "captures", SHARED / "captures")
    return [
        path
        for folder in every
        for path, truth in captures_below(folder)
        if truth is not None and f'"schema": "{schema}' in truth.read_text()[:1000]
    ]


def name_of(path: Path) -> str:
    """How a capture is called, whatever folder it is in."""
    return path.name.removesuffix(".pcap")
