"""The wire part of pravega-draft: messages and framing."""

import re
from collections.abc import Mapping
from typing import Any

from wiretool.codec.json_schema import readable_schema
from wiretool.codec.jsonform import fields_from_json, nearest
from wiretool.codec.message import Message, Side
from wiretool.codec.types import JsonSchema, Refer
from wiretool.errors import EncodeError
from wiretool.protocols.base.protocol import Wire
from wiretool.protocols.pravega_draft import framing
from wiretool.protocols.pravega_draft.exchanges import EXCHANGES
from wiretool.protocols.pravega_draft.messages import (
    MESSAGES,
    BeginAppendBlock,
    EndAppendBlock,
    PartialMessage,
    Unknown,
)
from wiretool.protocols.pravega_draft.session import DraftConversation

_NAMED: Mapping[str, type[Message]] = {
    **{cls.declaration.name: cls for cls in MESSAGES},
    "Unknown": Unknown,
    "BeginEventBlock": BeginAppendBlock,
    "EndEventBlock": EndAppendBlock,
}
_BY_NAME: Mapping[str, type[Message]] = {
    **{re.sub(r"(?<!^)(?=[A-Z])", "_", name).upper(): cls for name, cls in _NAMED.items()},
    **_NAMED,
}


def from_json(name: str, side: Side, fields: Mapping[str, Any]) -> Message:
    """The message called so, SetupAppend or SETUP_APPEND; neither needs the side to tell them apart."""
    cls = _BY_NAME.get(name)
    if cls is None:
        raise EncodeError(f"pravega-draft has no message {name!r}{nearest(name, _BY_NAME)}")
    if cls is PartialMessage:  # the record of the last part names the whole message as well
        fields = {field: value for field, value in fields.items() if field not in ("message", "fields")}
    return fields_from_json(cls, dict(fields))


def encode(message: Message, side: Side) -> bytes:
    """The whole frame that carries a message; the same bytes from either side."""
    return framing.encode(message)


def fields_schema(name: str, refer: Refer, may_be_damaged: bool) -> JsonSchema | None:
    """Return the schema of `fields`: those of a damaged frame end before the damage, a last part has all."""
    if not may_be_damaged:
        return None
    schema = readable_schema(_NAMED[name], refer)
    if _NAMED[name] is PartialMessage:
        whole = {"message": {"enum": sorted(cls.declaration.name for cls in MESSAGES)}, "fields": {"type": "object"}}
        schema["properties"] |= whole
        schema["dependentRequired"] |= {"message": ["fields", "data"], "fields": ["message"]}
    return schema


WIRE = Wire(
    open=DraftConversation,
    messages=MESSAGES,
    encode=encode,
    from_json=from_json,
    exchanges=EXCHANGES,
    frames=framing.PREFIX,
    fields_schema=fields_schema,
)
