"""The wire part of offramp: messages and framing."""

from collections.abc import Mapping
from typing import Any

from wiretool.codec.jsonform import fields_from_json
from wiretool.codec.message import Message, Side
from wiretool.protocols.base.protocol import Wire
from wiretool.protocols.offramp.connection import Connection
from wiretool.protocols.offramp.connection_encoder import OfframpEncoder
from wiretool.protocols.offramp.encoding import encode
from wiretool.protocols.offramp.exchanges import EXCHANGES
from wiretool.protocols.offramp.handshake import completed
from wiretool.protocols.offramp.http import begins_head, is_other_http
from wiretool.protocols.offramp.messages import MESSAGES, message_named


def _open(from_start: bool) -> Connection:
    return Connection(from_start=from_start)


def _from_json(name: str, side: Side, fields: Mapping[str, Any]) -> Message:
    return completed(fields_from_json(message_named(name), dict(fields), name))


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
    undeclared=("Unknown", "Fragment", "Empty"),
    connection_subject="road",
)
