"""Reading a segment that nobody writes to any more: from its first byte to its end, each event checked.

Each read is of what is there already, so that all of them count as `fetch`; nobody waits for anybody who writes.
"""

from wiretool.load.drain import Reader
from wiretool.load.following import Following, Piece
from wiretool.load.measure.intervals import Writer
from wiretool.load.run.session import Session


class Draining(Following):
    """How far one reader of a backlog is in a segment, over all connections that it has had."""

    def __init__(self, session: Session, segment: str, writer: Writer | None = None) -> None:
        assert session.drain is not None
        self._drain = session.drain
        self._reader = Reader(segment)
        self._drain.readers.append(self._reader)
        super().__init__(session, segment, writer)

    def wait(self) -> bool:
        """Until the backlog is built up; whether it ever is."""
        self._drain.gate.wait()
        return self._drain.has_begun

    @property
    def place(self) -> int:
        """Its number among the readers of all processes, once it has waited for them."""
        return self._drain.place_of(self._reader, self.session.worker)

    def drain(self, segment: str) -> None:
        """Read that segment, which need not be the one that was thought of first, to its end."""
        self._segment = self._reader.segment = segment
        if self._new_checker is not None:
            self._checker = self._new_checker(segment)
        self._begin()

    def turn_to(self, writer: Writer) -> None:
        """Go on in the segment that a writer has gone on in."""
        super().turn_to(writer)
        reader = self._reader
        reader.behind.append(reader.segment)
        reader.segment, reader.bytes = writer.segment, 0
        self._begin()

    @property
    def is_over(self) -> bool:
        """Whether it has all, or is not to read any more."""
        return self._reader.done_s is not None or self._drain.is_over

    def take(self, piece: Piece, now: float) -> None:
        """A read was answered."""
        if self._has_left:
            return
        super().take(piece, now)
        self._reader.bytes += len(piece.data)
        if (piece.is_all or self._has_all) and not self.is_deserted:
            self._reader.done_s = now

    def _begin(self) -> None:
        """There is something to read from now on. Where nothing was written a server would let us wait for it."""
        self.is_behind = True
        if not self._expected and not self.is_deserted:
            self._reader.done_s = self.session.clock()

    @property
    def _expected(self) -> int:
        """How many events are acknowledged here."""
        return self._drain.written.events.get(self._reader.segment, 0)

    @property
    def _has_all(self) -> bool:
        """Whether so many events have come. A server that does not say where the end is would be asked for ever."""
        return self._checker is not None and self._checker.checked >= self._expected

    def _enrol(self) -> None:
        """Appends are not waited for, so that nobody notes when they were sent."""
        self.session.due.append(("fetch", self._waiting))

    def _waiting(self, now: float) -> tuple[int, float]:
        """Whether there is something to read yet, and since when it is asked for."""
        if self._reader.done_s is not None or not self._drain.has_begun:
            return 0, now
        return 1, self._since_s or self._drain.began_s
