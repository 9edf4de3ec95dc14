"""Cases of the life of segments: create, delete, seal, info, policy (protocols/pravega.md §5.2)."""

from collections.abc import Iterator
from typing import Any

from wiretool.conformance.case import (
    CLOSED,
    MUST,
    OBSERVED,
    SHOULD,
    Case,
    case,
    expect,
    expect_any,
    expect_close,
    reply,
    send,
)
from wiretool.conformance.values import Free, Text, at_least
from wiretool.protocols.pravega.conformance.raw_frames import shorter
from wiretool.protocols.pravega.conformance.steps import (
    CONTENT,
    MISSING,
    OTHER,
    SEGMENT,
    ask,
    create,
    delete,
    event,
    filled,
    hello,
    info,
    no_info,
    reads,
    rid,
    seal,
    several,
    still_open,
    truncate,
)

_TABLE = "protocols/pravega.md §5.2"
#: Milliseconds since the epoch of a time before any server of this protocol was started (2017).
_EPOCH_MS_MIN = 1_483_228_800_000


def _create_cases() -> Iterator[Case]:
    yield case(
        "pravega/segment/1",
        MUST,
        "A new segment is empty, open and begins at 0.",
        _TABLE,
        hello(),
        create(),
        info(0),
    )
    yield case(
        "pravega/segment/2",
        MUST,
        "CreateSegment with an existing name is refused, and the segment does not change.",
        _TABLE,
        hello(),
        filled(),
        ask(
            2,
            "CreateSegment",
            reply("SegmentAlreadyExists", segment=SEGMENT),
            segment=SEGMENT,
            target_rate=0,
            scale_type=0,
        ),
        info(len(CONTENT)),
    )
    yield case(
        "pravega/segment/3",
        SHOULD,
        "A negative rate and an unknown scale type are taken.",
        _TABLE,
        hello(),
        ask(
            1,
            "CreateSegment",
            reply("SegmentCreated", segment=SEGMENT),
            segment=SEGMENT,
            target_rate=-10,
            scale_type=-1,
        ),
        info(0),
    )
    yield case(
        "pravega/segment/4",
        MUST,
        "An incomplete rollover size at the end of CreateSegment counts as absent.",
        "protocols/pravega.md §1.4",
        hello(),
        send("CreateSegment", change=shorter(4), request_id=rid(1), segment=SEGMENT, target_rate=0, scale_type=0),
        expect("SegmentCreated", request_id=rid(1), segment=SEGMENT),
        info(0),
    )
    yield case(
        "pravega/segment/5",
        SHOULD,
        "A rollover size is taken, a negative one as none.",
        _TABLE,
        hello(),
        *(
            ask(
                number,
                "CreateSegment",
                reply("SegmentCreated", segment=segment),
                segment=segment,
                target_rate=0,
                scale_type=0,
                rollover_size_bytes=size,
            )
            for number, segment, size in ((1, SEGMENT, 1000), (2, OTHER, -1000))
        ),
    )
    names = ("{plain}", "/{lead}", "{scope}/with space {stream}", "{scope}/{stream}#x", "{long}" + "x" * 300)
    yield case(
        "pravega/segment/6",
        OBSERVED,
        "Any name but the empty one is accepted.",
        f"{_TABLE}; captures/pravega-server life_create_plain_names",
        hello(),
        *(create(Text(name), request_id=number) for number, name in enumerate(names, 1)),
    )
    yield case(
        "pravega/segment/7",
        SHOULD,
        "A segment without a name is not created: the connection ends.",
        _TABLE,
        hello(),
        send("CreateSegment", request_id=rid(1), segment="", target_rate=0, scale_type=0),
        expect_close(),
    )


def _gone_cases() -> Iterator[Case]:
    yield case(
        "pravega/segment/8",
        MUST,
        "An open segment can be deleted; then it is missing, to a second deletion as well.",
        _TABLE,
        hello(),
        filled(),
        delete(),
        ask(4, "DeleteSegment", reply("NoSuchSegment", segment=SEGMENT, offset=-1), segment=SEGMENT),
        no_info(),
    )
    yield case(
        "pravega/segment/9",
        MUST,
        "A sealed segment can be deleted.",
        _TABLE,
        hello(),
        filled(),
        seal(),
        delete(),
        no_info(on="b"),
    )
    yield case(
        "pravega/segment/10",
        OBSERVED,
        "The name of a segment that was deleted is not free at once, though every other request finds no segment.",
        _TABLE,
        hello(),
        create(),
        delete(),
        ask(
            4,
            "CreateSegment",
            reply("SegmentAlreadyExists", segment=SEGMENT),
            segment=SEGMENT,
            target_rate=0,
            scale_type=0,
        ),
        no_info(),
    )
    yield case(
        "pravega/segment/11",
        OBSERVED,
        "The name of a segment that was merged into another is not free at once.",
        f"{_TABLE}; captures/pravega-server life_recreate_merged",
        hello(),
        filled(),
        filled(OTHER, event(b"source"), first_id=44),
        ask(
            3,
            "MergeSegments",
            reply("SegmentsMerged", target=SEGMENT, source=OTHER, new_target_write_offset=62),
            target=SEGMENT,
            source=OTHER,
        ),
        *(
            ask(
                number,
                "CreateSegment",
                reply("SegmentAlreadyExists", segment=OTHER),
                segment=OTHER,
                target_rate=0,
                scale_type=0,
            )
            for number in (4, 5)
        ),
    )
    yield case(
        "pravega/segment/12",
        MUST,
        "The deletion of one segment leaves the others of its stream.",
        _TABLE,
        hello(),
        filled(),
        create(OTHER, request_id=2),
        delete(OTHER),
        info(len(CONTENT)),
        no_info(OTHER),
    )


