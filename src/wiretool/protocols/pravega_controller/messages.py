"""The frames of HTTP/2 as messages, in the words of RFC 9113 and in the order of their numbers.

A DATA frame that completes a message of a call is told as that message instead: calls.py.
"""

from collections.abc import Mapping
from typing import Annotated, Any

from wiretool.codec.json_types import Boolean, Int64, JsonInt, JsonList, JsonText, JsonType, bad_type
from wiretool.codec.message import Doc, Message, Unit, message
from wiretool.codec.types import JsonSchema, Refer, Rest
from wiretool.errors import DecodeError

#: Of what has no number on the wire.
NO_NUMBER = -(2**31)
ERRORS: Mapping[int, str] = dict(
    enumerate(
        (
            "NO_ERROR",
            "PROTOCOL_ERROR",
            "INTERNAL_ERROR",
            "FLOW_CONTROL_ERROR",
            "SETTINGS_TIMEOUT",
            "STREAM_CLOSED",
            "FRAME_SIZE_ERROR",
            "REFUSED_STREAM",
            "CANCEL",
            "COMPRESSION_ERROR",
            "CONNECT_ERROR",
            "ENHANCE_YOUR_CALM",
            "INADEQUATE_SECURITY",
            "HTTP_1_1_REQUIRED",
        )
    )
)
SETTINGS: Mapping[int, str] = {
    1: "HEADER_TABLE_SIZE",
    2: "ENABLE_PUSH",
    3: "MAX_CONCURRENT_STREAMS",
    4: "INITIAL_WINDOW_SIZE",
    5: "MAX_FRAME_SIZE",
    6: "MAX_HEADER_LIST_SIZE",
    8: "ENABLE_CONNECT_PROTOCOL",
}
#: gRPC's status codes (doc/statuscodes.md of grpc).
STATUSES: Mapping[int, str] = dict(
    enumerate(
        (
            "OK",
            "CANCELLED",
            "UNKNOWN",
            "INVALID_ARGUMENT",
            "DEADLINE_EXCEEDED",
            "NOT_FOUND",
            "ALREADY_EXISTS",
            "PERMISSION_DENIED",
            "RESOURCE_EXHAUSTED",
            "FAILED_PRECONDITION",
            "ABORTED",
            "OUT_OF_RANGE",
            "UNIMPLEMENTED",
            "INTERNAL",
            "UNAVAILABLE",
            "DATA_LOSS",
            "UNAUTHENTICATED",
        )
    )
)


class NamedNumber(JsonText):
    """A number by its name; one that has none is itself."""

    def __init__(self, names: Mapping[int, str], name: str, *, nullable: bool = False) -> None:
        super().__init__(nullable=nullable)
        self.name = name
        self._names = names
        self._numbers = {text: number for number, text in names.items()}
        self.choices = frozenset(self._numbers)

    def check(self, value: Any, path: str) -> Any:
        if type(value) is int and -(2**31) <= value < 2**32:
            return self._names.get(value, value)
        if type(value) is str and value in self._numbers:
            return value
        raise bad_type(value, f"a number, or one of {', '.join(self._numbers)}", path)

    def value_schema(self, refer: Refer) -> JsonSchema:
        return {
            "anyOf": [{"enum": list(self._numbers)}, {"type": "integer", "minimum": -(2**31), "maximum": 2**32 - 1}]
        }

    def name_of(self, number: int) -> str | int:
        """The name of a number, or itself."""
        return self._names.get(number, number)

    def number_of(self, value: str | int) -> int:
        """The number again."""
        return value if isinstance(value, int) else self._numbers[value]


class SettingsObject(JsonType):
    """An object from the name of a setting, or its number, to its value."""

    name = "object of setting: u32"
    _value = JsonInt(64)

    def check(self, value: Any, path: str) -> dict[str, int]:
        if not isinstance(value, Mapping):
            raise bad_type(value, "an object", path)
        for key, number in value.items():
            setting_number(key, path)
            if not 0 <= self._value.check(number, f"{path}.{key}") < 2**32:
                raise DecodeError("out_of_range", f"{number} is not a u32", path=f"{path}.{key}")
        return dict(value)

    def value_schema(self, refer: Refer) -> JsonSchema:
        names = {"anyOf": [{"enum": list(_SETTING_NUMBERS)}, {"pattern": "^[0-9]{1,5}$"}]}
        number = {"type": "integer", "minimum": 0, "maximum": 2**32 - 1}
        return {"type": "object", "propertyNames": names, "additionalProperties": number}


_SETTING_NUMBERS = {name: number for number, name in SETTINGS.items()}


def setting_number(key: str, path: str) -> int:
    """The number of a setting by its name, or written as one."""
    if key in _SETTING_NUMBERS:
        return _SETTING_NUMBERS[key]
    if key.isdecimal() and key.isascii() and len(key) <= 5 and int(key) < 2**16 and int(key) not in SETTINGS:
        return int(key)
    raise bad_type(key, f"a number, or one of {', '.join(_SETTING_NUMBERS)}", path)


class HeaderPair(JsonList):
    """The name and value of one header field; null where it hangs on fields that were not captured."""

    def check(self, value: Any, path: str) -> tuple[Any, ...]:
        pair = super().check(value, path)
        if len(pair) != 2:
            raise bad_type(value, "a name and a value", path)
        return pair

    def value_schema(self, refer: Refer) -> JsonSchema:
        return {**super().value_schema(refer), "minItems": 2, "maxItems": 2}


