"""Cases of index segments and of other things of one wire version (protocols/pravega.md §3.7, §5.2)."""

from typing import Any

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
from wiretool.conformance.values import Text
from wiretool.protocols.pravega.conformance.steps import (
    MISSING,
    SEGMENT,
    WRITER,
    append,
    ask,
    filled,
    hello,
    info,
    numbered,
    rid,
)

_LOCATE = "protocols/pravega.md §5.2 (LOCATE_OFFSET)"
_INDEX = Text("{scope}/{stream}/0.#epoch.0#index")
_NEWEST = "wire-17"


def _locate(number: int, target: int, offset: int, segment: Any = SEGMENT) -> Steps:
    return ask(
        number,
        "LocateOffset",
        reply("OffsetLocated", segment=segment, offset=offset),
        segment=segment,
        target_offset=target,
    )


def _two_appends(segment: Any = SEGMENT) -> Steps:
    """Fill a segment with 48 bytes, and with 9 more."""
    return (
        filled(segment),
        ask(
            60,
            "SetupAppend",
            reply("AppendSetup", writer_id=WRITER),
            writer_id=WRITER,
            segment=segment,
        ),
        append(b"x", request_id=61),
        expect_any(numbered(61, reply("DataAppended", current_segment_write_offset=57))),
    )


CASES: tuple[Case, ...] = (
    case(
        "pravega/index/1",
        MUST,
        "A server of wire version 17 names it in Hello.",
        "protocols/pravega.md §4.1",
        send("Hello", high_version=17, low_version=5),
        expect("Hello", high_version=17, low_version=5),
        variant=_NEWEST,
    ),
    case(
        "pravega/index/2",
        MUST,
        "An offset inside an append is located at its end, one at an end there.",
        _LOCATE,
        _two_appends(),
        _locate(1, 0, 48),
        _locate(2, 1, 48),
        _locate(3, 48, 48),
        _locate(4, 49, 57),
        variant=_NEWEST,
    ),
    case(
        "pravega/index/3",
        MUST,
        "An offset beyond the last append is located at the length of the segment.",
        _LOCATE,
        _two_appends(),
        _locate(1, 58, 57),
        _locate(2, 2**62, 57),
        variant=_NEWEST,
    ),
    case(
        "pravega/index/4",
        MUST,
        "In a segment without an index every offset is located at its length.",
        _LOCATE,
        _two_appends(Text("{plain}")),
        _locate(1, 0, 57, Text("{plain}")),
        variant=_NEWEST,
    ),
    case(
        "pravega/index/5",
        MUST,
        "An offset of a missing segment is refused.",
        _LOCATE,
        ask(1, "LocateOffset", reply("NoSuchSegment", segment=MISSING), segment=MISSING, target_offset=0),
        variant=_NEWEST,
    ),
    case(
        "pravega/index/6",
        MUST,
        "The segment of a stream has an index segment, which has an entry of 24 bytes for each append.",
        "protocols/pravega.md §3.7, §5.2 (CREATE_SEGMENT)",
        _two_appends(),
        info(48, _INDEX),
        variant=_NEWEST,
    ),
    case(
        "pravega/index/7",
        MUST,
        "The index of a segment is deleted with it.",
        "protocols/pravega.md §5.2 (DELETE_SEGMENT)",
        filled(),
        ask(1, "DeleteSegment", reply("SegmentDeleted", segment=SEGMENT), segment=SEGMENT),
        ask(2, "GetStreamSegmentInfo", reply("NoSuchSegment", segment=_INDEX), segment_name=_INDEX),
        variant=_NEWEST,
    ),
    case(
        "pravega/index/8",
        SHOULD,
        "An index segment deleted by its own name is gone, and the answer is an ErrorMessage.",
        "protocols/pravega.md §5.2 (DELETE_SEGMENT)",
        filled(),
        ask(1, "DeleteSegment", reply("ErrorMessage", error_code=0), segment=_INDEX),
        ask(2, "GetStreamSegmentInfo", reply("NoSuchSegment", segment=_INDEX), segment_name=_INDEX),
        info(48),
        variant=_NEWEST,
    ),
    case(
        "pravega/index/9",
        MUST,
        "A segment of a transaction, and a transient one, have no index.",
        "protocols/pravega.md §3.7 (1)",
        filled(Text("{scope}/{stream}/0.#epoch.0#transaction.00000000000000000000000000000001")),
        ask(
            2,
            "GetStreamSegmentInfo",
            reply("NoSuchSegment"),
            segment_name=Text("{scope}/{stream}/0.#epoch.0#transaction.00000000000000000000000000000001#index"),
        ),
        variant=_NEWEST,
    ),
    case(
        "pravega/index/10",
        MUST,
        "Before wire version 16, InvalidEventNumber has the event number -1.",
        "protocols/pravega.md §2 (INVALID_EVENT_NUMBER), §4.1",
        hello(),
        ask(1, "CreateSegment", reply("SegmentCreated"), segment=SEGMENT, target_rate=0, scale_type=0),
        *(
            ask(number, "SetupAppend", reply("AppendSetup"), on=on, writer_id=WRITER, segment=SEGMENT)
            for number, on in ((7, "a"), (9, "b"))
        ),
        append(b"x", number=1, request_id=9, on="b"),
        expect("DataAppended", on="b", event_number=1),
        append(b"x", number=1, request_id=7),
        expect("InvalidEventNumber", request_id=rid(7), writer_id=WRITER, event_number=-1),
        expect_close(),
        variant="wire-15",
    ),
)
