"""The mock server: Redis 7.0 as far as strings, lists, expiry and transactions go."""

from collections.abc import Callable
from typing import Any

from wiretool.codec.frames.buffer import Inbox
from wiretool.errors import DecodeError
from wiretool.server.mock import Door, Link, Mock
from wiretool.server.part import ServerPart
from wiretool.server.room import PacedLink
from wiretool_resp.conversation import frame_length, words_of
from wiretool_resp.messages import decode
from wiretool_resp.store import COMMANDS, NO_LIST, Refused, Simple, Store
from wiretool_resp.values import FrameWalk, write_payload


class RespLink(PacedLink):
    """One connection."""

    def __init__(self, number: int, mock: "RespMock") -> None:
        super().__init__(mock.timers)
        self._number, self._mock = number, mock
        self._walk, self._inbox = FrameWalk("$"), Inbox(self._length)
        self._is_ending = self._is_closed = False
        self.version = 2
        #: The commands of a transaction, None outside one; and whether one of them was refused.
        self.queue: list[list[bytes]] | None = None
        self.is_spoilt = False

    @property
    def held_bytes(self) -> int:
        return self._inbox.held

    def feed(self, data: bytes, now_ns: int) -> None:
        self._inbox.feed(data)
        self._unsent_bytes = 0
        self._serve(now_ns)

    def drained(self, now_ns: int) -> None:
        self._unsent_bytes = 0
        super().drained(now_ns)

    def end(self, now_ns: int) -> None:
        self._is_ending = True
        self._serve(now_ns)

    def lost(self, now_ns: int) -> None:
        self._inbox.clear()
        self._is_closed = True

    def _length(self, data: bytes, at: int, end: int) -> int:
        try:
            return frame_length(self._walk, "client", data, at, end)
        except DecodeError as err:
            first = data[err.offset : err.offset + 1].decode("latin-1")
            why = {"$": "invalid bulk length"}.get(first, f"expected '$', got '{first}'")
            if err.offset == at:
                why = "invalid multibulk length" if first == "*" else "too big inline request"
            raise DecodeError(err.kind, f"ERR Protocol error: {why}") from err

    def _serve(self, now_ns: int) -> None:
        self._mock.store.now_ns = now_ns
        why = ""
        try:
            while not self._is_closed and self.has_room() and (frame := self._inbox.next()) is not None:
                if words := words_of(decode("client", frame, 0, len(frame))):
                    self._mock.outbox.counts["client", "Command"] += 1
                    self._send(self._answer(words[0].decode("utf-8", "replace"), words))
                    if words[0] == b"QUIT":
                        self._close("")
        except DecodeError as err:
            why = err.why
            self._send(Refused(why))
        if why or (self._is_ending and self.has_room()):
            self._close(why)

    def _send(self, value: Any) -> None:
        data = bytes_of_reply(value, self.version)
        self._unsent_bytes += len(data)
        self._mock.outbox.counts["server", "Error" if isinstance(value, Refused) else "Reply"] += 1
        self._mock.outbox.send(self._number, data)

    def _close(self, why: str) -> None:
        if not self._is_closed:
            self._is_closed = True
            self._mock.outbox.close(self._number, why)

    # -- commands ------------------------------------------------------------------------------------------------------

    def _answer(self, name: str, words: list[bytes]) -> Any:
        arity, run = COMMANDS.get(name) or CONNECTION.get(name) or (0, None)
        is_queued = self.queue is not None and name not in ("MULTI", "EXEC", "DISCARD", "QUIT")
        try:
            if run is None:
                given = "".join(f"'{word[:128].decode('utf-8', 'replace')}' " for word in words[1:])
                raise Refused(f"ERR unknown command '{name[:128]}', with args beginning with: {given}")
            if len(words) != arity if arity > 0 else len(words) < -arity:
                raise Refused(f"ERR wrong number of arguments for '{name.lower()}' command")
            if self.queue is not None and is_queued:
                self.queue.append(words)
                return Simple("QUEUED")
            return run(self if name in CONNECTION else self._mock.store, *words[1:])
        except Refused as refused:
            self.is_spoilt |= is_queued
            return refused

    def hello(self, *args: bytes) -> Any:
        """HELLO."""
        if args and args[0] not in (b"2", b"3"):
            raise Refused("NOPROTO unsupported protocol version")
        self.version = int(args[0]) if args else self.version
        return {
            b"server": b"redis", b"version": b"7.0.15", b"proto": self.version, b"id": self._number,
            b"mode": b"standalone", b"role": b"master", b"modules": [],
        }  # fmt: skip

    def multi(self) -> Any:
        """MULTI."""
        if self.queue is not None:
            raise Refused("ERR MULTI calls can not be nested")
        self.queue, self.is_spoilt = [], False
        return Simple("OK")

    def execute(self, *, is_discarded: bool = False) -> Any:
        """EXEC and DISCARD."""
        if self.queue is None:
            raise Refused(f"ERR {'DISCARD' if is_discarded else 'EXEC'} without MULTI")
        queue, self.queue = self.queue, None
        if is_discarded:
            return Simple("OK")
        if self.is_spoilt:
            raise Refused("EXECABORT Transaction discarded because of previous errors.")
        return [self._answer(words[0].decode(), words) for words in queue]


def _client(link: RespLink, subcommand: bytes, *args: bytes) -> Any:
    raise Refused(f"ERR unknown subcommand '{subcommand.decode('utf-8', 'replace')}'. Try CLIENT HELP.")


#: As `COMMANDS`, of the connection.
CONNECTION: dict[str, tuple[int, Callable[..., Any]]] = {
    "PING": (-1, lambda link, *texts: texts[0] if texts else Simple("PONG")),
    "ECHO": (2, lambda link, text: text),
    "HELLO": (-1, RespLink.hello),
    "CLIENT": (-2, _client),
    "MULTI": (1, RespLink.multi),
    "EXEC": (1, RespLink.execute),
    "DISCARD": (1, lambda link: link.execute(is_discarded=True)),
    "QUIT": (-1, lambda link, *args: Simple("OK")),
}


def bytes_of_reply(value: Any, version: int) -> bytes:
    """Return the bytes of a value as `store.py` describes it."""
    match value:
        case Simple():
            return f"+{value}\r\n".encode()
        case Refused():
            return b"-" + str(value).replace("\r", " ").replace("\n", " ").encode() + b"\r\n"
        case bytes():
            return write_payload("$", value)
        case int():
            return b":%d\r\n" % value
        case list():
            return b"*%d\r\n" % len(value) + b"".join(bytes_of_reply(each, version) for each in value)
        case dict():
            flat = [each for pair in value.items() for each in pair]
            head = b"%%%d\r\n" % len(value) if version == 3 else b"*%d\r\n" % len(flat)
            return head + b"".join(bytes_of_reply(each, version) for each in flat)
    return b"_\r\n" if version == 3 else b"*-1\r\n" if value is NO_LIST else b"$-1\r\n"


class RespMock(Mock):
    """A server with one database."""

    doors = (Door("server", 6379, "resp"),)

    def __init__(self) -> None:
        super().__init__()
        self.store = Store()

    def forget(self) -> None:
        self.store = Store()

    def greet(self, connection: int, door: str, now_ns: int) -> Link:
        return RespLink(connection, self)


SERVER = ServerPart(lambda options: RespMock())
