"""What each side may say when: the phase table, and which request a reply answers.

Each side has its own phase, because only the order within one side is certain: of two packets in opposite
directions one may have been captured late, or not at all.
"""

import enum
from collections import deque
from collections.abc import Hashable, Mapping

from wiretool import limits
from wiretool.codec.message import Message, Side
from wiretool.errors import ProtocolViolation
from wiretool.protocols.offramp.messages import (
    EVENTS,
    Close,
    ConnectionEvent,
    HandshakeRequest,
    HandshakeResponse,
    Ping,
    Pong,
)


class Phase(enum.Enum):
    """How far one side is."""

    #: It speaks HTTP; no upgrade was asked for or granted yet.
    HTTP = "http"
    #: The client has sent a request; what follows may be a further one, or frames.
    ASKED = "asked"
    #: The server has upgraded and has not said CONNECTION yet.
    UPGRADED = "upgraded"
    #: Events flow.
    OPEN = "open"
    #: It has sent its Close.
    CLOSED = "closed"
    #: The beginning was not captured, or a hole may have had the upgrade.
    JOINED = "joined"

    # Each frame is looked up by its phase: that of the base class is a function in Python.
    __hash__ = object.__hash__


class Unnamed(Message, frozen=True, kw_only=True):
    """Stands in the table for a frame that is no message by itself: a fragment, an empty or an unreadable one."""


Kind = type[Message]
_FRAMES: tuple[Kind, ...] = (Ping, Pong, Unnamed)


def _table() -> dict[tuple[Phase, Side, Kind], Phase]:
    table: dict[tuple[Phase, Side, Kind], Phase] = {
        (Phase.HTTP, "client", HandshakeRequest): Phase.ASKED,
        (Phase.ASKED, "client", HandshakeRequest): Phase.ASKED,
        (Phase.JOINED, "client", HandshakeRequest): Phase.ASKED,
        # 101 leads on to UPGRADED: `Session.take` knows the status.
        (Phase.HTTP, "server", HandshakeResponse): Phase.HTTP,
        (Phase.JOINED, "server", HandshakeResponse): Phase.HTTP,
        (Phase.UPGRADED, "server", ConnectionEvent): Phase.OPEN,
        (Phase.JOINED, "server", ConnectionEvent): Phase.OPEN,
    }
    frames: dict[Side, list[Kind]] = {
        "client": [*_FRAMES, *(event for event in EVENTS if event.declaration.sender == "client")],
        "server": [*_FRAMES, *(event for event in EVENTS if event.declaration.sender == "server")],
    }
    for phase in (Phase.ASKED, Phase.OPEN, Phase.JOINED):
        table |= {(phase, "client", kind): Phase.OPEN for kind in frames["client"]}
        table[phase, "client", Close] = Phase.CLOSED
    for phase in (Phase.OPEN, Phase.JOINED):
        table |= {(phase, "server", kind): phase for kind in frames["server"] if kind is not ConnectionEvent}
    table |= {(Phase.UPGRADED, "server", kind): Phase.UPGRADED for kind in _FRAMES}
    table |= {(phase, "server", Close): Phase.CLOSED for phase in (Phase.UPGRADED, Phase.OPEN, Phase.JOINED)}
    return table


#: (phase of the side, the side, what it sends) -> its next phase. A triple that isn't here breaks the session.
TABLE: Mapping[tuple[Phase, Side, Kind], Phase] = _table()


class Session:
    """Where both sides are; `from_start`: their first bytes were captured."""

    def __init__(self, *, from_start: bool) -> None:
        first = Phase.HTTP if from_start else Phase.JOINED
        self.phases: dict[Side, Phase] = {"client": first, "server": first}

    def take(self, side: Side, kind: Kind, status: int = 0) -> ProtocolViolation | None:
        """Move on by one message; what is wrong with its time, if anything is. `status`: of a response."""
        phase = self.phases[side]
        following = TABLE.get((phase, side, kind))
        if following is None:
            return self._breach(side, phase, kind)
        self.phases[side] = Phase.UPGRADED if status == 101 else following
        return None

    def hole(self, side: Side) -> None:
        """What is missing may have been the upgrade or the first event; a Close that was seen stays seen."""
        if self.phases[side] in (Phase.HTTP, Phase.ASKED, Phase.UPGRADED):
            self.phases[side] = Phase.JOINED

    def _breach(self, side: Side, phase: Phase, kind: Kind) -> ProtocolViolation:
        rule, why = _rule(phase, kind)
        if phase in (Phase.HTTP, Phase.UPGRADED):  # said once; what follows is read as if it had been in order
            self.phases[side] = Phase.CLOSED if kind is Close else Phase.JOINED
        name = "a frame" if kind is Unnamed else kind.declaration.name
        return ProtocolViolation(rule, why, phase=phase.value, side=side, message=name)


def _rule(phase: Phase, kind: Kind) -> tuple[str, str]:
    if kind in (HandshakeRequest, HandshakeResponse):
        return "http_after_upgrade", "the connection already uses WebSocket"
    if phase is Phase.CLOSED:
        return "frame_after_close", "nothing follows a Close"
    if phase is Phase.HTTP:
        return "frame_before_upgrade", "no handshake came before it"
    if phase is Phase.UPGRADED:
        return "event_before_connection", "CONNECTION is the first event of a server"
    return "repeated_connection", "CONNECTION comes once"


class Waiting:
    """Requests by what their reply will name, the oldest first."""

    def __init__(self) -> None:
        self._numbers: dict[Hashable, deque[int]] = {}
        self._repeated: set[Hashable] = set()
        self._count = 0

    def add(self, key: Hashable, n: int) -> None:
        """Record `n` waits for a reply that names `key`."""
        numbers = self._numbers.setdefault(key, deque())
        if numbers:
            self._repeated.add(key)
        numbers.append(n)
        self._count += 1
        if self._count > limits.REQUESTS_OPEN_MAX:
            self.take(next(iter(self._numbers)))

    def take(self, key: Hashable) -> int | None:
        """The oldest request that waits for `key`, which waits no longer."""
        numbers = self._numbers.get(key)
        if numbers is None:
            return None
        self._count -= 1
        number = numbers.popleft()
        if len(numbers) < 2:
            self._repeated.discard(key)
        if not numbers:
            del self._numbers[key]
        return number

    def forget_repeated(self) -> None:
        """After a hole it is not known which of several requests with one key is still open."""
        for key in self._repeated:
            self._count -= len(self._numbers.pop(key))
        self._repeated.clear()
