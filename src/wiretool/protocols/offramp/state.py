"""How conversations of Offramp are saved between two batches of a stream."""

from collections import deque
from functools import partial

from wiretool.codec.state_types import (
    BOOL,
    BUFFER,
    BYTES,
    INT,
    SIDE,
    TEXT,
    by_side,
    either,
    many,
    optional,
    pairs,
    plain,
    ref,
    row,
)
from wiretool.codec.states import StateClass, attributes
from wiretool.errors import DecodeError, OverLimit, Truncated
from wiretool.protocols.base.state import ConversationState
from wiretool.protocols.offramp.connection import Connection
from wiretool.protocols.offramp.deflate import Inflater
from wiretool.protocols.offramp.messaging import Joiner
from wiretool.protocols.offramp.session import Phase, Session, Waiting

#: What a reply names of its request: a count, some bytes, or nothing.
_KEY = plain(int | bytes | None)


def _error(name: str, cls: type[DecodeError]) -> StateClass:
    return StateClass(
        name,
        cls,
        {"kind": TEXT, "why": TEXT, "path": TEXT, "offset": INT},
        make=lambda kind, why, path, offset: cls(kind, why, path=path, offset=offset),
    )


_CLASSES: tuple[StateClass, ...] = (
    attributes(
        "offramp",
        Connection,
        session=ref(Session),
        joiners=by_side(ref(Joiner)),
        deflates=optional(BOOL),
        is_packed=BOOL,
        _is_foreign=BOOL,
        _is_over=by_side(BOOL),
        _heads=by_side(INT),
        _asked=many(row(INT, TEXT), partial(deque, maxlen=1_024)),
        _cut_end=INT,
        _cut_count=INT,
        commits=ref(Waiting),
        _negative=ref(Waiting),
        _pings=by_side(ref(Waiting)),
        _closes=pairs(SIDE, INT),
    ),
    attributes("offramp.session", Session, phases=by_side(plain(Phase))),
    attributes(
        "offramp.waiting", Waiting, _numbers=pairs(_KEY, many(INT, deque)), _repeated=many(_KEY, set), _count=INT
    ),
    attributes(
        "offramp.joiner",
        Joiner,
        inflater=ref(Inflater),
        client_message_max=INT,
        _side=SIDE,
        _is_certain=BOOL,
        _opcode=INT,
        _is_compressed=BOOL,
        _is_dropped=BOOL,
        _content=BUFFER,
        _size=INT,
    ),
    StateClass(
        "offramp.inflater",
        Inflater,
        {
            "resets": BOOL,
            "is_sure": BOOL,
            "is_running": BOOL,
            "window": BYTES,
            "known": many(either(plain(bytes | None), int, ref(DecodeError), DecodeError)),
        },
        split=Inflater.split,
        restore=Inflater.restore,
    ),
    _error("decode-error", DecodeError),
    _error("over-limit", OverLimit),
    _error("truncated", Truncated),
)

STATE = ConversationState(Connection, _CLASSES)
