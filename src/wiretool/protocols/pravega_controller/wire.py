"""The wire part of pravega-controller: messages and framing."""

from collections.abc import Mapping
from typing import Any

from wiretool.codec.jsonform import fields_from_json, nearest
from wiretool.codec.message import Message, Side
from wiretool.codec.types import JsonSchema, Refer
from wiretool.errors import EncodeError
from wiretool.protocols.base.proto_file import ProtoFile
from wiretool.protocols.base.protocol import Wire
from wiretool.protocols.pravega_controller.calls import CALLS, METHODS, declared_as
from wiretool.protocols.pravega_controller.connection import Connection
from wiretool.protocols.pravega_controller.connection_encoder import ControllerEncoder
from wiretool.protocols.pravega_controller.encoding import encode
from wiretool.protocols.pravega_controller.exchanges import EXCHANGES
from wiretool.protocols.pravega_controller.frames import begins
from wiretool.protocols.pravega_controller.headers import completed
from wiretool.protocols.pravega_controller.messages import BY_NAME, FRAMES, Unknown


def _open(from_start: bool) -> Connection:
    return Connection(from_start=from_start)


def _from_json(name: str, side: Side, fields: Mapping[str, Any]) -> Message:
    cls = declared_as(name, side) or BY_NAME.get(name)
    if cls is None:
        raise EncodeError(f"no message is called {name!r}{nearest(name, {*BY_NAME, *METHODS})}")
    return completed(fields_from_json(cls, dict(fields), name))


def fields_schema(name: str, refer: Refer, may_be_damaged: bool) -> JsonSchema | None:
    """Return the schema of `fields`; a damaged frame of HTTP/2 has those of Unknown."""
    if not may_be_damaged or name not in BY_NAME:
        return None
    return {"anyOf": [refer(BY_NAME[name]), refer(Unknown)]}


WIRE = Wire(
    open=_open,
    messages=(*FRAMES, *(said.declared for said in CALLS.values())),
    encode=encode,
    from_json=_from_json,
    exchanges=EXCHANGES,
    begins=begins,
    first_messages=frozenset(("Preface", "Settings")),
    encoder=ControllerEncoder,
    fields_schema=fields_schema,
    frames=ProtoFile("wiretool.protocols.pravega_controller", "controller.proto"),
)
