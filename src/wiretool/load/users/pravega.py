"""Users that speak with a Pravega segment store."""

from collections.abc import Callable
from typing import ClassVar

from wiretool.load.events import Head, Maker
from wiretool.load.link import Link
from wiretool.load.loops import Source
from wiretool.load.users.appender import Appender
from wiretool.load.users.fetcher import Fetcher
from wiretool.load.wire.pravega import HEAD, Acks, Appends, ConditionalAppends, Store, VaryingAppends, segment_name
from wiretool.load.wire.pravega_reads import Reads


class PravegaAppender(Appender):
    """Sets up a writer and appends events, each batch in a block of its own, or with `conditional` one by one.

    `host` is `HOST:PORT` of a segment store. Segments are made there where they are not: `bench-RUN/load/N.#epoch.0`.
    """

    abstract = True
    head: ClassVar[Head] = HEAD
    segment_name = staticmethod(segment_name)
    #: Append if the segment is as long as it was left. Then each writer needs a segment of its own.
    conditional: ClassVar[bool] = False

    def begin(self, link: Link) -> int:
        store = Store(link)
        store.make_segment(self.writer.segment)
        return store.set_up(self.writer.wire_id, self.writer.segment)

    def fixed_source(self, maker: Maker, size: int) -> Source:
        if self.conditional:
            return ConditionalAppends(self.writer.wire_id, maker, size=size)
        return Appends(self.writer.wire_id, maker, events=self.batch, size=size)

    def varying_source(self, maker: Maker, draw: Callable[[], int]) -> Source:
        return VaryingAppends(self.writer.wire_id, maker, events=self.batch, draw=draw)

    def new_feed(self) -> Callable[[bytes], int]:
        return Acks(self.writer.wire_id).feed


class PravegaFetcher(Fetcher):
    """Follows a segment that appenders of the same run write to, and checks each event.

    `host` is `HOST:PORT` of a segment store. Fetchers take turns in the segments of PravegaAppender.
    """

    abstract = True
    head: ClassVar[Head] = HEAD
    segment_name = staticmethod(segment_name)

    def begin(self, link: Link) -> Reads:
        Store(link).make_segment(self.segment)
        return Reads(self.segment)
