"""Users that speak with an SBP server of v0.1, in schema S1."""

from collections.abc import Callable, Iterator
from typing import Any, ClassVar

from wiretool.load.events import Head, Maker
from wiretool.load.link import Link
from wiretool.load.loops import Source
from wiretool.load.measure.intervals import Writer
from wiretool.load.slow.wrappers import Answers
from wiretool.load.users.stream_fetcher import StreamFetcher
from wiretool.protocols.sbp.load.users import BeatingAppender
from wiretool.protocols.sbp_0_1.load.client import HEAD, Appends, VaryingAppends, acks, bind, heartbeat
from wiretool.protocols.sbp_0_1.load.stream_reader import Reads


class SbpBatchAppender(BeatingAppender):
    """Has a stream of its own and appends events as records, each batch in a record batch of its own.

    `host` is `HOST:PORT` of a data node that is the placement manager too. Whenever it comes back it goes on in a new
    stream, as nobody can say what became of appends that were not answered. `segments` has no meaning here.
    """

    abstract = True
    head: ClassVar[Head] = HEAD
    source: Appends | VaryingAppends

    def __init__(self, environment: Any) -> None:
        super().__init__(environment)
        self._first_id = 1

    def set_up(self) -> None:
        if self.writer.sent:
            self.writer = Writer(key=self.writer.key, wire_id=self.writer.wire_id, segment="")
            self.session.enter(self.writer)
        super().set_up()

    def begin(self, link: Link) -> int:
        stream_id, self._first_id = bind(link)
        self.writer.segment = str(stream_id)
        self.source.bind(stream_id, self._first_id)
        return 0

    def new_heartbeats(self) -> Callable[[], bytes]:
        return heartbeat()

    def fixed_source(self, maker: Maker, size: int) -> Source:
        return Appends(maker, events=self.batch, size=size)

    def varying_source(self, maker: Maker, draw: Callable[[], int]) -> Source:
        return VaryingAppends(maker, events=self.batch, draw=draw)

    def new_answers(self) -> Answers:
        return acks(self._first_id, self.batch)


class SbpBatchFetcher(StreamFetcher):
    """Follows the stream of an SbpBatchAppender of its own process, FETCH after FETCH, and checks each event.

    `host` is `HOST:PORT` of the data node, `batch` what the appenders have. Fetchers take turns in the appenders, and
    go on with them in a new stream, behind what was acknowledged in the old one.
    """

    abstract = True
    head: ClassVar[Head] = HEAD

    def new_heartbeats(self) -> Callable[[], bytes]:
        return heartbeat()

    def reads_of(self, segment: str, ids: Iterator[int]) -> Reads:
        return Reads(int(segment), ids, step=self.batch)
