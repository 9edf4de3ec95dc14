"""The wire part of sbp-0.1: messages and framing."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from wiretool.codec.message import Side
from wiretool.errors import EncodeError
from wiretool.protocols.base.protocol import Wire
from wiretool.protocols.sbp.forms import frame_from_json
from wiretool.protocols.sbp.framing import encode_frame, table_frames
from wiretool.protocols.sbp.json_schema import fields_schema
from wiretool.protocols.sbp.messages import APPEND, FETCH, SbpFrame, check_declarations
from wiretool.protocols.sbp_0_1 import tables_s1, tables_s2
from wiretool.protocols.sbp_0_1.connection_encoder import Sbp01Encoder
from wiretool.protocols.sbp_0_1.exchanges import EXCHANGES
from wiretool.protocols.sbp_0_1.messages import S1, S2
from wiretool.protocols.sbp_0_1.records import BatchS1, BatchS2
from wiretool.protocols.sbp_0_1.session import BatchConversation

check_declarations(S1)
check_declarations(S2)


def from_json(name: str, side: Side, fields: Mapping[str, Any]) -> SbpFrame:
    """The frame of operation `name` from its JSON form: by S1 where that has such fields, else by S2."""
    try:
        return frame_from_json(S1, name, side, fields)
    except EncodeError as err:
        try:
            return frame_from_json(S2, name, side, fields)
        except EncodeError:
            raise err from None


WIRE = Wire(
    open=BatchConversation,
    messages=(SbpFrame, *S1.tables, BatchS1, *S2.tables, tables_s2.SystemErrorResponse, BatchS2),
    encode=encode_frame,
    from_json=from_json,
    exchanges=EXCHANGES,
    frames=table_frames(
        *(
            (schema, {APPEND: tables.AppendRequest, FETCH: tables.FetchResponse})
            for schema, tables in ((S1, tables_s1), (S2, tables_s2))
        )
    ),
    fields_schema=partial(fields_schema, (S1, S2)),
    encoder=Sbp01Encoder,
)
