"""What each side may say when: the phase tables of a connection and of its streams, and which answer is for what.

Each side has its own phase, because only the order within one side is certain: of two packets in opposite directions
one may have been captured late, or not at all.
"""

import enum
from collections.abc import Mapping

from wiretool import limits
from wiretool.codec.message import SIDES, Message, Side
from wiretool.errors import ProtocolViolation
from wiretool.protocols.pravega_controller.grpc_messages import Held, Joiner
from wiretool.protocols.pravega_controller.messages import (
    Continuation,
    Data,
    GoAway,
    Headers,
    Ping,
    Preface,
    Priority,
    PushPromise,
    RstStream,
    Settings,
    Unknown,
    WindowUpdate,
)

Kind = type[Message]


class Phase(enum.Enum):
    """How far one side is: on a connection, or on a stream."""

    #: On a connection: nothing was said yet.
    NEW = "new"
    #: The client has sent its preface, and owes its settings.
    PREFACED = "prefaced"
    #: On a stream: it has said nothing there yet.
    IDLE = "idle"
    #: Anything goes.
    OPEN = "open"
    #: Between a block of headers and its continuation.
    HEADERS = "headers"
    #: On a stream: it has ended its half.
    ENDED = "ended"
    #: On a stream: it has reset it.
    RESET = "reset"
    #: The beginning was not captured, or a hole may have had what leads on.
    JOINED = "joined"

    # Each frame is looked up by its phase: that of the base class is a function in Python.
    __hash__ = object.__hash__


_FRAMES: tuple[Kind, ...] = (Data, Headers, Priority, RstStream, Settings, Ping, GoAway, WindowUpdate, Unknown)
_BLOCKS: Mapping[Side, tuple[Kind, ...]] = {"client": (Headers,), "server": (Headers, PushPromise)}


def _connection_table() -> dict[tuple[Phase, Side, Kind], Phase]:
    table: dict[tuple[Phase, Side, Kind], Phase] = {
        (Phase.NEW, "client", Preface): Phase.PREFACED,
        (Phase.JOINED, "client", Preface): Phase.PREFACED,
        (Phase.PREFACED, "client", Settings): Phase.OPEN,
        (Phase.NEW, "server", Settings): Phase.OPEN,
    }
    for side in SIDES:
        for phase in (Phase.OPEN, Phase.JOINED):
            table |= {(phase, side, kind): Phase.OPEN for kind in _FRAMES}
            table |= {(phase, side, kind): Phase.HEADERS for kind in _BLOCKS[side]}
        table |= {(phase, side, Continuation): Phase.HEADERS for phase in (Phase.HEADERS, Phase.JOINED)}
    return table


def _stream_table() -> dict[tuple[Phase, Side, Kind], Phase]:
    table: dict[tuple[Phase, Side, Kind], Phase] = {
        # A server lets a client send, or refuses its call, before it says anything itself.
        (Phase.IDLE, "server", WindowUpdate): Phase.IDLE,
        (Phase.IDLE, "server", RstStream): Phase.RESET,
    }
    for side in SIDES:
        table |= {(phase, side, Headers): Phase.OPEN for phase in (Phase.IDLE, Phase.OPEN, Phase.JOINED)}
        table |= {(phase, side, Data): phase for phase in (Phase.OPEN, Phase.JOINED)}
        table |= {(phase, side, WindowUpdate): phase for phase in (Phase.OPEN, Phase.JOINED, Phase.ENDED, Phase.RESET)}
        table |= {
            (phase, side, RstStream): Phase.RESET for phase in (Phase.OPEN, Phase.JOINED, Phase.ENDED, Phase.RESET)
        }
    return table


#: (phase of the side on the connection, the side, what it sends) -> its next phase. A triple that isn't here breaks the
#: session. Headers that end their block lead back to OPEN: `Session.take` knows.
CONNECTION: Mapping[tuple[Phase, Side, Kind], Phase] = _connection_table()

#: The same of a side on a stream, for what moves it or may not come. The end of its half leads to ENDED: `Stream.take`
#: knows.
STREAM: Mapping[tuple[Phase, Side, Kind], Phase] = _stream_table()
_RULES: Mapping[Phase, tuple[str, str]] = {
    Phase.NEW: (
        "no_settings",
        "a connection begins with the preface of the client, and with the settings of each side",
    ),
    Phase.PREFACED: ("no_settings", "settings come first"),
    Phase.OPEN: ("bad_frame_order", "nothing that it could belong to came before it"),
    Phase.JOINED: ("bad_frame_order", "that side never sends it"),
    Phase.HEADERS: ("block_interrupted", "nothing comes between a block of headers and its continuation"),
    Phase.IDLE: ("frame_on_idle_stream", "headers open a stream"),
    Phase.ENDED: ("frame_after_end", "the side has ended the stream"),
    Phase.RESET: ("frame_after_reset", "the side has reset the stream"),
}


