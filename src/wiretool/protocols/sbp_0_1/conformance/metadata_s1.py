"""Cases of S1: unknown operations, headers, data nodes, streams and ranges (protocols/sbp.md §2.2, §4.6, §5)."""

from typing import Any

from wiretool.conformance.case import MUST, SHOULD, Case, Connect, Steps, case, expect_any, expect_nothing
from wiretool.conformance.values import Check, Number, Saved, other_than
from wiretool.protocols.sbp.conformance.frames import header
from wiretool.protocols.sbp.conformance.steps import alive, frame
from wiretool.protocols.sbp_0_1.conformance.steps import (
    INVALID_REQUEST,
    NODE,
    NONE,
    OWN_STREAM,
    ROLE_DATA_NODE,
    ROLE_PLACEMENT_MANAGER,
    S1_STEPS,
    SEED,
    SPEC,
    STREAM,
    UNKNOWN,
    UNKNOWN_STREAM,
    append,
    appended,
    beat,
    listed,
    new_stream,
    range_of,
    seal,
)

BATCH = S1_STEPS.batch(5, "batch")
MANAGER_ENDPOINT = "placement-manager"
#: A data node that is not known.
NOBODY = {"node_id": Number("nobody", bits=30)}
#: The data node that the placement manager chooses for the range of a stream.
CHOSEN = Saved("chosen")
HOLDS_STREAM = Check(
    "ranges, one of them of the stream",
    lambda value, values: any(each["stream_id"] == values["stream"] for each in value),
)
ask, request, answer = S1_STEPS.ask, S1_STEPS.request, S1_STEPS.answer


def ignored(code: int, **more: Any) -> Steps:
    """Send an operation that no schema has, and require silence on a connection that goes on."""
    return (frame("Unknown", n=1, opcode=code, **more), expect_nothing(), alive(2))


def described(*results: dict[str, Any], n: int, ids: list[Any]) -> Steps:
    """Require what is known of streams."""
    return ask("GET_STREAMS", {"describe_responses": list(results)}, n=n, stream_ids=ids)


def known(stream: Any = STREAM, **fields: Any) -> dict[str, Any]:
    """Return the result about a stream that there is."""
    return {"stream": {"stream_id": stream, **fields}, "error_code": NONE}


def unknown(stream: Any = UNKNOWN_STREAM) -> dict[str, Any]:
    """Return the result about a stream that there is not."""
    return {"stream": {"stream_id": stream}, "error_code": INVALID_REQUEST}


_OPERATIONS = (
    case(
        "sbp-0.1/opcode/1",
        MUST,
        "A frame with an unknown operation is discarded, and the connection stays open.",
        f"{SEED}, Operation Code; {SPEC} §5 (5)",
        ignored(0x7777),
    ),
    case(
        "sbp-0.1/opcode/2",
        MUST,
        "Operation 0 is unknown.",
        f"{SEED}, Frame Definitions; {SPEC} §5 (5, 25)",
        ignored(0x0000),
    ),
    case(
        "sbp-0.1/opcode/3",
        MUST,
        "An unknown operation with header and payload is discarded whole.",
        f"{SEED}, Operation Code",
        ignored(0x2005, header={"raw_hex": b"head".hex()}, payload={"hex": b"body".hex()}),
    ),
    case(
        "sbp-0.1/header/1",
        MUST,
        "A header in another format than FlatBuffers is discarded, and the connection stays open.",
        f"{SEED}, Extended Header; {SPEC} §5 (11)",
        request("GET_STREAMS", stream_ids=[1], change=lambda data: data[:12] + b"\x03" + data[13:]),
        expect_nothing(),
        alive(2),
    ),
    case(
        "sbp-0.1/header/2",
        MUST,
        "A header format of 0 is accepted where there is no header.",
        f"{SPEC} §5 (11)",
        frame("GET_STREAMS", header_format=0),
        expect_any(answer("GET_STREAMS", describe_responses=[])),
    ),
    case(
        "sbp-0.1/header/3",
        MUST,
        "A header that is not a FlatBuffer is refused in the response of the operation, with Invalid_Request.",
        f"{SPEC} §5 (24)",
        append(BATCH, n=1, stream=UNKNOWN_STREAM, change=header(b"\xff\xff\xff\xff")),
        expect_any(answer("APPEND", append_responses=[{"error_code": INVALID_REQUEST}])),
        frame("GET_STREAMS", n=2, change=header(b"abc")),
        expect_any(answer("GET_STREAMS", n=2, describe_responses=[{"error_code": INVALID_REQUEST}])),
        alive(3),
    ),
)

