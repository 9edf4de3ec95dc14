"""What recordings of one placement driver do not show: followers, its stand-in, what is silent, bounds."""

import pytest

from tests.protocols.sbp.server.talk import SECOND, Client, code_of
from wiretool import limits
from wiretool.errors import UsageError
from wiretool.protocols.sbp import tables
from wiretool.protocols.sbp.server.mock import SbpMock
from wiretool.protocols.sbp.server.placement import Node

NODES = (Node("a", "localhost:1", is_leader=False), Node("b", "localhost:2"))


def new_stream(client: Client, replica: int = 1) -> int:
    answer = client.ask(tables.CreateStreamRequest(stream=tables.Stream(replica=replica)))
    number: int = answer.header.stream.stream_id  # type: ignore[union-attr]
    return number


def placed_on(client: Client, replica: int = 1) -> list[tuple[int, str | None]] | int:
    """Number and address of the servers of a new range, or the code of the refusal."""
    wanted = tables.Range(stream_id=new_stream(client, replica), index=0, start=0, epoch=0)
    answer = client.ask(tables.CreateRangeRequest(range=wanted))
    if code_of(answer) != 1200:
        return code_of(answer)
    servers = answer.header.range.servers  # type: ignore[union-attr]
    return [(server.server_id, server.advertise_addr) for server in servers]


def report(client: Client, number: int, *, free: int = 1) -> None:
    server = tables.RangeServer(server_id=number, advertise_addr=f"localhost:{number}")
    metrics = tables.RangeServerMetrics(disk_free_space=free)
    assert code_of(client.ask(tables.ReportMetricsRequest(range_server=server, metrics=metrics))) == 1200


def test_the_range_server_beside_it_stands_in_until_another_reports() -> None:
    mock = SbpMock()
    mock.bound("sbp", "localhost", 4711)
    client = Client(mock)
    assert placed_on(client) == [(0, "localhost:4711")]
    report(client, 7)
    assert placed_on(client) == [(7, "localhost:7")]
    assert placed_on(client, 2) == 1502


def test_new_ranges_go_to_the_servers_in_turn_and_to_none_that_is_silent_or_full() -> None:
    client = Client(SbpMock(servers={}))
    for number in (1, 2, 3):
        report(client, number)
    assert [placed_on(client, 2) for _ in range(3)] == [
        [(1, "localhost:1"), (2, "localhost:2")],
        [(3, "localhost:3"), (1, "localhost:1")],
        [(2, "localhost:2"), (3, "localhost:3")],
    ]
    report(client, 2, free=0)
    assert placed_on(client, 3) == 1502
    client.now_ns = 99 * SECOND
    report(client, 2)
    assert placed_on(client, 3) != 1502
    client.now_ns = 100 * SECOND
    assert placed_on(client, 2) == 1502


def test_a_follower_names_the_leader() -> None:
    client = Client(SbpMock(nodes=NODES, is_leader=False))
    answer = client.ask(tables.DescribeStreamRequest(stream_id=0))
    assert (answer.flags, code_of(answer)) == (3, 1503)
    cluster = tables.status_detail(answer.header.status)  # type: ignore[union-attr]
    assert cluster is not None
    assert [(node.name, node.advertise_addr, node.is_leader) for node in cluster.nodes or ()] == [
        ("a", "localhost:1", False),
        ("b", "localhost:2", True),
    ]
    report(client, 1)
    assert code_of(client.ask(tables.DescribePlacementDriverClusterRequest())) == 1200


def test_somebody_may_take_the_lead_away_and_give_it_back() -> None:
    mock = SbpMock()
    client = Client(mock)
    assert mock.operate("lead", {"leads": False}, 0) == ({"leads": False}, [])
    assert code_of(client.ask(tables.DescribeStreamRequest(stream_id=0))) == 1503
    mock.operate("lead", {}, 0)
    assert code_of(client.ask(tables.DescribeStreamRequest(stream_id=0))) == 1404
    with pytest.raises(UsageError, match="true or false"):
        mock.operate("lead", {"leads": 1}, 0)


def test_the_placement_driver_is_where_it_is_said_to_be() -> None:
    mock = SbpMock(has_two_doors=True)
    mock.bound("placement-driver", "::1", 99)
    answer = Client(mock, door="placement-driver").ask(tables.DescribePlacementDriverClusterRequest())
    (node,) = answer.header.cluster.nodes  # type: ignore[union-attr]
    assert (node.advertise_addr, node.is_leader) == ("[::1]:99", True)


def test_no_more_streams_and_ranges_than_there_is_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "SBP_STREAMS_MAX", 2)
    monkeypatch.setattr(limits, "SBP_RANGES_MAX", 1)
    client = Client(SbpMock())
    assert placed_on(client) == [(0, "127.0.0.1:10911")]
    assert placed_on(client) == 1500
    answer = client.ask(tables.CreateStreamRequest(stream=tables.Stream(replica=1)))
    assert code_of(answer) == 1500


def test_no_more_ranges_are_listed_than_an_answer_has_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    client = Client(SbpMock())
    client.ask(tables.CreateStreamRequest(stream=tables.Stream(replica=1)))
    client.ask(tables.CreateRangeRequest(range=tables.Range(stream_id=0, index=0, start=0, epoch=0)))
    wanted = tables.ListRangeRequest(criteria=tables.ListRangeCriteria(stream_id=0))
    monkeypatch.setattr(limits, "SBP_LISTED_MAX", 2)
    assert len(client.ask(wanted).header.ranges) == 1  # type: ignore[union-attr]
    monkeypatch.setattr(limits, "SBP_LISTED_MAX", 1)
    assert code_of(client.ask(wanted)) == 1500


def test_an_id_is_given_out_once() -> None:
    client = Client(SbpMock())
    given = [client.ask(tables.IdAllocationRequest(host="h")).header.id for _ in range(3)]  # type: ignore[union-attr]
    assert given == [0, 1, 2]


def test_requests_without_their_table_are_refused_in_their_own_response() -> None:
    client = Client(SbpMock(has_two_doors=True), door="placement-driver")
    wanted = {
        tables.CreateStreamRequest(): (1400, "stream is nil"),
        tables.UpdateStreamRequest(): (1500, "handler panic"),
        tables.ListRangeRequest(): (1400, "criteria is nil"),
        tables.CreateRangeRequest(): (1400, "range is nil"),
        tables.SealRangeRequest(kind=2): (1400, "range is nil"),
        tables.SealRangeRequest(kind=1): (1400, "invalid seal kind: RANGE_SERVER"),
        tables.ReportMetricsRequest(): (1400, "range server is nil"),
    }
    for header, (code, message) in wanted.items():
        answer = client.ask(header)
        assert (answer.flags, code_of(answer)) == (3, code)
        assert answer.header.status.message == message  # type: ignore[union-attr]