class Stream:
    """One stream: a call, where it is one."""

    __slots__ = ("answered", "asked_n", "is_malformed", "joiners", "method", "number", "phases", "said")

    def __init__(self, number: int, phases: dict[Side, Phase], held: Held) -> None:
        self.number = number
        self.phases = phases
        #: The method of the controller, empty for another service's and where it was not captured.
        self.method = ""
        #: The record that asks, and whether its answer was told.
        self.asked_n: int | None = None
        self.answered = False
        #: What the server says there is no response, and holds no answer (RFC 9113 §8.1.1).
        self.is_malformed = False
        #: Messages of each side so far.
        self.said: dict[Side, int] = {"client": 0, "server": 0}
        self.joiners: dict[Side, Joiner] = {
            side: Joiner(held, is_certain=phases[side] is not Phase.JOINED) for side in SIDES
        }

    def take(self, side: Side, kind: Kind, *, ends: bool) -> ProtocolViolation | None:
        """Move on by one frame; what is wrong with its time, if anything is."""
        phase = self.phases[side]
        following = STREAM.get((phase, side, kind))
        if following is None:
            if phase is Phase.IDLE:  # said once
                self.phases[side] = Phase.JOINED
            return breach(phase, side, kind, f" (stream {self.number})")
        self.phases[side] = Phase.ENDED if ends else following
        return None

    def answer(self) -> int | None:
        """The request's record, for the one that answers it first."""
        if self.answered:
            return None
        self.answered = True
        return self.asked_n

    def fail(self) -> ProtocolViolation:
        """The server's headers are none of a response; that this is wrong."""
        self.is_malformed = True
        self.joiners["server"].drop()
        why = f"headers without :status begin no response (stream {self.number})"
        phase = self.phases["server"].value
        return ProtocolViolation("no_status", why, phase=phase, side="server", message="Headers")

    def hole(self, side: Side) -> None:
        """What is missing may have been anything of this stream."""
        if self.phases[side] not in (Phase.ENDED, Phase.RESET):
            self.phases[side] = Phase.JOINED
        self.joiners[side].hole()

    def close(self) -> None:
        """Let go of what waits for its rest."""
        for joiner in self.joiners.values():
            joiner.drop()


def breach(phase: Phase, side: Side, kind: Kind, where: str = "") -> ProtocolViolation:
    """That `kind` does not come in that phase."""
    rule, why = _RULES[phase]
    return ProtocolViolation(rule, why + where, phase=phase.value, side=side, message=kind.declaration.name)


class Session:
    """Where both sides are, and the streams between them; `from_start`: their first bytes were captured."""

    def __init__(self, *, from_start: bool) -> None:
        first = Phase.NEW if from_start else Phase.JOINED
        self.phases: dict[Side, Phase] = {"client": first, "server": first}
        #: Sides whose every byte was seen.
        self._whole: set[Side] = set(SIDES) if from_start else set()
        self._streams: dict[int, Stream] = {}
        self._held = Held()
        #: The highest stream that the client has opened.
        self._last_opened = 0
        #: The highest one that is no longer remembered.
        self._last_forgotten = 0

    @property
    def held_bytes(self) -> int:
        """Return the bytes of unfinished messages of all streams."""
        return self._held.count

    def take(self, side: Side, kind: Kind, *, ends_block: bool = True) -> ProtocolViolation | None:
        """Move on by one frame of the connection; what is wrong with its time, if anything is."""
        phase = self.phases[side]
        following = CONNECTION.get((phase, side, kind))
        if following is None:
            self.phases[side] = Phase.OPEN if kind is not Preface else Phase.PREFACED
            return breach(phase, side, kind)
        self.phases[side] = Phase.OPEN if following is Phase.HEADERS and ends_block else following
        return None

    def stream(self, number: int) -> Stream:
        """The stream with that number."""
        stream = self._streams.get(number)
        if stream is None:
            is_forgotten = number <= self._last_opened
            phases: dict[Side, Phase] = {
                side: Phase.IDLE if side in self._whole and not is_forgotten else Phase.JOINED for side in SIDES
            }
            stream = self._streams[number] = Stream(number, phases, self._held)
            if len(self._streams) > limits.HTTP2_STREAMS_MAX:
                self._forget(next(iter(self._streams)))
        return stream

    def _forget(self, number: int) -> None:
        self._streams.pop(number).close()
        self._last_forgotten = max(number, self._last_forgotten)

    def open(self, number: int) -> ProtocolViolation | None:
        """The client says headers on a stream; what is wrong with its number, where they open it."""
        stream = self._streams.get(number)
        if stream is not None and stream.phases["client"] is not Phase.IDLE:
            return None
        last = self._last_opened
        if number > last:
            self.stream(number)  # from now on, one that is not remembered was forgotten
        self._last_opened = max(number, last)
        if number % 2 == 0:
            return self._misnumbered("a client's streams are odd")
        if stream is None and self._last_forgotten < number < last and "client" in self._whole:
            return self._misnumbered(f"stream {number} comes after stream {last}")
        return None

    def _misnumbered(self, why: str) -> ProtocolViolation:
        phase = self.phases["client"].value
        return ProtocolViolation("bad_stream_id", why, phase=phase, side="client", message="Headers")

    def hole(self, side: Side) -> None:
        """What is missing may have been anything."""
        self.phases[side] = Phase.JOINED
        self._whole.discard(side)
        for stream in self._streams.values():
            stream.hole(side)
