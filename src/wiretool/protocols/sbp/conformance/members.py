"""Cases of heartbeats, metrics, numbers of range servers, their choice, and leadership (protocols/sbp.md §4.5)."""

from typing import Any

from wiretool.codec.flatbuffers.compiled import read_fast
from wiretool.conformance.case import (
    MUST,
    OBSERVED,
    SHOULD,
    Case,
    Connect,
    Steps,
    Wait,
    case,
    expect_any,
    flawed,
    reply,
)
from wiretool.conformance.values import ABSENT, Check, Saved, Subset, other_than
from wiretool.protocols.sbp import tables
from wiretool.protocols.sbp.conformance.steps import (
    ADDRESS,
    BAD_REQUEST,
    KIND_PLACEMENT_DRIVER,
    ONE_LEADER,
    PD_INTERNAL_SERVER_ERROR,
    PD_NO_AVAILABLE_RS,
    PD_NOT_LEADER,
    PLACED,
    RANGE_SERVER,
    ROLE_FRONTEND,
    ROLE_PLACEMENT_DRIVER,
    ROLE_RANGE_SERVER,
    SPEC,
    UNKNOWN_STREAM,
    Bare,
    answer,
    ask,
    create_stream,
    frame,
    meet_driver,
    meet_range_server,
    place,
    refusal,
    report,
    request,
)

DRIVER_ENDPOINT, FOLLOWER_ENDPOINT = "placement-driver", "placement-driver-2"
#: Silence after which a range server gets no new ranges (protocols/sbp.md §4.2), and some seconds more.
SERVER_SILENCE_S = 101.0


def _names_leader(value: object, _: object) -> bool:
    """Return whether the detail of a status is a cluster with one leader (protocols/sbp.md §2.3)."""
    if not isinstance(value, dict) or "hex" not in value:
        return False
    cluster: tables.PlacementDriverCluster = read_fast(tables.PlacementDriverCluster, bytes.fromhex(value["hex"])).value
    return sum(node.is_leader for node in cluster.nodes or ()) == 1


def refused_by_follower(operation: str, n: int, **header: Any) -> Steps:
    """Require that a node refuses a request since it does not lead, and says who does."""
    refused = answer(operation, n=n, code=PD_NOT_LEADER)
    table = refused.fields["header"].fields["table"]
    status = Subset(code=PD_NOT_LEADER, detail=Check("a cluster with one leader", _names_leader))
    whole = {**refused.fields, "header": Subset(table=table, fields=Subset(status=status))}
    # Real servers leave the required list out of every refusal of LIST_RANGE (protocols/sbp.md §4.5).
    outcome = (
        flawed(operation, "ranges is required", **whole) if operation == "LIST_RANGE" else reply(operation, **whole)
    )
    return (request(operation, n=n, **header), expect_any(outcome))


def place_on_server(n: int) -> Steps:
    """Let the placement driver create the first range of the stream, on the one range server that it may choose."""
    wanted = {"stream_id": PLACED, "index": 0, "start": 0, "epoch": 0}
    return ask("CREATE_RANGE", {"range": {**wanted, "servers": [RANGE_SERVER]}}, n=n, range=wanted)


def beat(n: int, role: int) -> Steps:
    """Send the heartbeat of the case's own range server, in a role."""
    return ask("HEARTBEAT", {"client_role": role}, n=n, client_id="b", client_role=role, range_server=RANGE_SERVER)


