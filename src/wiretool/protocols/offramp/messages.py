"""Every message of Offramp v2: the events, WebSocket's control frames, and the HTTP upgrade in front of them.

Events are named by text. The numbers below are their order in the document; control frames have their opcode.
"""

import re
from collections.abc import Mapping
from typing import Annotated, Any

from wiretool.codec.json_types import (
    Anything,
    Boolean,
    Int32,
    JsonBytes,
    JsonInt,
    JsonList,
    JsonMap,
    JsonName,
    JsonSet,
    JsonText,
    String,
    bad_type,
    shorten,
)
from wiretool.codec.message import Doc, Message, Named, Position, Unit, Varies, message
from wiretool.codec.types import JsonSchema, Refer, Rest
from wiretool.errors import DecodeError, EncodeError

_PARTITION = re.compile(r"0|[1-9][0-9]{0,9}", re.ASCII)
PARTITION_MAX = 2**31 - 1


class PartitionOffsets(JsonMap):
    """An object from partition, a canonical decimal number, to offset."""

    name = "object of partition: int64"
    has_numbers = True
    value_type = JsonInt(64)
    key_max = PARTITION_MAX
    key_problem = "bad_partition_key"

    def check(self, value: Any, path: str) -> dict[str, int]:
        if not isinstance(value, Mapping):
            raise bad_type(value, "an object", path)
        for key, offset in value.items():
            if not _PARTITION.fullmatch(key) or int(key) > PARTITION_MAX:
                raise DecodeError(self.key_problem, f"{shorten(key)} names no partition", path=path)
            self.value_type.check(offset, f"{path}.{key}")
        return dict(value)

    def value_schema(self, refer: Refer) -> JsonSchema:
        names = {"pattern": f"^({_PARTITION.pattern})$"}
        return {"type": "object", "propertyNames": names, "additionalProperties": self.value_type.json_schema(refer)}


class BodyBytes(JsonBytes):
    """The body of an HTTP message: text where it is UTF-8, else an object with its hex."""

    name = "body"


class HeaderPair(JsonList):
    """The name and value of one header."""

    def check(self, value: Any, path: str) -> tuple[Any, ...]:
        pair = super().check(value, path)
        if len(pair) != 2:
            raise bad_type(value, "a name and a value", path)
        return pair

    def value_schema(self, refer: Refer) -> JsonSchema:
        return {**super().value_schema(refer), "minItems": 2, "maxItems": 2}


Name = Annotated[str, JsonText()]
NullableText = Annotated[str | None, JsonText(nullable=True)]
Headers = Annotated[tuple[tuple[str, str], ...], JsonList(HeaderPair(JsonText()))]
Names = Annotated[tuple[str, ...], JsonList(JsonText())]
Body = Annotated[bytes, BodyBytes()]
CloseCode = Annotated[int | None, JsonInt(32, nullable=True)]

_SEED = "Offramp v2, Service"


@message(type_id=1, name="REQUEST", sender="client", spec=f"{_SEED}, Request")
class RequestEvent(Message, frozen=True, kw_only=True):
    """Ask for up to `count` further messages; 2^63-1 is as good as without end."""

    type: Annotated[str, JsonName("REQUEST")] = "REQUEST"
    count: Annotated[int, JsonInt(64), Unit("messages")]


@message(type_id=2, name="CANCEL", sender="client", spec=f"{_SEED}, Cancel")
class CancelEvent(Message, frozen=True, kw_only=True):
    """Reset the number of requested messages to zero; the connection stays open."""

    type: Annotated[str, JsonName("CANCEL")] = "CANCEL"


@message(type_id=3, name="COMMIT", sender="client", spec=f"{_SEED}, Commit")
class CommitEvent(Message, frozen=True, kw_only=True):
    """Save, for each partition, the next offset to read."""

    type: Annotated[str, JsonName("COMMIT")] = "COMMIT"
    correlationId: Annotated[str | None, JsonText(nullable=True), Doc("Comes back in the response.")] = None
    offsets: Annotated[dict[str, int], PartitionOffsets(), Position("offset", "partition")]


@message(type_id=4, name="CONNECTION", sender="server", spec=f"{_SEED}, Connection")
class ConnectionEvent(Message, frozen=True, kw_only=True):
    """The first event on a connection: which server this is."""

    type: Annotated[str, JsonName("CONNECTION")] = "CONNECTION"
    agentName: Annotated[str, JsonText(), Varies()]


