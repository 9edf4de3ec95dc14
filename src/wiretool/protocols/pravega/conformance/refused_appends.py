"""Cases of appends that a store refuses: sealed and deleted segments (protocols/pravega.md §3.7)."""

from wiretool.conformance.case import (
    CLOSED,
    MUST,
    NOTHING,
    OBSERVED,
    Case,
    Steps,
    case,
    expect,
    expect_all,
    expect_any,
    reply,
    together,
)
from wiretool.protocols.pravega.conformance.steps import (
    OTHER,
    SECOND_WRITER,
    SEGMENT,
    ack,
    acked,
    append,
    create,
    delete,
    info,
    numbered,
    open_segment,
    rid,
    seal,
    set_up,
)

_FAILURES = "protocols/pravega.md §3.7 (4)"


def _refused(number: int) -> Steps:
    """Return steps of a further append to a sealed segment; servers that forget the writer close the connection."""
    return (
        append(number=number),
        expect_any(numbered(3, reply("SegmentIsSealed", segment=SEGMENT, offset=number)), reply(CLOSED)),
    )


CASES: tuple[Case, ...] = (
    case(
        "pravega/append/22",
        MUST,
        "An append to a segment that was sealed in the meantime is refused with its event number, and not stored.",
        _FAILURES,
        open_segment(),
        append(number=1),
        acked(13, number=1),
        seal(on="b"),
        append(number=2),
        expect("SegmentIsSealed", request_id=rid(3), segment=SEGMENT, offset=2),
        info(13, is_sealed=True, on="b"),
    ),
    case(
        "pravega/append/23",
        OBSERVED,
        "After an append was refused, the next one of its writer ends the connection, or is refused as well.",
        f"{_FAILURES}; captures/pravega-server append_sealed_midway",
        open_segment(),
        append(number=1),
        acked(13, number=1),
        seal(on="b"),
        append(number=2),
        expect("SegmentIsSealed", request_id=rid(3), segment=SEGMENT, offset=2),
        _refused(3),
    ),
    case(
        "pravega/append/24",
        OBSERVED,
        "Of several appends that arrive together at a sealed segment each is refused, or one, or the connection ends.",
        f"{_FAILURES}; captures/pravega-server append_sealed_x3",
        open_segment(),
        seal(on="b"),
        together(*(append(number=number) for number in (1, 2, 3))),
        expect_any(
            *(numbered(3, reply("SegmentIsSealed", segment=SEGMENT, offset=number)) for number in (1, 3)),
            reply(CLOSED),
        ),
        *(
            expect_any(
                numbered(3, reply("SegmentIsSealed", segment=SEGMENT, offset=number)),
                reply(CLOSED),
                reply(NOTHING),
                within_s=0.3,
            )
            for number in (2, 3)
        ),
    ),
    case(
        "pravega/append/25",
        MUST,
        "The refusal of one writer's append does not affect the other writers of the connection.",
        f"{_FAILURES}; captures/pravega-server append_sealed_other_writer",
        open_segment(),
        create(OTHER, request_id=4),
        set_up(OTHER, SECOND_WRITER, request_id=8),
        seal(),
        together(append(number=1), append(number=1, writer=SECOND_WRITER, request_id=8)),
        expect_all(
            numbered(3, reply("SegmentIsSealed", segment=SEGMENT, offset=1)),
            ack(13, number=1, writer=SECOND_WRITER, request_id=8),
        ),
        append(number=2, writer=SECOND_WRITER, request_id=8),
        acked(26, number=2, previous=1, writer=SECOND_WRITER, request_id=8),
    ),
    case(
        "pravega/append/26",
        MUST,
        "An append to a segment that was deleted in the meantime is answered with NoSuchSegment.",
        _FAILURES,
        open_segment(),
        append(number=1),
        acked(13, number=1),
        delete(on="b"),
        append(number=2),
        expect("NoSuchSegment", request_id=rid(3), segment=SEGMENT, offset=-1),
    ),
    case(
        "pravega/append/27",
        OBSERVED,
        "After an append to a deleted segment, the next one ends the connection, or is answered in the same way.",
        f"{_FAILURES}; captures/pravega-server append_deleted_midway",
        open_segment(),
        append(number=1),
        acked(13, number=1),
        delete(on="b"),
        append(number=2),
        expect("NoSuchSegment", request_id=rid(3), segment=SEGMENT, offset=-1),
        append(number=3),
        expect_any(numbered(3, reply("NoSuchSegment", segment=SEGMENT, offset=-1)), reply(CLOSED)),
    ),
)
