"""What is asked of a store one by one, outside of what is measured: the same for Pravega and its draft."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import ClassVar, TypeVar

from wiretool.codec.frames.buffer import Extent, Inbox, whole_frames
from wiretool.codec.message import Message
from wiretool.errors import DecodeError
from wiretool.load.link import Failed, Link

_Reply = TypeVar("_Reply", bound=Message)


def refused(asked: str, reply: Message) -> Failed:
    """The server answered with something else than what was asked for."""
    name = reply.declaration.name
    return Failed(f"{asked} was answered with {reply}", kind=f"{asked} answered with {name}")


def unreadable(asked: str, stranger: str, err: DecodeError) -> Failed:
    """The server answered with what is a `stranger` to the protocol: `no Pravega`, say."""
    return Failed(f"{asked} got a reply that is {stranger}: {err}", kind=f"{stranger}: {err.kind}")


class ReplyFrames:
    """The frames that a server sends on one connection."""

    def __init__(self, extent: Extent) -> None:
        self.extent = extent
        #: What came last, where it is not whole.
        self.rest = b""

    def joined(self, data: bytes) -> bytes:
        """Return what came last, where that was not whole, and these bytes."""
        if self.rest:
            data, self.rest = self.rest + data, b""
        return data

    def whole(self, data: bytes) -> Iterator[bytes]:
        """Yield the whole frames of joined data, and note what comes after them."""
        end = 0
        for at, end in whole_frames(data, self.extent):
            yield data[at:end]
        self.rest = data[end:]


class Talk(ABC):
    """A connection to a store. Failed where an answer is none that was wanted, or none can be read."""

    #: What an answer is that cannot be read, and what may come at any time and answers nothing.
    stranger: ClassVar[str]
    idle: ClassVar[type[Message]]

    def __init__(self, link: Link) -> None:
        self.link = link
        self._inbox = Inbox(self.extent)

    def ask(self, message: Message, *wanted: type[_Reply]) -> _Reply:
        """The reply to a request, one of those `wanted`."""
        self.link.send(self.encoded(message))
        while isinstance(reply := self.next(), self.idle):
            continue
        if not isinstance(reply, wanted):
            raise refused(message.declaration.name, reply)
        return reply

    def next(self) -> Message:
        """The next reply."""
        try:
            while (frame := self._inbox.next()) is None:
                self._inbox.feed(self.link.receive())
            return self.parsed(frame)
        except DecodeError as err:
            raise unreadable(f"a request to {self.link.name}", self.stranger, err) from err

    @staticmethod
    @abstractmethod
    def extent(data: bytes, at: int, end: int) -> int:
        """Bytes of the frame of the server that begins there (codec/frames/buffer.py)."""

    @staticmethod
    @abstractmethod
    def encoded(message: Message) -> bytes:
        """The frame of a request."""

    @staticmethod
    @abstractmethod
    def parsed(frame: bytes) -> Message:
        """The message in a frame. DecodeError where there is none."""
