"""Users that fetch where each appender has a stream of its own, of which only its own process knows the number."""

from abc import abstractmethod
from collections.abc import Iterator
from itertools import count
from time import sleep

from wiretool.load.following import Reads, follow
from wiretool.load.measure.intervals import Writer
from wiretool.load.users.beating import Beating
from wiretool.load.users.fetcher import Fetcher

#: How often who waits for an appender looks whether it has a stream.
LOOK_S = 0.01


class StreamFetcher(Beating, Fetcher):
    """Reads the stream of an appender of its own process, from its beginning on. Fetchers take turns in the appenders.

    Where that goes on in another stream this does too, once it has read what is in the old one; the end of that is not
    read where the connection is lost then. The streams are there when all users are set up; until an appender has one,
    whoever follows it waits.
    """

    abstract = True

    def __init__(self, environment: object) -> None:
        super().__init__(environment)
        self._ids = count(1)
        #: Who is followed, and whether its stream is done with.
        self._writer: Writer | None = None
        self._is_left = False
        self._is_reading = False
        # Before the first append, so that it is noted when that is sent.
        self.session.is_followed = self.session.is_followed or self.session.drain is None

    def set_up(self) -> None:
        super().set_up()
        self._ids = count(1)

    def is_under_way(self) -> bool:
        return self._is_reading

    def await_work(self) -> None:
        """As every fetcher, once there is a stream to begin with."""
        self._find()
        super().await_work()

    def work(self) -> None:
        """Reads until the session is over."""
        assert self._link is not None
        while (writer := self._find()) is not None:
            assert self._following is not None
            self._is_reading = True
            try:
                follow(self._link, self.watched(self.reads_of(writer.segment, self._ids)), self._following)
            finally:
                self._is_reading = False
                self._is_left = self._following.is_deserted
            if not self._is_left:
                return

    def _find(self) -> Writer | None:
        """Who is followed now, as soon as it has a stream; None where the session is over before."""
        if self._writer is not None and not self._is_left:
            return self._writer
        while (found := self._next()) is None or not found.segment:
            if self.session.is_over:
                return None
            sleep(LOOK_S)
        self._writer, self._is_left = found, False
        if self._following is None:
            self.begin_to_follow(found.segment, found)
        else:
            self._following.turn_to(found)
        return found

    def _next(self) -> Writer | None:
        """The appender whose turn it is, or what the one that was followed is now."""
        current = self.session.current
        if self._writer is not None:
            return current[self._writer.key]
        return list(current.values())[self.number % len(current)] if current else None

    @abstractmethod
    def reads_of(self, segment: str, ids: Iterator[int]) -> Reads:
        """What asks for the batches of a stream over the connection that there is, with identifiers that are free."""