class TextOrNull(JsonText):
    """A string, or null inside a list."""

    def check(self, value: Any, path: str) -> Any:
        return None if value is None else super().check(value, path)


ERROR_CODE = NamedNumber(ERRORS, "error code")
STATUS = NamedNumber(STATUSES, "gRPC status", nullable=True)

StreamId = Annotated[int, JsonInt(32)]
ErrorCode = Annotated[str | int, ERROR_CODE]
HeaderPairs = Annotated[
    tuple[tuple[str | None, str | None], ...] | None,
    JsonList(HeaderPair(TextOrNull(nullable=True)), nullable=True),
    Doc("In order; null while its block continues; a null inside is unknown, as it was sent before the capture."),
]
GrpcMethod = Annotated[str | None, JsonText(nullable=True), Doc("The method, of a request to the controller.")]
GrpcStatus = Annotated[str | int | None, STATUS, Doc("The status of the call; any other than OK is a failure.")]
GrpcMessage = Annotated[str | None, JsonText(nullable=True), Doc("Why it failed, in the server's words.")]

_RFC = "RFC 9113 §"


@message(type_id=NO_NUMBER, sender="client", spec=_RFC + "3.4")
class Preface(Message, frozen=True, kw_only=True):
    """The 24 bytes with which a client begins."""


@message(type_id=0, sender="both", spec=_RFC + "6.1")
class Data(Message, frozen=True, kw_only=True):
    """Bytes of a message that is not whole with it, or whose call is not known; or just the end of a stream."""

    stream_id: StreamId
    end_stream: Boolean = False
    data: Rest = b""


@message(type_id=1, sender="both", spec=_RFC + "6.2; gRPC over HTTP2, Requests and Responses")
class Headers(Message, frozen=True, kw_only=True):
    """Opens a call, starts its reply, or ends it (the trailers). The fields of the call come first, from `headers`."""

    stream_id: StreamId
    method: GrpcMethod = None
    grpc_status: GrpcStatus = None
    grpc_message: GrpcMessage = None
    end_stream: Boolean = False
    end_headers: Boolean = True
    headers: HeaderPairs = ()


@message(type_id=2, sender="both", spec=_RFC + "6.3")
class Priority(Message, frozen=True, kw_only=True):
    """A priority hint, deprecated."""

    stream_id: StreamId
    depends_on: StreamId
    weight: Annotated[int, JsonInt(32), Doc("As it is sent: one less than is meant.")]
    exclusive: Boolean = False


@message(type_id=3, sender="both", spec=_RFC + "6.4", failure=True)
class RstStream(Message, frozen=True, kw_only=True):
    """Ends a stream at once."""

    stream_id: StreamId
    error_code: ErrorCode


@message(type_id=4, sender="both", spec=_RFC + "6.5")
class Settings(Message, frozen=True, kw_only=True):
    """The sender's limits for its peer; with `ack`, the confirmation of the peer's limits."""

    ack: Boolean = False
    settings: Annotated[dict[str, int], SettingsObject()]


@message(type_id=5, sender="server", spec=_RFC + "6.6")
class PushPromise(Message, frozen=True, kw_only=True):
    """Announces a stream of the server; gRPC has none."""

    stream_id: StreamId
    promised_stream_id: StreamId
    end_headers: Boolean = True
    headers: HeaderPairs = ()


@message(type_id=6, sender="both", spec=_RFC + "6.7")
class Ping(Message, frozen=True, kw_only=True):
    """Asks for the same with `ack`."""

    ack: Boolean = False
    opaque_data: Rest


@message(type_id=7, sender="both", spec=_RFC + "6.8")
class GoAway(Message, frozen=True, kw_only=True):
    """The sender takes no new streams; those up to `last_stream_id` it may have served."""

    last_stream_id: StreamId
    error_code: ErrorCode
    debug_data: Rest = b""


@message(type_id=8, sender="both", spec=_RFC + "6.9")
class WindowUpdate(Message, frozen=True, kw_only=True):
    """Lets the peer send more: on a stream, or with 0 on the connection."""

    stream_id: StreamId
    window_increment: Annotated[int, JsonInt(32), Unit("bytes")]


@message(type_id=9, sender="both", spec=_RFC + "6.10")
class Continuation(Message, frozen=True, kw_only=True):
    """More of a header block; if it ends the block, the fields are those of the preceding Headers."""

    stream_id: StreamId
    method: GrpcMethod = None
    grpc_status: GrpcStatus = None
    grpc_message: GrpcMessage = None
    end_headers: Boolean = True
    headers: HeaderPairs = ()


@message(type_id=NO_NUMBER, sender="both", spec=_RFC + "5.5")
class Unknown(Message, frozen=True, kw_only=True):
    """A frame of a type that is not in RFC 9113, or one whose bytes are wrong."""

    type: Annotated[int, JsonInt(32)]
    flags: Annotated[int, JsonInt(32)]
    stream_id: Int64
    data: Rest = b""


FRAMES: tuple[type[Message], ...] = (
    Preface,
    Data,
    Headers,
    Priority,
    RstStream,
    Settings,
    PushPromise,
    Ping,
    GoAway,
    WindowUpdate,
    Continuation,
    Unknown,
)
#: Frame types and their messages.
BY_TYPE: Mapping[int, type[Message]] = {
    cls.declaration.type_id: cls for cls in FRAMES if cls.declaration.type_id != NO_NUMBER
}
BY_NAME: Mapping[str, type[Message]] = {cls.__name__: cls for cls in FRAMES}
