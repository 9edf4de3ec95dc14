"""What users that append are, whatever they speak: a writer, its frames, a window of what is on the way."""

from abc import abstractmethod
from collections.abc import Callable
from functools import cache, partial
from random import Random
from typing import Any, ClassVar
from uuid import UUID

from wiretool.codec.event_trailer import MARK_BYTES
from wiretool.load.events import Filler, Head, Maker, writer_of
from wiretool.load.intervals import Writer
from wiretool.load.lanes import OneByOne, Windowed
from wiretool.load.link import Link
from wiretool.load.loops import Source, Window, Work
from wiretool.load.sizes import sizes_from
from wiretool.load.users.user import LoadUser
from wiretool.load.watched import Answers, Times, WatchedAppends


class Appender(LoadUser):
    """Appends events that can be verified. A class of a protocol says where to, how they are stored and sent."""

    abstract = True
    operation: ClassVar[str] = "append"
    #: What stands before an event as it is stored.
    head: ClassVar[Head]

    def __init__(self, environment: Any) -> None:
        super().__init__(environment)
        session = self.session
        key = writer_of(session.run, session.worker_number, self.number)
        segment = self.segment_name(session.run, self.place % self.segments)
        self.writer = Writer(key=key, wire_id=str(UUID(int=key)), segment=segment)
        session.enter(self.writer)
        session.due.append((self.operation, self._waiting))
        self.source = self._new_source()
        self._window: Window | None = None
        self._is_windowed = self.pipeline > 1 or self.rate is not None

    def set_up(self) -> None:
        """Connect and set the writer up, behind the last of its events that is stored."""
        link = self.connect()
        # A server that has forgotten what it had acknowledged is not believed: the hole is found when all is read.
        self.writer.acknowledged = max(self.writer.acknowledged, self.begin(link))
        self.source.last = self.writer.acknowledged
        if self._window is not None:
            self._window.on_the_way.clear()

    def work(self) -> None:
        """Appends until the session is over."""
        assert self._link is not None
        session, source, writer = self.session, self.source, self.writer
        sendings = session.sendings_of(writer, source.events)
        answers, samples = self.new_answers(), session.samples(self.operation)
        work = Work(session, self._link, source, answers.feed, writer, samples, sendings)
        if self._is_windowed and self._window is None:
            self._window = Window(self.arrivals(), self.pipeline)
        if (keeper := self.keeper()) is not None:
            work.source = watched = WatchedAppends(keeper, writer, source, answers, self._on_the_way, self.operation)
            work.feed = watched.feed
        if self._window is None:
            OneByOne(work).run()
            return
        Windowed(work, self._window).run()

    @staticmethod
    @abstractmethod
    def segment_name(run: str, number: int) -> str:
        """What a segment of a run is called, or whatever the protocol calls what is appended to."""

    @abstractmethod
    def begin(self, link: Link) -> int:
        """Greet, make the segment where it is not, and set the writer up; the last of its events that is stored."""

    @abstractmethod
    def fixed_source(self, maker: Maker, size: int) -> Source:
        """The frames of a writer whose events are all of that size, `batch` of them in each."""

    @abstractmethod
    def varying_source(self, maker: Maker, draw: Callable[[], int]) -> Source:
        """The same, of sizes that are drawn."""

    @abstractmethod
    def new_answers(self) -> Answers:
        """What reads the answers on a new connection."""

    def _new_source(self) -> Source:
        sizes = sizes_from(self.event_size, option="event_size", smallest=MARK_BYTES if self.verify else 1)
        maker = Maker(self.writer.key, head=self.head, filler=filler_of(self.seed), is_verified=self.verify)
        if sizes.is_fixed:
            return self.fixed_source(maker, sizes.min)
        return self.varying_source(maker, partial(sizes.draw, Random(f"{self.seed}/{self.writer.key}")))

    def _on_the_way(self) -> Times:
        """Of each append that is not answered, in order, when it was due and when it was sent."""
        if self._window is None:
            return iter([(self.writer.since, self.writer.since)])
        return ((each.due_s, each.sent_s) for each in self._window.on_the_way)

    def _waiting(self, now: float) -> tuple[int, float]:
        """Exchanges that are due and not answered, and since when the oldest."""
        if self._window is not None:
            return self._window.waiting(now)
        writer = self.writer
        return (1, writer.since) if writer.sent > writer.acknowledged else (0, now)


#: All writers of a process have the same bodies.
filler_of = cache(Filler)
