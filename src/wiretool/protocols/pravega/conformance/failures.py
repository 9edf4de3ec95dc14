"""Cases of failures that many requests share: missing and sealed segments, tables and segments mistaken for another."""

from collections.abc import Iterator
from typing import Any

from wiretool.conformance.case import (
    MUST,
    OBSERVED,
    SHOULD,
    Case,
    Reply,
    case,
    expect_any,
    expect_close,
    reply,
    send,
)
from wiretool.protocols.pravega.conformance.attributes import NAME
from wiretool.protocols.pravega.conformance.steps import (
    CONTENT,
    MISSING,
    NO_VALUE,
    OTHER,
    SEGMENT,
    WRITER,
    filled,
    hello,
    info,
    numbered,
    rid,
    several,
    still_open,
)
from wiretool.protocols.pravega.conformance.table_cases.steps import entries_form, key_form

_MAPPING = "protocols/pravega.md §5.1"
_NO_OFFSET = -1
_OFFSET = 77
_KEYS = [key_form(b"k")]
#: A request about one segment, the field that names this, and the fields that it has besides.
Request = tuple[str, str, dict[str, Any]]

#: The requests about plain segments, with the offset that their failures have.
PLAIN: tuple[tuple[Request, int], ...] = (
    (("GetStreamSegmentInfo", "segment_name", {}), _NO_OFFSET),
    (("SealSegment", "segment", {}), _NO_OFFSET),
    (("DeleteSegment", "segment", {}), _NO_OFFSET),
    (("TruncateSegment", "segment", {"truncation_offset": _OFFSET}), _OFFSET),
    (("UpdateSegmentPolicy", "segment", {"target_rate": 1, "scale_type": 0}), _NO_OFFSET),
    (("GetSegmentAttribute", "segment_name", {"attribute_id": NAME}), _NO_OFFSET),
    (
        (
            "UpdateSegmentAttribute",
            "segment_name",
            {"attribute_id": NAME, "new_value": 1, "expected_value": NO_VALUE},
        ),
        _NO_OFFSET,
    ),
    (("SetupAppend", "segment", {"writer_id": WRITER}), _NO_OFFSET),
    (("ReadSegment", "segment", {"offset": _OFFSET, "suggested_length": 100}), _OFFSET),
    (("MergeSegments", "source", {"target": OTHER}), _NO_OFFSET),
)
#: The requests about tables.
TABLES: tuple[Request, ...] = (
    ("GetTableSegmentInfo", "segment_name", {}),
    ("DeleteTableSegment", "segment", {"must_be_empty": False}),
    ("UpdateTableEntries", "segment", {"table_entries": entries_form([(b"k", -1, b"v")])}),
    ("RemoveTableKeys", "segment", {"keys": _KEYS}),
    ("ReadTable", "segment", {"keys": _KEYS}),
    ("ReadTableKeys", "segment", {"suggested_key_count": 2, "args": {}}),
    ("ReadTableEntries", "segment", {"suggested_entry_count": 2, "args": {}}),
    ("ReadTableEntriesDelta", "segment", {"from_position": 0, "suggested_entry_count": 2}),
)


def request(number: int, of: Request, segment: Any, **fields: Any) -> Any:
    """Send a request about a segment."""
    message, field, others = of
    return send(message, request_id=rid(number), **{field: segment, **others, **fields})


def _missing() -> Iterator[Case]:
    requests = (*PLAIN, *((each, _NO_OFFSET) for each in TABLES))
    for name, (of, offset) in several("pravega/failure/1", requests):
        yield case(
            name,
            MUST,
            f"{of[0]} about a missing segment is answered with NoSuchSegment, and the connection stays open.",
            _MAPPING,
            hello(),
            filled(OTHER),
            request(5, of, MISSING),
            expect_any(numbered(5, reply("NoSuchSegment", segment=MISSING, offset=offset))),
            still_open(),
        )


def _mistaken() -> Iterator[Case]:
    """Table commands about segments that are none."""
    for name, of in several("pravega/failure/31", TABLES):
        yield case(
            name,
            SHOULD,
            f"{of[0]} about a segment that is not a table ends the connection, and the segment does not change.",
            "protocols/pravega.md §5.1, §5.2 (GET_TABLE_SEGMENT_INFO)",
            hello(),
            filled(),
            request(5, of, SEGMENT),
            expect_close(),
            info(len(CONTENT), on="b"),
        )


def _here_or_elsewhere(number: int, segment: Any, *outcomes: Reply) -> Any:
    """Wait for the outcome of a store that has the container of a segment, or of one that has not."""
    elsewhere = reply("WrongHost", segment=segment, correct_host="")
    return expect_any(*(numbered(number, each) for each in (*outcomes, elsewhere)))


CASES: tuple[Case, ...] = (
    *_missing(),
    *_mistaken(),
    case(
        "pravega/failure/41",
        OBSERVED,
        "A store serves the segments of its own containers, and answers WrongHost for all others.",
        f"{_MAPPING}; captures/pravega-server wronghost_all",
        send("CreateSegment", request_id=rid(1), segment=SEGMENT, target_rate=0, scale_type=0),
        _here_or_elsewhere(1, SEGMENT, reply("SegmentCreated", segment=SEGMENT)),
        send("GetStreamSegmentInfo", request_id=rid(2), segment_name=SEGMENT),
        _here_or_elsewhere(2, SEGMENT, reply("StreamSegmentInfo", segment_name=SEGMENT, write_offset=0)),
        send("SetupAppend", request_id=rid(3), writer_id=WRITER, segment=SEGMENT),
        _here_or_elsewhere(3, SEGMENT, reply("AppendSetup", segment=SEGMENT, writer_id=WRITER)),
        send("SealSegment", request_id=rid(5), segment=SEGMENT),
        _here_or_elsewhere(5, SEGMENT, reply("SegmentSealed", segment=SEGMENT)),
        send("TruncateSegment", request_id=rid(6), segment=SEGMENT, truncation_offset=0),
        _here_or_elsewhere(6, SEGMENT, reply("SegmentTruncated", segment=SEGMENT)),
        send("GetSegmentAttribute", request_id=rid(7), segment_name=SEGMENT, attribute_id=NAME),
        _here_or_elsewhere(7, SEGMENT, reply("SegmentAttribute", value=NO_VALUE)),
        send("MergeSegments", request_id=rid(8), target=SEGMENT, source=MISSING),
        _here_or_elsewhere(8, MISSING, reply("NoSuchSegment", segment=MISSING, offset=-1)),
        send("CreateTableSegment", request_id=rid(9), segment=SEGMENT),
        _here_or_elsewhere(9, SEGMENT, reply("SegmentAlreadyExists", segment=SEGMENT)),
        send("DeleteSegment", request_id=rid(13), segment=SEGMENT),
        _here_or_elsewhere(13, SEGMENT, reply("SegmentDeleted", segment=SEGMENT)),
    ),
    case(
        "pravega/failure/42",
        MUST,
        "Failures end no connection and change nothing: the same request succeeds once its segment exists.",
        _MAPPING,
        hello(),
        request(5, PLAIN[0][0], SEGMENT),
        expect_any(numbered(5, reply("NoSuchSegment", segment=SEGMENT))),
        filled(),
        info(len(CONTENT)),
    ),
)
