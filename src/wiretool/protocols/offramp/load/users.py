"""Users that read the roads of an Offramp server."""

from random import Random
from typing import Any, ClassVar

from wiretool.load.users.user import LoadUser
from wiretool.net.addresses import is_loopback
from wiretool.protocols.offramp.load.client import Stream
from wiretool.protocols.offramp.load.consuming import Consuming, consume


class OfframpConsumer(LoadUser):
    """Reads a road from its oldest message on, on a stream of its own, and commits what it has read.

    `host` is `HOST:PORT` of an Offramp server. `batch` messages are asked for at one time, `pipeline` times at once.
    """

    abstract = True
    operation: ClassVar[str] = "consume"
    #: As many as the Java client asks for again and again (OfframpOptions.java: replenishingRequestSize).
    batch: ClassVar[int] = 1_000
    #: Empty: one that is called after the run.
    road: ClassVar[str] = ""

    def __init__(self, environment: Any) -> None:
        super().__init__(environment)
        session = self.session
        self._road = self.road or f"bench_{session.run}"
        self._stream_name = f"bench-{session.run}-{session.worker_number}-{self.number}"
        self._random = Random(f"{self.seed}/{self._stream_name}")
        self._consuming = Consuming(
            session,
            self._road,
            credit=self.batch,
            pipeline=self.pipeline,
            is_local=is_loopback(self.address[0]),
            is_verified=self.verify,
        )
        self._stream: Stream | None = None

    def set_up(self) -> None:
        """Connect and shake hands."""
        link = self.connect()
        self._stream = Stream(link, self._road, self._stream_name, random=self._random)

    def work(self) -> None:
        """Reads until the session is over."""
        assert self._link is not None
        assert self._stream is not None
        self._consuming.keeper = self.keeper(self._stream.held)
        consume(self._link, self._stream, self._consuming)
