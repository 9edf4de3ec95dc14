"""The mock server: Redis 7.0 as far as strings, lists, expiry and transactions go."""

from collections.abc import Callable
from typing import Any

from wiretool.errors import DecodeError
from wiretool.server.mock import Door, Link, Mock
from wiretool.server.part import ServerPart
from wiretool.server.reply_link import ReplyLink
from wiretool_resp.conversation import frame_length, words_of
from wiretool_resp.messages import decode
from wiretool_resp.store import COMMANDS, NO_LIST, Refused, Simple, Store
from wiretool_resp.values import FrameWalk, write_payload


class RespLink(ReplyLink):
    """One connection."""

    def __init__(self, number: int, mock: "RespMock") -> None:
        super().__init__(number, mock.outbox, mock.timers)
        self._mock, self._walk, self._version = mock, FrameWalk("$"), 2
        #: The commands of a transaction, None outside one; and whether one of them was refused.
        self._queue: list[list[bytes]] | None = None
        self._is_spoilt = False

    def length(self, data: bytes, at: int, end: int) -> int:
        try:
            return frame_length(self._walk, "client", data, at, end)
        except DecodeError as err:
            first = data[err.offset : err.offset + 1].decode("latin-1")
            why = {"$": "invalid bulk length"}.get(first, f"expected '$', got '{first}'")
            if err.offset == at:
                why = "invalid multibulk length" if first == "*" else "too big inline request"
            raise DecodeError(err.kind, f"ERR Protocol error: {why}") from err

    def refusal(self, err: DecodeError) -> bytes:
        return bytes_of_reply(Refused(err.why), self._version)

    def answer(self, frame: bytes, now_ns: int) -> bytes:
        if not (words := words_of(decode("client", frame, 0, len(frame)))):
            return b""
        self._mock.store.now_ns = now_ns
        name = words[0].decode("utf-8", "replace")
        is_queued = self._queue is not None and name not in ("MULTI", "EXEC", "DISCARD", "QUIT")
        try:
            value = self._run(name, words, is_queued=is_queued)
        except Refused as refused:
            self._is_spoilt |= is_queued
            value = refused
        self.outbox.counts["client", "Command"] += 1
        self.outbox.counts["server", "Error" if isinstance(value, Refused) else "Reply"] += 1
        return bytes_of_reply(value, self._version)

    def _run(self, name: str, words: list[bytes], *, is_queued: bool = False) -> Any:
        arity, run = COMMANDS.get(name) or CONNECTION.get(name) or (0, None)
        if run is None:
            given = "".join(f"'{word[:128].decode('utf-8', 'replace')}' " for word in words[1:])
            raise Refused(f"ERR unknown command '{name[:128]}', with args beginning with: {given}")
        if len(words) != arity if arity > 0 else len(words) < -arity:
            raise Refused(f"ERR wrong number of arguments for '{name.lower()}' command")
        if self._queue is not None and is_queued:
            self._queue.append(words)
            return Simple("QUEUED")
        return run(self if name in CONNECTION else self._mock.store, *words[1:])

    def _hello(self, *args: bytes) -> Any:
        if args and args[0] not in (b"2", b"3"):
            raise Refused("NOPROTO unsupported protocol version")
        self._version = int(args[0]) if args else self._version
        return {
            b"server": b"redis", b"version": b"7.0.15", b"proto": self._version, b"id": self.number,
            b"mode": b"standalone", b"role": b"master", b"modules": [],
        }  # fmt: skip

    def _client(self, subcommand: bytes, *args: bytes) -> Any:
        raise Refused(f"ERR unknown subcommand '{subcommand.decode('utf-8', 'replace')}'. Try CLIENT HELP.")

    def _multi(self) -> Any:
        if self._queue is not None:
            raise Refused("ERR MULTI calls can not be nested")
        self._queue, self._is_spoilt = [], False
        return Simple("OK")

    def _execute(self) -> Any:
        queue = self._discard("EXEC")
        if self._is_spoilt:
            raise Refused("EXECABORT Transaction discarded because of previous errors.")
        replies: list[Any] = []
        for words in queue:
            try:
                replies.append(self._run(words[0].decode(), words))
            except Refused as refused:
                replies.append(refused)
        return replies

    def _discard(self, name: str = "DISCARD") -> list[list[bytes]]:
        if self._queue is None:
            raise Refused(f"ERR {name} without MULTI")
        queue, self._queue = self._queue, None
        return queue

    def _quit(self, *args: bytes) -> Any:
        self.leave()
        return Simple("OK")


#: As `COMMANDS`, of the connection.
CONNECTION: dict[str, tuple[int, Callable[..., Any]]] = {
    "PING": (-1, lambda link, *texts: texts[0] if texts else Simple("PONG")),
    "ECHO": (2, lambda link, text: text),
    "HELLO": (-1, RespLink._hello),
    "CLIENT": (-2, RespLink._client),
    "MULTI": (1, RespLink._multi),
    "EXEC": (1, RespLink._execute),
    "DISCARD": (1, lambda link: Simple("OK" if link._discard() is not None else "")),
    "QUIT": (-1, RespLink._quit),
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
        self.forget()

    def forget(self) -> None:
        self.store = Store()

    def greet(self, connection: int, door: str, now_ns: int) -> Link:
        return RespLink(connection, self)


SERVER = ServerPart(lambda options: RespMock())
