"""Reading a segment while it is written: from its first byte to its end, then on and on, each event checked.

A read of what is there already is answered at once: how long that takes is the server's doing, and counts as `fetch`.
A read at the end waits for somebody to write, which says nothing about the server. There it counts as `tail` how long
an append took from its sending until it was here; the writers of this process know when that was.

A server that does not wait at the end says that there is nothing. It is asked again, at once while something comes,
else after a pause, which is what `tail` may be too long by.
"""

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import NamedTuple, Protocol

from wiretool.load.events import Filler, Head
from wiretool.load.link import Link
from wiretool.load.measure.intervals import Writer
from wiretool.load.run.session import Session
from wiretool.load.send_times import Sendings
from wiretool.load.verify.findings import Outcome, joined
from wiretool.load.verify.stored_events import Checker

#: How often a read that waits for more looks whether the run is over.
LOOK_S = 0.25


class Piece(NamedTuple):
    """What a read brought, events with their heads; what to ask for next; `is_all`: there was no more then."""

    data: bytes
    behind: int
    is_all: bool


class Reads(Protocol):
    """Asks for what is in one segment, or whatever the protocol calls it, over one connection, one read at a time."""

    #: How long to wait before asking again where there was nothing; 0 where the server itself waits for something.
    pause_s: float

    def at(self, offset: int) -> bytes | bytearray:
        """The frame that asks for what is at that offset; it may be the same object each time."""

    def feed(self, data: bytes) -> Piece | None:
        """What the server said, once that is whole. Failed where it is no answer to the last read."""


