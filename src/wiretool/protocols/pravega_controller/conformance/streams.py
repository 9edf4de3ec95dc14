"""Cases of streams: made, configured, truncated, sealed, deleted, listed (protocols/pravega-controller.md, Methods)."""

from typing import Any

from wiretool.conformance.case import MUST, OBSERVED, Case, case
from wiretool.conformance.values import AnyOrder, Subset, Text
from wiretool.protocols.pravega_controller.conformance.steps import (
    SCOPE,
    STREAM,
    Call,
    call,
    config,
    current,
    cut,
    halves,
    info,
    listed,
    listing,
    made,
    make_scope,
    make_stream,
    named,
    no_entry,
    no_scope,
    ranged,
    seal,
    split,
    talk,
    whole,
)

_METHODS = "protocols/pravega-controller.md, Methods"
_MESSAGES = "protocols/pravega-controller.md, Messages"
_SEEN = "facts/pravega-server.md, Added 23 November 2026"
_THIRDS = (1 / 3, 2 / 3)


def _update(segments: int = 1, **more: Any) -> dict[str, Any]:
    return config(segments, **more)


def _truncate(offsets: dict[int, int], status: str) -> Call:
    return call("truncateStream", cut(offsets), status=status)


def _head(offsets: dict[int, int]) -> Call:
    """Ask where the stream begins."""
    locations = [Subset(segmentId=named(number), offset=offset) for number, offset in offsets.items()]
    return call("getSegments", {"streamInfo": info(), "timestamp": 0}, segments=AnyOrder(*locations))


