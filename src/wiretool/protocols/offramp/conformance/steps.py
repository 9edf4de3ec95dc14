"""Steps that many cases share: the handshake, events as text or raw frames, and what answers them."""

import base64
import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from wiretool.conformance.case import (
    CLOSED,
    FIRST,
    NOTHING,
    Expect,
    Reply,
    Send,
    SendBytes,
    Steps,
    Verdict,
    expect,
    expect_any,
    expect_close,
    final,
    lenient,
    not_exercised,
    reply,
    send,
)
from wiretool.conformance.values import Bindings, Check, Value, at_least, one_of, text_matching
from wiretool.protocols.offramp import framing
from wiretool.protocols.offramp.handshake import stream_path

#: Roads of the usual setup: one partition with messages, six with five messages each, six that stay empty.
ONE, SIX, QUIET = "one", "six", "quiet"
#: A road with one partition whose messages the cases know.
STORED = "stored"
#: A road that the user of the usual setup may not read, and one of which it does not hold PII.
PRIVATE, PUBLIC_ONLY = "private", "openonly"
#: A road with PII in its payloads, one with long messages, and one with payloads of every kind.
PEOPLE, BIG, KINDS = "people", "big", "kinds"
#: The key of RFC 6455 §1.3.
KEY = "dGhlIHNhbXBsZSBub25jZQ=="
_GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
#: A mask with four different bytes.
MASK = bytes.fromhex("a15b2c9d")
TEXT, BINARY, CONTINUATION, CLOSE, PING, PONG = 1, 2, 0, 8, 9, 10
COUNT_MAX = 2**63 - 1
#: User and password of the usual setup; the in-memory server of the reference has the same.
USER, PASSWORD = "user", "pass"
#: An assignment of another partition than 0, or of several.
OTHER = Check("another assignment", lambda value, _: value != [0])
#: A server may say what was wrong before it closes, and what it sent before may still arrive.
MEANWHILE = ("ERROR", "REBALANCE", "MESSAGE")

Header = tuple[str, str]


#: Roads that any recorded road may stand for: cases say nothing of what is on them.
_ANY_ROAD = frozenset({ONE})


class Target(Value):
    """The target of a handshake for a stream of the case's own; in a capture any stream, and any road for some.

    The other roads have the names of the setup there, as their cases depend on the messages on them.
    """

    def __init__(self, road: str, stream: str, query: str) -> None:
        self.road, self.stream, self.query = road, stream, query

    def resolve(self, bindings: Bindings) -> str:
        query = f"?{self.query}" if self.query else ""
        return f"/offramp/v2/roads/{self.road}/streams/{bindings.name(self.stream)}/messages{query}"

    def matches(self, value: Any, bindings: Bindings) -> bool:
        path = stream_path(value) if isinstance(value, str) else None
        if path is None or value.partition("?")[2] != self.query:
            return False
        if not bindings.is_passive:
            return bool(value == self.resolve(bindings))
        return self._is_road(value, path.road, bindings) and bindings.bind(self.stream, path.stream)

    def _is_road(self, target: str, road: str, bindings: Bindings) -> bool:
        """Return whether the recorded road is that of the case; percent-encoded only as the case encodes it."""
        if "%" in self.road:
            return f"/roads/{self.road}/streams/" in target
        return bindings.bind(f"road {self.road}", road) if self.road in _ANY_ROAD else road == self.road

    def describe(self, bindings: Bindings) -> str:
        return f"the path of road {self.road}, stream {self.stream}, query {self.query!r}"


#: The parts of a header.
_PAIR = ("name", "value")


class Upgrade(Value):
    """The headers of a handshake; in a capture those that ask for the same, whatever else there is."""

    #: Headers whose values count, and those of which it counts only that they are there.
    _VALUES = (
        "upgrade",
        "sec-websocket-version",
        "sec-websocket-extensions",
        "sec-websocket-protocol",
        "authorization",
    )
    _PRESENT = ("host", "origin")

    def __init__(self, given: list[list[str]]) -> None:
        self.given = given

    def resolve(self, bindings: Bindings) -> list[list[str]]:
        bindings.values["key"] = _values(self.given).get("sec-websocket-key", "")
        return self.given

    def matches(self, value: Any, bindings: Bindings) -> bool:
        if not isinstance(value, list) or not all(isinstance(each, list) and len(each) == len(_PAIR) for each in value):
            return False
        bindings.values["key"] = _values(value).get("sec-websocket-key", "")
        return self._asked(value) == self._asked(self.given)

    def _asked(self, given: Sequence[Sequence[str]]) -> list[Any]:
        found = _values(given)
        key = found.get("sec-websocket-key", "")
        tokens = {each.strip() for each in found.get("connection", "").lower().split(",")}
        counted = [found.get(name, "") for name in self._VALUES] + [name in found for name in self._PRESENT]
        return [*counted, len(key) == len(KEY), bool(key), "upgrade" in tokens]

    def describe(self, bindings: Bindings) -> str:
        return f"headers such as {self.given}"