_HEARTBEATS = (
    case(
        "sbp/heartbeat/1",
        MUST,
        "A placement driver answers a heartbeat with its client, role and range server.",
        f"{SPEC} §4.5",
        meet_driver(),
        ask(
            "HEARTBEAT",
            {"client_id": "rs", "client_role": ROLE_RANGE_SERVER, "range_server": RANGE_SERVER},
            n=2,
            client_id="rs",
            client_role=ROLE_RANGE_SERVER,
            range_server=RANGE_SERVER,
        ),
    ),
    case(
        "sbp/heartbeat/2",
        MUST,
        "A placement driver answers the heartbeat of a client that is not a range server in the same way.",
        f"{SPEC} §4.5",
        meet_driver(),
        ask(
            "HEARTBEAT",
            {"client_id": "zażółć-日本-🙂", "client_role": ROLE_FRONTEND},
            n=2,
            client_id="zażółć-日本-🙂",
            client_role=ROLE_FRONTEND,
        ),
        ask(
            "HEARTBEAT",
            {"client_id": "pd", "client_role": ROLE_PLACEMENT_DRIVER},
            n=3,
            client_id="pd",
            client_role=ROLE_PLACEMENT_DRIVER,
        ),
    ),
    case(
        "sbp/heartbeat/3",
        MUST,
        "A range server answers a heartbeat with its client and role, without the range server.",
        f"{SPEC} §4.5",
        meet_range_server(),
        request("HEARTBEAT", n=2, client_id="r", client_role=ROLE_RANGE_SERVER, range_server=RANGE_SERVER),
        expect_any(
            reply(
                "HEARTBEAT",
                **{
                    **answer("HEARTBEAT", n=2).fields,
                    "header": {
                        "table": "HeartbeatResponse",
                        "fields": {
                            "client_id": "r",
                            "client_role": ROLE_RANGE_SERVER,
                            "status": {"code": 1200, "message": "OK"},
                        },
                    },
                },
            )
        ),
    ),
    case(
        "sbp/heartbeat/4",
        MUST,
        "A range server refuses a heartbeat that lacks a required field.",
        f"{SPEC} §4.3",
        meet_range_server(),
        frame(
            "HEARTBEAT",
            n=2,
            header=Bare(
                tables.HeartbeatRequest(client_id="r", client_role=2, range_server=tables.RangeServer(server_id=4))
            ),
        ),
        expect_any(refusal("HEARTBEAT", BAD_REQUEST, n=2)),
    ),
)

_METRICS = (
    case(
        "sbp/metrics/1",
        MUST,
        "A placement driver answers metrics with the range server that they are of.",
        f"{SPEC} §4.5",
        report(),
    ),
    case(
        "sbp/metrics/2",
        MUST,
        "Metrics without a range server are a bad request.",
        f"{SPEC} §4.5",
        request("REPORT_METRICS", range_server=ABSENT, metrics={"disk_free_space": 1}),
        expect_any(answer("REPORT_METRICS", code=BAD_REQUEST, message="range server is nil")),
    ),
    case(
        "sbp/metrics/3",
        MUST,
        "A report without metrics is a bad request; the response names the range server.",
        f"{SPEC} §4.5",
        request("REPORT_METRICS", range_server=RANGE_SERVER, metrics=ABSENT),
        expect_any(answer("REPORT_METRICS", code=BAD_REQUEST, message="metrics is nil", range_server=RANGE_SERVER)),
    ),
)

_NODES = (
    case(
        "sbp/driver/1",
        MUST,
        "A placement driver names its nodes, one of which leads.",
        f"{SPEC} §4.5",
        meet_driver(),
    ),
    case(
        "sbp/driver/2",
        SHOULD,
        "A placement driver names its nodes to a client that names no range server.",
        f"{SPEC} §4.3, §4.5",
        frame("DESCRIBE_PLACEMENT_DRIVER", header=Bare(tables.DescribePlacementDriverClusterRequest(timeout_ms=1000))),
        expect_any(answer("DESCRIBE_PLACEMENT_DRIVER", cluster={"nodes": ONE_LEADER})),
    ),
    case(
        "sbp/driver/3",
        MUST,
        "Each range server gets a number of its own.",
        f"{SPEC} §4.5",
        request("ALLOCATE_ID", host="one"),
        expect_any(answer("ALLOCATE_ID", id=Saved("one"))),
        request("ALLOCATE_ID", n=2, host="two"),
        expect_any(answer("ALLOCATE_ID", n=2, id=other_than("one"))),
    ),
    case(
        "sbp/driver/4",
        MUST,
        "A follower refuses the operations of the leader, and names the leader.",
        f"{SPEC} §4.1",
        Connect(endpoint=FOLLOWER_ENDPOINT),
        refused_by_follower("ALLOCATE_ID", 1, host="h"),
        refused_by_follower("CREATE_STREAM", 2, stream={"replica": 1}),
        refused_by_follower("DESCRIBE_STREAM", 3, stream_id=UNKNOWN_STREAM),
        refused_by_follower("UPDATE_STREAM", 4, stream={"stream_id": UNKNOWN_STREAM}),
        refused_by_follower("DELETE_STREAM", 5, stream_id=UNKNOWN_STREAM),
        refused_by_follower("CREATE_RANGE", 6, range={"stream_id": UNKNOWN_STREAM}),
        refused_by_follower("SEAL_RANGE", 7, kind=KIND_PLACEMENT_DRIVER, range={"stream_id": UNKNOWN_STREAM}),
        refused_by_follower("LIST_RANGE", 8, criteria={"stream_id": UNKNOWN_STREAM}),
        variant="apart",
    ),
    case(
        "sbp/driver/5",
        MUST,
        "A follower answers heartbeats, metrics and requests for the nodes.",
        f"{SPEC} §4.1, §7",
        Connect(endpoint=FOLLOWER_ENDPOINT),
        meet_driver(),
        report(n=2),
        ask("HEARTBEAT", {"client_id": "front"}, n=3, client_id="front", client_role=ROLE_FRONTEND),
        variant="apart",
    ),
)

