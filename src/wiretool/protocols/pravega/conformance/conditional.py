"""Cases of conditional appends (protocols/pravega.md §3.4 D20 to D22, §3.7)."""

from typing import Any

from wiretool.conformance.case import (
    CLOSED,
    MUST,
    OBSERVED,
    Case,
    Send,
    SendBytes,
    case,
    expect,
    expect_any,
    expect_close,
    reply,
    send,
    together,
)
from wiretool.protocols.pravega.conformance.raw_frames import raw_frame, shorter
from wiretool.protocols.pravega.conformance.steps import (
    SEGMENT,
    WRITER,
    ack,
    acked,
    append,
    create,
    event,
    hello,
    info,
    invalid_number,
    open_segment,
    reads,
    rid,
    seal,
    set_up,
)

_FAILURES = "protocols/pravega.md §3.7 (4)"
_DECODER = "protocols/pravega.md §3.4"
_CONDITIONAL_APPEND = 5
COND = event(b"cond")


def conditional(number: int, expected: int, *, request_id: int = 3, on: str = "a", change: Any = None) -> Send:
    """Send one event that is to be stored at an offset only."""
    return send(
        "ConditionalAppend",
        on=on,
        change=change,
        writer_id=WRITER,
        event_number=number,
        expected_offset=expected,
        event={"data": b"cond".hex()},
        request_id=rid(request_id),
    )


def conditional_raw(
    number: int, expected: int, data: bytes = b"rawbytes", *, request_id: int = 3, change: Any = None
) -> Send:
    """Send bytes that are to be stored at an offset only."""
    return send(
        "ConditionalBlockEnd",
        change=change,
        writer_id=WRITER,
        event_number=number,
        expected_offset=expected,
        data=data.hex(),
        request_id=rid(request_id),
    )


def _failed(number: int, *, request_id: int = 3) -> Any:
    return expect("ConditionalCheckFailed", writer_id=WRITER, event_number=number, request_id=rid(request_id))


def _malformed(nested_type: int, nested_length: int) -> SendBytes:
    """Send a ConditionalAppend whose nested event has this header."""
    return raw_frame(
        _CONDITIONAL_APPEND,
        WRITER,
        (1).to_bytes(8, "big"),
        (0).to_bytes(8, "big"),
        nested_type.to_bytes(4, "big"),
        nested_length.to_bytes(4, "big"),
        b"cond",
        (7).to_bytes(8, "big"),
        words=f"ConditionalAppend with a nested type {nested_type} and length {nested_length}",
    )