_NODES = (
    case(
        "sbp-0.1/heartbeat/1",
        MUST,
        "A heartbeat is answered with its client, role and data node.",
        f"{SEED}, HEARTBEAT; {SPEC} §4.6",
        ask(
            "HEARTBEAT",
            {"client_id": "dn-1", "client_role": ROLE_DATA_NODE, "data_node": NODE},
            client_id="dn-1",
            client_role=ROLE_DATA_NODE,
            data_node=NODE,
        ),
        ask(
            "HEARTBEAT",
            {"client_id": "pm", "client_role": ROLE_PLACEMENT_MANAGER},
            n=2,
            client_id="pm",
            client_role=ROLE_PLACEMENT_MANAGER,
        ),
    ),
    case(
        "sbp-0.1/metrics/1",
        SHOULD,
        "Metrics are answered with the data node that they are of.",
        f"{SEED}, REPORT_METRICS; {SPEC} §2.2",
        ask("REPORT_METRICS", {"data_node": NODE}, data_node=NODE, disk_free_space=1 << 30),
    ),
)

_STREAMS = (
    case(
        "sbp-0.1/stream/1",
        MUST,
        "Each stream of a batch is created with the requested properties, in the order of the request.",
        f"{SEED}, CREATE_STREAMS; {SPEC} §2.2",
        beat(),
        ask(
            "CREATE_STREAMS",
            {
                "create_responses": [
                    known(Saved("one"), replica_nums=1, retention_period_ms=1000),
                    known(other_than("one"), replica_nums=0, retention_period_ms=2**31 - 1),
                ]
            },
            n=2,
            stremas=[
                {"replica_nums": 1, "retention_period_ms": 1000},
                {"replica_nums": 0, "retention_period_ms": 2**31 - 1},
            ],
        ),
        described(known(Saved("one"), replica_nums=1, retention_period_ms=1000), n=3, ids=[Saved("one")]),
    ),
    case(
        "sbp-0.1/stream/2",
        MUST,
        "A stream that needs more data nodes than there are is refused.",
        f"{SPEC} §4.6",
        ask(
            "CREATE_STREAMS",
            {"create_responses": [{"error_code": UNKNOWN}]},
            stremas=[{"replica_nums": 127}],
        ),
    ),
    case(
        "sbp-0.1/stream/3",
        MUST,
        "One stream that needs too many data nodes fails the whole batch.",
        f"{SPEC} §4.6",
        ask(
            "CREATE_STREAMS",
            {"create_responses": [{"error_code": UNKNOWN}, {"error_code": UNKNOWN}]},
            stremas=[{"replica_nums": 0}, {"replica_nums": 127}],
        ),
    ),
    case(
        "sbp-0.1/stream/4",
        MUST,
        "Each stream that is asked for has a result of its own; one that does not exist is refused alone.",
        f"{SEED}, GET_STREAMS; {SPEC} §5 (15, 17)",
        new_stream(),
        described(known(replica_nums=1), unknown(), known(), n=3, ids=[STREAM, UNKNOWN_STREAM, STREAM]),
    ),
    case(
        "sbp-0.1/stream/5",
        MUST,
        "An empty batch has no results.",
        f"{SPEC} §4.6",
        ask("CREATE_STREAMS", {"create_responses": []}, stremas=[]),
        ask("DELETE_STREAMS", {"delete_responses": []}, n=2, streams=[]),
        ask("GET_STREAMS", {"describe_responses": []}, n=3, stream_ids=[]),
        ask("LIST_RANGES", {"list_responses": []}, n=4, range_owners=[]),
        ask("SEAL_RANGES", {"seal_responses": []}, n=5, ranges=[]),
    ),
    case(
        "sbp-0.1/stream/6",
        MUST,
        "The response describes a deleted stream, which no longer exists; only a missing stream is refused.",
        f"{SEED}, DELETE_STREAMS; {SPEC} §2.2",
        new_stream(),
        ask(
            "DELETE_STREAMS",
            {
                "delete_responses": [
                    {"deleted_stream": {"stream_id": UNKNOWN_STREAM}, "error_code": INVALID_REQUEST},
                    {"deleted_stream": {"stream_id": STREAM, "replica_nums": 1}, "error_code": NONE},
                ]
            },
            n=3,
            streams=[{"stream_id": UNKNOWN_STREAM}, {"stream_id": STREAM}],
        ),
        described(unknown(STREAM), n=4, ids=[STREAM]),
    ),
    case(
        "sbp-0.1/stream/7",
        MUST,
        "An update overwrites all properties of a stream, and creates a missing one.",
        f"{SEED}, UPDATE_STREAMS; {SPEC} §4.6",
        new_stream(),
        ask(
            "UPDATE_STREAMS",
            {"update_responses": [known(replica_nums=2, retention_period_ms=5), known(OWN_STREAM, replica_nums=1)]},
            n=3,
            streams=[
                {"stream_id": STREAM, "replica_nums": 2, "retention_period_ms": 5},
                {"stream_id": OWN_STREAM, "replica_nums": 1},
            ],
        ),
        described(
            known(replica_nums=2, retention_period_ms=5),
            known(OWN_STREAM, replica_nums=1),
            n=4,
            ids=[STREAM, OWN_STREAM],
        ),
    ),
)

