"""Users that speak with a store of the 2017 draft."""

from collections.abc import Callable
from typing import ClassVar
from uuid import UUID

from wiretool.load.events import Head, Maker, writer_of
from wiretool.load.link import Failed, Link
from wiretool.load.loops import Source
from wiretool.load.slow.wrappers import Answers
from wiretool.load.users.appender import Appender
from wiretool.load.users.fetcher import SegmentFetcher
from wiretool.protocols.pravega_draft.load.client import HEAD, Acks, Appends, Store, VaryingAppends, segment_name
from wiretool.protocols.pravega_draft.load.segment_reader import Reads

#: What the ids of fetchers have beside those of appenders, which are 64 bits wide.
_FETCHERS = 1 << 64


class PravegaDraftAppender(Appender):
    """Sets up an appender and appends events, each batch in a block of its own.

    `host` is `HOST:PORT` of a store, which makes segments with the first SetupAppend: `bench-RUN/load/N`.
    """

    abstract = True
    head: ClassVar[Head] = HEAD
    segment_name = staticmethod(segment_name)
    source: Appends | VaryingAppends

    def begin(self, link: Link) -> int:
        writer = self.writer
        level = Store(link).set_up(writer.wire_id, writer.segment)
        last = self.source.go_on(level)
        if last < writer.acknowledged:
            why = f"{writer.segment} has {last:,} events of an appender, {writer.acknowledged:,} were acknowledged"
            raise Failed(why, kind="acknowledged events are gone")
        return last

    def fixed_source(self, maker: Maker, size: int) -> Source:
        return Appends(self.writer.wire_id, maker, events=self.batch, size=size)

    def varying_source(self, maker: Maker, draw: Callable[[], int]) -> Source:
        return VaryingAppends(self.writer.wire_id, maker, events=self.batch, draw=draw)

    def new_answers(self) -> Answers:
        return Acks(self.writer.wire_id, self.source)


class PravegaDraftFetcher(SegmentFetcher):
    """Follows a segment that appenders of the same run write to, and checks each event.

    `host` is `HOST:PORT` of a store. Fetchers take turns in the segments of PravegaDraftAppender; as only an appender
    can make one, each sets up one that appends nothing.
    """

    abstract = True
    head: ClassVar[Head] = HEAD
    segment_name = staticmethod(segment_name)

    def begin(self, link: Link) -> Reads:
        key = writer_of(self.session.run, self.session.worker_number, self.number)
        Store(link).set_up(str(UUID(int=_FETCHERS | key)), self.segment)
        return Reads(self.segment)