def _values(given: Sequence[Sequence[str]]) -> dict[str, str]:
    """Return headers by name; values of an upgrade count in any case."""
    found = {name.lower(): value for name, value in given}
    return found | {"upgrade": found["upgrade"].lower()} if "upgrade" in found else found


# -- the handshake -----------------------------------------------------------------------------------------------------


def headers(*more: Header, **changed: str | None) -> list[list[str]]:
    """Return the headers of an upgrade. A keyword, `_` for `-`, replaces one of them; None leaves it out."""
    usual: dict[str, str | None] = {
        "Host": "127.0.0.1",
        "Upgrade": "websocket",
        "Connection": "Upgrade",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": KEY,
    }
    usual |= {name.replace("_", "-"): value for name, value in changed.items()}
    return [[name, value] for name, value in (*usual.items(), *more) if value is not None]


def credentials(user: str = USER, password: str = PASSWORD) -> Header:
    """Return a header with a name and a password."""
    return "Authorization", "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


def ask(
    road: str = ONE,
    query: str = "defaultOffset=EARLIEST",
    *more: Header,
    stream: str = "stream",
    on: str = FIRST,
    **changed: str | None,
) -> Send:
    """Ask for the upgrade to a stream, with headers of interest to the case."""
    given = Upgrade(headers(*more, **changed))
    target = Target(road, stream, query)
    return send("HandshakeRequest", on=on, method="GET", version="HTTP/1.1", target=target, headers=given)


def ask_for(target: str, *, method: str = "GET", version: str = "HTTP/1.1", on: str = FIRST) -> Send:
    """Ask for the upgrade at a target of any form."""
    return send("HandshakeRequest", on=on, method=method, version=version, target=target, headers=Upgrade(headers()))


def open_stream(
    road: str = ONE,
    *,
    query: str = "defaultOffset=EARLIEST",
    stream: str = "stream",
    on: str = FIRST,
) -> Steps:
    """Connect to a stream and take CONNECTION."""
    target = Target(road, stream, query)
    return (
        send("HandshakeRequest", on=on, method="GET", target=target, headers=Upgrade(headers())),
        welcomed(on=on),
        connected(on=on),
    )


def welcomed(*, on: str = FIRST, **fields: Any) -> Expect:
    """Take the upgrade; a server may not have the road, or not let everybody read it."""
    return expect_any(
        reply("HandshakeResponse", status=101, **fields),
        not_exercised("HandshakeResponse", "the server has no such road for us", status=one_of(401, 403, 404)),
        on=on,
    )


def connected(*, on: str = FIRST) -> Expect:
    """Take CONNECTION; a road that the server has not is closed with 1000 instead (protocols/offramp.md §1.2)."""
    return expect_any(
        reply("CONNECTION", agentName=text_matching(".*")),
        not_exercised("Close", "the server has no such road", code=1000, reason=""),
        on=on,
    )


def answered(status: int, *present: Header, on: str = FIRST) -> Expect:
    """Take an answer to the handshake, with these headers among its own."""
    fields: dict[str, Any] = {"headers": has_headers(*present)} if present else {}
    return expect("HandshakeResponse", on=on, status=status, **fields)


def has_headers(*wanted: Header) -> Check:
    """Return a pattern for headers among which are these; their names and values in any case."""
    words = ", ".join(f"{name}: {value}" for name, value in wanted)

    def holds(found: Any, _: Mapping[str, Any]) -> bool:
        pairs = [(name.lower(), value.lower()) for name, value in found]
        return all((name.lower(), value.lower()) in pairs for name, value in wanted)

    return Check(f"headers with {words}", holds)


def accepted() -> Expect:
    """Take the upgrade, with the accept value of the key that was sent."""

    def holds(found: Any, seen: Mapping[str, Any]) -> bool:
        pairs = {name.lower(): value for name, value in found}
        is_upgrade = (
            pairs.get("upgrade", "").lower() == "websocket" and "upgrade" in pairs.get("connection", "").lower()
        )
        return is_upgrade and pairs.get("sec-websocket-accept") == accept_of(seen["key"])

    words = "headers of an upgrade, with the accept value of the key"
    return welcomed(headers=Check(words, holds))


def lacks_header(name: str) -> Check:
    """Return a pattern for headers among which there is none of a name."""
    return Check(f"headers without {name}", lambda found, _: all(each[0].lower() != name.lower() for each in found))


def accept_of(key: str) -> str:
    """Return what answers a key (RFC 6455 §4.2.2)."""
    return base64.b64encode(hashlib.sha1(key.encode() + _GUID, usedforsecurity=False).digest()).decode()


