"""Users that send one request again and again, of any protocol whose frames do not depend on the connection."""

from collections.abc import Callable
from typing import ClassVar

from wiretool.load.events import Head, Maker
from wiretool.load.link import Link
from wiretool.load.requests import Requests, request_from
from wiretool.load.users.appender import Appender
from wiretool.load.watched import Answers
from wiretool.protocols.base.registry import PROTOCOLS


class Exchanger(Appender):
    """Sends `message` of `protocol` and waits for its reply, `pipeline` times at once. Nothing is verified."""

    abstract = True
    operation: ClassVar[str] = "exchange"
    head: ClassVar[Head] = Head()
    verify: ClassVar[bool] = False
    #: The name of a protocol, and a request as a line of `wiretool encode`.
    protocol: ClassVar[str]
    message: ClassVar[str]
    source: Requests

    @staticmethod
    def segment_name(run: str, number: int) -> str:
        """Return an empty name: nothing is written."""
        return ""

    def begin(self, link: Link) -> int:
        """Begin a conversation."""
        self.source.reopen()
        return 0

    def fixed_source(self, maker: Maker, size: int) -> Requests:
        """Return the requests; they have no events."""
        return Requests(PROTOCOLS[self.protocol], request_from(self.protocol, self.message))

    def varying_source(self, maker: Maker, draw: Callable[[], int]) -> Requests:
        """Return the same."""
        return self.fixed_source(maker, 0)

    def new_answers(self) -> Answers:
        """Return the requests, which know their replies."""
        return self.source
