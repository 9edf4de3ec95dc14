"""Cases of truncated segments (protocols/pravega.md §5.2)."""

from collections.abc import Iterator

from wiretool.conformance.case import (
    MUST,
    SHOULD,
    Case,
    Steps,
    case,
    expect,
    expect_any,
    expect_close,
    reply,
    send,
)
from wiretool.protocols.pravega.conformance.steps import (
    CONTENT,
    SEGMENT,
    append,
    ask,
    event,
    filled,
    hello,
    info,
    parked,
    read,
    reads,
    rid,
    seal,
    segment_read,
    set_up,
    truncate,
)

_TABLE = "protocols/pravega.md §5.2"


def _truncate_cases() -> Iterator[Case]:
    yield case(
        "pravega/segment/15",
        MUST,
        "Truncation moves the start of a segment and not its length.",
        _TABLE,
        hello(),
        filled(),
        truncate(20),
        info(len(CONTENT), start=20),
        reads(20, CONTENT[20:]),
    )
    yield case(
        "pravega/segment/16",
        MUST,
        "Truncation at the current start succeeds.",
        _TABLE,
        hello(),
        filled(),
        truncate(20),
        truncate(20, request_id=23),
        info(len(CONTENT), start=20),
    )
    yield case(
        "pravega/segment/17",
        MUST,
        "Truncation before the start is refused with the start, and changes nothing.",
        _TABLE,
        hello(),
        filled(),
        truncate(20),
        _not_truncated(19, start=20),
        info(len(CONTENT), start=20),
    )
    yield case(
        "pravega/segment/18",
        MUST,
        "Truncation after the end is refused, and changes nothing.",
        _TABLE,
        hello(),
        filled(),
        ask(
            4,
            "TruncateSegment",
            reply("SegmentIsTruncated", segment=SEGMENT, offset=len(CONTENT) + 1),
            segment=SEGMENT,
            truncation_offset=len(CONTENT) + 1,
        ),
        info(len(CONTENT)),
    )
    yield case(
        "pravega/segment/19",
        MUST,
        "Truncation at the end leaves an empty segment; the next append continues at that offset.",
        _TABLE,
        hello(),
        filled(),
        truncate(len(CONTENT)),
        info(len(CONTENT), start=len(CONTENT)),
        read(len(CONTENT)),
        parked(seconds=0.3),
        set_up(request_id=3, on="b"),
        append(b"after", number=0, on="b"),
        expect("DataAppended", on="b", current_segment_write_offset=len(CONTENT) + 13),
        expect_any(segment_read(len(CONTENT), event(b"after"), at_tail=True)),
    )
    yield case(
        "pravega/segment/20",
        MUST,
        "A sealed segment can be truncated.",
        _TABLE,
        hello(),
        filled(),
        seal(),
        truncate(20),
        info(len(CONTENT), start=20, is_sealed=True),
    )
    yield case(
        "pravega/segment/21",
        SHOULD,
        "Truncation at a negative offset ends the connection, and changes nothing.",
        f"{_TABLE}, §5.1 (trap a)",
        hello(),
        filled(),
        send("TruncateSegment", request_id=rid(3), segment=SEGMENT, truncation_offset=-1),
        expect_close(),
        info(len(CONTENT), on="b"),
    )


def _not_truncated(offset: int, *, start: int) -> Steps:
    return ask(
        4,
        "TruncateSegment",
        reply("SegmentIsTruncated", segment=SEGMENT, start_offset=start, offset=offset),
        segment=SEGMENT,
        truncation_offset=offset,
    )


CASES = tuple(_truncate_cases())
