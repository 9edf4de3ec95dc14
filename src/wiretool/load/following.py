"""Reading a segment while it is written: from its first byte to its end, then on and on, each event checked.

A read of what is there already is answered at once: how long that takes is the server's doing, and counts as `fetch`.
A read at the end waits for somebody to write, which says nothing about the server. There it counts as `tail` how long
an append took from its sending until it was here; the writers of this process know when that was.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple, Protocol

from wiretool.load.checking import Checker
from wiretool.load.events import Filler, Head
from wiretool.load.findings import Outcome
from wiretool.load.intervals import Writer
from wiretool.load.link import Link
from wiretool.load.session import Session

#: How often a read that waits for more looks whether the run is over.
LOOK_S = 0.25


class Piece(NamedTuple):
    """What a read brought; `is_all`: there was no more then."""

    data: bytes
    is_all: bool


class Reads(Protocol):
    """Asks for the bytes of one segment over one connection, one read at a time."""

    def at(self, offset: int) -> bytes | bytearray:
        """The frame that asks for what is at that byte; it may be the same object each time."""

    def feed(self, data: bytes) -> Piece | None:
        """What the server said, once that is whole. Failed where it is no answer to the last read."""


class Following:
    """How far one reader of a segment is, over all connections that it has had."""

    def __init__(self, session: Session, segment: str) -> None:
        self.session = session
        self.offset = 0
        #: Whether there is more to read than has come, as far as is known.
        self.is_behind = False
        self._segment = segment
        self._checker: Checker | None = None
        self._fetch, self._tail = session.samples("fetch"), session.samples("tail")
        #: When the read was sent that is on the way, if it will be answered at once; 0 where there is none.
        self._since_s = 0.0
        self._now_s = 0.0
        #: By writer, the number of the last event that has come.
        self._seen: dict[int, int] = {}
        self._has_left = False
        session.is_followed = True
        session.due += [("fetch", self._waiting), ("tail", self._undelivered)]

    def check(self, head: Head, filler: Filler) -> None:
        """From now on check all that comes, and tell the session what comes of that."""
        self._checker = Checker(self._segment, run=self.session.run, head=head, filler=filler, arrived=self._arrived)
        self.session.checks.append(self.leave)

    @property
    def is_over(self) -> bool:
        """Whether there is nothing more to do: the time is up, and what was sent here has come."""
        if self._has_left or not self.session.is_over:
            return self._has_left
        return not any(self._owed(writer, writer.sent) for writer in self._writers)

    def ask(self, now: float) -> None:
        """A read is being sent."""
        self._since_s = now if self.is_behind else 0.0

    def take(self, piece: Piece, now: float) -> None:
        """A read was answered."""
        if self._has_left:
            return
        samples = self._fetch if self._since_s else self._tail
        if self._since_s:
            samples.service.append(now - self._since_s)
        self._since_s, self._now_s = 0.0, now
        self.is_behind = not piece.is_all
        self.offset += len(piece.data)
        samples.bytes += len(piece.data)
        if self._checker is not None:
            before = self._checker.checked
            self._checker.feed(piece.data)
            samples.events += self._checker.checked - before

    def leave(self) -> Outcome:
        """Read no more; what was found in all that came."""
        assert self._checker is not None
        self._has_left = True
        return self._checker.leave()

    def _arrived(self, writer: int, first: int, last: int) -> None:
        """Events of a writer have come: those from one number to another."""
        self._seen[writer] = last
        sendings = self.session.sendings.get(writer)
        if sendings is not None:
            for sent_s, due_s in sendings.of(first, last):
                self._tail.service.append(self._now_s - sent_s)
                self._tail.response.append(self._now_s - due_s)

    @cached_property
    def _writers(self) -> Sequence[Writer]:
        """Those of this process who write here; asked for when all users are set up."""
        return [writer for writer in self.session.writers if writer.segment == self._segment]

    def _owed(self, writer: Writer, last: int) -> int:
        """How many of a writer's events up to a number have not come, where that is known."""
        if self._checker is None or writer.key not in self.session.sendings:
            return 0
        return max(last - self._seen.get(writer.key, 0), 0)

    def _waiting(self, now: float) -> tuple[int, float]:
        """Reads that are not answered, though there is something to read, and since when."""
        return (1, self._since_s) if self._since_s else (0, now)

    def _undelivered(self, now: float) -> tuple[int, float]:
        """Appends that are acknowledged and have not come, and since when the oldest is due."""
        count, since_s = 0, now
        for writer in self._writers if self.session.gate.is_set() else ():
            owed = self._owed(writer, writer.acknowledged)
            if owed:
                times = self.session.sendings[writer.key].of(writer.acknowledged - owed + 1, writer.acknowledged)
                count += len(times)
                since_s = min([since_s, *(time.due_s for time in times[:1])])
        return count, since_s


def follow(link: Link, reads: Reads, following: Following) -> None:
    """Each read as soon as the one before it is answered. Failed where the connection is lost or the server refuses."""
    clock = following.session.clock
    while not following.is_over:
        following.ask(clock())
        link.send(reads.at(following.offset))
        piece = None
        while piece is None and not following.is_over:
            data = link.receive() if following.is_behind else link.receive_within(LOOK_S)
            piece = reads.feed(data) if data else None
        if piece is not None:
            following.take(piece, clock())