def _seal_cases() -> Iterator[Case]:
    yield case(
        "pravega/segment/13",
        MUST,
        "StreamSegmentInfo of a sealed segment has is_sealed set, and the length does not change.",
        _TABLE,
        hello(),
        filled(),
        seal(),
        info(len(CONTENT), is_sealed=True, on="b"),
    )
    yield case(
        "pravega/segment/14",
        MUST,
        "Sealing a sealed segment or a missing one is refused.",
        _TABLE,
        hello(),
        filled(),
        seal(),
        ask(4, "SealSegment", reply("SegmentIsSealed", segment=SEGMENT, offset=-1), segment=SEGMENT),
        ask(5, "SealSegment", reply("NoSuchSegment", segment=MISSING, offset=-1), segment=MISSING),
    )


def _info_cases() -> Iterator[Case]:
    yield case(
        "pravega/segment/22",
        MUST,
        "StreamSegmentInfo has the length of a segment and its last modification time, in ms since the epoch.",
        "protocols/pravega.md §2 (STREAM_SEGMENT_INFO)",
        hello(),
        filled(),
        ask(
            990,
            "GetStreamSegmentInfo",
            reply(
                "StreamSegmentInfo",
                segment_name=SEGMENT,
                exists=True,
                is_sealed=False,
                is_deleted=False,
                last_modified=at_least(_EPOCH_MS_MIN),
                write_offset=len(CONTENT),
                start_offset=0,
            ),
            segment_name=SEGMENT,
        ),
    )
    yield case(
        "pravega/segment/23",
        SHOULD,
        "From wire version 17 on a stream's segment has an index segment; before, it is missing.",
        f"{_TABLE}; captures/pravega-server info_index",
        hello(),
        filled(),
        ask(
            990,
            "GetStreamSegmentInfo",
            reply("NoSuchSegment", segment=Text("{scope}/{stream}/0.#epoch.0#index"), offset=-1),
            reply("StreamSegmentInfo", segment_name=Text("{scope}/{stream}/0.#epoch.0#index"), write_offset=24),
            segment_name=Text("{scope}/{stream}/0.#epoch.0#index"),
        ),
    )


def _policy_cases() -> Iterator[Case]:
    policy: dict[str, Any] = {"segment": SEGMENT, "target_rate": Free(100), "scale_type": Free(2)}
    yield case(
        "pravega/segment/24",
        MUST,
        "The policy of an open segment can be changed, and nothing else with it.",
        _TABLE,
        hello(),
        filled(),
        ask(3, "UpdateSegmentPolicy", reply("SegmentPolicyUpdated", segment=SEGMENT), **policy),
        info(len(CONTENT)),
        reads(0, CONTENT),
    )
    yield case(
        "pravega/segment/25",
        MUST,
        "The policy of a sealed segment cannot be changed.",
        _TABLE,
        hello(),
        create(),
        seal(),
        ask(3, "UpdateSegmentPolicy", reply("SegmentIsSealed", segment=SEGMENT, offset=-1), **policy),
    )


def _request_ids() -> Iterator[Case]:
    """Any number is a request id."""
    for name, number in several("pravega/segment/26", (0, -1, 2**63 - 1, -(2**63))):
        yield case(
            name,
            MUST,
            f"The request id {number} comes back as it was sent.",
            "protocols/pravega.md §2.2",
            hello(),
            send("CreateSegment", request_id=number, segment=SEGMENT, target_rate=0, scale_type=0),
            expect("SegmentCreated", request_id=number, segment=SEGMENT),
            send("GetStreamSegmentInfo", request_id=number, segment_name=SEGMENT),
            expect("StreamSegmentInfo", request_id=number, segment_name=SEGMENT, write_offset=0),
        )


def _two_on_one_segment() -> Iterator[Case]:
    yield case(
        "pravega/segment/30",
        MUST,
        "A change to a segment on one connection is visible on another at once.",
        _TABLE,
        hello(),
        hello(on="b"),
        create(),
        info(0, on="b"),
        truncate(0, request_id=23, on="b"),
        seal(),
        info(0, is_sealed=True, request_id=33, on="b"),
        delete(),
        no_info(on="b"),
    )
    yield case(
        "pravega/segment/31",
        MUST,
        "A segment outlives the connection that created it.",
        _TABLE,
        hello(),
        create(),
        send("Hello", high_version=3, low_version=1),
        expect("Hello"),
        expect_any(reply(CLOSED)),
        info(0, on="b"),
        still_open(on="b"),
    )


CASES: tuple[Case, ...] = (
    *_create_cases(),
    *_gone_cases(),
    *_seal_cases(),
    *_info_cases(),
    *_policy_cases(),
    *_request_ids(),
    *_two_on_one_segment(),
)
