"""A session written as JSON lines, and the bytes that its messages make."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from wiretool.codec.message import Side
from wiretool.errors import EncodeError, UsageError
from wiretool.protocols.registry import protocol_named

SIDES: tuple[Side, Side] = ("client", "server")


class Sent(NamedTuple):
    """The frame of one message: who sent it, when (None where the line does not say), on which connection."""

    connection: int
    side: Side
    time_ns: int | None
    port: int
    data: bytes


def read_script(
    lines: Iterable[str],
    *,
    protocol: str = "",
    side: Side | None = None,
    skipped: Callable[[int, str], None] = lambda number, kind: None,
) -> Iterator[Sent]:
    """The frames of messages, one JSON object a line: `{"message": ..., "fields": {...}}` or a record of decode.

    What a line does not say, `protocol` and `side` do; who sends is else who may. Records that are no frames are
    passed to `skipped`. EncodeError with the number of the line that makes no message.
    """
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            said = _object(line)
            kind = said.get("kind", "frame")
            if kind != "frame":
                skipped(number, str(kind))
                continue
            yield _sent(said, protocol, side)
        except (EncodeError, UsageError) as err:
            raise EncodeError(f"line {number}: {err}") from err


def _object(line: str) -> Mapping[str, Any]:
    try:
        said = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError) as err:
        raise EncodeError(f"no JSON: {err}") from err
    if not isinstance(said, dict):
        raise EncodeError('wants an object, {"message": ..., "fields": {...}}')
    return said


def _sent(said: Mapping[str, Any], protocol: str, side: Side | None) -> Sent:
    speaks = protocol_named(_text(said, "protocol") or protocol or _missing("protocol"))
    name = _text(said, "message") or _missing("message")
    sender = _side(said, side)
    fields = said.get("fields", {})
    if not isinstance(fields, dict):
        raise EncodeError(f"fields wants an object, not {fields!r}")
    message = speaks.from_json(name, sender or "client", fields)
    if sender is None:
        sender = "server" if type(message).declaration.sender == "server" else "client"
    return Sent(
        connection=_whole(said, "connection") or 0,
        side=sender,
        time_ns=_whole(said, "time_ns"),
        port=speaks.ports[0],
        data=speaks.encode(message, sender),
    )


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
        raise EncodeError(f"{name} wants text, not {value!r}")
    return value


def _whole(said: Mapping[str, Any], name: str) -> int | None:
    value = said.get(name)
    if value is not None and (type(value) is not int or not 0 <= value < 2**63):
        raise EncodeError(f"{name} wants a whole number from 0 on, not {value!r}")
    return value


def _missing(name: str) -> str:
    raise EncodeError(f"says no {name}")