CASES: tuple[Case, ...] = (
    case(
        "pravega-controller/stream/1",
        MUST,
        "A new stream exists.",
        _METHODS,
        talk(
            make_scope(),
            call("checkStreamExists", info(), exists=False),
            make_stream(),
            call("checkStreamExists", info(), exists=True),
        ),
    ),
    case(
        "pravega-controller/stream/2",
        MUST,
        "A stream has as many segments as its policy names, which divide the keys evenly, from number 0 in epoch 0.",
        f"{_MESSAGES}: ScalingPolicy, SegmentRange; introduction: ids and key ranges",
        made(2, current(segments=halves())),
    ),
    case(
        "pravega-controller/stream/3",
        MUST,
        "Creating an existing stream is answered with STREAM_EXISTS, and its segments do not change.",
        _METHODS,
        made(2, call("createStream", config(1), status="STREAM_EXISTS"), current(segments=halves())),
    ),
    case(
        "pravega-controller/stream/4",
        MUST,
        "A stream is not made in a scope that is missing.",
        _METHODS,
        talk(call("createStream", config(1), status="SCOPE_NOT_FOUND")),
    ),
    *(
        case(
            f"pravega-controller/stream/{number}",
            MUST,
            f"A stream with {words} in its name is refused.",
            _METHODS,
            talk(make_scope(), call("createStream", config(1, name), status="INVALID_STREAM_NAME")),
        )
        for number, words, name in ((5, "a space", "a b"), (6, "a slash", "a/b"))
    ),
    case(
        "pravega-controller/stream/7",
        OBSERVED,
        "The name of a stream may begin with an underscore.",
        "every call against server 0.13.0 (interop tests)",
        talk(make_scope(), make_stream(1, "_own"), call("checkStreamExists", info("_own"), exists=True)),
    ),
    case(
        "pravega-controller/stream/8",
        MUST,
        "getStreamConfiguration returns the configuration as it was given.",
        f"{_MESSAGES}: StreamConfig",
        talk(
            make_scope(),
            make_stream(
                2,
                retentionPolicy={"retentionType": "SIZE", "retentionParam": 1_000, "retentionMax": 2_000},
                tags={"tag": ["a", "b"]},
                timestampAggregationTimeout=5,
                rolloverSizeBytes=1_048_576,
            ),
            call(
                "getStreamConfiguration",
                info(),
                streamInfo=listed(STREAM),
                scalingPolicy=Subset(scaleType="FIXED_NUM_SEGMENTS", minNumSegments=2),
                retentionPolicy=Subset(retentionType="SIZE", retentionParam=1_000, retentionMax=2_000),
                tags={"tag": AnyOrder("a", "b")},
                timestampAggregationTimeout=5,
                rolloverSizeBytes=1_048_576,
            ),
        ),
    ),
    case(
        "pravega-controller/stream/9",
        MUST,
        "A stream that is updated has the new configuration.",
        _METHODS,
        made(
            1,
            call("updateStream", _update(1, tags={"tag": ["new"]}, rolloverSizeBytes=4_096), status="SUCCESS"),
            call("getStreamConfiguration", info(), tags={"tag": ["new"]}, rolloverSizeBytes=4_096),
        ),
    ),
    case(
        "pravega-controller/stream/10",
        OBSERVED,
        "A stream of a fixed number of segments is scaled when that number is updated.",
        "every call against server 0.13.0 (interop tests)",
        made(
            1,
            call("updateStream", _update(2), status="SUCCESS"),
            current(segments=halves(epoch=1, first=1)),
        ),
    ),
    case(
        "pravega-controller/stream/11",
        MUST,
        "A stream that is missing is not updated, sealed, truncated or deleted.",
        _METHODS,
        talk(
            make_scope(),
            call("updateStream", _update(), status="STREAM_NOT_FOUND"),
            call("sealStream", info(), status="STREAM_NOT_FOUND"),
            call("truncateStream", cut({0: 0}), status="STREAM_NOT_FOUND"),
            call("deleteStream", info(), status="STREAM_NOT_FOUND"),
        ),
    ),
    case(
        "pravega-controller/stream/12",
        MUST,
        "In a scope that is missing a stream is missing.",
        "every call against server 0.13.0 (interop tests)",
        talk(
            call("checkStreamExists", info(), exists=False),
            call("updateStream", _update(), status="STREAM_NOT_FOUND"),
            call("sealStream", info(), status="STREAM_NOT_FOUND"),
            call("truncateStream", cut({0: 0}), status="STREAM_NOT_FOUND"),
            call("deleteStream", info(), status="STREAM_NOT_FOUND"),
            no_scope("getStreamConfiguration", info()),
        ),
    ),
    case(
        "pravega-controller/stream/13",
        MUST,
        "The configuration of a stream that is missing fails with NOT_FOUND, and names the entry.",
        "every call against server 0.13.0; facts/pravega-server.md, Added 23 November 2026",
        talk(make_scope(), no_entry("getStreamConfiguration", info())),
    ),
    # -- sealed --------------------------------------------------------------------------------------------------------
    case(
        "pravega-controller/seal/1",
        MUST,
        "A sealed stream has no current segments, and still exists.",
        _SEEN,
        made(2, seal(), current(segments=[]), call("checkStreamExists", info(), exists=True)),
    ),
    case(
        "pravega-controller/seal/2",
        MUST,
        "Sealing a sealed stream succeeds.",
        "every call against server 0.13.0 (interop tests)",
        made(1, seal(), seal()),
    ),
    case(
        "pravega-controller/seal/3",
        MUST,
        "A sealed stream is not updated and not truncated.",
        f"{_MESSAGES}: UpdateStreamStatus",
        made(
            1,
            seal(),
            call("updateStream", _update(2), status="STREAM_SEALED"),
            _truncate({0: 0}, "STREAM_SEALED"),
        ),
    ),
    case(
        "pravega-controller/seal/4",
        MUST,
        "A stream that is not sealed is not deleted.",
        f"{_MESSAGES}: DeleteStreamStatus",
        made(
            1,
            call("deleteStream", info(), status="STREAM_NOT_SEALED"),
            call("checkStreamExists", info(), exists=True),
        ),
    ),
    case(
        "pravega-controller/seal/5",
        MUST,
        "A sealed stream is deleted, and is gone with its watermarks.",
        _METHODS,
        made(
            1,
            seal(),
            call("deleteStream", info(), status="SUCCESS"),
            call("checkStreamExists", info(), exists=False),
            call("listStreamsInScope", listing(), status="SUCCESS", streams=[]),
            call("deleteScope", {"scope": SCOPE}, status="SUCCESS"),
        ),
    ),
    case(
        "pravega-controller/seal/6",
        OBSERVED,
        "A stream that is created again under the same name continues the segment numbers.",
        "every call against server 0.13.0 (interop tests)",
        made(
            2,
            seal(),
            call("deleteStream", info(), status="SUCCESS"),
            make_stream(1),
            current(segments=whole(2)),
        ),
    ),
    # -- truncated -----------------------------------------------------------------------------------------------------
    case(
        "pravega-controller/truncate/1",
        MUST,
        "A stream begins at 0 of its first segments, and after a truncation at the cut.",
        f"{_SEEN}: beyond the end succeeds",
        made(
            2,
            _head({0: 0, 1: 0}),
            _truncate({0: 0, 1: 0}, "SUCCESS"),
            _truncate({0: 1_000, 1: 500}, "SUCCESS"),
            _head({0: 1_000, 1: 500}),
        ),
    ),
    case(
        "pravega-controller/truncate/2",
        MUST,
        "A cut that misses keys, or names segments of another stream, is refused.",
        "every call against server 0.13.0 (interop tests)",
        made(2, _truncate({0: 10}, "FAILURE"), _truncate({55: 0, 56: 0}, "FAILURE"), _head({0: 0, 1: 0})),
    ),
    case(
        "pravega-controller/truncate/3",
        MUST,
        "A stream is not truncated backwards.",
        "every call against server 0.13.0 (interop tests)",
        made(
            2,
            _truncate({0: 1_000, 1: 500}, "SUCCESS"),
            _truncate({0: 1, 1: 1}, "FAILURE"),
            _head({0: 1_000, 1: 500}),
        ),
    ),
    case(
        "pravega-controller/truncate/4",
        MUST,
        "A cut after a scaling moves the beginning to the new segments.",
        f"{_METHODS}; introduction: ids",
        made(
            1,
            split(),
            _truncate({1 << 32 | 1: 0, 1 << 32 | 2: 0}, "SUCCESS"),
            call(
                "getSegments",
                {"streamInfo": info(), "timestamp": 0},
                segments=AnyOrder(*(Subset(segmentId=named(number, 1), offset=0) for number in (1, 2))),
            ),
        ),
    ),
    # -- lists ---------------------------------------------------------------------------------------------------------
    case(
        "pravega-controller/list/1",
        MUST,
        "A scope lists its streams, each with a stream of its watermarks.",
        f"{_METHODS}; {_SEEN}",
        made(
            1,
            call(
                "listStreamsInScope",
                listing(),
                status="SUCCESS",
                streams=AnyOrder(listed(STREAM), listed(Text("_MARK{stream}"))),
            ),
        ),
    ),
    case(
        "pravega-controller/list/2",
        MUST,
        "An empty scope lists no streams.",
        _METHODS,
        talk(make_scope(), call("listStreamsInScope", listing(), status="SUCCESS", streams=[])),
    ),
    case(
        "pravega-controller/list/3",
        MUST,
        "A scope lists the streams that have a tag, and no others.",
        _METHODS,
        talk(
            make_scope(),
            make_stream(1, "tagged", tags={"tag": ["red", "blue"]}),
            make_stream(1, "other", tags={"tag": ["green"]}),
            call("listStreamsInScopeForTag", listing("blue"), status="SUCCESS", streams=[listed("tagged")]),
            call("listStreamsInScopeForTag", listing("bl"), status="SUCCESS", streams=[]),
        ),
    ),
    case(
        "pravega-controller/list/4",
        MUST,
        "A tag that is updated counts in lists.",
        _METHODS,
        talk(
            make_scope(),
            make_stream(1, tags={"tag": ["old"]}),
            call("updateStream", config(1, tags={"tag": ["new"]}), status="SUCCESS"),
            call("listStreamsInScopeForTag", listing("new"), status="SUCCESS", streams=[listed(STREAM)]),
            call("listStreamsInScopeForTag", listing("old"), status="SUCCESS", streams=[]),
        ),
    ),
    case(
        "pravega-controller/list/5",
        MUST,
        "A scope that is missing has no lists of streams with a tag and of tables.",
        _METHODS,
        talk(
            call("listStreamsInScopeForTag", listing("a"), status="SCOPE_NOT_FOUND"),
            call("listKeyValueTablesInScope", listing(), status="SCOPE_NOT_FOUND"),
        ),
    ),
    case(
        "pravega-controller/stream/14",
        MUST,
        "Three segments divide the keys in thirds, without gap or overlap.",
        "protocols/pravega-controller.md, introduction: key ranges",
        made(
            3,
            current(
                segments=AnyOrder(
                    ranged(0, 0.0, _THIRDS[0]),
                    ranged(1, _THIRDS[0], _THIRDS[1]),
                    ranged(2, _THIRDS[1], 1.0),
                )
            ),
        ),
    ),
)
