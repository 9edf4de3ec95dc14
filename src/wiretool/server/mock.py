"""What every mock server is: connections at its doors, bytes and a time in; bytes, closes and the next waking out.

A mock knows no socket and no clock. Whoever runs it (net/, a test, a simulated network) tells it what happened and
when, and carries out the actions it gets back, in their order.
"""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from wiretool import limits
from wiretool.codec.message import Side
from wiretool.errors import UsageError
from wiretool.memory_budget import MemoryBudget
from wiretool.server.timers import Timers
from wiretool.units import size_text


@dataclass(frozen=True, slots=True)
class Door:
    """A listening address of a mock: what it is called, and its usual port."""

    name: str
    port: int
    #: The protocol that is spoken there.
    protocol: str


class Send(NamedTuple):
    """These bytes go to that connection."""

    connection: int
    data: bytes


_send = partial(tuple.__new__, Send)


class Close(NamedTuple):
    """That connection ends behind what was sent on it; with `is_abort` by a reset, and what is unsent is dropped."""

    connection: int
    #: For the log; empty where the client has ended it, or asked for it.
    why: str = ""
    is_abort: bool = False


Action = Send | Close


class Outbox:
    """What a mock wants done, in order, and what it counts: shared by all of its connections."""

    def __init__(self) -> None:
        self._actions: list[Action] = []
        #: Messages seen, by who sent them and name.
        self.counts: Counter[tuple[Side, str]] = Counter()

    def send(self, connection: int, data: bytes) -> None:
        """Send `data` on a connection."""
        self._actions.append(_send((connection, data)))

    def close(self, connection: int, why: str = "", *, is_abort: bool = False) -> None:
        """Close a connection; nothing may be sent on it afterwards."""
        self._actions.append(Close(connection, why, is_abort))

    def take(self) -> list[Action]:
        """What is to be done now."""
        actions, self._actions = self._actions, []
        return actions


class Link(ABC):
    """The server's end of one connection. What it wants done goes into the outbox of its mock."""

    @abstractmethod
    def feed(self, data: bytes, now_ns: int) -> None:
        """The client's next bytes, cut anywhere. Frames are served in order; what is not whole yet is kept, bounded.

        Where the replies to one `feed` pass limits.MOCK_REPLY_BYTES_MAX, the frames behind them wait for `drained`.
        """

    @property
    def held_bytes(self) -> int:
        """Return the bytes kept of frames and messages that are not whole yet."""
        return 0

    def full(self, now_ns: int) -> None:  # noqa: B027  (most send only what was just asked for)
        """What was sent leaves slowly: of what nobody waits for, make no more before `drained`."""

    def drained(self, now_ns: int) -> None:  # noqa: B027  (most links never hold frames back)
        """What was sent has left: go on with the frames that wait, if any."""

    def keep(self, how: str) -> None:
        """Acknowledge the next append, and keep it so (faults/actions.py)."""
        raise AssertionError(f"{type(self).__name__} stores all acknowledged appends")

    @abstractmethod
    def end(self, now_ns: int) -> None:
        """The client will send no more (FIN)."""

    def lost(self, now_ns: int) -> None:  # noqa: B027  (state that outlives its connection needs no word)
        """The connection is gone, whoever closed it: forget it. Nothing can be sent any more."""

    def stop(self, now_ns: int) -> None:  # noqa: B027
        """The server stops: say goodbye in the protocol's words. Whoever runs the mock closes the connection."""


