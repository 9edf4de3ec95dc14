"""Users that speak with a Pravega segment store."""

from collections.abc import Callable, Sequence
from typing import ClassVar

from wiretool.load.events import Head, Maker
from wiretool.load.link import Link
from wiretool.load.loops import Source
from wiretool.load.planning.plan import Place
from wiretool.load.slow.wrappers import Answers
from wiretool.load.users.appender import Appender
from wiretool.load.users.fetcher import SegmentFetcher
from wiretool.load.users.user import LoadUser
from wiretool.protocols.pravega.load.client import (
    HEAD,
    Acks,
    Appends,
    ConditionalAppends,
    Store,
    VaryingAppends,
    segment_name,
)
from wiretool.protocols.pravega.load.segment_reader import Reads


class Placed(LoadUser):
    """A user of a segment that is made where it is not, or that a controller has given out."""

    abstract = True
    #: Where the segments are, and the token that their stores want; with none, all are on `host` and open to anybody.
    places: ClassVar[Sequence[Place]] = ()
    token: ClassVar[str] = ""

    @classmethod
    def segment_name(cls, run: str, number: int) -> str:
        """What a segment of a run is called."""
        return cls.places[number].segment if cls.places else segment_name(run, number)

    @property
    def address(self) -> tuple[str, int]:
        if not self.places:
            return super().address
        where = self.places[self.place % self.segments]
        return where.host, where.port

    def store(self, link: Link, segment: str) -> Store:
        """The store of a segment, which is there."""
        store = Store(link, self.token)
        if not self.places:
            store.make_segment(segment)
        return store


class PravegaAppender(Placed, Appender):
    """Sets up a writer and appends events, each batch in a block of its own, or with `conditional` one by one.

    `host` is `HOST:PORT` of a segment store. Segments are made there where they are not: `bench-RUN/load/N.#epoch.0`.
    With `places` they are there already, wherever that says, and `token` is good for them.
    """

    abstract = True
    head: ClassVar[Head] = HEAD
    #: Append if the segment is as long as it was left. Then each writer needs a segment of its own.
    conditional: ClassVar[bool] = False

    def begin(self, link: Link) -> int:
        return self.store(link, self.writer.segment).set_up(self.writer.wire_id, self.writer.segment)

    def fixed_source(self, maker: Maker, size: int) -> Source:
        if self.conditional:
            return ConditionalAppends(self.writer.wire_id, maker, size=size)
        return Appends(self.writer.wire_id, maker, events=self.batch, size=size)

    def varying_source(self, maker: Maker, draw: Callable[[], int]) -> Source:
        return VaryingAppends(self.writer.wire_id, maker, events=self.batch, draw=draw)

    def new_answers(self) -> Answers:
        return Acks(self.writer.wire_id)


class PravegaFetcher(Placed, SegmentFetcher):
    """Follows a segment that appenders of the same run write to, and checks each event.

    `host` is `HOST:PORT` of a segment store. Fetchers take turns in the segments of PravegaAppender.
    """

    abstract = True
    head: ClassVar[Head] = HEAD

    def begin(self, link: Link) -> Reads:
        self.store(link, self.segment)
        return Reads(self.segment, self.token)
