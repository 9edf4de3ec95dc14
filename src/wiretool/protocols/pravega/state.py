"""How conversations of Pravega are saved between two batches of a stream."""

from collections import OrderedDict
from collections.abc import Mapping
from functools import cache
from typing import Any, Literal

from wiretool.codec.state_types import (
    BOOL,
    BYTES,
    INT,
    TEXT,
    either,
    fresh,
    many,
    named,
    optional,
    pairs,
    plain,
    ref,
    row,
)
from wiretool.codec.states import StateClass, attributes, value
from wiretool.protocols.base.state import ConversationState
from wiretool.protocols.pravega import PROTOCOL
from wiretool.protocols.pravega.appends import Appends, Writer
from wiretool.protocols.pravega.messages import AppendBlock
from wiretool.protocols.pravega.pairing import Acks, Asked, Requests
from wiretool.protocols.pravega.session import PravegaConversation


@cache
def _messages() -> Mapping[str, Any]:
    return {cls.__name__: cls for cls in PROTOCOL.messages}


_MESSAGE = named(_messages, lambda cls: str(cls.__name__))

_CLASSES: tuple[StateClass, ...] = (
    attributes(
        "pravega",
        PravegaConversation,
        appends=ref(Appends),
        requests=ref(Requests),
        acks=ref(Acks),
        _segments=many(TEXT, set),
        is_main_port=BOOL,
    ),
    attributes(
        "pravega.appends",
        Appends,
        writers=pairs(TEXT, ref(Writer)),
        is_whole=BOOL,
        phase=plain(Literal["idle", "block", "lost"]),
        _block=optional(ref(AppendBlock)),
        _era=INT,
        _by_segment=pairs(TEXT, pairs(TEXT, fresh(type(None)))),
    ),
    attributes("pravega.writer", Writer, segment=optional(TEXT), last=INT, era=INT),
    StateClass(
        "pravega.append-block",
        AppendBlock,
        {"writer_id": TEXT, "data": BYTES},
        make=lambda writer_id, data: AppendBlock(writer_id=writer_id, data=data),
    ),
    attributes(
        "pravega.requests",
        Requests,
        _by_id=pairs(either(INT, str, _MESSAGE, type), many(ref(Asked))),
        _count=INT,
        _has_gaps=BOOL,
        _is_in_step=BOOL,
        _first_after_gap=optional(INT),
    ),
    value("pravega.asked", Asked, n=INT, cls=_MESSAGE, position=optional(row(TEXT, INT))),
    attributes("pravega.acks", Acks, _waiting=pairs(TEXT, pairs(INT, row(INT, INT), OrderedDict)), _count=INT),
)

STATE = ConversationState(PravegaConversation, _CLASSES)
