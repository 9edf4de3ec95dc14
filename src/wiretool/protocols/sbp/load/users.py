"""Users that speak with an SBP server, of the newest schema."""

from collections.abc import Callable, Iterator
from typing import Any, ClassVar

from wiretool.load.events import Head, Maker
from wiretool.load.link import Link
from wiretool.load.loops import Source
from wiretool.load.slow.wrappers import Answers
from wiretool.load.users.appender import Appender
from wiretool.load.users.beating import Beating
from wiretool.load.users.stream_fetcher import StreamFetcher
from wiretool.protocols.sbp.load.client import HEAD, Appends, VaryingAppends, acks, bind, heartbeat
from wiretool.protocols.sbp.load.frames import Place, place_from
from wiretool.protocols.sbp.load.range_reader import Reads


class BeatingAppender(Beating, Appender):
    """An appender with a stream of its own, whose connection does not fall silent."""

    abstract = True

    @staticmethod
    def segment_name(run: str, number: int) -> str:
        """None yet: the server gives out the numbers of streams."""
        return ""

    def is_under_way(self) -> bool:
        if self._window is not None:
            return bool(self._window.on_the_way)
        return self.writer.sent > self.writer.acknowledged


class SbpAppender(BeatingAppender):
    """Has a stream with one range of its own and appends events, each batch in a record batch of its own.

    `host` is `HOST:PORT` of a range server, which may be the placement driver too. `segments` has no meaning here.
    """

    abstract = True
    head: ClassVar[Head] = HEAD
    source: Appends | VaryingAppends

    def __init__(self, environment: Any) -> None:
        super().__init__(environment)
        self._where: Place | None = None
        self._first_id = 1

    def begin(self, link: Link) -> int:
        writer = self.writer
        self._where, last, self._first_id = bind(link, self._where, own_id=writer.key, acknowledged=writer.acknowledged)
        writer.segment = str(self._where)
        self.source.bind(self._where, self._first_id)
        return last

    def new_heartbeats(self) -> Callable[[], bytes]:
        return heartbeat()

    def fixed_source(self, maker: Maker, size: int) -> Source:
        return Appends(maker, events=self.batch, size=size)

    def varying_source(self, maker: Maker, draw: Callable[[], int]) -> Source:
        return VaryingAppends(maker, events=self.batch, draw=draw)

    def new_answers(self) -> Answers:
        return acks(self._first_id, self.source.last, self.batch)


class SbpFetcher(StreamFetcher):
    """Follows the range of an SbpAppender of its own process, FETCH after FETCH, and checks each event.

    `host` is `HOST:PORT` of the range server. Fetchers take turns in the appenders.
    """

    abstract = True
    head: ClassVar[Head] = HEAD

    def new_heartbeats(self) -> Callable[[], bytes]:
        return heartbeat()

    def reads_of(self, segment: str, ids: Iterator[int]) -> Reads:
        return Reads(place_from(segment), ids)
