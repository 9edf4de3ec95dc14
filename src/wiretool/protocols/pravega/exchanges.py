"""Which commands wait for an answer: those that an answer is declared for, and appends."""

from itertools import chain

from wiretool.codec.message import Message
from wiretool.protocols.base.exchanges import Exchanges, Fields
from wiretool.protocols.pravega.commands import MESSAGES
from wiretool.protocols.pravega.messages import (
    AppendBlockEnd,
    ConditionalAppend,
    ConditionalBlockEnd,
    DataAppended,
    Hello,
    KeepAlive,
    ReadSegment,
)
from wiretool.protocols.pravega.pairing import ANSWERS

APPENDS: tuple[type[Message], ...] = (AppendBlockEnd, ConditionalAppend, ConditionalBlockEnd)
_ASKS: set[type[Message]] = {*APPENDS, Hello, KeepAlive, *chain.from_iterable(ANSWERS.values())}
_FAILURES = frozenset(cls.declaration.name for cls in MESSAGES if cls.declaration.is_failure)


def failure(name: str, fields: Fields) -> str | None:
    """A failure is a command of its own."""
    return name if name in _FAILURES else None


EXCHANGES = Exchanges(
    asks=frozenset((cls.declaration.name, "client") for cls in _ASKS),
    may_ask=frozenset((cls.declaration.name, "client") for cls in MESSAGES if cls.declaration.sender == "client"),
    # An ack is for every append of the writer up to its number (`pairing.Acks`).
    settles={DataAppended.declaration.name: frozenset(cls.declaration.name for cls in APPENDS)},
    failure=failure,
    failures=_FAILURES,
    may_wait=frozenset({ReadSegment.declaration.name}),
)
