"""Sequences from recorded traffic: which messages a client sent, and which values of them a server had issued."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple

from wiretool.codec.message import Issued, Position
from wiretool.faults.adapter import FaultAdapter, Form, Kind
from wiretool.faults.places import Pattern, values_at
from wiretool.fuzz.sequences.sequence import Connect, Finish, FuzzSequence, IssuedValue, Pause, Reset, Sending, Step
from wiretool.protocols.base.exchanges import value_in
from wiretool.protocols.base.protocol import Protocol
from wiretool.records import Record

NS_PER_S = 1_000_000_000
#: Messages of one sequence at most; longer sessions are cut.
MESSAGES_MAX = 24
#: A shorter time without traffic is not part of the sequence.
PAUSE_MIN_NS = NS_PER_S
PAUSE_MAX_S = 60.0


class Began(NamedTuple):
    """A client connected to an endpoint."""

    connection: int
    time_ns: int
    endpoint: str = ""


class Seen(NamedTuple):
    """A frame of either side."""

    connection: int
    time_ns: int
    record: Record


class SentBytes(NamedTuple):
    """Bytes of the client that are not a frame."""

    connection: int
    time_ns: int
    data: bytes


class Left(NamedTuple):
    """The client ended a connection."""

    connection: int
    time_ns: int
    is_reset: bool


Event = Began | Seen | SentBytes | Left


@dataclass(slots=True)
class _Builder:
    protocol: Protocol
    adapter: FaultAdapter
    has_pauses: bool
    steps: list[Step] = field(default_factory=list)
    #: The index of the step by the number of the record of its request, and that record.
    requests: dict[int, tuple[int, Record]] = field(default_factory=dict)
    issued: dict[int, dict[str, list[IssuedValue]]] = field(default_factory=dict)
    last_ns: int = 0


def sequence_from(
    events: Iterable[Event], protocol: Protocol, adapter: FaultAdapter, *, origin: str, setup: str = "",
    has_pauses: bool = False, messages_max: int = MESSAGES_MAX,
) -> FuzzSequence:  # fmt: skip
    """Return the steps of the clients of a session; of a long one, its first `messages_max` messages."""
    build = _Builder(protocol, adapter, has_pauses)
    count = 0
    for event in events:
        if count == messages_max and not (isinstance(event, Seen) and event.record.side == "server"):
            break
        _add(build, event)
        count += isinstance(event, SentBytes) or (isinstance(event, Seen) and event.record.side == "client")
    steps = [_with_issued(build, index, step) for index, step in enumerate(build.steps)]
    return FuzzSequence(tuple(steps), origin, setup=setup)


def _add(build: _Builder, event: Event) -> None:
    if build.has_pauses and build.last_ns and event.time_ns - build.last_ns >= PAUSE_MIN_NS:
        build.steps.append(Pause(min((event.time_ns - build.last_ns) / NS_PER_S, PAUSE_MAX_S)))
    build.last_ns = event.time_ns
    if isinstance(event, Began):
        build.steps.append(Connect(event.connection, event.endpoint))
    elif isinstance(event, SentBytes):
        build.steps.append(Sending(event.connection, event.data))
    elif isinstance(event, Left):
        build.steps.append(Reset(event.connection) if event.is_reset else Finish(event.connection))
    elif event.record.side == "client":
        record = event.record
        build.requests[record.n] = len(build.steps), record
        build.steps.append(Sending(event.connection, record.raw, record.message, record))
    elif event.record.reply_to in build.requests:
        index, request = build.requests[event.record.reply_to]
        values = issued_values(build.adapter, event.record, request)
        if values:
            build.issued.setdefault(index, {}).setdefault(event.record.message, []).extend(values)


def _with_issued(build: _Builder, index: int, step: Step) -> Step:
    if not isinstance(step, Sending) or step.record is None:
        return step
    own = issued_values(build.adapter, step.record, None)
    issued: Mapping[str, tuple[IssuedValue, ...]] = {
        name: tuple(values) for name, values in build.issued.get(index, {}).items()
    }
    return Sending(
        step.connection,
        step.data,
        step.message,
        step.record,
        issued={**issued, "": tuple(own)},
        depends=bool(own),
    )


def issued_values(adapter: FaultAdapter, record: Record, request: Record | None) -> Sequence[IssuedValue]:
    """Return the values of a message that servers issue."""
    patterns = _patterns(adapter, (record.side, record.message))
    if not patterns:
        return ()
    form = adapter.form(record)
    return [
        IssuedValue(steps, role, _scope(role, form, request), value)
        for pattern, role in patterns
        for steps, value in values_at(form, pattern)
        if value not in role.besides
    ]


@cache
def _patterns(adapter: FaultAdapter, kind: Kind) -> Sequence[tuple[Pattern, Issued | Position]]:
    return [(pattern, role) for pattern, role in adapter.role_places(kind) if isinstance(role, Issued | Position)]


def _scope(role: Issued | Position, form: Form, request: Record | None) -> Any:
    """Return the scope of a value: a field of the message, or of its request."""
    if not role.within:
        return None
    value = form.get(role.within)
    if value is None and request is not None:
        value = value_in(request.fields, role.within)
    return value if isinstance(value, str | int | bytes | None) else repr(value)
