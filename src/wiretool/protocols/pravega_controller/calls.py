"""The calls of the controller: what each asks and answers, all derived from controller.proto.

Each method has two messages of its name. In front of a message on the wire there are five bytes: whether it is
compressed, and its length (gRPC over HTTP2, Length-Prefixed-Message).
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from google.protobuf.descriptor import Descriptor, MethodDescriptor
from google.protobuf.json_format import ParseDict, ParseError
from google.protobuf.message import DecodeError as ProtobufError
from google.protobuf.message import Message as ProtobufMessage
from google.protobuf.message_factory import GetMessageClass

from wiretool.codec.jsonform import json_form
from wiretool.codec.message import Message, Side, message
from wiretool.codec.remembering import remembered
from wiretool.errors import DecodeError, EncodeError
from wiretool.protocols.pravega_controller import controller_pb2
from wiretool.protocols.pravega_controller.messages import NO_NUMBER
from wiretool.protocols.pravega_controller.protobuf_types import declare, form_of, structure_of

PREFIX_BYTES = 5
_SERVICE = controller_pb2.DESCRIPTOR.services_by_name["ControllerService"]
#: Full name of the service, as it stands in the path of a request.
SERVICE: str = _SERVICE.full_name


class Said(NamedTuple):
    """One direction of a method: its declaration, and the protobuf class that reads and writes it."""

    declared: type[Message]
    protobuf: type[ProtobufMessage]


def _said(method: MethodDescriptor, side: Side, descriptor: Descriptor) -> Said:
    """The declaration has the fields of the message type, and the name of the method."""
    role, verb = ("Request", "Asks with") if side == "client" else ("Answer", "Answers with")
    name = f"{method.name}{role}"
    cls = declare(name, f"{verb} {descriptor.name}.", structure_of(descriptor))
    spec = f"controller.proto, {method.name}"
    declared = message(type_id=NO_NUMBER, spec=spec, sender=side, name=method.name)(cls)
    return Said(declared, GetMessageClass(descriptor))


def _calls() -> Iterator[tuple[tuple[str, Side], Said]]:
    for method in _SERVICE.methods:
        yield (method.name, "client"), _said(method, "client", method.input_type)
        yield (method.name, "server"), _said(method, "server", method.output_type)


#: Method and side -> what that side says.
CALLS: Mapping[tuple[str, Side], Said] = dict(_calls())
METHODS = frozenset(name for name, _ in CALLS)
_BY_CLASS: Mapping[type[Message], Said] = {said.declared: said for said in CALLS.values()}


def declared_as(name: str, side: Side) -> type[Message] | None:
    """The message of a method that a side sends; None where there is no such method."""
    said = CALLS.get((name, side))
    return None if said is None else said.declared


class Body(NamedTuple):
    """A message of a call: its fields in JSON form, and the bytes of those that it does not declare."""

    fields: dict[str, Any]
    left_over: bytes


def read_body(method: str, side: Side, body: bytes) -> Body:
    """What a message, less its prefix, says; DecodeError where its bytes are not those of its type."""
    return _read_body(method, side, body, 0, len(body))


@remembered
def _read_body(method: str, side: Side, data: bytes, at: int, end: int) -> Body:
    said, body = CALLS[method, side], data[at:end]
    try:
        value = said.protobuf.FromString(body)
    except ProtobufError as err:
        name = said.protobuf.DESCRIPTOR.name
        why = f"the bytes are not a {name} in protobuf's encoding"
        raise DecodeError("bad_protobuf", why, path=method, offset=PREFIX_BYTES) from err
    known = said.protobuf.DESCRIPTOR.fields_by_number
    unknown = (body[field.at : field.end] for field in wire_fields(body) if field.number not in known)
    return Body(form_of(value), b"".join(unknown))


def write_body(value: Message) -> bytes:
    """The message of a call with its prefix; EncodeError where it is none."""
    said = _BY_CLASS.get(type(value))
    if said is None:
        raise EncodeError(f"{type(value).__name__} is not a message of a call")
    try:
        body = ParseDict(json_form(value), said.protobuf()).SerializeToString(deterministic=True)
    except (ParseError, ValueError) as err:
        why = f"protobuf has no {said.protobuf.DESCRIPTOR.name} with these values; expected UTF-8 and numbers in range"
        raise EncodeError(why, path=value.declaration.name) from err
    return b"\0" + len(body).to_bytes(4, "big") + body


# -- protobuf's wire format --------------------------------------------------------------------------------------------

_VARINT_BYTES_MAX = 10


class WireField(NamedTuple):
    """One field of a protobuf message as it lies there: number, wire type, its bytes with the tag, its value's."""

    number: int
    type: int
    at: int
    value_at: int
    end: int


def wire_fields(data: bytes, at: int = 0, end: int | None = None) -> Iterator[WireField]:
    """The fields in `data[at:end]`, as far as they can be told; groups, which proto3 has not, end it."""
    end = len(data) if end is None else end
    while at < end:
        tag, value_at = _varint(data, at, end)
        if value_at < 0:
            return
        behind = _behind_value(tag & 7, data, value_at, end)
        if not tag >> 3 or behind < 0 or behind > end:
            return
        start = behind - _varint(data, value_at, end)[0] if tag & 7 == 2 else value_at
        yield WireField(tag >> 3, tag & 7, at, start, behind)
        at = behind


def _behind_value(wire_type: int, data: bytes, at: int, end: int) -> int:
    """Where the value at `at` ends, -1 where that cannot be told."""
    if wire_type in (1, 5):
        return at + (8 if wire_type == 1 else 4)
    value, behind = _varint(data, at, end)
    if wire_type == 0 or behind < 0:
        return behind
    return behind + value if wire_type == 2 else -1


def _varint(data: bytes, at: int, end: int) -> tuple[int, int]:
    """The number at `at` and where it ends, which is -1 where there is none."""
    value = 0
    for count in range(min(_VARINT_BYTES_MAX, end - at)):
        byte = data[at + count]
        value |= (byte & 0x7F) << (7 * count)
        if byte < 0x80:
            return value, at + count + 1
    return 0, -1
