"""A session written as JSON lines, and the bytes that its messages make."""

import json
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import msgspec

from wiretool import limits
from wiretool.codec.message import SIDES, Side
from wiretool.errors import EncodeError, InputError, UsageError
from wiretool.expectations import json_problem
from wiretool.protocols.base.encoder import ConnectionEncoder, PendingFrame, SentMessage
from wiretool.protocols.base.protocol import Protocol
from wiretool.protocols.base.registry import protocol_named

#: What only a record of decode has: where the bytes of its message were captured.
RECORD_MARK = "packets"
#: Records of a connection among which one shows whether the first bytes of the connection were captured.
LOOKAHEAD_RECORDS_MAX = 16

_OBJECT = 'expected {"message": ..., "fields": {...}}'


class Sent(NamedTuple):
    """The frame of one message: who sent it, when (None where the line does not say), on which connection."""

    connection: int
    side: Side
    time_ns: int | None
    port: int
    data: bytes
    #: `ip:port` of both ends, empty where the line does not say.
    client: str = ""
    server: str = ""
    #: Whether the connection was open before its first frame was captured.
    is_midstream: bool = False
    #: Bytes of this side that are missing here, instead of a frame.
    missing: int = 0


def read_script(
    lines: Iterable[str],
    *,
    name: str = "stdin",
    protocol: str = "",
    side: Side | None = None,
    skipped: Callable[[int, str], None] = lambda number, kind: None,
) -> Iterator[Sent]:
    """The frames of messages, one JSON object a line: `{"message": ..., "fields": {...}}` or a record of decode.

    What a line does not say, `protocol` and `side` do; who sends is else who may. Records that are no frames are
    passed to `skipped`, gaps of a known length apart. InputError, with the name of the script, for a line that is not a
    JSON object; EncodeError for one whose message cannot be encoded.
    """
    script = _Script(protocol, side)
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            said = _object(line)
            kind = said.get("kind", "frame")
            if kind == "gap" and "length" in said and "side" in said:
                yield from script.skip(said)
            elif kind != "frame":
                script.note(said)
                skipped(number, str(kind))
            else:
                yield from script.send(said)
        except InputError as err:
            raise InputError(f"{name}: line {number}: {err}") from err
        except (EncodeError, UsageError) as err:
            raise EncodeError(f"{name}: line {number}: {err}") from err
    yield from script.end()


def _object(line: str) -> Mapping[str, Any]:
    try:
        said = _parse(line)
    except (ValueError, RecursionError) as err:
        raise InputError(f"{json_problem(err)}; {_OBJECT}") from err
    if not isinstance(said, dict):
        raise InputError(f"not a JSON object; {_OBJECT}")
    return said


def _parse(line: str) -> Any:
    """Parse JSON. msgspec refuses lone surrogates, which texts from the wire may have: json takes them."""
    try:
        return msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeEncodeError) as err:
        if "\\ud" not in line.lower():
            raise
        try:
            return json.loads(line)
        except ValueError:
            raise err from None


class _Waiting(NamedTuple):
    """A frame that is not written yet, and how many bytes of it are in memory."""

    connection: "_Connection"
    sent: Sent
    frame: PendingFrame
    size: int

    @property
    def is_settled(self) -> bool:
        """Return whether its bytes are known, and how its connection begins."""
        return self.frame.data is not None and self.connection.is_midstream is not None


@dataclass(slots=True)
class _Connection:
    """The state of one connection: its encoder, and its first frames while they may be midstream."""

    protocol: Protocol
    encoder: ConnectionEncoder
    #: None while that is not known.
    is_midstream: bool | None
    first: list[tuple[Sent, PendingFrame]] = field(default_factory=list)

    def note(self, name: str) -> None:
        """Note the name of the next message: a connection whose first bytes were captured begins with certain ones."""
        if name in self.protocol.first_messages:
            self.is_midstream = False
        elif self.is_midstream is None and len(self.first) >= LOOKAHEAD_RECORDS_MAX:
            self.is_midstream = True

    def add(self, sent: Sent, frame: PendingFrame) -> _Waiting:
        """Remember a frame for as long as the beginning of the connection is unknown, and return it."""
        if self.is_midstream is None:
            self.first.append((sent, frame))
        else:
            self.first.clear()
        return _Waiting(self, sent, frame, len(frame.data or b""))

    def decide(self) -> None:
        """Decide from the frames so far whether they are midstream, as no later ones will show it."""
        if self.is_midstream is None:
            self.is_midstream = self._breaks_rules()

    def _breaks_rules(self) -> bool:
        """Whether something would be wrong with the frames that wait if they were the first of their connection."""
        conversation = self.protocol.open(True)
        return any(
            conversation.read(sent.side, frame.data, 0, len(frame.data), n).defects
            for n, (sent, frame) in enumerate(self.first, 1)
            if frame.data
        )


