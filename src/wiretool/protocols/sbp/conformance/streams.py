"""Cases of streams at the placement driver (protocols/sbp.md §4.5)."""

from wiretool.conformance.case import MUST, OBSERVED, SHOULD, Case, Steps, case, expect_any
from wiretool.conformance.values import Saved, other_than
from wiretool.protocols.sbp import tables
from wiretool.protocols.sbp.conformance.steps import (
    BAD_REQUEST,
    NOT_FOUND,
    PD_INTERNAL_SERVER_ERROR,
    PLACED,
    SPEC,
    UNKNOWN_STREAM,
    Bare,
    answer,
    ask,
    create_stream,
    frame,
    refused,
    request,
)

#: A retention beyond 32 bits.
LONG_MS = 1 << 40
#: A stream that the case itself makes by an update.
NEW_STREAM = UNKNOWN_STREAM
#: The range server that the placement driver chooses.
CHOSEN = Saved("chosen")


def describe(n: int, stream: object = PLACED, **fields: object) -> Steps:
    """Require fields of a stream."""
    return ask("DESCRIBE_STREAM", {"stream": {"stream_id": stream, **fields}}, n=n, stream_id=stream)


def listed(n: int, *ranges: object, **criteria: object) -> Steps:
    """Require these ranges, no more, in this order."""
    return ask("LIST_RANGE", {"ranges": list(ranges)}, n=n, criteria=criteria)


def placed(index: int, start: int, end: int, epoch: int = 0) -> dict[str, object]:
    """Return a range of the stream of the case."""
    return {"stream_id": PLACED, "index": index, "start": start, "end": end, "epoch": epoch}


CASES: tuple[Case, ...] = (
    case(
        "sbp/stream/1",
        MUST,
        "A new stream gets a number, and has the requested properties.",
        f"{SPEC} §4.5",
        ask(
            "CREATE_STREAM",
            {"stream": {"stream_id": PLACED, "replica": 3, "ack_count": 2, "retention_period_ms": LONG_MS}},
            stream={"replica": 3, "ack_count": 2, "retention_period_ms": LONG_MS},
        ),
        describe(2, replica=3, ack_count=2, retention_period_ms=LONG_MS),
    ),
    case(
        "sbp/stream/2",
        MUST,
        "The number that a client gives a new stream is ignored, and no two streams have one number.",
        f"{SPEC} §4.5",
        create_stream(n=1),
        request("CREATE_STREAM", n=2, stream={"stream_id": UNKNOWN_STREAM, "replica": 1}),
        expect_any(answer("CREATE_STREAM", n=2, stream={"stream_id": Saved("second")})),
        request("DESCRIBE_STREAM", n=3, stream_id=UNKNOWN_STREAM),
        expect_any(answer("DESCRIBE_STREAM", n=3, code=NOT_FOUND)),
        request("CREATE_STREAM", n=4, stream={"replica": 1}),
        expect_any(answer("CREATE_STREAM", n=4, stream={"stream_id": other_than("second")})),
        request("CREATE_STREAM", n=5, stream={"replica": 1}),
        expect_any(answer("CREATE_STREAM", n=5, stream={"stream_id": other_than("stream")})),
    ),
    case(
        "sbp/stream/3",
        MUST,
        "A CREATE_STREAM without a stream is a bad request.",
        f"{SPEC} §4.5",
        frame("CREATE_STREAM", header=Bare(tables.CreateStreamRequest(timeout_ms=1000))),
        expect_any(answer("CREATE_STREAM", code=BAD_REQUEST, message="stream is nil")),
    ),
    case(
        "sbp/stream/4",
        MUST,
        "A stream that does not exist cannot be described.",
        f"{SPEC} §4.5",
        refused("DESCRIBE_STREAM", NOT_FOUND, stream_id=UNKNOWN_STREAM),
        refused("DESCRIBE_STREAM", NOT_FOUND, n=2, stream_id=-1),
    ),
    case(
        "sbp/stream/5",
        MUST,
        "An update overwrites all properties of a stream.",
        f"{SPEC} §4.5",
        create_stream(n=1),
        ask(
            "UPDATE_STREAM",
            {"stream": {"stream_id": PLACED, "replica": 2, "ack_count": 2, "retention_period_ms": 42}},
            n=2,
            stream={"stream_id": PLACED, "replica": 2, "ack_count": 2, "retention_period_ms": 42},
        ),
        describe(3, replica=2, ack_count=2, retention_period_ms=42),
    ),
    case(
        "sbp/stream/6",
        SHOULD,
        "An update of a stream that does not exist creates it.",
        f"{SPEC} §4.5",
        request("UPDATE_STREAM", stream={"stream_id": NEW_STREAM, "replica": 2}),
        expect_any(answer("UPDATE_STREAM")),
        describe(2, NEW_STREAM, replica=2),
    ),
    case(
        "sbp/stream/7",
        OBSERVED,
        "An update of a stream with a number below 0, or of none, is a failure of the placement driver.",
        f"{SPEC} §4.5",
        refused("UPDATE_STREAM", PD_INTERNAL_SERVER_ERROR, stream={"stream_id": -1, "replica": 2}),
        refused("UPDATE_STREAM", PD_INTERNAL_SERVER_ERROR, n=2),
    ),
    case(
        "sbp/stream/8",
        MUST,
        "The response to DELETE_STREAM describes the deleted stream, which no longer exists.",
        f"{SPEC} §4.5",
        create_stream(n=1, replica=2, ack_count=2),
        ask("DELETE_STREAM", {"stream": {"stream_id": PLACED, "replica": 2, "ack_count": 2}}, n=2, stream_id=PLACED),
        refused("DESCRIBE_STREAM", NOT_FOUND, n=3, stream_id=PLACED),
        refused("DELETE_STREAM", NOT_FOUND, n=4, stream_id=PLACED),
    ),
    case(
        "sbp/stream/9",
        MUST,
        "A stream that does not exist cannot be deleted.",
        f"{SPEC} §4.5",
        refused("DELETE_STREAM", NOT_FOUND, stream_id=UNKNOWN_STREAM),
    ),
    case(
        "sbp/stream/10",
        SHOULD,
        "A timeout below 0 is ignored: the request is answered.",
        f"{SPEC} §4.3",
        refused("DESCRIBE_STREAM", NOT_FOUND, stream_id=UNKNOWN_STREAM, timeout_ms=-1),
    ),
)
