"""Which messages of the draft wait for an answer; a block may be completed by the rest of an event that it cut."""

from wiretool.protocols.base.exchanges import Exchanges, Fields
from wiretool.protocols.pravega_draft.messages import (
    MESSAGES,
    DataAppended,
    EndAppendBlock,
    KeepAlive,
    PartialMessage,
    ReadSegment,
    SetupAppend,
)

_ASKS = (SetupAppend, EndAppendBlock, ReadSegment, KeepAlive)
_FAILURES = frozenset(cls.declaration.name for cls in MESSAGES if cls.declaration.is_failure)


def failure(name: str, fields: Fields) -> str | None:
    """A failure is a message of its own."""
    return name if name in _FAILURES else None


EXCHANGES = Exchanges(
    asks=frozenset((cls.declaration.name, "client") for cls in _ASKS),
    may_ask=frozenset({(PartialMessage.declaration.name, "client")}),
    # An ack is for every block of the appender up to its offset (`pairing.Acks`).
    settles={DataAppended.declaration.name: frozenset({EndAppendBlock.declaration.name})},
    failure=failure,
    failures=_FAILURES,
    may_wait=frozenset({ReadSegment.declaration.name}),
)
