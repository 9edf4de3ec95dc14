"""Field values in few characters: long ones cut, with their length."""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from wiretool.codec.message import Message, fields_of
from wiretool.codec.types import Bool, Data, Int, WireType
from wiretool.sinks.printable import printable

#: Characters of a text, bytes of data and members of a list or structure that are shown before it is cut.
TEXT_MAX = 60
TEXT_SHOWN = 40
DATA_SHOWN = 8
MEMBERS_SHOWN = 4
DEPTH_SHOWN = 6

Pairs = list[tuple[str, str]]


def pairs_of(fields: Message | Mapping[str, Any] | None) -> Pairs:
    """The fields of a message, each as its name and its value in short."""
    if isinstance(fields, Message):
        return [(name, show(getattr(fields, name))) for name, show in _shows(type(fields))]
    if fields and isinstance(fields.get("header"), Mapping | None) and "payload_length" in fields:
        return _frame_pairs(fields)
    return [(printable(name), short(value)) for name, value in (fields or {}).items()]


def _frame_pairs(frame: Mapping[str, Any]) -> Pairs:
    """A frame of header and payload: what its header says is worth more than how it is laid out."""
    pairs = [("stream_id", short(frame.get("stream_id")))]
    if frame.get("system_error"):
        pairs.append(("system_error", "true"))
    if frame.get("is_response") and not frame.get("response_end"):
        pairs.append(("response_end", "false"))
    header = frame.get("header") or {}
    pairs += [(printable(name), short(value)) for name, value in (header.get("fields") or header).items()]
    payload = frame.get("payload") or {}
    for name, value in payload.items():
        is_data = name == "hex"
        pairs.append(("payload", f"({len(value) // 2:,} B)") if is_data else (printable(name), short(value)))
    return pairs


def short(value: Any, depth: int = 0) -> str:
    """A JSON value in short."""
    if isinstance(value, str):
        return _short_text(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return "null"
    if isinstance(value, Mapping):
        return _short_mapping(value, depth)
    if isinstance(value, list | tuple):
        return _short_list(value, depth)
    return str(value)


def short_data(data: bytes) -> str:
    """Bytes in short."""
    if len(data) <= 2 * DATA_SHOWN:
        return data.hex() or '""'
    return f"{data[:DATA_SHOWN].hex()}…({len(data):,} B)"


def _short_text(text: str) -> str:
    shown = printable(text if len(text) <= TEXT_MAX else text[:TEXT_SHOWN])
    if not shown or any(char in shown for char in " \"'={}[],"):
        shown = '"' + shown.replace('"', '\\"') + '"'
    return shown if len(text) <= TEXT_MAX else f"{shown}…({len(text):,} characters)"


def _short_mapping(value: Mapping[str, Any], depth: int) -> str:
    if depth >= DEPTH_SHOWN and value:
        return f"{{…({len(value):,})}}"
    return "{" + " ".join(f"{printable(name)}={short(each, depth + 1)}" for name, each in value.items()) + "}"


def _short_list(value: list[Any] | tuple[Any, ...], depth: int) -> str:
    if depth >= DEPTH_SHOWN and value:
        return f"[…({len(value):,})]"
    shown = [short(each, depth + 1) for each in value[:MEMBERS_SHOWN]]
    if len(value) > MEMBERS_SHOWN:
        shown.append(f"…({len(value):,})")
    return f"[{', '.join(shown)}]"


@cache
def _shows(cls: type[Message]) -> list[tuple[str, Callable[[Any], str]]]:
    return [(field.name, _show(field.wire)) for field in fields_of(cls)]


def _show(wire: WireType) -> Callable[[Any], str]:
    if type(wire) is Int:
        return str
    if type(wire) is Bool:
        return short
    if isinstance(wire, Data) and type(wire).to_json is Data.to_json:
        return short_data
    return lambda value: short(wire.to_json(value))
