"""Steps that many cases share: the greeting, new segments, writers, appends, and requests with their replies."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from wiretool.conformance.case import (
    CLOSED,
    FIRST,
    NOTHING,
    Expect,
    Reply,
    Send,
    Steps,
    expect,
    expect_nothing,
    reply,
    send,
)
from wiretool.conformance.values import Bindings, Check, Free, Saved, Text, Uuid, Var, one_of

#: Segments of the case's own; the last one does not exist.
SEGMENT = Text("{scope}/{stream}/0.#epoch.0")
OTHER = Text("{scope}/{stream}/1.#epoch.0")
THIRD = Text("{scope}/{stream}/2.#epoch.0")
MISSING = Text("{scope}/{missing}/0.#epoch.0")
WRITER, SECOND_WRITER = Uuid("writer"), Uuid("second_writer")
#: The number of a writer that has stored nothing, an attribute that is absent (protocols/pravega.md §2.2).
NO_EVENT = NO_VALUE = -(2**63)
I64_MAX = 2**63 - 1
#: The newest and oldest wire versions that a client of 0.13 names.
HIGHEST, LOWEST = 17, 5
#: The highest wire version of the oldest servers that the cases are meant for (0.11.0).
OLDEST_SERVED = 15
#: What stands for the request id that an older layout of a request does not have.
NO_REQUEST_ID = one_of(-1)
#: The server's highest wire version, bound by its Hello.
SERVER_VERSION = "server_version"
#: The wire version from which on InvalidEventNumber has the number (protocols/pravega.md §2).
_NUMBER_SINCE = 16


class Bounded(Free):
    """A number that the requirement depends on only by its bounds."""

    def __init__(self, value: int, least: int, most: int) -> None:
        super().__init__(value)
        self._bounds = least, most

    def matches(self, value: Any, bindings: Bindings) -> bool:
        least, most = self._bounds
        return isinstance(value, int) and least <= value <= most


def rid(number: int) -> Var:
    """Return a request id of the client's own."""
    return Var(f"request{number}", number)


# -- connections -------------------------------------------------------------------------------------------------------


def hello(*, on: str = FIRST) -> Steps:
    """Exchange Hello."""
    return (
        send(
            "Hello",
            on=on,
            high_version=Bounded(HIGHEST, OLDEST_SERVED, 2**31),
            low_version=Bounded(LOWEST, 0, OLDEST_SERVED),
        ),
        expect("Hello", on=on, high_version=Saved(SERVER_VERSION)),
    )


def still_open(*, on: str = FIRST) -> Steps:
    """Show that the server still serves a connection."""
    return (send("KeepAlive", on=on), expect("KeepAlive", on=on))


# -- requests ----------------------------------------------------------------------------------------------------------


def ask(
    number: int, message: str, /, *outcomes: Reply, on: str = FIRST, within_s: float | None = None, **fields: Any
) -> Steps:
    """Send a request and wait for one of these outcomes; those that are replies have its id."""
    return (
        send(message, on=on, request_id=rid(number), **fields),
        Expect(tuple(numbered(number, each) for each in outcomes), on, within_s),
    )


def numbered(number: int, outcome: Reply) -> Reply:
    """Return an outcome with the id of its request, unless it has another or none."""
    if outcome.message in (CLOSED, NOTHING) or "request_id" in outcome.fields:
        return outcome
    return replace(outcome, fields={"request_id": rid(number), **outcome.fields})


def create(segment: Any = SEGMENT, *, request_id: int = 1, on: str = FIRST) -> Steps:
    """Create a segment."""
    return ask(
        request_id,
        "CreateSegment",
        reply("SegmentCreated", segment=segment),
        on=on,
        segment=segment,
        scale_type=Free(0),
        target_rate=Free(0),
    )


def set_up(
    segment: Any = SEGMENT, writer: Any = WRITER, *, request_id: int = 2, last: int = NO_EVENT, on: str = FIRST
) -> Steps:
    """Set a writer up, which has stored this number last."""
    return ask(
        request_id,
        "SetupAppend",
        reply("AppendSetup", segment=segment, writer_id=writer, last_event_number=last),
        on=on,
        writer_id=writer,
        segment=segment,
    )


