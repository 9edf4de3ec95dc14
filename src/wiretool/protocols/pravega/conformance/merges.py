"""Cases of merged segments (protocols/pravega.md §5.2)."""

from typing import Any

from wiretool.conformance.case import (
    MUST,
    SHOULD,
    Case,
    Steps,
    case,
    expect_any,
    reply,
    send,
)
from wiretool.conformance.values import ANY, Text
from wiretool.protocols.pravega.conformance.attributes import NAME
from wiretool.protocols.pravega.conformance.steps import (
    CONTENT,
    MISSING,
    NO_VALUE,
    OTHER,
    SEGMENT,
    THIRD,
    acked,
    append,
    ask,
    attribute,
    create,
    event,
    filled,
    hello,
    info,
    no_info,
    parked,
    read,
    reads,
    rid,
    seal,
    segment_read,
    set_up,
)

_MERGE = "protocols/pravega.md §5.2 (MERGE_SEGMENTS)"
_BATCH = "protocols/pravega.md §5.2 (MERGE_SEGMENTS_BATCH)"
SOURCE = event(b"source")
WHOLE = len(CONTENT) + len(SOURCE)
TRANSACTION = Text("{scope}/{stream}/0.#epoch.0#transaction.00000000000000000000000000000001")
#: Kinds of conditional attribute updates.
_REPLACE, _GREATER, _ACCUMULATE, _EQUALS = 1, 2, 3, 4


def target_and_source(*, source: bytes = SOURCE) -> Steps:
    """Create a target and a source with data in both."""
    return (hello(), filled(), filled(OTHER, source, first_id=44))


def merged(length: int, *, request_id: int = 3, source: Any = OTHER, on: str = "a", **fields: Any) -> Steps:
    """Merge the source into the segment, which has this length then."""
    return ask(
        request_id,
        "MergeSegments",
        reply("SegmentsMerged", target=SEGMENT, source=source, new_target_write_offset=length),
        on=on,
        target=SEGMENT,
        source=source,
        **fields,
    )


def _update(kind: int, new: int, old: int = NO_VALUE) -> dict[str, Any]:
    return {"attribute_id": NAME, "attribute_update_type": kind, "new_value": new, "old_value": old}


def _set(number: int, value: int) -> Steps:
    return ask(
        number,
        "UpdateSegmentAttribute",
        reply("SegmentAttributeUpdated", success=True),
        segment_name=SEGMENT,
        attribute_id=NAME,
        new_value=value,
        expected_value=NO_VALUE,
    )


def _batch(number: int, sources: list[Any], lengths: list[int]) -> Steps:
    pairs = zip(sources, lengths, strict=True)
    return ask(
        number,
        "MergeSegmentsBatch",
        reply(
            "SegmentsBatchMerged",
            target=SEGMENT,
            merged=[{"source": source, "new_target_write_offset": length} for source, length in pairs],
        ),
        target_segment_id=SEGMENT,
        source_segment_ids=sources,
    )


