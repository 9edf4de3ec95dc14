"""Cases of ranges at the placement driver: made, sealed and listed (protocols/sbp.md §4.5)."""

from wiretool.conformance.case import MUST, OBSERVED, SHOULD, Case, Steps, case, expect_any, flawed
from wiretool.conformance.values import Saved, Subset, text_matching
from wiretool.protocols.sbp import tables
from wiretool.protocols.sbp.conformance.frames import header
from wiretool.protocols.sbp.conformance.steps import (
    BAD_REQUEST,
    CREATE_RANGE_BEFORE_SEAL,
    EXPIRED_RANGE_EPOCH,
    KIND_PLACEMENT_DRIVER,
    KIND_RANGE_SERVER,
    NOT_FOUND,
    PLACED,
    RANGE_ALREADY_SEALED,
    RANGE_NOT_FOUND,
    SERVER,
    SPEC,
    UNKNOWN_STREAM,
    WHOLE,
    Bare,
    answer,
    ask,
    create_stream,
    frame,
    identifier,
    known_stream,
    meet_driver,
    place,
    placed_range,
    refused,
    request,
    seal_placed,
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


_CREATED = (
    case(
        "sbp/placement/1",
        MUST,
        "A new range is open, on as many range servers as the stream has replicas, with the counts of the stream.",
        f"{SPEC} §4.5",
        known_stream(),
        ask(
            "CREATE_RANGE",
            {"range": {**placed(0, 0, -1), "servers": [{}], "replica_count": 1, "ack_count": 1}},
            n=3,
            range={"stream_id": PLACED, "index": 0, "start": 0, "epoch": 0, "end": 500, "replica_count": 7},
        ),
    ),
    case(
        "sbp/placement/2",
        MUST,
        "A second range is refused while the last one is open.",
        f"{SPEC} §4.5",
        placed_range(),
        place(n=4, code=CREATE_RANGE_BEFORE_SEAL),
        place(n=5, index=1, start=10, code=CREATE_RANGE_BEFORE_SEAL),
        listed(6, placed(0, 0, -1), stream_id=PLACED),
    ),
    case(
        "sbp/placement/3",
        MUST,
        "The first range of a stream has index 0 and starts at 0.",
        f"{SPEC} §4.5",
        known_stream(),
        place(index=1, code=BAD_REQUEST),
        place(n=4, index=-1, code=BAD_REQUEST),
        place(n=5, start=5, code=BAD_REQUEST),
    ),
    case(
        "sbp/placement/4",
        MUST,
        "The next range has the next index and starts where the last one ends.",
        f"{SPEC} §4.5",
        placed_range(),
        seal_placed(100),
        place(n=5, index=2, start=100, code=BAD_REQUEST),
        place(n=6, index=0, start=100, code=BAD_REQUEST),
        place(n=7, index=1, start=99, code=BAD_REQUEST),
        place(n=8, index=1, start=101, code=BAD_REQUEST),
        place(n=9, index=1, start=100),
        listed(10, placed(0, 0, 100), placed(1, 100, -1), stream_id=PLACED),
    ),
    case(
        "sbp/placement/5",
        MUST,
        "A range with an older epoch than the last one is refused.",
        f"{SPEC} §4.5",
        known_stream(),
        place(epoch=-1, code=EXPIRED_RANGE_EPOCH),
        place(n=4, epoch=3),
        seal_placed(100, n=5, epoch=3),
        place(n=6, index=1, start=100, epoch=2, code=EXPIRED_RANGE_EPOCH),
        place(n=7, index=1, start=100, epoch=3),
    ),
    case(
        "sbp/placement/6",
        MUST,
        "A range of a stream that does not exist is refused.",
        f"{SPEC} §4.5",
        place(n=1, stream=UNKNOWN_STREAM, code=NOT_FOUND),
    ),
    case(
        "sbp/placement/7",
        MUST,
        "A CREATE_RANGE without a range is a bad request.",
        f"{SPEC} §4.5",
        meet_driver(),
        frame("CREATE_RANGE", n=2, header=Bare(tables.CreateRangeRequest(timeout_ms=1))),
        expect_any(answer("CREATE_RANGE", n=2, code=BAD_REQUEST, message="range is nil")),
    ),
    case(
        "sbp/placement/8",
        SHOULD,
        "A stream without replicas has ranges on no range server.",
        f"{SPEC} §4.5",
        create_stream(n=1, replica=0, ack_count=0),
        place(n=2),
        listed(3, {**placed(0, 0, -1), "servers": [], "replica_count": 0}, stream_id=PLACED),
    ),
    case(
        "sbp/placement/9",
        SHOULD,
        "The ranges of a deleted stream stay.",
        f"{SPEC} §4.5",
        placed_range(),
        ask("DELETE_STREAM", {"stream": {"stream_id": PLACED}}, n=4, stream_id=PLACED),
        listed(5, placed(0, 0, -1), stream_id=PLACED),
    ),
    case(
        "sbp/placement/10",
        OBSERVED,
        "The open range of a deleted stream can be sealed, and no other follows it.",
        f"{SPEC} §4.5",
        placed_range(),
        ask("DELETE_STREAM", {"stream": {"stream_id": PLACED}}, n=4, stream_id=PLACED),
        place(n=6, index=1, code=CREATE_RANGE_BEFORE_SEAL),
        seal_placed(10, n=7),
        place(n=8, index=1, start=10, code=NOT_FOUND),
    ),
)

_SEALED = (
    case(
        "sbp/seal/1",
        MUST,
        "A range that is sealed takes the end and the epoch of the request.",
        f"{SPEC} §4.5",
        placed_range(epoch=1),
        seal_placed(100, epoch=2),
        listed(5, placed(0, 0, 100, 2), stream_id=PLACED),
    ),
    case(
        "sbp/seal/2",
        MUST,
        "A placement driver refuses every kind of seal but its own.",
        f"{SPEC} §4.5",
        placed_range(),
        *(
            refused(
                "SEAL_RANGE", BAD_REQUEST, n=4 + kind, kind=kind, range={"stream_id": PLACED, "index": 0, "end": 10}
            )
            for kind in (0, KIND_RANGE_SERVER, 99)
        ),
        listed(200, placed(0, 0, -1), stream_id=PLACED),
    ),
    case(
        "sbp/seal/3",
        MUST,
        "A sealed range cannot be sealed again, whatever the end.",
        f"{SPEC} §4.5",
        placed_range(),
        seal_placed(100),
        seal_placed(100, n=5, code=RANGE_ALREADY_SEALED),
        seal_placed(7, n=6, code=RANGE_ALREADY_SEALED),
        listed(7, placed(0, 0, 100), stream_id=PLACED),
    ),
    case(
        "sbp/seal/4",
        MUST,
        "A range before the last one is sealed already.",
        f"{SPEC} §4.5",
        placed_range(),
        seal_placed(100),
        place(n=5, index=1, start=100),
        seal_placed(50, n=6, code=RANGE_ALREADY_SEALED),
    ),
    case(
        "sbp/seal/5",
        MUST,
        "A missing range cannot be sealed, neither in a stream without ranges nor after the last one.",
        f"{SPEC} §4.5",
        known_stream(),
        seal_placed(10, n=3, code=RANGE_NOT_FOUND),
        place(n=4),
        seal_placed(10, n=5, index=1, code=RANGE_NOT_FOUND),
        seal_placed(10, n=6, stream=UNKNOWN_STREAM, code=NOT_FOUND),
    ),
    case(
        "sbp/seal/6",
        MUST,
        "A range cannot end before its start; an end at its start is an empty range.",
        f"{SPEC} §4.5",
        placed_range(),
        seal_placed(-1, code=BAD_REQUEST),
        seal_placed(100, n=5),
        place(n=6, index=1, start=100),
        seal_placed(99, n=7, index=1, code=BAD_REQUEST),
        seal_placed(100, n=8, index=1),
    ),
    case(
        "sbp/seal/7",
        MUST,
        "A seal with an older epoch than that of the range is refused.",
        f"{SPEC} §4.5",
        placed_range(epoch=2),
        seal_placed(10, epoch=1, code=EXPIRED_RANGE_EPOCH),
        listed(5, placed(0, 0, -1, 2), stream_id=PLACED),
    ),
    case(
        "sbp/seal/8",
        MUST,
        "A request to seal that names no range is a bad request.",
        f"{SPEC} §4.5",
        meet_driver(),
        frame("SEAL_RANGE", n=2, header=Bare(tables.SealRangeRequest(kind=KIND_PLACEMENT_DRIVER))),
        expect_any(answer("SEAL_RANGE", n=2, code=BAD_REQUEST, message="range is nil")),
    ),
)

_LISTED = (
    case(
        "sbp/list/1",
        MUST,
        "A stream without ranges, or that does not exist, has an empty list.",
        f"{SPEC} §4.5",
        create_stream(n=1),
        listed(2, stream_id=PLACED),
        listed(3, stream_id=UNKNOWN_STREAM),
    ),
    case(
        "sbp/list/2",
        MUST,
        "A range server that does not exist has an empty list.",
        f"{SPEC} §4.5",
        listed(1, server_id=SERVER),
    ),
    case(
        "sbp/list/3",
        MUST,
        "A list for a stream and a range server has the ranges that belong to both.",
        f"{SPEC} §4.5",
        known_stream(),
        request("CREATE_RANGE", n=3, range={"stream_id": PLACED, "index": 0, "start": 0, "epoch": 0}),
        expect_any(answer("CREATE_RANGE", n=3, range={"servers": [{"server_id": CHOSEN}]})),
        listed(
            4,
            {**placed(0, 0, -1), "servers": [{"server_id": Saved("chosen")}]},
            stream_id=PLACED,
            server_id=Saved("chosen"),
        ),
        listed(5, stream_id=PLACED, server_id=Saved("chosen", plus=1)),
        listed(6, stream_id=UNKNOWN_STREAM, server_id=Saved("chosen")),
    ),
    case(
        "sbp/list/4",
        OBSERVED,
        "A placement driver answers a list for neither a stream nor a range server without the required list.",
        f"{SPEC} §4.5",
        request("LIST_RANGE", criteria={"stream_id": -1, "server_id": -1}),
        expect_any(
            flawed(
                "LIST_RANGE",
                "ranges is required",
                flags=WHOLE,
                stream_id=identifier(1, "a"),
                header=Subset(table="ListRangeResponse", fields=Subset(status=Subset(code=1200))),
            )
        ),
    ),
    case(
        "sbp/list/5",
        OBSERVED,
        "A placement driver refuses a header of zeros, an empty table, in its own words.",
        f"{SPEC} §4.3",
        frame("LIST_RANGE", change=header(bytes(32))),
        expect_any(
            flawed(
                "LIST_RANGE",
                "ranges is required",
                flags=WHOLE,
                stream_id=identifier(1, "a"),
                header=Subset(
                    table="ListRangeResponse",
                    fields=Subset(status=Subset(code=BAD_REQUEST, message=text_matching("criteria is nil"))),
                ),
            )
        ),
    ),
)

CASES: tuple[Case, ...] = (*_CREATED, *_SEALED, *_LISTED)