def open_segment(*, on: str = FIRST) -> Steps:
    """Greet, create the segment of the case and set its writer up."""
    return (hello(on=on), create(on=on), set_up(on=on))


def seal(segment: Any = SEGMENT, *, request_id: int = 20, on: str = FIRST) -> Steps:
    """Seal a segment."""
    return ask(request_id, "SealSegment", reply("SegmentSealed", segment=segment), on=on, segment=segment)


def delete(segment: Any = SEGMENT, *, request_id: int = 21, on: str = FIRST) -> Steps:
    """Delete a segment."""
    return ask(request_id, "DeleteSegment", reply("SegmentDeleted", segment=segment), on=on, segment=segment)


def truncate(offset: int, segment: Any = SEGMENT, *, request_id: int = 22, on: str = FIRST) -> Steps:
    """Truncate a segment."""
    return ask(
        request_id,
        "TruncateSegment",
        reply("SegmentTruncated", segment=segment),
        on=on,
        segment=segment,
        truncation_offset=offset,
    )


def info(
    length: int,
    segment: Any = SEGMENT,
    *,
    start: int = 0,
    is_sealed: bool = False,
    request_id: int = 30,
    on: str = FIRST,
) -> Steps:
    """Ask what a segment is like, and expect this."""
    return ask(
        request_id,
        "GetStreamSegmentInfo",
        reply(
            "StreamSegmentInfo",
            segment_name=segment,
            exists=True,
            is_sealed=is_sealed,
            is_deleted=False,
            write_offset=length,
            start_offset=start,
        ),
        on=on,
        segment_name=segment,
    )


def no_info(segment: Any = SEGMENT, *, request_id: int = 31, on: str = FIRST) -> Steps:
    """Ask what a segment is like that is not there."""
    return ask(
        request_id,
        "GetStreamSegmentInfo",
        reply("NoSuchSegment", segment=segment, offset=-1),
        on=on,
        segment_name=segment,
    )


def attribute(value: Any, attribute_id: Any, segment: Any = SEGMENT, *, request_id: int = 32, on: str = FIRST) -> Steps:
    """Ask for an attribute, and expect this value."""
    return ask(
        request_id,
        "GetSegmentAttribute",
        reply("SegmentAttribute", value=value),
        on=on,
        segment_name=segment,
        attribute_id=attribute_id,
    )


# -- appends -----------------------------------------------------------------------------------------------------------


def event(payload: bytes) -> bytes:
    """Return an event as it stands in a block: type 0, length and payload (protocols/pravega.md §2.1)."""
    return bytes(4) + len(payload).to_bytes(4, "big") + payload


def append(
    payload: bytes = b"event", *, number: Any = 0, writer: Any = WRITER, request_id: Any = 3, on: str = FIRST
) -> Send:
    """Send one event as an append without an open block."""
    return append_raw(event(payload), number=number, writer=writer, request_id=request_id, on=on)


def append_raw(
    data: bytes,
    *,
    number: Any = 0,
    events: int = 1,
    size: int | None = None,
    writer: Any = WRITER,
    request_id: Any = 3,
    on: str = FIRST,
    change: Any = None,
) -> Send:
    """Send an AppendBlockEnd with any data; `size` is what it says of whole events, else the length of the data."""
    return send(
        "AppendBlockEnd",
        on=on,
        change=change,
        writer_id=writer,
        size_of_whole_events=len(data) if size is None else size,
        data=data.hex(),
        num_events=events,
        last_event_number=number,
        request_id=rid(request_id) if isinstance(request_id, int) else request_id,
    )


def ack(
    length: int,
    *,
    number: Any = 0,
    previous: Any = NO_EVENT,
    writer: Any = WRITER,
    request_id: Any = 3,
) -> Reply:
    """Return the acknowledgement of an append after which the segment has this length."""
    return reply(
        "DataAppended",
        writer_id=writer,
        event_number=number,
        previous_event_number=previous,
        request_id=rid(request_id) if isinstance(request_id, int) else request_id,
        current_segment_write_offset=length,
    )


def acked(
    length: int,
    *,
    number: Any = 0,
    previous: Any = NO_EVENT,
    writer: Any = WRITER,
    request_id: Any = 3,
    on: str = FIRST,
) -> Expect:
    """Wait for the acknowledgement of an append."""
    return Expect((ack(length, number=number, previous=previous, writer=writer, request_id=request_id),), on)