@message(type_id=5, name="MESSAGE", sender="server", spec=f"{_SEED}, Message; Event.java (timestampMs)")
class MessageEvent(Message, frozen=True, kw_only=True):
    """One message of the road."""

    type: Annotated[str, JsonName("MESSAGE")] = "MESSAGE"
    partition: Int32
    offset: Annotated[int, JsonInt(64), Position("offset", "partition")]
    schema: Annotated[int, JsonInt(32), Doc("Version of the road's schema.")]
    timestampMs: Annotated[int | None, JsonInt(64, nullable=True), Unit("ms"), Varies()] = None
    payload: Anything


@message(type_id=6, name="COMMIT_RESPONSE", sender="server", spec=f"{_SEED}, CommitResponse")
class CommitResponseEvent(Message, frozen=True, kw_only=True):
    """Whether the commit with that id was saved."""

    type: Annotated[str, JsonName("COMMIT_RESPONSE")] = "COMMIT_RESPONSE"
    correlationId: Annotated[str | None, JsonText(nullable=True, omits_null=False)] = None
    success: Boolean


@message(type_id=7, name="REBALANCE", sender="server", spec=f"{_SEED}, Rebalance")
class RebalanceEvent(Message, frozen=True, kw_only=True):
    """All the partitions that this connection now has."""

    type: Annotated[str, JsonName("REBALANCE")] = "REBALANCE"
    assignment: Annotated[tuple[int, ...], JsonSet(JsonInt(32))]


@message(type_id=8, name="Close", sender="both", spec="RFC 6455 §5.5.1")
class Close(Message, frozen=True, kw_only=True):
    """The last frame of a side; `code` is null in an empty one."""

    code: CloseCode = None
    reason: Name = ""


@message(type_id=9, name="Ping", sender="both", spec="RFC 6455 §5.5.2")
class Ping(Message, frozen=True, kw_only=True):
    """Asks for a Pong with the same payload."""

    payload: Rest = b""


@message(type_id=10, name="Pong", sender="both", spec="RFC 6455 §5.5.3")
class Pong(Message, frozen=True, kw_only=True):
    """Answers a Ping; unsolicited, a keep-alive."""

    payload: Rest = b""


@message(type_id=11, name="ERROR", sender="server", spec="OfframpServiceV2.java:149-153", failure=True)
class ErrorEvent(Message, frozen=True, kw_only=True):
    """A request that the server does not take; the stream goes on."""

    type: Annotated[str, JsonName("ERROR")] = "ERROR"
    reason: String


@message(type_id=12, name="HandshakeRequest", sender="client", spec=f"{_SEED}; RFC 6455 §4.1, RFC 9112 §3")
class HandshakeRequest(Message, frozen=True, kw_only=True):
    """An HTTP request. The fields after `body` come from the target, if it is the path of a stream."""

    method: Name = "GET"
    target: Name
    version: Name = "HTTP/1.1"
    headers: Headers = ()
    body: Body = b""
    road: NullableText = None
    stream: Annotated[str | None, JsonText(nullable=True), Named("stream")] = None
    defaultOffset: NullableText = None
    grants: Annotated[tuple[str, ...] | None, JsonList(JsonText(), nullable=True)] = None


@message(type_id=13, name="HandshakeResponse", sender="server", spec="RFC 6455 §4.2.2, RFC 9112 §4")
class HandshakeResponse(Message, frozen=True, kw_only=True):
    """An HTTP response; 101 is the upgrade. `extensions` are those that the headers agree to."""

    status: Int32
    reason: Annotated[str, JsonText(), Varies()] = ""
    version: Name = "HTTP/1.1"
    headers: Headers = ()
    body: Annotated[bytes, BodyBytes(), Varies()] = b""
    extensions: Names = ()


EVENTS: tuple[type[Message], ...] = (
    RequestEvent,
    CancelEvent,
    CommitEvent,
    ConnectionEvent,
    MessageEvent,
    CommitResponseEvent,
    RebalanceEvent,
    ErrorEvent,
)
MESSAGES: tuple[type[Message], ...] = (HandshakeRequest, HandshakeResponse, *EVENTS, Ping, Pong, Close)
EVENT_BY_NAME: Mapping[str, type[Message]] = {cls.declaration.name: cls for cls in EVENTS}
BY_NAME: Mapping[str, type[Message]] = {cls.declaration.name: cls for cls in MESSAGES}

assert len(BY_NAME) == len(MESSAGES)
assert len({cls.declaration.type_id for cls in MESSAGES}) == len(MESSAGES)
assert all(cls.declaration.spec for cls in MESSAGES)


def message_named(name: str) -> type[Message]:
    """The declaration called `name`; EncodeError where there is none."""
    if name not in BY_NAME:
        raise EncodeError(f"no message is called {name!r}; there are {', '.join(BY_NAME)}")
    return BY_NAME[name]