class _Script:
    """The connections of a script; `protocol` and `side` hold for lines that name none."""

    def __init__(self, protocol: str, side: Side | None) -> None:
        self._protocol = protocol
        self._side = side
        self._connections: dict[int, _Connection] = {}
        #: Frames in the order of their lines: one whose bytes are not known yet holds those of later lines back.
        self._waiting: deque[_Waiting] = deque()
        self._waiting_bytes = 0
        self._waiting_max = limits.ENCODE_WAITING_MESSAGES_MAX
        self._waiting_bytes_max = limits.ENCODE_WAITING_BYTES_MAX

    def send(self, said: Mapping[str, Any]) -> Iterator[Sent]:
        """Yield the frames that are settled by this line."""
        named = _text(said, "protocol") or self._protocol
        protocol = protocol_named(named or _missing("protocol; expected the key protocol, or --protocol NAME"))
        name = _text(said, "message") or _missing("message")
        fields = said.get("fields", {})
        if not isinstance(fields, dict):
            raise EncodeError(f"fields: expected an object, got {fields!r}")
        number = _whole(said, "connection") or 0
        connection = self._connection(number, protocol, is_record=RECORD_MARK in said)
        connection.note(name)
        sender = _side(said, self._side) or _sender(protocol, name, fields)
        message = SentMessage(name, sender, fields, _whole(said, "n"), _whole(said, "reply_to"))
        sent = Sent(
            connection=number,
            side=sender,
            time_ns=_whole(said, "time_ns"),
            port=protocol.ports[0],
            data=b"",
            client=_text(said, "client"),
            server=_text(said, "server"),
        )
        yield from self._add(connection, sent, connection.encoder.encode(message))

    def note(self, said: Mapping[str, Any]) -> None:
        """Note a problem: where the first bytes of a connection are unknown, its first frames may say anything."""
        connection = self._connections.get(_whole(said, "connection") or 0)
        if connection is not None and connection.is_midstream is None and said["kind"] == "problem":
            connection.is_midstream = False

    def skip(self, said: Mapping[str, Any]) -> Iterator[Sent]:
        """Yield the bytes that are missing, in their turn."""
        number, name = _whole(said, "connection") or 0, _text(said, "protocol") or self._protocol
        if not name:
            return
        protocol = protocol_named(name)
        connection = self._connection(number, protocol, is_record=True)
        sent = Sent(
            connection=number,
            side=_side(said, self._side) or "client",
            time_ns=_whole(said, "time_ns"),
            port=protocol.ports[0],
            data=b"",
            client=_text(said, "client"),
            server=_text(said, "server"),
            missing=_whole(said, "length") or 0,
        )
        yield from self._add(connection, sent, PendingFrame(b""))

    def end(self) -> Iterator[Sent]:
        """Yield the frames that are still pending."""
        for connection in self._connections.values():
            connection.encoder.end()
            connection.decide()
        yield from self._settled()

    def _add(self, connection: _Connection, sent: Sent, frame: PendingFrame) -> Iterator[Sent]:
        waiting = connection.add(sent, frame)
        self._waiting.append(waiting)
        self._waiting_bytes += waiting.size
        yield from self._settled()
        if len(self._waiting) > self._waiting_max or self._waiting_bytes > self._waiting_bytes_max:
            yield from self._overtake()

    def _settled(self) -> Iterator[Sent]:
        """Yield the frames before the first that is pending."""
        while self._waiting and self._waiting[0].is_settled:
            yield self._release(self._waiting.popleft())

    def _overtake(self) -> Iterator[Sent]:
        """Yield the settled frames of connections without a pending frame before them: too many are in memory."""
        waiting, self._waiting = self._waiting, deque()
        stuck = set[int]()
        for each in waiting:
            each.connection.decide()
            if each.is_settled and id(each.connection) not in stuck:
                yield self._release(each)
            else:
                stuck.add(id(each.connection))
                self._waiting.append(each)
        # What is left waits for its own connection: looked through again only once it has doubled.
        self._waiting_max = max(limits.ENCODE_WAITING_MESSAGES_MAX, 2 * len(self._waiting))
        self._waiting_bytes_max = max(limits.ENCODE_WAITING_BYTES_MAX, 2 * self._waiting_bytes)

    def _release(self, waiting: _Waiting) -> Sent:
        self._waiting_bytes -= waiting.size
        return waiting.sent._replace(data=waiting.frame.data or b"", is_midstream=bool(waiting.connection.is_midstream))

    def _connection(self, number: int, protocol: Protocol, *, is_record: bool) -> _Connection:
        """Return what is known of a connection; what is written by hand is taken for a whole one."""
        known = self._connections.get(number)
        if known is None:
            is_midstream = None if is_record and protocol.first_messages else False
            known = self._connections[number] = _Connection(protocol, protocol.open_encoder(), is_midstream)
        elif known.protocol is not protocol:
            known.encoder.end()
            known.protocol, known.encoder = protocol, protocol.open_encoder()
        return known


def _sender(protocol: Protocol, name: str, fields: Mapping[str, Any]) -> Side:
    """Return who may send a message; the client where both may."""
    return "server" if type(protocol.from_json(name, "client", fields)).declaration.sender == "server" else "client"


def _side(said: Mapping[str, Any], default: Side | None) -> Side | None:
    given = _text(said, "side") or default
    for side in SIDES:
        if given == side:
            return side
    if given:
        raise EncodeError(f"side is client or server, not {given!r}")
    return None


def _text(said: Mapping[str, Any], name: str) -> str:
    value = said.get(name, "")
    if not isinstance(value, str):
        raise EncodeError(f"{name}: expected text, got {value!r}")
    return value


def _whole(said: Mapping[str, Any], name: str) -> int | None:
    value = said.get(name)
    if value is not None and (type(value) is not int or not 0 <= value < 2**63):
        raise EncodeError(f"{name}: expected a whole number from 0 on, got {value!r}")
    return value


def _missing(name: str) -> str:
    raise EncodeError(f"has no {name}")
