"""Steps that many cases share: the greeting, a new segment, a writer, an append."""

from typing import Any

from wiretool.conformance.case import FIRST, Send, Steps, expect, send
from wiretool.conformance.values import Free, Text, Uuid, Var

#: A segment of the case's own.
SEGMENT = Text("{scope}/{stream}/0.#epoch.0")
WRITER = Uuid("writer")
#: The number of a writer that has stored nothing (protocols/pravega.md §4.2).
NO_EVENT = -(2**63)
#: The newest and oldest wire versions that a client of 0.13 names.
HIGHEST, LOWEST = 17, 5
#: Bytes of an event in a block before its payload: type and length.
EVENT_HEADER_BYTES = 8


def hello(*, on: str = FIRST) -> Steps:
    """Exchange Hello."""
    return (send("Hello", on=on, high_version=Free(HIGHEST), low_version=Free(LOWEST)), expect("Hello", on=on))


def create(segment: Any = SEGMENT, *, request_id: int = 1, on: str = FIRST) -> Steps:
    """Create a segment."""
    rid = Var(f"create{request_id}", request_id)
    return (
        send(
            "CreateSegment",
            on=on,
            request_id=rid,
            segment=segment,
            scale_type=Free(0),
            target_rate=Free(0),
        ),
        expect("SegmentCreated", on=on, request_id=rid, segment=segment),
    )


def set_up(segment: Any = SEGMENT, writer: Any = WRITER, *, request_id: int = 2, on: str = FIRST) -> Steps:
    """Set a new writer up."""
    rid = Var(f"set_up{request_id}", request_id)
    return (
        send("SetupAppend", on=on, request_id=rid, writer_id=writer, segment=segment),
        expect("AppendSetup", on=on, request_id=rid, segment=segment, writer_id=writer, last_event_number=NO_EVENT),
    )


def open_segment(*, on: str = FIRST) -> Steps:
    """Greet, create the segment of the case and set its writer up."""
    return (hello(on=on), create(on=on), set_up(on=on))


def event(payload: bytes) -> bytes:
    """Return an event as it stands in a block: type 0, length and payload (protocols/pravega.md §4.3)."""
    return bytes(4) + len(payload).to_bytes(4, "big") + payload


def append(
    payload: bytes = b"event", *, number: Any = 0, writer: Any = WRITER, request_id: Any = 3, on: str = FIRST
) -> Send:
    """Send one event as an append without an open block."""
    data = event(payload)
    return send(
        "AppendBlockEnd",
        on=on,
        writer_id=writer,
        size_of_whole_events=len(data),
        data=data.hex(),
        num_events=1,
        last_event_number=number,
        request_id=request_id,
    )
