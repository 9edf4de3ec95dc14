"""The wire part of Pravega: messages and framing."""

from collections.abc import Mapping
from typing import Any

from wiretool.codec.json_schema import readable_schema
from wiretool.codec.jsonform import fields_from_json, nearest
from wiretool.codec.message import Message, Side
from wiretool.codec.types import JsonSchema, Refer
from wiretool.errors import EncodeError
from wiretool.protocols.base.protocol import Wire
from wiretool.protocols.pravega.commands import MESSAGES, enum_name
from wiretool.protocols.pravega.exchanges import EXCHANGES
from wiretool.protocols.pravega.framing import PREFIXES, encode
from wiretool.protocols.pravega.messages import Unknown
from wiretool.protocols.pravega.session import PravegaConversation

_BY_NAME: Mapping[str, type[Message]] = {
    **{enum_name(cls): cls for cls in MESSAGES},
    **{cls.declaration.name: cls for cls in MESSAGES},
    Unknown.declaration.name: Unknown,
}


def from_json(name: str, side: Side, fields: Mapping[str, Any]) -> Message:
    """The command called so, SetupAppend or SETUP_APPEND; neither needs the side to tell them apart."""
    cls = _BY_NAME.get(name)
    if cls is None:
        raise EncodeError(f"pravega has no command {name!r}{nearest(name, _BY_NAME)}")
    return fields_from_json(cls, dict(fields))


def fields_schema(name: str, refer: Refer, may_be_damaged: bool) -> JsonSchema | None:
    """Return the schema of `fields`; those of a damaged frame end before the damage."""
    return readable_schema(_BY_NAME[name], refer) if may_be_damaged else None


WIRE = Wire(
    open=PravegaConversation,
    messages=MESSAGES,
    encode=encode,
    from_json=from_json,
    exchanges=EXCHANGES,
    first_messages=frozenset(("Hello",)),
    frames=PREFIXES["server"],
    fields_schema=fields_schema,
)
