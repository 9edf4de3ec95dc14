"""The text of an event to its message and back.

`reference` is the slow and obvious way. `decode` is the fast one: it lets msgspec parse, and leaves the text to the
reference wherever that parser could have seen it otherwise.
"""

import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from wiretool import limits
from wiretool.codec.json_types import from_members, shorten, to_members
from wiretool.codec.message import Message, Side
from wiretool.codec.remembering import remembered
from wiretool.errors import DecodeError, EncodeError
from wiretool.protocols.offramp.json_parser import parse_json
from wiretool.protocols.offramp.messages import EVENT_BY_NAME

_parse = msgspec.json.Decoder().decode
_SPACE_BEFORE_COLON = re.compile(rb"[ \t\r\n]:")
_SMALL = 2**63


def decode(data: bytes, side: Side) -> Message:
    """The event in the UTF-8 text `data` that `side` sent; DecodeError by the name of the defect."""
    return _event_in(side, data, 0, len(data))


@remembered
def _event_in(side: Side, data: bytes, at: int, end: int) -> Message:
    members = plain_object(data[at:end])
    if members is None:
        return reference(data[at:end], side)
    return event_from_members(members, side)


def reference(data: bytes, side: Side) -> Message:
    """The same, slowly."""
    parsed = parse_json(text_of(data))
    if parsed.error is not None:
        raise parsed.error
    if not isinstance(parsed.value, dict):
        raise DecodeError("not_an_object", f"the text is {shorten(parsed.value)}")
    event = event_from_members(parsed.value, side)
    if parsed.overflow is not None:
        raise parsed.overflow
    return event


def text_of(data: bytes) -> str:
    """The text; DecodeError malformed_utf8 where it is none."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as err:
        why = f"byte 0x{data[err.start]:02x}: {err.reason}"
        raise DecodeError("malformed_utf8", why, offset=err.start) from err


def event_from_members(members: Mapping[str, Any], side: Side) -> Message:
    """The event that a JSON object is; DecodeError by the name of the defect."""
    if "type" not in members:
        raise DecodeError("missing_type", "no member is named type")
    name = members["type"]
    if type(name) is not str:
        raise DecodeError("bad_type", f"type is {shorten(name)}", path="type")
    cls = EVENT_BY_NAME.get(name)
    if cls is None:
        raise DecodeError("unknown_type", f"{shorten(name)} is not an event", path="type")
    if cls.declaration.sender != side:
        raise DecodeError("wrong_direction", f"a {side} does not send {name}", path="type")
    return from_members(cls, members)


class Shown(NamedTuple):
    """What can be shown of a message that is no event: a name, and its fields in JSON form."""

    message: str
    fields: Mapping[str, Any]


def show(data: bytes) -> Shown:
    """A defective event as far as it goes: its JSON object as it stands, else its text, else its bytes."""
    try:
        text = text_of(data)
    except DecodeError:
        return Shown("Unknown", {"data": data.hex()})
    try:
        parsed = parse_json(text)
    except DecodeError:
        return Shown("Unknown", {"text": text})
    value = parsed.value
    if not isinstance(value, dict) or parsed.overflow is not None:
        return Shown("Unknown", {"text": text})
    name = value.get("type")
    return Shown(name if isinstance(name, str) and name in EVENT_BY_NAME else "Unknown", value)


_compact = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


def encode(event: Message) -> bytes:
    """The text of an event in UTF-8: compact, `type` first, in the order of its declaration."""
    if type(event) not in EVENT_BY_NAME.values():
        raise EncodeError(f"{event.declaration.name} is not an event")
    members = to_members(event)
    path = event.declaration.name
    try:
        return _compact(members).encode("utf-8")
    except UnicodeEncodeError:  # half a surrogate pair: only an escape can say that
        return json.dumps(members, allow_nan=False, separators=(",", ":")).encode("ascii")
    except (ValueError, TypeError, RecursionError) as err:
        raise EncodeError("is not JSON: expected objects, lists, text and finite numbers", path=path) from err


# -- the fast way ----------------------------------------------------------------------------------------------------


def plain_object(data: bytes) -> dict[str, Any] | None:
    """The members, or None where only the reference can tell what the text is.

    msgspec takes the last of repeated members. So the members are counted: with no space before a colon, each member
    of the text has its own `":`. Where the object has as many members as the text has of those, none was dropped.
    """
    try:
        value = _parse(data)
        if not data.isascii():
            data.decode("utf-8")
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    if type(value) is not dict or _SPACE_BEFORE_COLON.search(data) or _members_in(value) != data.count(b'":'):
        return None
    return value


def _members_in(value: Any) -> int:
    """How many members the objects in `value` have; -1 where it nests too deep or has a number of many digits."""
    members = 0
    level = [value]
    for _ in range(limits.JSON_NESTING_MAX):
        below: list[Any] = []
        for each in level:
            if type(each) is dict:
                members += len(each)
                values = each.values()
            else:
                values = each
            for inner in values:
                kind = type(inner)
                if kind is dict or kind is list:
                    below.append(inner)
                elif kind is int and not -_SMALL <= inner < _SMALL:
                    return -1
        if not below:
            return members
        level = below
    return -1
