"""The mock server: Redis 7.0 as far as strings, lists, expiry and transactions go."""

from collections.abc import Callable
from typing import Any

from wiretool.errors import DecodeError
from wiretool.server.mock import Door, Link, Mock
from wiretool.server.part import ServerPart
from wiretool.server.reply_link import ReplyLink
from wiretool_resp.conversation import RespConversation, words_of
from wiretool_resp.messages import decode
from wiretool_resp.store import COMMANDS, OK, Refused, Store
from wiretool_resp.values import write_value


class RespLink(ReplyLink):
    """One connection."""

    def __init__(self, number: int, mock: "RespMock") -> None:
        super().__init__(number, mock, RespConversation(True))
        self._mock, self._version = mock, 2
        #: The commands of a transaction, None outside one; and whether one of them was refused.
        self._queue: list[list[bytes]] | None = None
        self._is_spoilt = False

    def refusal(self, err: DecodeError) -> bytes:
        why = f"invalid {err.path}" if err.path else err.why
        return bytes_of_reply(Refused(f"ERR Protocol error: {why}"), self._version)

    def answer(self, frame: bytes, now_ns: int) -> bytes:
        if not (words := words_of(decode("client", frame, 0, len(frame)))):
            return b""
        self._mock.store.now_ns = now_ns
        name = words[0].decode("utf-8", "replace")
        is_queued = self._queue is not None and name not in ("MULTI", "EXEC", "DISCARD", "QUIT")
        value = self._attempt(name, words, is_queued=is_queued)
        self._is_spoilt |= is_queued and isinstance(value, Refused)
        self.outbox.counts["client", "Command"] += 1
        self.outbox.counts["server", "Error" if isinstance(value, Refused) else "Reply"] += 1
        return bytes_of_reply(value, self._version)

    def _attempt(self, name: str, words: list[bytes], *, is_queued: bool = False) -> Any:
        """Return what a command returns, or why it was refused."""
        try:
            return self._run(name, words, is_queued=is_queued)
        except Refused as refused:
            return refused

    def _run(self, name: str, words: list[bytes], *, is_queued: bool) -> Any:
        arity, run = COMMANDS.get(name) or CONNECTION.get(name) or (0, None)
        if run is None:
            given = "".join(f"'{word[:128].decode('utf-8', 'replace')}' " for word in words[1:])
            raise Refused(f"ERR unknown command '{name[:128]}', with args beginning with: {given}")
        if len(words) != arity if arity > 0 else len(words) < -arity:
            raise Refused(f"ERR wrong number of arguments for '{name.lower()}' command")
        if self._queue is not None and is_queued:
            self._queue.append(words)
            return {"simple": "QUEUED"}
        return run(self if name in CONNECTION else self._mock.store, *words[1:])

    def _hello(self, *args: bytes) -> Any:
        if args and args[0] not in (b"2", b"3"):
            raise Refused("NOPROTO unsupported protocol version")
        self._version = int(args[0]) if args else self._version
        facts = [["server", "redis"], ["version", "7.0.15"], ["proto", self._version], ["id", self.number]]
        return {"map": [*facts, ["mode", "standalone"], ["role", "master"], ["modules", []]]}

    def _client(self, subcommand: bytes, *args: bytes) -> Any:
        raise Refused(f"ERR unknown subcommand '{subcommand.decode('utf-8', 'replace')}'. Try CLIENT HELP.")

    def _multi(self) -> Any:
        if self._queue is not None:
            raise Refused("ERR MULTI calls can not be nested")
        self._queue, self._is_spoilt = [], False
        return OK

    def _execute(self) -> Any:
        queue = self._end_transaction("EXEC")
        if self._is_spoilt:
            raise Refused("EXECABORT Transaction discarded because of previous errors.")
        return [self._attempt(words[0].decode(), words) for words in queue]

    def _discard(self) -> Any:
        self._end_transaction("DISCARD")
        return OK

    def _end_transaction(self, name: str) -> list[list[bytes]]:
        if self._queue is None:
            raise Refused(f"ERR {name} without MULTI")
        queue, self._queue = self._queue, None
        return queue

    def _quit(self, *args: bytes) -> Any:
        self.leave()
        return OK


#: As `COMMANDS`, of the connection.
CONNECTION: dict[str, tuple[int, Callable[..., Any]]] = {
    "PING": (-1, lambda link, *texts: texts[0] if texts else {"simple": "PONG"}),
    "HELLO": (-1, RespLink._hello),
    "CLIENT": (-2, RespLink._client),
    "MULTI": (1, RespLink._multi),
    "EXEC": (1, RespLink._execute),
    "DISCARD": (1, RespLink._discard),
    "QUIT": (-1, RespLink._quit),
}


def bytes_of_reply(value: Any, version: int) -> bytes:
    """Return the bytes of a value as `store.py` describes it."""
    match value:
        case Refused():
            return write_value({"error": str(value).replace("\r", " ").replace("\n", " ")})
        case list():
            return b"*%d\r\n" % len(value) + b"".join(bytes_of_reply(each, version) for each in value)
        case {"map": pairs} if version == 2:
            return bytes_of_reply([each for pair in pairs for each in pair], version)
        case None | {"null": _}:
            value = None if version == 3 else value or {"null": "$"}
    return write_value(value)


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
