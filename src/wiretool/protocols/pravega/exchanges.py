"""Which commands wait for an answer: those that an answer is declared for, and appends."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain

from wiretool.codec.message import Message, fields_of
from wiretool.protocols.base.exchanges import Exchanges, Fields, Match
from wiretool.protocols.pravega.commands import MESSAGES
from wiretool.protocols.pravega.failures import InvalidEventNumber
from wiretool.protocols.pravega.messages import (
    AppendBlockEnd,
    ConditionalAppend,
    ConditionalBlockEnd,
    ConditionalCheckFailed,
    DataAppended,
    Hello,
    KeepAlive,
    ReadSegment,
    SegmentRead,
)
from wiretool.protocols.pravega.pairing import ANSWERS

#: The field of each append with the number that its ack names.
_EVENT_NUMBERS: Mapping[type[Message], str] = {
    AppendBlockEnd: "last_event_number",
    ConditionalAppend: "event_number",
    ConditionalBlockEnd: "event_number",
}
APPENDS: tuple[type[Message], ...] = tuple(_EVENT_NUMBERS)
_ASKS: set[type[Message]] = {*APPENDS, Hello, KeepAlive, *chain.from_iterable(ANSWERS.values())}
_FAILURES = frozenset(cls.declaration.name for cls in MESSAGES if cls.declaration.is_failure)


def failure(name: str, fields: Fields) -> str | None:
    """A failure is a command of its own."""
    return name if name in _FAILURES else None


def _matches() -> Iterator[Match]:
    """Yield what tells which request a reply answers: its id, for appends the writer and the event number."""
    by_id = frozenset(cls for cls in _ASKS if any(field.name == "request_id" for field in fields_of(cls)))
    requests = _names(by_id - {*APPENDS})
    read = ("request_id", "segment", "offset")
    yield Match(_names((SegmentRead,)) | _FAILURES, _names((ReadSegment,)), read, read)
    for reply, classes in ANSWERS.items():
        yield Match(_names((reply,)), _names(classes), ("request_id",), ("request_id",))
    yield Match(_FAILURES, requests, ("request_id",), ("request_id",))
    yield Match(_FAILURES, _names((ReadSegment,)), ("request_id",), ("offset",))
    for append, number in _EVENT_NUMBERS.items():
        sent = ("writer_id", number)
        yield Match(_names((DataAppended,)), _names((append,)), ("writer_id", "event_number"), sent, settles=True)
        yield Match(
            _names((ConditionalCheckFailed,)) | _FAILURES, _names((append,)), ("writer_id", "event_number"), sent
        )
        # Before version 16 the event number stands in the place of the request id.
        yield Match(_names((InvalidEventNumber,)), _names((append,)), ("writer_id", "request_id"), sent)
        # Other failures have the event number in the place of the offset, or do not have it.
        yield Match(_FAILURES, _names((append,)), ("request_id", "offset"), ("request_id", number))
    yield Match(_FAILURES, _names(APPENDS), ("request_id",), ("request_id",))
    for both in (Hello, KeepAlive):
        yield Match(_names((both,)), _names((both,)), (), ())


def _names(classes: Iterable[type[Message]]) -> frozenset[str]:
    return frozenset(cls.declaration.name for cls in classes)


EXCHANGES = Exchanges(
    asks=frozenset((cls.declaration.name, "client") for cls in _ASKS),
    may_ask=frozenset((cls.declaration.name, "client") for cls in MESSAGES if cls.declaration.sender == "client"),
    # An ack is for every append of the writer up to its number (`pairing.Acks`).
    settles={DataAppended.declaration.name: frozenset(cls.declaration.name for cls in APPENDS)},
    failure=failure,
    failures=_FAILURES,
    may_wait=frozenset({ReadSegment.declaration.name}),
    matches=tuple(_matches()),
)
