"""The messages of RESP: commands, replies, errors and pushes; see `values.py` for the values in them."""

from typing import Annotated, Any

from wiretool.codec.json_types import JsonBytes, JsonList, JsonText, JsonType, bad_type, bytes_from, text_or_hex
from wiretool.codec.message import Doc, Message, Side, message
from wiretool.errors import DecodeError, EncodeError
from wiretool_resp.values import read_value, write_value

_SPEC = "RESP protocol specification"


class Value(JsonType):
    """Any value, in its JSON form."""

    name = "RESP value"
    nullable = True

    def check(self, value: Any, path: str) -> Any:
        try:
            return read_value(raw := write_value(value), 0, len(raw))
        except (DecodeError, TypeError, ValueError) as err:
            raise bad_type(value, "a RESP value", path) from err


@message(type_id=1, sender="client", spec=f"{_SPEC}, Sending commands to a Redis server")
class Command(Message, frozen=True, kw_only=True):
    """A command: on the wire its name and arguments are an array of bulk strings."""

    name: Annotated[str | None, JsonText(nullable=True), Doc("Null where the first element is missing, or not text.")]
    arguments: Annotated[tuple[bytes, ...], JsonList(JsonBytes())] = ()


@message(type_id=2, sender="client", spec=f"{_SPEC}, Inline commands")
class InlineCommand(Message, frozen=True, kw_only=True):
    """A command in one line of words; servers ignore an empty line."""

    line: Annotated[bytes, JsonBytes(), Doc("With its end: LF, mostly after CR.")]


@message(type_id=3, sender="server", spec=f"{_SPEC}, RESP protocol description")
class Reply(Message, frozen=True, kw_only=True):
    """The reply to a command; in RESP 2 also a message of a channel."""

    value: Annotated[Any, Value()]


@message(type_id=4, sender="server", spec=f"{_SPEC}, Simple errors", failure="text")
class Error(Message, frozen=True, kw_only=True):
    """Why a command failed; the first word is the kind of error."""

    text: Annotated[bytes, JsonBytes()]


@message(type_id=5, sender="server", spec=f"{_SPEC}, Pushes")
class Push(Message, frozen=True, kw_only=True):
    """Values that no command waits for, or the confirmation of a subscription."""

    elements: Annotated[tuple[Any, ...], JsonList(Value())]


MESSAGES: tuple[type[Message], ...] = (Command, InlineCommand, Reply, Error, Push)


def decode(side: Side, data: bytes, at: int, end: int) -> Message:
    """Return the message of a whole frame. DecodeError where its values are too deep inside one another."""
    if side == "client" and data[at : at + 1] != b"*":
        return InlineCommand(line=data[at:end])
    value = read_value(data, at, end)
    if side == "client":
        is_named = bool(value) and isinstance(value[0], str)
        return Command(name=value[0] if is_named else None, arguments=tuple(map(bytes_from, value[is_named:])))
    match value:
        case {"error": text}:
            return Error(text=bytes_from(text))
        case {"push": elements}:
            return Push(elements=tuple(elements))
    return Reply(value=value)


def encode(sent: Message, side: Side) -> bytes:
    """Return the frame of a message. EncodeError where it has none."""
    try:
        match sent:
            case Command():
                return write_value([*([] if sent.name is None else [sent.name.encode()]), *sent.arguments])
            case InlineCommand() if sent.line.find(b"\n") == len(sent.line) - 1 and sent.line[:1] != b"*":
                return sent.line
            case Error():
                return write_value({"error": text_or_hex(sent.text)})
            case Push():
                return write_value({"push": list(sent.elements)})
            case Reply():
                return write_value(sent.value)
    except (TypeError, ValueError) as err:
        raise EncodeError(str(err), path=type(sent).__name__) from err
    raise EncodeError("expected a message of RESP, and an inline command as one line with its LF")