class Mock(ABC):
    """One mock server with all its state. Connections have numbers that are never used again."""

    #: Where it listens, the main door first.
    doors: tuple[Door, ...]
    #: What `operate` can do.
    operations: tuple[str, ...] = ()

    def __init__(self) -> None:
        self.outbox = Outbox()
        self.timers = Timers()
        self.links: dict[int, Link] = {}
        #: What these hold of unfinished frames, in bytes.
        self._unfinished: MemoryBudget[int] = MemoryBudget(limits.MOCK_UNFINISHED_BYTES_MAX)

    @abstractmethod
    def greet(self, connection: int, door: str, now_ns: int) -> Link:
        """The link of a new connection at a door."""

    def bound(self, door: str, host: str, port: int) -> None:  # noqa: B027  (few tell their clients where they are)
        """A door is open there; told before anybody comes."""

    def restart(self, now_ns: int) -> list[Action]:
        """As after a crash with all state lost: every connection is reset, nothing is remembered."""
        links, self.links = self.links, {}
        for number, link in links.items():
            self._unfinished.note(number, 0)
            link.lost(now_ns)
            self.outbox.close(number, "the server was restarted", is_abort=True)
        self.timers.clear()
        self.forget()
        return self.outbox.take()

    @abstractmethod
    def forget(self) -> None:
        """Begin anew with no state, as at the start."""

    def operate(self, what: str, arguments: Mapping[str, Any], now_ns: int) -> tuple[Mapping[str, Any], list[Action]]:
        """Something done to the server from outside its protocol (`scale`, `seal`), and what it says of it.

        UsageError: it knows no such thing, or not with these arguments.
        """
        there = f"there {'is' if len(self.operations) == 1 else 'are'} {', '.join(self.operations) or 'none'}"
        raise UsageError(f"this mock has no operation {what!r}: {there}")

    # -- what happened ---------------------------------------------------------------------------------------------

    def opened(self, connection: int, door: str, now_ns: int) -> list[Action]:
        """A client has connected."""
        self.links[connection] = self.greet(connection, door, now_ns)
        return self.outbox.take()

    def received(self, connection: int, data: bytes, now_ns: int) -> list[Action]:
        """A client has sent bytes. Of a connection that the mock has closed they are ignored."""
        link = self.links.get(connection)
        if link is None:
            return []
        link.feed(data, now_ns)
        self._unfinished.note(connection, link.held_bytes)
        if self._unfinished.is_exceeded:
            self._close_largest()
        return self._done(now_ns)

    def _close_largest(self) -> None:
        """Close the connections that hold the most of unfinished frames; what has been served since holds nothing."""
        for number, link in self.links.items():
            self._unfinished.note(number, link.held_bytes)
        for number in self._unfinished.excess():
            why = f"unfinished frames of all clients take more than {size_text(limits.MOCK_UNFINISHED_BYTES_MAX)}"
            self.outbox.close(number, f"{why}, {self.links[number].held_bytes:,} of them here", is_abort=True)
            self._unfinished.note(number, 0)

    def keep(self, connection: int, how: str) -> None:
        """What a client appends next is acknowledged, and kept otherwise: `nothing`, `twice` or `late` of it."""
        link = self.links.get(connection)
        if link is not None:
            link.keep(how)

    def full(self, connection: int, now_ns: int) -> list[Action]:
        """What was sent on a connection leaves slowly; `drained` will follow."""
        link = self.links.get(connection)
        if link is None:
            return []
        link.full(now_ns)
        return self._done(now_ns)

    def drained(self, connection: int, now_ns: int) -> list[Action]:
        """All that was sent on a connection has left."""
        link = self.links.get(connection)
        if link is None:
            return []
        link.drained(now_ns)
        return self._done(now_ns)

    def ended(self, connection: int, now_ns: int) -> list[Action]:
        """A client has sent its last byte."""
        link = self.links.get(connection)
        if link is None:
            return []
        link.end(now_ns)
        return self._done(now_ns)

    def lost(self, connection: int, now_ns: int) -> list[Action]:
        """A connection is gone, by no doing of the mock's."""
        link = self.links.pop(connection, None)
        self._unfinished.note(connection, 0)
        if link is not None:
            link.lost(now_ns)
        return self._done(now_ns)

    def woken(self, now_ns: int) -> list[Action]:
        """It is `wake_ns` or later: what was to be done by now."""
        self.timers.run(now_ns)
        return self._done(now_ns)

    def stopped(self, now_ns: int) -> list[Action]:
        """The server is about to stop."""
        for link in list(self.links.values()):
            link.stop(now_ns)
        return self._done(now_ns)

    @property
    def wake_ns(self) -> int | None:
        """When `woken` wants to be called next."""
        return self.timers.next_ns

    def _done(self, now_ns: int) -> list[Action]:
        """What is to be done; of connections that end by it nothing is kept."""
        actions = self.outbox.take()
        for action in actions:
            if isinstance(action, Close) and (link := self.links.pop(action.connection, None)) is not None:
                self._unfinished.note(action.connection, 0)
                link.lost(now_ns)
                actions += self.outbox.take()
        return actions