CASES: tuple[Case, ...] = (
    case(
        "pravega/merge/1",
        MUST,
        "A sealed source is appended to the target, and no longer exists.",
        _MERGE,
        target_and_source(),
        seal(OTHER),
        merged(WHOLE),
        info(WHOLE),
        no_info(OTHER),
        reads(0, CONTENT + SOURCE),
    ),
    case(
        "pravega/merge/2",
        MUST,
        "A source that is open is sealed and merged.",
        _MERGE,
        target_and_source(),
        merged(WHOLE),
        reads(len(CONTENT), SOURCE),
        no_info(OTHER, on="b"),
    ),
    case(
        "pravega/merge/3",
        MUST,
        "A source that was merged is not merged again: it is missing, or counts as merged with the target's length.",
        _MERGE,
        target_and_source(),
        merged(WHOLE),
        ask(
            4,
            "MergeSegments",
            reply("NoSuchSegment", segment=OTHER, offset=-1),
            reply("SegmentsMerged", target=SEGMENT, source=OTHER, new_target_write_offset=WHOLE),
            target=SEGMENT,
            source=OTHER,
        ),
        info(WHOLE),
    ),
    case(
        "pravega/merge/4",
        MUST,
        "If the target is missing, the failure names the source.",
        _MERGE,
        hello(),
        filled(OTHER),
        ask(
            3,
            "MergeSegments",
            reply("NoSuchSegment", segment=OTHER, offset=-1),
            target=MISSING,
            source=OTHER,
        ),
        reads(0, CONTENT, segment=OTHER, length=len(CONTENT), at_tail=False),
    ),
    case(
        "pravega/merge/5",
        MUST,
        "If the target is sealed, the failure names the source, and nothing is merged.",
        _MERGE,
        target_and_source(),
        seal(SEGMENT),
        ask(3, "MergeSegments", reply("SegmentIsSealed", segment=OTHER, offset=-1), target=SEGMENT, source=OTHER),
        info(len(CONTENT), is_sealed=True),
    ),
    case(
        "pravega/merge/6",
        SHOULD,
        "A segment that is merged into itself is sealed, and then refused.",
        _MERGE,
        hello(),
        filled(),
        ask(3, "MergeSegments", reply("SegmentIsSealed", segment=SEGMENT, offset=-1), target=SEGMENT, source=SEGMENT),
        info(len(CONTENT), is_sealed=True),
    ),
    case(
        "pravega/merge/7",
        MUST,
        "A condition on an attribute of the target that fails is answered with a failed update, and nothing is merged.",
        _MERGE,
        target_and_source(),
        ask(
            3,
            "MergeSegments",
            reply("SegmentAttributeUpdated", success=False),
            target=SEGMENT,
            source=OTHER,
            attribute_updates=[_update(_EQUALS, 5, 4)],
        ),
        info(len(CONTENT)),
        attribute(NO_VALUE, NAME),
    ),
    case(
        "pravega/merge/8",
        MUST,
        "A condition on an attribute that failed and holds now lets the merge happen, and the attribute is changed.",
        _MERGE + "; captures/pravega-server merge_attr",
        target_and_source(),
        ask(
            3,
            "MergeSegments",
            reply("SegmentAttributeUpdated", success=False),
            target=SEGMENT,
            source=OTHER,
            attribute_updates=[_update(_EQUALS, 5, 4)],
        ),
        _set(4, 4),
        merged(WHOLE, request_id=5, attribute_updates=[_update(_EQUALS, 5, 4)]),
        attribute(5, NAME, request_id=6),
    ),
    case(
        "pravega/merge/9",
        MUST,
        "An attribute that is replaced with a merge has the new value, whatever it had.",
        "protocols/pravega.md §2.1, §5.2",
        target_and_source(),
        _set(4, 4),
        merged(WHOLE, attribute_updates=[_update(_REPLACE, 9)]),
        attribute(9, NAME),
    ),
    case(
        "pravega/merge/10",
        SHOULD,
        "An attribute to be replaced by a greater value is not replaced by a smaller one.",
        "protocols/pravega.md §2.1",
        target_and_source(),
        _set(4, 4),
        ask(
            3,
            "MergeSegments",
            reply("SegmentAttributeUpdated", success=False),
            target=SEGMENT,
            source=OTHER,
            attribute_updates=[_update(_GREATER, 3)],
        ),
        merged(WHOLE, request_id=5, attribute_updates=[_update(_GREATER, 5)]),
        attribute(5, NAME),
    ),
    case(
        "pravega/merge/11",
        SHOULD,
        "A value is added to an attribute, and set where it is absent.",
        "protocols/pravega.md §2.1",
        target_and_source(),
        filled(THIRD, SOURCE, first_id=70),
        merged(WHOLE, attribute_updates=[_update(_ACCUMULATE, 4)]),
        attribute(4, NAME),
        merged(WHOLE + len(SOURCE), request_id=5, source=THIRD, attribute_updates=[_update(_ACCUMULATE, 3)]),
        attribute(7, NAME, request_id=33),
    ),
    case(
        "pravega/merge/12",
        MUST,
        "A negative number of attribute updates counts as 0.",
        "protocols/pravega.md §1.3",
        target_and_source(),
        send(
            "MergeSegments",
            change=lambda frame: frame[:-4] + b"\xff" * 4,
            request_id=rid(3),
            target=SEGMENT,
            source=OTHER,
        ),
        expect_any(reply("SegmentsMerged", request_id=rid(3), source=OTHER, new_target_write_offset=WHOLE)),
    ),
    case(
        "pravega/merge/13",
        MUST,
        "An empty source is removed, and the target keeps its length.",
        _MERGE,
        hello(),
        filled(),
        create(OTHER, request_id=2),
        merged(len(CONTENT)),
        no_info(OTHER),
    ),
    case(
        "pravega/merge/14",
        MUST,
        "A read that waits at the tail of the target is answered with the merged bytes.",
        f"{_MERGE}, §5.3",
        target_and_source(),
        read(len(CONTENT)),
        parked(seconds=0.4),
        merged(WHOLE, on="b"),
        expect_any(segment_read(len(CONTENT), SOURCE, at_tail=True)),
    ),
    case(
        "pravega/merge/15",
        MUST,
        "The segment of a transaction is written like any other, and merged into its parent.",
        "protocols/pravega.md §5.2; captures/pravega-server append_txn_segment",
        hello(),
        create(),
        create(TRANSACTION, request_id=4),
        set_up(TRANSACTION),
        append(b"event-1", number=1),
        acked(15, number=1),
        merged(15, request_id=5, source=TRANSACTION),
        info(15),
    ),
    case(
        "pravega/merge/16",
        MUST,
        "The writers of a target continue after a merge, from the new length.",
        _MERGE,
        hello(),
        create(),
        set_up(),
        append(number=1),
        acked(13, number=1),
        filled(OTHER, SOURCE, first_id=44),
        merged(13 + len(SOURCE), request_id=5),
        append(number=2),
        acked(26 + len(SOURCE), number=2, previous=1),
    ),
    case(
        "pravega/merge-batch/1",
        MUST,
        "A batch is merged in its order, and the reply has the length after each source.",
        _BATCH,
        hello(),
        filled(),
        filled(OTHER, event(b"a"), first_id=44),
        filled(THIRD, event(b"bb"), first_id=70),
        _batch(3, [OTHER, THIRD], [57, 67]),
        # One read may return less than is stored (§4.5).
        reads(len(CONTENT), event(b"a"), length=len(event(b"a")), at_tail=ANY),
        reads(57, event(b"bb"), request_id=51),
        no_info(OTHER),
        no_info(THIRD, request_id=33),
    ),
    case(
        "pravega/merge-batch/2",
        MUST,
        "Sources that were merged before, or are not there, count as merged, with the target's length.",
        f"{_BATCH}; captures/pravega-server merge_batch",
        hello(),
        filled(),
        filled(OTHER, event(b"a"), first_id=44),
        filled(THIRD, event(b"bb"), first_id=70),
        _batch(3, [OTHER, THIRD], [57, 67]),
        _batch(4, [OTHER, THIRD], [67, 67]),
        _batch(5, [MISSING], [67]),
        _batch(6, [], []),
        info(67),
    ),
    case(
        "pravega/merge-batch/3",
        MUST,
        "A batch into a missing target fails with the target's name, and merges nothing.",
        _BATCH,
        hello(),
        filled(OTHER),
        ask(
            3,
            "MergeSegmentsBatch",
            reply("NoSuchSegment", segment=MISSING, offset=-1),
            target_segment_id=MISSING,
            source_segment_ids=[OTHER],
        ),
        info(len(CONTENT), OTHER),
    ),
)