CASES: tuple[Case, ...] = (
    case(
        "pravega/conditional/1",
        MUST,
        "A conditional append at the length of the segment is stored with its header, and acknowledged.",
        f"{_DECODER} (D21)",
        open_segment(),
        conditional(1, 0),
        acked(12, number=1),
        conditional(2, 12),
        acked(24, number=2, previous=1),
        reads(0, COND + COND),
    ),
    case(
        "pravega/conditional/2",
        MUST,
        "A conditional append beyond the end is refused, and nothing is stored; the connection goes on.",
        _FAILURES,
        open_segment(),
        conditional(1, 500),
        _failed(1),
        info(0),
    ),
    case(
        "pravega/conditional/3",
        MUST,
        "A conditional append before the end is refused, and nothing is stored.",
        _FAILURES,
        open_segment(),
        conditional(1, 0),
        acked(12, number=1),
        conditional(2, 0, request_id=4),
        _failed(2, request_id=4),
        conditional(2, 11, request_id=5),
        _failed(2, request_id=5),
        info(12),
    ),
    case(
        "pravega/conditional/4",
        MUST,
        "After a refused conditional append the writer continues after its last stored event number.",
        _FAILURES,
        open_segment(),
        conditional(1, 0),
        acked(12, number=1),
        conditional(2, 0, request_id=4),
        _failed(2, request_id=4),
        conditional(3, 12, request_id=5),
        acked(24, number=3, previous=1, request_id=5),
        set_up(request_id=6, last=3, on="b"),
    ),
    case(
        "pravega/conditional/5",
        MUST,
        "A conditional append with a lower number ends the connection, and nothing is stored.",
        f"{_DECODER} (D20)",
        open_segment(),
        conditional(5, 0),
        acked(12, number=5),
        conditional(4, 12),
        expect_close(),
        info(12, on="b"),
    ),
    case(
        "pravega/conditional/6",
        MUST,
        "A conditional append of a writer that is not set up ends the connection.",
        f"{_DECODER} (D20)",
        conditional(1, 0),
        expect_close(),
    ),
    case(
        "pravega/conditional/7",
        MUST,
        "A conditional append whose nested event is longer than the frame ends the connection.",
        "protocols/pravega.md §2.1",
        open_segment(),
        _malformed(0, 500),
        expect_close(),
        info(0, on="b"),
    ),
    case(
        "pravega/conditional/8",
        MUST,
        "A conditional append whose nested frame is not an event ends the connection.",
        "protocols/pravega.md §2.1",
        open_segment(),
        _malformed(3, 4),
        expect_close(),
        info(0, on="b"),
    ),
    case(
        "pravega/conditional/9",
        MUST,
        "A conditional append whose nested event is longer than the rest of the frame ends the connection.",
        "protocols/pravega.md §2.1",
        open_segment(),
        _malformed(0, 30),
        expect_close(),
        info(0, on="b"),
    ),
    case(
        "pravega/conditional/10",
        MUST,
        "A conditional append to a sealed segment is refused with its event number.",
        _FAILURES,
        open_segment(),
        seal(request_id=4),
        conditional(1, 0),
        expect("SegmentIsSealed", request_id=rid(3), segment=SEGMENT, offset=1),
    ),
    case(
        "pravega/conditional/11",
        MUST,
        "The bytes of a conditional block are stored as they are, at the length of the segment only.",
        f"{_DECODER} (D22)",
        open_segment(),
        conditional_raw(1, 0),
        acked(8, number=1),
        conditional_raw(2, 8),
        acked(16, number=2, previous=1),
        conditional_raw(3, 3),
        _failed(3),
        reads(0, b"rawbytesrawbytes"),
    ),
    case(
        "pravega/conditional/12",
        OBSERVED,
        "Conditional appends that arrive together are refused or stored; each acknowledged one is stored.",
        f"{_FAILURES}; captures/pravega-server cond_pipelined",
        open_segment(),
        together(conditional(1, 0), conditional(2, 0), conditional(3, 12)),
        expect_any(ack(12, number=1), reply("ConditionalCheckFailed", writer_id=WRITER, event_number=2)),
        expect_any(reply("ConditionalCheckFailed", writer_id=WRITER, event_number=2), ack(12, number=1)),
        expect_any(ack(24, number=3, previous=1), invalid_number(3), reply(CLOSED)),
    ),
    case(
        "pravega/conditional/13",
        MUST,
        "The event number is checked before the offset: an overtaken writer is refused for its event number.",
        f"{_FAILURES}; captures/pravega-server cond_two_conns",
        hello(),
        create(),
        set_up(request_id=7),
        set_up(request_id=9, on="b"),
        conditional(1, 0, request_id=9, on="b"),
        acked(12, number=1, request_id=9, on="b"),
        conditional(1, 0, request_id=7),
        expect_any(invalid_number(1, request_id=7)),
        expect_close(),
        info(12, on="b"),
    ),
    case(
        "pravega/conditional/14",
        MUST,
        "With the offset -1 an append is unconditional.",
        _FAILURES,
        open_segment(),
        append(number=1),
        acked(13, number=1),
        conditional(2, -1, request_id=4),
        acked(25, number=2, previous=1, request_id=4),
    ),
    case(
        "pravega/conditional/15",
        MUST,
        "A conditional append of the oldest layout, without a request id, is acknowledged with -1.",
        "protocols/pravega.md §1.4",
        open_segment(),
        conditional(1, 0, change=shorter(8)),
        expect("DataAppended", writer_id=WRITER, event_number=1, request_id=-1, current_segment_write_offset=12),
    ),
    case(
        "pravega/conditional/16",
        MUST,
        "A conditional block without a request id ends the connection: it has no default.",
        "protocols/pravega.md §2 (CONDITIONAL_BLOCK_END)",
        open_segment(),
        conditional_raw(1, 0, change=shorter(8)),
        expect_close(),
        info(0, on="b"),
    ),
    case(
        "pravega/conditional/17",
        MUST,
        "Conditional and plain appends of a writer share its numbers.",
        _FAILURES,
        open_segment(),
        append(number=1),
        acked(13, number=1),
        conditional(2, 13, request_id=4),
        acked(25, number=2, previous=1, request_id=4),
        append(number=3, request_id=5),
        acked(38, number=3, previous=2, request_id=5),
    ),
    case(
        "pravega/conditional/18",
        MUST,
        "After truncation the offset of a conditional append counts from 0, not from the start offset.",
        _FAILURES,
        open_segment(),
        append(number=1),
        acked(13, number=1),
        send("TruncateSegment", request_id=rid(8), segment=SEGMENT, truncation_offset=13),
        expect("SegmentTruncated", request_id=rid(8), segment=SEGMENT),
        conditional(2, 0, request_id=4),
        _failed(2, request_id=4),
        conditional(3, 13, request_id=5),
        acked(25, number=3, previous=1, request_id=5),
    ),
)
