"""Cases of segments: epochs, successors, cuts, addresses, and scaling (protocols/pravega-controller.md)."""

from typing import Any

from wiretool.conformance.case import MUST, OBSERVED, Case, case
from wiretool.conformance.values import AnyOrder, Check
from wiretool.protocols.pravega_controller.conformance.steps import (
    Call,
    call,
    current,
    cut,
    fails,
    halves,
    info,
    made,
    make_scope,
    named,
    no_entry,
    no_scope,
    ranged,
    scaling,
    seal,
    segment_id,
    split,
    talk,
    whole,
)

_METHODS = "protocols/pravega-controller.md, Methods"
_INTRODUCTION = "protocols/pravega-controller.md, introduction"
_RUN = "every call against server 0.13.0 (interop tests)"
_FOLLOWING = "getSegmentsImmediatelyFollowing"
_LATER = segment_id(1, 1), segment_id(2, 1)


def _segment(number: int, epoch: int = 0) -> dict[str, Any]:
    return {"streamInfo": info(), "segmentId": segment_id(number, epoch)}


def _epoch(number: int) -> dict[str, Any]:
    return {"streamInfo": info(), "epoch": number}


def _between(begin: dict[int, int], end: dict[int, int]) -> dict[str, Any]:
    return {
        "streamInfo": info(),
        "from": {str(segment): offset for segment, offset in begin.items()},
        "to": {str(segment): offset for segment, offset in end.items()},
    }


def _follow(method: str = _FOLLOWING) -> Call:
    """Ask what follows the segment that was split."""
    return call(
        method,
        _segment(0),
        segments=AnyOrder(
            {"segment": ranged(1, 0.0, 0.5, 1), "value": [0]},
            {"segment": ranged(2, 0.5, 1.0, 1), "value": [0]},
        ),
    )


_PORT = Check("a port", lambda value, _: isinstance(value, int) and 0 < value < 65_536)
_HOST = Check("the name or number of a host", lambda value, _: isinstance(value, str) and bool(value))
_MERGE = scaling(_LATER, (0.0, 1.0))

