"""What users that fetch are, whatever they speak: each follows one segment, from its first byte on."""

from abc import abstractmethod
from typing import Any, ClassVar

from wiretool.load.events import Head
from wiretool.load.following import Following, Reads, follow
from wiretool.load.link import Link
from wiretool.load.users.appender import filler_of
from wiretool.load.users.user import LoadUser


class Fetcher(LoadUser):
    """Reads a segment that appenders of the same run write to, and checks each event. Fetchers take turns in them."""

    abstract = True
    operation: ClassVar[str] = "fetch"
    #: What stands before an event as it is stored.
    head: ClassVar[Head]

    def __init__(self, environment: Any) -> None:
        super().__init__(environment)
        self.segment = self.segment_name(self.session.run, self.place % self.segments)
        self._following = Following(self.session, self.segment)
        if self.verify:
            self._following.check(self.head, filler_of(self.seed))
        self._reads: Reads | None = None

    def set_up(self) -> None:
        """Connect; what is read next is what comes behind all that was."""
        link = self.connect()
        self._reads = self.begin(link)

    def work(self) -> None:
        """Reads until the session is over."""
        assert self._link is not None
        assert self._reads is not None
        follow(self._link, self._reads, self._following)

    @staticmethod
    @abstractmethod
    def segment_name(run: str, number: int) -> str:
        """What a segment of a run is called, or whatever the protocol calls what is read."""

    @abstractmethod
    def begin(self, link: Link) -> Reads:
        """Greet, and make the segment where it is not; what asks for its bytes."""
