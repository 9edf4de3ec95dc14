"""The wire part of sbp: messages and framing."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from wiretool.codec.message import Side
from wiretool.protocols.base.protocol import Wire
from wiretool.protocols.sbp.exchanges import EXCHANGES
from wiretool.protocols.sbp.forms import frame_from_json
from wiretool.protocols.sbp.framing import encode_frame, table_frames
from wiretool.protocols.sbp.json_schema import fields_schema
from wiretool.protocols.sbp.messages import APPEND, FETCH, SbpFrame, check_declarations
from wiretool.protocols.sbp.records import AppendEntry
from wiretool.protocols.sbp.schema import LATEST, UNCARRIED
from wiretool.protocols.sbp.session import SbpConversation

check_declarations(LATEST)


def open_conversation(began: bool) -> SbpConversation:
    """A new connection of the newest schema."""
    return SbpConversation(began, LATEST)


def from_json(name: str, side: Side, fields: Mapping[str, Any]) -> SbpFrame:
    """The frame of operation `name` from its JSON form."""
    return frame_from_json(LATEST, name, side, fields)


WIRE = Wire(
    open=open_conversation,
    messages=(SbpFrame, *LATEST.tables, *UNCARRIED, AppendEntry),
    encode=encode_frame,
    from_json=from_json,
    exchanges=EXCHANGES,
    frames=table_frames((LATEST, {APPEND: None, FETCH: None})),
    fields_schema=partial(fields_schema, (LATEST,)),
)