class Following:
    """How far one reader of a segment is, over all connections that it has had.

    Where one writer has the segment for itself, that is `writer`: it may go on in another one some day.
    """

    def __init__(self, session: Session, segment: str, writer: Writer | None = None) -> None:
        self.session = session
        #: What is read next, bytes or records from the beginning on, as the protocol counts.
        self.offset = 0
        #: Whether there is more to read than has come, as far as is known.
        self.is_behind = False
        self._segment = segment
        self._writer = writer
        self._new_checker: Callable[[str], Checker] | None = None
        self._checker: Checker | None = None
        #: What was found in the segments before.
        self._outcomes: list[Outcome] = []
        self._fetch, self._tail = session.samples("fetch"), session.samples("tail")
        #: When the read was sent that is on the way, if it will be answered at once; 0 where there is none.
        self._since_s = 0.0
        self._now_s = 0.0
        #: By writer, the number of the last event that has come.
        self._seen: dict[int, int] = {}
        self._has_left = False
        self._enrol()

    def check(self, head: Head, filler: Filler) -> None:
        """From now on check all that comes, and tell the session what comes of that."""
        self._new_checker = partial(Checker, run=self.session.run, head=head, filler=filler, arrived=self._arrived)
        self._checker = self._new_checker(self._segment)
        self.session.checks.append(self.leave)

    @property
    def segment(self) -> str:
        """What is read now."""
        return self._segment

    @property
    def is_deserted(self) -> bool:
        """Whether its writer has gone on elsewhere: what it had acknowledged is there, and nothing more comes."""
        return self._writer is not None and self.session.current[self._writer.key] is not self._writer

    def turn_to(self, writer: Writer) -> None:
        """Read no more here; follow the segment of that writer, from its beginning on."""
        if self._checker is not None and self._new_checker is not None and not self._has_left:
            self._outcomes.append(self._checker.leave())
            self._checker = self._new_checker(writer.segment)
        self._segment, self._writer = writer.segment, writer
        self.offset, self.is_behind, self._since_s = 0, False, 0.0
        self._seen.clear()

    @property
    def is_over(self) -> bool:
        """Whether there is nothing more to do: the time is up, and what was sent here has come."""
        if self._has_left or not self.session.is_over:
            return self._has_left
        is_deserted = self.is_deserted
        return not any(self._owed(each, each.acknowledged if is_deserted else each.sent) for each in self._writers)

    def ask(self, now: float) -> None:
        """A read is being sent."""
        self._since_s = now if self.is_behind else 0.0

    def take(self, piece: Piece, now: float) -> None:
        """A read was answered."""
        if self._has_left:
            return
        samples = self._fetch if self._since_s else self._tail
        if self._since_s and piece.data:
            samples.service.append(now - self._since_s)
        self._since_s, self._now_s = 0.0, now
        self.is_behind = not piece.is_all
        self.offset = piece.behind
        samples.bytes += len(piece.data)
        if self._checker is not None:
            before = self._checker.checked
            self._checker.feed(piece.data)
            samples.events += self._checker.checked - before

    def leave(self) -> Outcome:
        """Read no more; what was found in all that came."""
        assert self._checker is not None
        self._has_left = True
        return joined([*self._outcomes, self._checker.leave()])

    def _enrol(self) -> None:
        """Let the session know that somebody reads meanwhile, and what that waits for."""
        self.session.is_followed = True
        self.session.due += [("fetch", self._waiting), ("tail", self._undelivered)]

    def _arrived(self, writer: int, first: int, last: int) -> None:
        """Events of a writer have come: those from one number to another."""
        self._seen[writer] = last
        sendings = self._sendings_of(writer)
        if sendings is not None:
            for sent_s, due_s in sendings.of(first, last):
                self._tail.service.append(self._now_s - sent_s)
                self._tail.response.append(self._now_s - due_s)

    def _sendings_of(self, writer: int) -> Sendings | None:
        """When a writer of this process sent its appends to this segment."""
        return self.session.sendings.get((writer, self._segment))

    @property
    def _writers(self) -> Sequence[Writer]:
        """Those of this process who write here; asked for when all users are set up."""
        return self._sharing if self._writer is None else (self._writer,)

    @cached_property
    def _sharing(self) -> Sequence[Writer]:
        return [writer for writer in self.session.writers if writer.segment == self._segment]

    def _owed(self, writer: Writer, last: int) -> int:
        """How many of a writer's events up to a number have not come, where that is known."""
        if self._checker is None or self._sendings_of(writer.key) is None:
            return 0
        return max(last - self._seen.get(writer.key, 0), 0)

    def _waiting(self, now: float) -> tuple[int, float]:
        """Reads that are not answered, though there is something to read, and since when."""
        return (1, self._since_s) if self._since_s else (0, now)

    def _undelivered(self, now: float) -> tuple[int, float]:
        """Appends that are acknowledged and have not come, and since when the oldest is due."""
        count, since_s = 0, now
        for writer in self._writers if self.session.gate.is_set() else ():
            owed, sendings = self._owed(writer, writer.acknowledged), self._sendings_of(writer.key)
            if owed and sendings is not None:
                times = sendings.of(writer.acknowledged - owed + 1, writer.acknowledged)
                count += len(times)
                since_s = min([since_s, *(time.due_s for time in times[:1])])
        return count, since_s


def follow(link: Link, reads: Reads, following: Following) -> None:
    """Each read as soon as the one before it is answered. Failed where the connection is lost or the server refuses.

    Ends when the session does, and where the writer has gone on elsewhere, behind all that it has left.
    """
    clock = following.session.clock
    while not following.is_over:
        was_deserted = following.is_deserted
        request = reads.at(following.offset)
        following.ask(clock())  # what making it took is not the server's doing
        link.send(request)
        is_answered_at_once = following.is_behind or reads.pause_s > 0
        piece = None
        while piece is None and not following.is_over:
            data = link.receive() if is_answered_at_once else link.receive_within(LOOK_S)
            piece = reads.feed(data) if data else None
        if piece is None:
            continue
        following.take(piece, clock())
        if not piece.data:
            if was_deserted:
                return
            _pause(link, reads)


def _pause(link: Link, reads: Reads) -> None:
    """Nothing is there: wait before asking again, unless the server did that itself. What comes unasked is heard."""
    if reads.pause_s and (data := link.receive_within(reads.pause_s)):
        reads.feed(data)
