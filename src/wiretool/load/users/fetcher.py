"""What users that fetch are, whatever they speak: each follows one segment, from its beginning on."""

from abc import abstractmethod
from typing import Any, ClassVar

from wiretool.load.draining import Draining
from wiretool.load.events import Head
from wiretool.load.following import Following, Reads, follow
from wiretool.load.link import Link
from wiretool.load.measure.intervals import Writer
from wiretool.load.slow.wrappers import WatchedReads
from wiretool.load.users.appender import filler_of
from wiretool.load.users.user import LoadUser


class Fetcher(LoadUser):
    """Reads what appenders of the same run write, and checks each event."""

    abstract = True
    operation: ClassVar[str] = "fetch"
    #: What stands before an event as it is stored.
    head: ClassVar[Head]

    def __init__(self, environment: Any) -> None:
        super().__init__(environment)
        self._following: Following | None = None
        self._reads: Reads | None = None

    def set_up(self) -> None:
        """Connect; what is read next is what comes behind all that was."""
        self.connect()

    def begin_to_follow(self, segment: str, writer: Writer | None = None) -> Following:
        """Read that segment, which one writer may have for itself."""
        kind = Following if self.session.drain is None else Draining
        following = kind(self.session, segment, writer)
        if self.verify:
            following.check(self.head, filler_of(self.seed))
        self._following = following
        return following

    @property
    def is_over(self) -> bool:
        """Whether there is nothing more for it to do: of a backlog, once it has all."""
        following = self._following
        return super().is_over if self.session.drain is None or following is None else following.is_over

    def await_work(self) -> None:
        """Where a backlog is built up first, until it is: without a connection, which a server may find idle."""
        following = self._following
        if not isinstance(following, Draining):
            return
        self.leave()
        self.tear_down()
        if following.wait():
            self.begin_to_drain(following)
            self.come_back()

    def begin_to_drain(self, draining: Draining) -> None:
        """All is written: read to the end what this one follows."""
        draining.drain(draining.segment)

    def work(self) -> None:
        """Reads until the session is over."""
        assert self._link is not None
        assert self._reads is not None
        assert self._following is not None
        follow(self._link, self.watched(self._reads), self._following)

    def watched(self, reads: Reads) -> Reads:
        """The same; its slowest ones are kept if anybody wants them."""
        keeper = self.keeper()
        assert self._following is not None
        return reads if keeper is None else WatchedReads(keeper, self._following, reads)


class SegmentFetcher(Fetcher):
    """Reads a segment that any appender may write to. Fetchers take turns in them."""

    abstract = True

    def __init__(self, environment: Any) -> None:
        super().__init__(environment)
        self.segment = self.segment_name(self.session.run, self.place % self.segments)
        self.begin_to_follow(self.segment)

    def begin_to_drain(self, draining: Draining) -> None:
        """Users are not spread over processes so evenly that nothing would be left; now it is known how they are."""
        self.place = draining.place
        self.segment = self.segment_name(self.session.run, self.place % self.segments)
        draining.drain(self.segment)

    def set_up(self) -> None:
        super().set_up()
        assert self._link is not None
        self._reads = self.begin(self._link)

    @staticmethod
    @abstractmethod
    def segment_name(run: str, number: int) -> str:
        """What a segment of a run is called, or whatever the protocol calls what is read."""

    @abstractmethod
    def begin(self, link: Link) -> Reads:
        """Greet, and make the segment where it is not; what asks for its bytes."""