_RANGES = (
    case(
        "sbp-0.1/range/1",
        MUST,
        "A new stream has one open range, at 0.",
        f"{SEED}, LIST_RANGES; {SPEC} §4.6",
        new_stream(),
        listed(range_of(0, 0, -1, 0), n=3),
    ),
    case(
        "sbp-0.1/range/2",
        MUST,
        "A placement manager seals a range at its end, opens the next one there, and answers with both.",
        f"{SEED}, SEAL_RANGES; {SPEC} §5 (14)",
        new_stream(),
        append(BATCH),
        appended(0),
        seal(0, range_of(0, 0, 5, 5), range_of(1, 5, -1, 5), n=4),
        listed(range_of(0, 0, 5, 5), range_of(1, 5, -1, 5), n=5),
    ),
    case(
        "sbp-0.1/range/3",
        MUST,
        "A range that is sealed already is sealed again with the same answer.",
        f"{SPEC} §4.6",
        new_stream(),
        append(BATCH),
        appended(0),
        seal(0, range_of(0, 0, 5, 5), range_of(1, 5, -1, 5), n=4),
        seal(0, range_of(0, 0, 5, 5), range_of(1, 5, -1, 5), n=5),
        listed(range_of(0, 0, 5, 5), range_of(1, 5, -1, 5), n=6),
    ),
    case(
        "sbp-0.1/range/4",
        MUST,
        "A range that does not exist cannot be sealed.",
        f"{SPEC} §4.6",
        new_stream(),
        seal(7, n=3),
        seal(0, n=4, stream=UNKNOWN_STREAM),
        listed(range_of(0, 0, -1, 0), n=5),
    ),
    case(
        "sbp-0.1/range/5",
        MUST,
        "A data node seals a range, and does not open the next one.",
        f"{SEED}, SEAL_RANGES; {SPEC} §4.6",
        Connect("pm", MANAGER_ENDPOINT),
        new_stream(on="pm"),
        append(BATCH),
        appended(0),
        seal(0, range_of(0, 0, -1, 5), n=4),
        append(BATCH, n=5),
        appended(None, n=5),
        variant="apart",
    ),
    case(
        "sbp-0.1/range/6",
        MUST,
        "Ranges are described with their next offset; one that does not exist is refused alone.",
        f"{SEED}, DESCRIBE_RANGES; {SPEC} §4.6",
        new_stream(),
        append(BATCH),
        appended(0),
        ask(
            "DESCRIBE_RANGES",
            {
                "describe_responses": [
                    {"stream_id": STREAM, "error_code": INVALID_REQUEST},
                    {"stream_id": STREAM, "error_code": NONE, "ranges": range_of(0, 0, -1, 5)},
                    {"stream_id": UNKNOWN_STREAM, "error_code": INVALID_REQUEST},
                ]
            },
            n=4,
            ranges=[
                {"stream_id": STREAM, "range_index": 3},
                {"stream_id": STREAM, "range_index": 0},
                {"stream_id": UNKNOWN_STREAM, "range_index": 0},
            ],
        ),
    ),
    case(
        "sbp-0.1/range/7",
        MUST,
        "The ranges of a data node are those that are on it.",
        f"{SEED}, LIST_RANGES; {SPEC} §2.2, §4.6",
        new_stream(),
        listed(
            {**range_of(0, 0, -1, 0), "replica_nodes": [{"data_node": {"node_id": CHOSEN}, "is_primary": True}]}, n=3
        ),
        ask(
            "LIST_RANGES",
            {
                "list_responses": [
                    {"range_owner": {"data_node": {"node_id": CHOSEN}}, "error_code": NONE, "ranges": HOLDS_STREAM},
                    {"range_owner": {"data_node": NOBODY}, "error_code": NONE, "ranges": []},
                ]
            },
            n=5,
            range_owners=[{"data_node": {"node_id": CHOSEN}}, {"data_node": NOBODY}],
        ),
        listed(n=6, stream=UNKNOWN_STREAM),
    ),
    case(
        "sbp-0.1/range/8",
        SHOULD,
        "A data node takes over the ranges of a SYNC_RANGES, and accepts batches for them.",
        f"{SEED}, SYNC_RANGES; {SPEC} §4.6",
        ask(
            "SYNC_RANGES",
            {
                "sync_responses": [
                    {"stream_id": OWN_STREAM, "error_code": NONE, "ranges": [range_of(0, 100, -1, 100, OWN_STREAM)]}
                ]
            },
            stream_ranges=[
                {"stream_id": OWN_STREAM, "ranges": [{"stream_id": OWN_STREAM, "range_index": 0, "start_offset": 100}]}
            ],
        ),
        append(BATCH, stream=OWN_STREAM),
        appended(100, stream=OWN_STREAM),
    ),
    case(
        "sbp-0.1/range/9",
        SHOULD,
        "A trim drops the sealed ranges before its offset, and answers with the first range that is left.",
        f"{SEED}, TRIM_STREAMS; {SPEC} §4.5",
        new_stream(),
        append(BATCH),
        appended(0),
        seal(0, range_of(0, 0, 5, 5), range_of(1, 5, -1, 5), n=4),
        ask(
            "TRIM_STREAMS",
            {
                "trim_responses": [
                    {"trimmed_stream": {"stream_id": STREAM}, "error_code": NONE, "range": range_of(1, 5, -1, 5)},
                    {"error_code": INVALID_REQUEST},
                ]
            },
            n=5,
            trimmed_streams=[{"stream_id": STREAM, "trim_offset": 5}, {"stream_id": UNKNOWN_STREAM, "trim_offset": 5}],
        ),
        listed(range_of(1, 5, -1, 5), n=6),
    ),
)

CASES: tuple[Case, ...] = (*_OPERATIONS, *_NODES, *_STREAMS, *_RANGES)