def refused(*statuses: int, close: int | None = None, too: Sequence[Reply] = ()) -> Steps:
    """Take a refusal: one of these statuses, or the upgrade and a Close with this code, or the bare end of TCP."""
    if close is None:
        return expect_any(reply("HandshakeResponse", status=one_of(*statuses)), *too)
    return (
        expect_any(final("HandshakeResponse", status=one_of(*statuses)), *too, reply("HandshakeResponse", status=101)),
        expect_any(reply("Close", code=close, reason=""), Reply(CLOSED)),
    )


def refused_or_served(status: int, **fields: Any) -> Steps:
    """Take a refusal with this status, or the upgrade and CONNECTION."""
    return (
        expect_any(final("HandshakeResponse", status=status), reply("HandshakeResponse", status=101, **fields)),
        connected(),
    )


def upgraded_leniently(why: str) -> Reply:
    """Return the outcome that a server upgrades where it should refuse."""
    return lenient("HandshakeResponse", why, status=101)


# -- events ------------------------------------------------------------------------------------------------------------


def request(count: int, *, on: str = FIRST) -> Send:
    """Ask for messages."""
    return send("REQUEST", on=on, count=count)


def cancel(*, on: str = FIRST) -> Send:
    """Take back what was asked for."""
    return send("CANCEL", on=on)


def commit(offsets: Mapping[str, Any], id: Any = "c-1", *, on: str = FIRST) -> Send:
    """Save positions."""
    return send("COMMIT", on=on, correlationId=id, offsets=offsets)


def committed(id: Any = "c-1", *, success: Any = True, on: str = FIRST) -> Expect:
    """Take the answer to a commit."""
    return expect("COMMIT_RESPONSE", on=on, correlationId=id, success=success)


def barrier(id: str = "barrier", *, on: str = FIRST) -> Steps:
    """Show that every event before this one has been served: an empty commit is answered in its turn."""
    return (commit({}, id, on=on), committed(id, on=on))


def assigned(partitions: Any = None, *, on: str = FIRST) -> Expect:
    """Take an assignment; None for that of a road with one partition, as most roads of the setups are."""
    if partitions is not None:
        return expect("REBALANCE", on=on, assignment=partitions)
    return expect_any(
        reply("REBALANCE", assignment=[0]),
        not_exercised("REBALANCE", "the road has not one partition", assignment=OTHER),
        on=on,
    )


def message(*, on: str = FIRST, within_s: float | None = None, **fields: Any) -> Expect:
    """Take one message."""
    return expect("MESSAGE", on=on, within_s=within_s, **({"offset": at_least(0)} | fields))


def first_message(*, on: str = FIRST, **fields: Any) -> Steps:
    """Ask for one message, and take it after the assignment."""
    return (request(1, on=on), assigned(on=on), message(on=on, **fields))


# -- frames ------------------------------------------------------------------------------------------------------------


def frame(payload: bytes, opcode: int = TEXT, *, is_final: bool = True, rsv: int = 0) -> bytes:
    """Return a masked frame."""
    return framing.frame_bytes((framing.FIN if is_final else 0) | rsv | opcode, payload, MASK)


def raw(*frames: bytes, words: str, on: str = FIRST) -> SendBytes:
    """Send frames in one piece."""
    return SendBytes(b"".join(frames), words, on)


def text(value: str | bytes, opcode: int = TEXT, *, on: str = FIRST) -> SendBytes:
    """Send one message that need not be an event."""
    data = value if isinstance(value, bytes) else value.encode("utf-8", "surrogatepass")
    shown = repr(value if len(value) <= 60 else value[:60])
    return SendBytes(frame(data, opcode), f"message {shown}", on)


def commit_text(id: str, offsets: str = "{}") -> bytes:
    """Return the text of a commit."""
    return f'{{"type":"COMMIT","correlationId":"{id}","offsets":{offsets}}}'.encode()


def broken(code: int, *, on: str = FIRST) -> Steps:
    """Take the Close with which a server ends a connection whose WebSocket rules were broken, then the end of TCP."""
    return (expect("Close", on=on, code=code), expect_close(on=on))


def undecodable(*too: Reply, on: str = FIRST) -> Steps:
    """Take Close 1011 for an event that cannot be served, or the bare end of TCP; then close."""
    outcomes = (reply("Close", code=1011, reason=""), Reply(CLOSED), *too)
    return (expect_any(*outcomes, on=on), send("Close", on=on, code=1011), expect_close(on=on))


def taken_leniently(why: str) -> tuple[Reply, ...]:
    """Return the outcomes of a server that takes an event which it should refuse."""
    names = ("REBALANCE", "MESSAGE", "COMMIT_RESPONSE")
    return (*(lenient(name, why) for name in names), Reply(NOTHING, {}, Verdict.LENIENT, why))