CASES: tuple[Case, ...] = (
    case(
        "pravega-controller/segment/1",
        MUST,
        "getEpochSegments returns the segments of an epoch, also of one that ended.",
        _METHODS,
        made(
            1,
            split(),
            call("getEpochSegments", _epoch(0), segmentRanges=whole()),
            call("getEpochSegments", _epoch(1), segmentRanges=halves(1, 1)),
        ),
    ),
    case(
        "pravega-controller/segment/2",
        MUST,
        "An epoch that has not begun fails with NOT_FOUND, and names its record.",
        _RUN,
        made(1, fails("getEpochSegments", _epoch(7), "NOT_FOUND", r"get entry: key: epochRecord-7 table: .*")),
    ),
    case(
        "pravega-controller/segment/3",
        MUST,
        "The segments that follow one come with their keys and the ids of all that they follow.",
        _INTRODUCTION,
        made(1, split(), _follow()),
    ),
    case(
        "pravega-controller/segment/4",
        MUST,
        "The older, misspelt name of the method is served in the same way.",
        _INTRODUCTION,
        made(1, split(), _follow("getSegmentsImmediatlyFollowing")),
    ),
    case(
        "pravega-controller/segment/5",
        MUST,
        "Nothing follows a segment that takes events, and nothing one that never was.",
        _RUN,
        made(1, call(_FOLLOWING, _segment(0), segments=[]), call(_FOLLOWING, _segment(77), segments=[])),
    ),
    case(
        "pravega-controller/segment/6",
        MUST,
        "Nothing follows the segments of a sealed stream.",
        _RUN,
        made(1, seal(), call(_FOLLOWING, _segment(0), segments=[])),
    ),
    case(
        "pravega-controller/segment/7",
        MUST,
        "A segment into which two were merged names both.",
        _INTRODUCTION,
        made(
            1,
            split(),
            call("scale", _MERGE, status="STARTED", epoch=1, segments=whole(3, 2)),
            call(
                _FOLLOWING,
                _segment(1, 1),
                segments=[{"segment": ranged(3, 0.0, 1.0, 2), "value": AnyOrder(*_LATER)}],
            ),
        ),
    ),
    case(
        "pravega-controller/segment/8",
        MUST,
        "A segment is valid while it takes events.",
        _METHODS,
        made(
            1,
            call("isSegmentValid", _segment(0), response=True),
            call("isSegmentValid", _segment(77), response=False),
            split(),
            call("isSegmentValid", _segment(0), response=False),
            call("isSegmentValid", _segment(1, 1), response=True),
            seal(),
            call("isSegmentValid", _segment(1, 1), response=False),
        ),
    ),
    case(
        "pravega-controller/segment/9",
        MUST,
        "A cut is valid if its segments have all keys, each once.",
        _METHODS,
        made(
            2,
            call("isStreamCutValid", cut({0: 0, 1: 0}), response=True),
            call("isStreamCutValid", cut({0: 0}), response=False),
            call("isStreamCutValid", cut({0: 0, 9: 0}), response=False),
        ),
    ),
    case(
        "pravega-controller/segment/10",
        MUST,
        "getSegmentsBetween returns the segments between two cuts, including those of the cuts.",
        _METHODS,
        made(
            1,
            split(),
            call(
                "getSegmentsBetween",
                _between({0: 0}, dict.fromkeys(_LATER, 0)),
                segments=AnyOrder(named(0), named(1, 1), named(2, 1)),
            ),
            call(
                "getSegmentsBetween",
                _between(dict.fromkeys(_LATER, 0), {}),
                segments=AnyOrder(named(1, 1), named(2, 1)),
            ),
        ),
    ),
    case(
        "pravega-controller/segment/11",
        OBSERVED,
        "Without any cut the segments between two fail.",
        _RUN,
        made(1, fails("getSegmentsBetween", _between({}, {}), "INTERNAL", "Internal exception occurred")),
    ),
    case(
        "pravega-controller/segment/12",
        MUST,
        "A cut with unknown segments fails.",
        _RUN,
        made(2, fails("getSegmentsBetween", _between({9: 0}, {1: 0}), "UNKNOWN")),
    ),
    case(
        "pravega-controller/segment/13",
        MUST,
        "Segments have the address of a store.",
        f"{_INTRODUCTION}: NodeUri",
        made(1, call("getURI", _segment(0), endpoint=_HOST, port=_PORT)),
    ),
    case(
        "pravega-controller/segment/14",
        MUST,
        "getControllerServerList returns at least one controller.",
        _METHODS,
        talk(
            call(
                "getControllerServerList",
                {},
                nodeURI=Check(
                    "a list of addresses",
                    lambda found, _: bool(found) and all(each["endpoint"] and each["port"] for each in found),
                ),
            )
        ),
    ),
    case(
        "pravega-controller/segment/15",
        MUST,
        "Questions about segments of a missing scope fail with NOT_FOUND, and name the scope.",
        _RUN,
        talk(
            no_scope("getCurrentSegments", info()),
            no_scope("getEpochSegments", _epoch(0)),
            no_scope("getSegments", {"streamInfo": info(), "timestamp": 0}),
            no_scope(_FOLLOWING, _segment(0)),
            no_scope("getSegmentsBetween", _between({0: 0}, {0: 1})),
            no_scope("isSegmentValid", _segment(0)),
            no_scope("isStreamCutValid", cut({0: 0})),
        ),
    ),
    case(
        "pravega-controller/segment/16",
        MUST,
        "Questions about segments of a missing stream fail with NOT_FOUND, and name the entry.",
        _RUN,
        talk(
            make_scope(),
            no_entry("getCurrentSegments", info()),
            no_entry("getEpochSegments", _epoch(0)),
            no_entry("getSegments", {"streamInfo": info(), "timestamp": 0}),
            no_entry(_FOLLOWING, _segment(0)),
            no_entry("getSegmentsBetween", _between({0: 0}, {0: 1})),
            no_entry("isSegmentValid", _segment(0)),
            no_entry("isStreamCutValid", cut({0: 0})),
        ),
    ),
    # -- scaling -------------------------------------------------------------------------------------------------------
    case(
        "pravega-controller/scale/1",
        MUST,
        "A segment is split: the new ones have the next numbers and the next epoch.",
        f"{_METHODS}; introduction: ids",
        made(1, split(), current(segments=halves(1, 1))),
    ),
    case(
        "pravega-controller/scale/2",
        MUST,
        "Two segments are merged.",
        _METHODS,
        made(
            1,
            split(),
            call("scale", _MERGE, status="STARTED", epoch=1, segments=whole(3, 2)),
            current(segments=whole(3, 2)),
        ),
    ),
    case(
        "pravega-controller/scale/3",
        MUST,
        "A segment that is not sealed by a scaling stays, with its id.",
        _METHODS,
        made(
            2,
            call(
                "scale",
                scaling([1], (0.5, 0.75), (0.75, 1.0)),
                status="STARTED",
                epoch=0,
                segments=AnyOrder(ranged(2, 0.5, 0.75, 1), ranged(3, 0.75, 1.0, 1)),
            ),
            current(
                segments=AnyOrder(ranged(0, 0.0, 0.5), ranged(2, 0.5, 0.75, 1), ranged(3, 0.75, 1.0, 1)),
            ),
        ),
    ),
    case(
        "pravega-controller/scale/4",
        MUST,
        "New ranges that are not those of the sealed segments are refused, and nothing changes.",
        _RUN,
        made(
            1,
            call("scale", scaling([0], (0.0, 0.4)), status="FAILURE"),
            call("scale", scaling([0], (0.0, 0.6), (0.5, 1.0)), status="FAILURE"),
            current(segments=whole()),
        ),
    ),
    case(
        "pravega-controller/scale/5",
        MUST,
        "A scaling of a segment that is not active is refused.",
        _RUN,
        made(
            1,
            call("scale", scaling([9], (0.0, 0.4)), status="PRECONDITION_FAILED"),
            split(),
            call("scale", scaling([0], (0.0, 1.0)), status="PRECONDITION_FAILED"),
        ),
    ),
    case(
        "pravega-controller/scale/6",
        MUST,
        "A stream that is missing is not scaled.",
        _RUN,
        talk(make_scope(), call("scale", scaling([0], (0.0, 1.0)), status="FAILURE")),
    ),
    case(
        "pravega-controller/scale/7",
        MUST,
        "checkScale of the epoch that a scaling ended reports SUCCESS.",
        _METHODS,
        made(
            1,
            split(),
            call("checkScale", _epoch(0), status="SUCCESS"),
        ),
    ),
    case(
        "pravega-controller/scale/8",
        MUST,
        "checkScale of a missing stream fails.",
        _RUN,
        talk(
            make_scope(),
            call("checkScale", _epoch(0), status="INVALID_INPUT"),
        ),
    ),
    case(
        "pravega-controller/scale/9",
        MUST,
        "An epoch that has not begun has no scaling.",
        _RUN,
        made(1, call("checkScale", _epoch(5), status="INVALID_INPUT")),
    ),
    case(
        "pravega-controller/scale/10",
        MUST,
        "A sealed stream is not scaled.",
        _RUN,
        made(1, seal(), call("scale", scaling([0], (0.0, 0.5), (0.5, 1.0)), status="FAILURE")),
    ),
)
