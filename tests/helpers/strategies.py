"""Hypothesis strategies made from declarations: whatever a message can hold."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, TypeVar

from hypothesis import strategies as st

from wiretool.codec.cursor import Span
from wiretool.codec.message import Message, Side, fields_of
from wiretool.codec.nested import Nested
from wiretool.codec.types import (
    Bool,
    Data,
    Int,
    ListOf,
    NamedByte,
    RestBytes,
    Text16,
    Uuid,
    WireType,
)
from wiretool.errors import DecodeError
from wiretool.protocols.pravega.structures import (
    NONE_I64,
    EventFrame,
    InnerEvent,
    SizedKey,
    SizedValue,
    TableKey,
    TableValue,
    Zeros,
)

M = TypeVar("M", bound=Message)
#: Who sends a message, and the message.
Saying = tuple[Side, Message]
SIDES: tuple[Side, Side] = ("client", "server")
T = TypeVar("T")

_KEYS = st.one_of(
    st.builds(TableKey, data=st.binary(min_size=1, max_size=20), key_version=st.integers(-(2**63), 2**63 - 1)),
    st.just(TableKey(data=b"", key_version=NONE_I64)),
)

#: Wire type, and what a field of it may hold; the first that fits counts.
_VALUES: Sequence[tuple[Any, Callable[[Any], st.SearchStrategy[Any]]]] = (
    (Int, lambda wire: st.integers(wire.low, wire.high)),
    (Bool, lambda wire: st.booleans()),
    (Uuid, lambda wire: st.uuids().map(str)),
    # Two lone surrogates next to each other are one character on the wire.
    (Text16, lambda wire: st.text(st.characters(exclude_categories=["Cs"]), max_size=30)),
    (Data, lambda wire: st.binary(max_size=60)),
    (ListOf, lambda wire: st.lists(values(wire.element), max_size=3).map(_readable)),
    (NamedByte, lambda wire: st.sampled_from(sorted(wire.names.values()))),
    (Nested, lambda wire: messages(wire.cls)),
    (EventFrame, lambda wire: st.builds(InnerEvent, data=st.binary(max_size=60))),
    (SizedKey, lambda wire: _KEYS),
    (SizedValue, lambda wire: st.builds(TableValue, data=st.binary(max_size=20))),
    (Zeros, lambda wire: st.integers(0, 100)),
)


def _readable(elements: Sequence[Any]) -> tuple[Any, ...]:
    """The elements, less an empty key at the end: its payload size counts a version that is not there, so readers
    refuse it where nothing else stands behind it."""
    end = len(elements)
    while end and isinstance(elements[end - 1], TableKey) and not elements[end - 1].data:
        end -= 1
    return tuple(elements[:end])


def values(wire: WireType) -> st.SearchStrategy[Any]:
    """What a field of this wire type may hold."""
    return next(made for kind, made in _VALUES if isinstance(wire, kind))(wire)


def messages(cls: type[M]) -> st.SearchStrategy[M]:
    """Every message of a class."""
    return _messages(cls)


@cache  # made and looked through once: for each example that would take longer than the example
def _messages(cls: Any) -> st.SearchStrategy[Any]:
    return st.fixed_dictionaries({field.name: values(field.wire) for field in fields_of(cls)}).map(
        lambda fields: cls(**fields)
    )


def sender_of(message: Message) -> Side:
    """Who may send it; the client where both may."""
    return "server" if type(message).declaration.sender == "server" else "client"


def commands(classes: Sequence[type[Message]]) -> st.SearchStrategy[Saying]:
    """Any message of a protocol whose frames hold one each."""
    return st.sampled_from(classes).flatmap(messages).map(lambda message: (sender_of(message), message))


def required_bytes(message: Message) -> int:
    """How many bytes of the message must be there: those in front of an optional tail, or of a field with the rest."""
    out = bytearray()
    for field in fields_of(type(message)):
        inner = field.wire.cls if isinstance(field.wire, Nested) else None
        if field.is_optional or isinstance(field.wire, RestBytes | Zeros):
            break
        if inner is not None and any(each.is_optional for each in fields_of(inner)):
            break
        field.wire.write(getattr(message, field.name), out, field.name)
    return len(out)


def attempt(read: Callable[[], T]) -> tuple[T | None, DecodeError | None]:
    """What is read, or the defect that is met."""
    try:
        return read(), None
    except DecodeError as err:
        return None, err


def outcome(read: Callable[[], T]) -> object:
    """What is read, or all that a defect says but its words: for comparing decoders."""
    value, err = attempt(read)
    return value if err is None else (type(err), err.kind, err.path, err.offset)


def tiles(spans: Sequence[Span], at: int, end: int) -> bool:
    """Whether the spans follow one another from `at` to `end`, with no hole and no overlap."""
    for span in spans:
        if span.offset != at:
            return False
        at += span.length
    return at == end
