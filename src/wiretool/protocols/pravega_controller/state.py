"""How conversations with Pravega's controller are saved between two batches of a stream."""

from collections import deque

from wiretool.codec.state_types import (
    BOOL,
    BUFFER,
    BYTES,
    INT,
    SIDE,
    TEXT,
    by_side,
    many,
    optional,
    pairs,
    plain,
    ref,
    row,
)
from wiretool.codec.states import StateClass, attributes
from wiretool.protocols.base.state import ConversationState
from wiretool.protocols.pravega_controller.blocks import Block, Blocks
from wiretool.protocols.pravega_controller.connection import Connection
from wiretool.protocols.pravega_controller.grpc_messages import Held, Joiner
from wiretool.protocols.pravega_controller.headers import HeaderReader
from wiretool.protocols.pravega_controller.session import Phase, Session, Stream

_CLASSES: tuple[StateClass, ...] = (
    attributes(
        "pravega-controller",
        Connection,
        _session=ref(Session),
        _blocks=by_side(ref(Blocks)),
        _length_max=by_side(optional(INT)),
        _settings=by_side(many(INT, deque)),
        _pings=by_side(pairs(BYTES, INT)),
        is_decided=BOOL,
        doubt=TEXT,
    ),
    attributes(
        "pravega-controller.session",
        Session,
        phases=by_side(plain(Phase)),
        _whole=many(SIDE, set),
        _streams=pairs(INT, ref(Stream)),
        _held=ref(Held),
        _last_opened=INT,
        _last_forgotten=INT,
    ),
    attributes(
        "pravega-controller.stream",
        Stream,
        number=INT,
        phases=by_side(plain(Phase)),
        method=TEXT,
        asked_n=optional(INT),
        answered=BOOL,
        is_malformed=BOOL,
        said=by_side(INT),
        joiners=by_side(ref(Joiner)),
    ),
    attributes("pravega-controller.held", Held, count=INT),
    attributes("pravega-controller.joiner", Joiner, _held=ref(Held), _data=BUFFER, _is_certain=BOOL, _skip=INT),
    attributes("pravega-controller.blocks", Blocks, reader=ref(HeaderReader), _open=optional(ref(Block))),
    attributes(
        "pravega-controller.block",
        Block,
        stream_id=INT,
        is_promise=BOOL,
        ends_stream=BOOL,
        data=optional(BYTES),
        is_first=BOOL,
    ),
    StateClass(
        "pravega-controller.headers",
        HeaderReader,
        {
            "is_whole": BOOL,
            "fields": many(row(BYTES, BYTES)),
            "table_bytes": INT,
            "is_resized": BOOL,
            "table_bytes_max": INT,
        },
        split=HeaderReader.split,
        restore=HeaderReader.restore,
    ),
)

STATE = ConversationState(Connection, _CLASSES)
