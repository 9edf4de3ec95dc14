"""Which messages of the draft wait for an answer; a block may be completed by the rest of an event that it cut."""

from wiretool.codec.message import Message
from wiretool.protocols.base.exchanges import Exchanges, Fields, Match
from wiretool.protocols.pravega_draft.messages import (
    MESSAGES,
    AppendSetup,
    DataAppended,
    EndAppendBlock,
    KeepAlive,
    PartialMessage,
    ReadSegment,
    SegmentRead,
    SetupAppend,
)

_ASKS = (SetupAppend, EndAppendBlock, ReadSegment, KeepAlive)
_FAILURES = frozenset(cls.declaration.name for cls in MESSAGES if cls.declaration.is_failure)


def failure(name: str, fields: Fields) -> str | None:
    """A failure is a message of its own."""
    return name if name in _FAILURES else None


def _match(
    reply: type[Message], request: type[Message], reply_fields: tuple[str, ...], request_fields: tuple[str, ...]
) -> Match:
    names = frozenset({reply.declaration.name}), frozenset({request.declaration.name})
    return Match(*names, reply_fields, request_fields)


EXCHANGES = Exchanges(
    asks=frozenset((cls.declaration.name, "client") for cls in _ASKS),
    may_ask=frozenset({(PartialMessage.declaration.name, "client")}),
    # An ack is for every block of the appender up to its offset (`pairing.Acks`).
    settles={DataAppended.declaration.name: frozenset({EndAppendBlock.declaration.name})},
    failure=failure,
    failures=_FAILURES,
    may_wait=frozenset({ReadSegment.declaration.name}),
    matches=(
        _match(AppendSetup, SetupAppend, ("segment", "connection_id"), ("segment", "connection_id")),
        _match(
            DataAppended,
            EndAppendBlock,
            ("connection_id", "connection_offset_ack_level"),
            ("connection_id", "connection_offset"),
        ),
        _match(SegmentRead, ReadSegment, ("segment", "offset"), ("segment", "offset")),
        _match(KeepAlive, KeepAlive, (), ()),
    ),
)
