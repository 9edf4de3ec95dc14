"""Steps that many cases of the draft share: appenders, blocks, reads."""

from typing import Any

from wiretool.conformance.case import FIRST, Expect, Send, SendBytes, Steps, expect, send
from wiretool.conformance.values import Text, Uuid

SEGMENT, OTHER = Text("{segment}"), Text("{other}")
APPENDER, SECOND_APPENDER = Uuid("appender"), Uuid("second_appender")
HEADER_BYTES = 8


def framed(type_id: int, payload: bytes = b"") -> bytes:
    """Return a frame of any type."""
    return type_id.to_bytes(4, "big", signed=True) + len(payload).to_bytes(4, "big") + payload


def raw(data: bytes, words: str) -> SendBytes:
    """Send bytes that are no message."""
    return SendBytes(data, words)


def event(payload: bytes) -> bytes:
    """Return an event as it is stored: with its header (S9)."""
    return framed(0, payload)


def set_up(segment: Any = SEGMENT, appender: Any = APPENDER, *, level: int = 0, on: str = FIRST) -> Steps:
    """Set an appender up, of which so many bytes are stored."""
    return (
        send("SetupAppend", on=on, connection_id=appender, segment=segment),
        expect("AppendSetup", on=on, segment=segment, connection_id=appender, connection_offset_ack_level=level),
    )


def begin(length: int, *, offset: int = 0, appender: Any = APPENDER, on: str = FIRST) -> Send:
    """Begin a block, whose end comes after so many bytes."""
    return send("BeginAppendBlock", on=on, connection_id=appender, connection_offset=offset, length=length)


def send_event(payload: bytes, *, on: str = FIRST) -> Send:
    """Send an event."""
    return send("Event", on=on, data=payload.hex())


def end(length: int, *, offset: int, appender: Any = APPENDER, on: str = FIRST) -> Send:
    """End a block of so many stored bytes, up to an offset of the appender."""
    return send("EndAppendBlock", on=on, connection_id=appender, connection_offset=offset, block_length=length)


def acked(level: int, *, appender: Any = APPENDER, on: str = FIRST) -> Expect:
    """Wait for the acknowledgement of so many bytes."""
    return expect("DataAppended", on=on, connection_id=appender, connection_offset_ack_level=level)


def append(*payloads: bytes, offset: int = 0, appender: Any = APPENDER, on: str = FIRST) -> Steps:
    """Append events in a block of their own, and wait for the acknowledgement."""
    length = sum(HEADER_BYTES + len(payload) for payload in payloads)
    return (
        begin(length, offset=offset, appender=appender, on=on),
        *(send_event(payload, on=on) for payload in payloads),
        end(length, offset=offset + length, appender=appender, on=on),
        acked(offset + length, appender=appender, on=on),
    )


def read(offset: int, *, length: int = 1000, segment: Any = SEGMENT, on: str = FIRST) -> Send:
    """Ask for bytes."""
    return send("ReadSegment", on=on, segment=segment, offset=offset, suggested_length=length)


def segment_read(
    offset: int,
    data: bytes,
    *,
    at_tail: bool = True,
    ends: bool = False,
    segment: Any = SEGMENT,
    on: str = FIRST,
) -> Expect:
    """Wait for bytes."""
    return expect(
        "SegmentRead", on=on, segment=segment, offset=offset, at_tail=at_tail, end_of_segment=ends, data=data.hex()
    )


def reads(offset: int, data: bytes, *, length: int = 1000, on: str = FIRST, **fields: Any) -> Steps:
    """Ask for bytes, and expect these at once."""
    return (
        read(offset, length=length, segment=fields.get("segment", SEGMENT), on=on),
        segment_read(offset, data, on=on, **fields),
    )


def part(marker: str, data: bytes) -> Send:
    """Send a part of a message that is cut."""
    return send("PartialMessage", part=marker, data=data.hex())
