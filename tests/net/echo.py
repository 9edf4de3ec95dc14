"""A mock without a protocol to speak of: Pravega's frames, each sent back; for what is about sockets and time."""

from collections.abc import Mapping
from typing import Any

from wiretool import limits
from wiretool.codec.frames.buffer import Inbox
from wiretool.errors import DecodeError
from wiretool.server.mock import Action, Door, Link, Mock


def extent(data: bytes, at: int, end: int) -> int:
    """A frame is a byte that says how long it is, itself counted; none begins with 0."""
    if data[at] == 0:
        raise DecodeError("bad-frame", "a frame of no bytes", offset=at)
    return data[at]


class EchoLink(Link):
    def __init__(self, mock: "EchoMock", number: int) -> None:
        self._mock = mock
        self._number = number
        self._inbox = Inbox(extent)
        self.most_unsent = 0

    def feed(self, data: bytes, now_ns: int) -> None:
        self._inbox.feed(data)
        self.drained(now_ns)

    def drained(self, now_ns: int) -> None:
        sent = 0
        try:
            while sent < limits.MOCK_REPLY_BYTES_MAX and (frame := self._inbox.next()) is not None:
                self._mock.outbox.counts["client", "Frame"] += 1
                reply = frame * self._mock.times
                sent += len(reply)
                self._mock.outbox.send(self._number, reply)
        except DecodeError as err:
            self._mock.outbox.close(self._number, str(err))

    def end(self, now_ns: int) -> None:
        self._mock.outbox.close(self._number)

    def lost(self, now_ns: int) -> None:
        self._mock.gone.append(self._number)

    def stop(self, now_ns: int) -> None:
        self._mock.outbox.send(self._number, b"bye")


class EchoMock(Mock):
    """Sends each frame back, `times` over."""

    def __init__(self, times: int = 1) -> None:
        super().__init__()
        self.doors = (Door("echo", 0, "pravega"),)
        self.times = times
        self.gone: list[int] = []
        self.forgotten = 0

    def greet(self, connection: int, door: str, now_ns: int) -> Link:
        return EchoLink(self, connection)

    def forget(self) -> None:
        self.forgotten += 1

    def operate(self, what: str, arguments: Mapping[str, Any], now_ns: int) -> tuple[Mapping[str, Any], list[Action]]:
        if what != "say":
            return super().operate(what, arguments, now_ns)
        for number in self.links:
            self.outbox.send(number, str(arguments["text"]).encode())
        return {"told": len(self.links)}, self.outbox.take()
