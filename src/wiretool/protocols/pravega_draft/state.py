"""How conversations of the 2017 draft are saved between two batches of a stream."""

from collections import deque
from functools import partial
from typing import Literal

from wiretool.codec.state_types import BOOL, BUFFER, INT, TEXT, by_side, fresh, many, optional, pairs, plain, ref, row
from wiretool.codec.states import StateClass, attributes
from wiretool.protocols.base.state import ConversationState
from wiretool.protocols.pravega_draft.blocks import Block, Blocks, Writer
from wiretool.protocols.pravega_draft.messages import BeginAppendBlock, EndAppendBlock
from wiretool.protocols.pravega_draft.pairing import Acks, Asked, Requests
from wiretool.protocols.pravega_draft.partial_messages import Partial
from wiretool.protocols.pravega_draft.session import DraftConversation

_CLASSES: tuple[StateClass, ...] = (
    attributes(
        "pravega-draft",
        DraftConversation,
        blocks=ref(Blocks),
        partials=by_side(ref(Partial)),
        _is_sure_of_partials=by_side(BOOL),
        requests=ref(Requests),
        acks=ref(Acks),
        keep_alives=many(INT, partial(deque, maxlen=256)),
        _has_gaps=BOOL,
    ),
    attributes(
        "pravega-draft.blocks",
        Blocks,
        writers=pairs(TEXT, ref(Writer)),
        is_whole=BOOL,
        phase=plain(Literal["outside", "block", "tail", "lost"]),
        _block=optional(ref(Block)),
        _losses=INT,
        _belated=fresh(list),
    ),
    attributes(
        "pravega-draft.block",
        Block,
        begin=ref(BeginAppendBlock),
        end=optional(ref(EndAppendBlock)),
        stored=BUFFER,
        between=INT,
        is_too_large=BOOL,
    ),
    StateClass(
        "pravega-draft.begin",
        BeginAppendBlock,
        {"connection_id": TEXT, "connection_offset": INT, "length": INT},
        make=lambda connection_id, connection_offset, length: BeginAppendBlock(
            connection_id=connection_id, connection_offset=connection_offset, length=length
        ),
    ),
    StateClass(
        "pravega-draft.end",
        EndAppendBlock,
        {"connection_id": TEXT, "connection_offset": INT, "block_length": INT},
        make=lambda connection_id, connection_offset, block_length: EndAppendBlock(
            connection_id=connection_id, connection_offset=connection_offset, block_length=block_length
        ),
    ),
    attributes(
        "pravega-draft.writer", Writer, segment=optional(TEXT), offset=INT, losses=INT, asked=INT, first=optional(INT)
    ),
    attributes("pravega-draft.partial", Partial, _data=BUFFER, _bytes=INT, _is_open=BOOL),
    attributes("pravega-draft.requests", Requests, _by_segment=pairs(TEXT, many(ref(Asked))), _has_gaps=BOOL),
    attributes("pravega-draft.asked", Asked, n=INT, connection_id=TEXT, offset=INT, is_answered=BOOL),
    attributes("pravega-draft.acks", Acks, _waiting=pairs(TEXT, many(row(INT, INT), deque)), _has_gaps=BOOL),
)

STATE = ConversationState(DraftConversation, _CLASSES)