_CHOICE = (
    case(
        "sbp/choice/1",
        MUST,
        "Without enough range servers a range is refused.",
        f"{SPEC} §4.5",
        report(),
        create_stream(replica=127),
        place(code=PD_NO_AVAILABLE_RS),
    ),
    case(
        "sbp/choice/2",
        MUST,
        "A range server gets new ranges once it has reported.",
        f"{SPEC} §4.5",
        Connect(endpoint=DRIVER_ENDPOINT),
        create_stream(n=1),
        place(n=2, code=PD_NO_AVAILABLE_RS),
        report(n=3),
        place_on_server(4),
        variant="no-servers",
    ),
    case(
        "sbp/choice/3",
        MUST,
        "A range server with a full disk gets no new ranges.",
        f"{SPEC} §4.2",
        Connect(endpoint=DRIVER_ENDPOINT),
        create_stream(n=1),
        report(n=2, free_bytes=0),
        place(n=3, code=PD_NO_AVAILABLE_RS),
        report(n=4),
        place_on_server(5),
        variant="full-disk",
    ),
    case(
        "sbp/choice/4",
        MUST,
        "A range server that was silent for 100 s gets no new ranges.",
        f"{SPEC} §4.2",
        Connect(endpoint=DRIVER_ENDPOINT),
        create_stream(n=1),
        report(n=2),
        Wait(SERVER_SILENCE_S),
        Connect("b", DRIVER_ENDPOINT),
        place(n=1, on="b", code=PD_NO_AVAILABLE_RS),
        variant="silent-server",
        ignore=("GOAWAY",),
    ),
    case(
        "sbp/choice/5",
        MUST,
        "A heartbeat in the role of a range server registers it; one in another role does not.",
        f"{SPEC} §4.5",
        Connect(endpoint=DRIVER_ENDPOINT),
        create_stream(n=1),
        beat(2, ROLE_FRONTEND),
        place(n=3, code=PD_NO_AVAILABLE_RS),
        beat(4, ROLE_RANGE_SERVER),
        place_on_server(5),
        variant="unknown-server",
    ),
    case(
        "sbp/choice/6",
        OBSERVED,
        "A range server without a number is refused, as a failure of the placement driver.",
        f"{SPEC} §4.5",
        Connect(endpoint=DRIVER_ENDPOINT),
        request("HEARTBEAT", client_role=ROLE_RANGE_SERVER, range_server={"server_id": -1, "advertise_addr": ADDRESS}),
        expect_any(answer("HEARTBEAT", code=PD_INTERNAL_SERVER_ERROR, client_role=ROLE_RANGE_SERVER)),
        variant="apart",
    ),
)

CASES: tuple[Case, ...] = (*_HEARTBEATS, *_METRICS, *_NODES, *_CHOICE)
