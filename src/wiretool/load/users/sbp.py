"""Users that speak with an SBP server, of the newest schema."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any, ClassVar

import gevent

from wiretool.load.events import Head, Maker
from wiretool.load.link import Failed, Link
from wiretool.load.loops import Source
from wiretool.load.users.appender import Appender
from wiretool.load.wire.sbp import HEAD, Appends, VaryingAppends, acks, bind, heartbeat
from wiretool.load.wire.sbp_frames import Place

#: How often a client that has nothing to say shows that it is there; a range server waits 6 s (sbp.md §4.2).
HEARTBEAT_S = 3.0


class BeatingAppender(Appender):
    """An appender whose connection does not fall silent."""

    abstract = True

    def __init__(self, environment: Any) -> None:
        super().__init__(environment)
        self._beating: Any = None

    @staticmethod
    def segment_name(run: str, number: int) -> str:
        """None yet: the server gives out the numbers of streams."""
        return ""

    def set_up(self) -> None:
        super().set_up()
        self._beating = gevent.spawn(self._beat, self.new_heartbeats())

    def tear_down(self) -> None:
        super().tear_down()
        if self._beating is not None:
            self._beating.kill()
            self._beating = None

    def new_heartbeats(self) -> Callable[[], bytes]:
        """What gives the heartbeats of a new connection."""
        return heartbeat()

    def _beat(self, beat: Callable[[], bytes]) -> None:
        with suppress(Failed):  # whoever works on the connection sees it too
            while not self.session.is_over:
                gevent.sleep(HEARTBEAT_S)
                # Never in between: what is being sent may not be whole.
                if self._link is not None and not self._is_under_way():
                    self._link.send(beat())

    def _is_under_way(self) -> bool:
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

    def fixed_source(self, maker: Maker, size: int) -> Source:
        return Appends(maker, events=self.batch, size=size)

    def varying_source(self, maker: Maker, draw: Callable[[], int]) -> Source:
        return VaryingAppends(maker, events=self.batch, draw=draw)

    def new_feed(self) -> Callable[[bytes], int]:
        return acks(self._first_id, self.source.last, self.batch).feed