def block(data: bytes, *, writer: Any = WRITER, on: str = FIRST) -> Send:
    """Open a block."""
    return send("AppendBlock", on=on, writer_id=writer, data=data.hex())


def end_block(
    size: int,
    data: bytes = b"",
    *,
    number: int = 0,
    events: int = 1,
    writer: Any = WRITER,
    request_id: int = 3,
    on: str = FIRST,
) -> Send:
    """End a block of which `size` bytes are whole events."""
    return append_raw(data, number=number, events=events, size=size, writer=writer, request_id=request_id, on=on)


def invalid_number(number: int, *, request_id: int = 3, writer: Any = WRITER) -> Reply:
    """Return the refusal of an append whose writer was moved on elsewhere; servers before version 16 tell no number."""
    return reply(
        "InvalidEventNumber",
        writer_id=writer,
        request_id=rid(request_id),
        event_number=Check(
            f"{number}, or -1 before wire version {_NUMBER_SINCE}",
            lambda value, values: value == (number if values.get(SERVER_VERSION, HIGHEST) >= _NUMBER_SINCE else -1),
        ),
    )


#: The contents that cases give a segment before what they are about: one event, 48 bytes with its header.
CONTENT = event(b"0123456789" * 4)


def filled(
    segment: Any = SEGMENT, data: bytes = CONTENT, *, writer: Any = None, first_id: int = 40, on: str = FIRST
) -> Steps:
    """Create a segment and append data to it."""
    filler = writer or Uuid(f"filler{first_id}")
    return (
        create(segment, request_id=first_id, on=on),
        set_up(segment, filler, request_id=first_id + 1, on=on),
        append_raw(data, writer=filler, request_id=first_id + 2, on=on),
        acked(len(data), writer=filler, request_id=first_id + 2, on=on),
    )


# -- reads -------------------------------------------------------------------------------------------------------------


def read(offset: int, *, length: int = 1000, segment: Any = SEGMENT, request_id: int = 50, on: str = FIRST) -> Send:
    """Ask for bytes."""
    return send(
        "ReadSegment", on=on, segment=segment, offset=offset, suggested_length=length, request_id=rid(request_id)
    )


def segment_read(
    offset: int,
    data: bytes,
    *,
    at_tail: Any = False,
    ends: bool = False,
    segment: Any = SEGMENT,
    request_id: Any = 50,
) -> Reply:
    """Return the reply to a read."""
    return reply(
        "SegmentRead",
        segment=segment,
        offset=offset,
        at_tail=at_tail,
        end_of_segment=ends,
        data=data.hex(),
        request_id=rid(request_id) if isinstance(request_id, int) else request_id,
    )


def reads(
    offset: int,
    data: bytes,
    *,
    length: int = 1000,
    at_tail: Any = True,
    ends: bool = False,
    segment: Any = SEGMENT,
    request_id: int = 50,
    on: str = FIRST,
) -> Steps:
    """Ask for bytes, and expect these at once; they reach the tail unless it is said otherwise."""
    found = segment_read(offset, data, at_tail=at_tail, ends=ends, segment=segment, request_id=request_id)
    return (read(offset, length=length, segment=segment, request_id=request_id, on=on), Expect((found,), on))


def parked(*, seconds: float = 0.5, on: str = FIRST) -> Expect:
    """Expect that a read at the tail has no reply yet."""
    return expect_nothing(on=on, seconds=seconds)


def appended(
    payload: bytes, length: int, *, segment: Any = SEGMENT, number: int = 1, first_id: int = 60, on: str = "b"
) -> Steps:
    """Append an event to a segment as a new writer on another connection."""
    writer = Uuid(f"later{first_id}")
    return (
        set_up(segment, writer, request_id=first_id, on=on),
        append(payload, number=number, writer=writer, request_id=first_id, on=on),
        acked(length, number=number, writer=writer, request_id=first_id, on=on),
    )


def several(first: str, cases: Sequence[Any]) -> Sequence[tuple[str, Any]]:
    """Return ids that count on from one, beside what they are for: `pravega/failure/7` on."""
    stem, _, start = first.rpartition("/")
    return [(f"{stem}/{number}", each) for number, each in enumerate(cases, int(start))]
