"""The wire part of offramp: messages and framing."""

from collections.abc import Mapping
from typing import Any

from wiretool.codec.jsonform import fields_from_json
from wiretool.codec.message import Message, Side, fields_of
from wiretool.codec.types import JsonSchema, Refer, RestBytes
from wiretool.protocols.base.json_messages import JsonMessages
from wiretool.protocols.base.protocol import Wire
from wiretool.protocols.offramp.connection import Connection
from wiretool.protocols.offramp.connection_encoder import OfframpEncoder
from wiretool.protocols.offramp.encoding import encode
from wiretool.protocols.offramp.exchanges import EXCHANGES
from wiretool.protocols.offramp.handshake import completed
from wiretool.protocols.offramp.http import begins_head, is_other_http
from wiretool.protocols.offramp.messages import EVENT_BY_NAME, EVENTS, MESSAGES, Close, message_named


def _open(from_start: bool) -> Connection:
    return Connection(from_start=from_start)


def _from_json(name: str, side: Side, fields: Mapping[str, Any]) -> Message:
    return completed(fields_from_json(message_named(name), dict(fields), name))


def fields_schema(name: str, refer: Refer, may_be_damaged: bool) -> JsonSchema | None:
    """Return the schema of `fields`; those of a defective event are its JSON as it stands, of a Close its bytes."""
    if not may_be_damaged:
        return None
    if name in EVENT_BY_NAME:
        return {"type": "object", "properties": {"type": {"const": name}}, "required": ["type"]}
    if name == "Close":
        code = next(field.wire for field in fields_of(Close) if field.name == "code").json_schema(refer)
        properties = {"code": code, "data": RestBytes().json_schema(refer)}
        defective = {"type": "object", "properties": properties, "required": ["code", "data"]}
        return {"anyOf": [refer(Close), {**defective, "additionalProperties": False}]}
    return None


WIRE = Wire(
    open=_open,
    messages=MESSAGES,
    encode=encode,
    from_json=_from_json,
    exchanges=EXCHANGES,
    begins=begins_head,
    disowns=is_other_http,
    first_messages=frozenset(("HandshakeRequest", "HandshakeResponse")),
    encoder=OfframpEncoder,
    undeclared=("Unknown", "Fragment", "Empty", "Deflated"),
    connection_subject="road",
    fields_schema=fields_schema,
    frames=JsonMessages(EVENTS),
)
