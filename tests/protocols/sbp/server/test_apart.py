"""Several range servers and nodes of a placement driver, each behind a door of its own."""

from typing import Any

import pytest

from tests.protocols.sbp.server.talk import Client
from wiretool.codec.flatbuffers.declaration import Table
from wiretool.errors import UsageError
from wiretool.protocols.sbp import tables
from wiretool.server.mock import Mock
from wiretool.server.options import MockOptions
from wiretool.server.part import mock_for

PLACE = tables.Range(stream_id=1, epoch=0, index=0, start=0, end=-1)
FETCH = tables.FetchRequest(range=PLACE, offset=0, limit=-1)


def told(client: Client, request: Table) -> Any:
    """The table of the answer."""
    return client.ask(request).header


def apart(range_servers: int = 0, followers: int = 0) -> Mock:
    return mock_for("sbp", MockOptions(range_servers=range_servers, followers=followers))


def test_every_server_has_a_door() -> None:
    doors = [door.name for door in apart(range_servers=3, followers=2).doors]
    assert doors == [
        *("sbp", "range-server-2", "range-server-3"),
        *("placement-driver", "placement-driver-2", "placement-driver-3"),
    ]
    assert [door.name for door in apart().doors] == ["sbp"]


def test_range_servers_have_ranges_of_their_own() -> None:
    mock = apart(range_servers=2)
    first, second = Client(mock, 1, "sbp"), Client(mock, 2, "range-server-2")
    first.ask(tables.CreateRangeRequest(range=PLACE))
    codes = [told(client, FETCH).status.code for client in (first, second)]
    assert codes == [1204, 1462]


def test_a_placement_driver_apart_knows_no_range_server_until_one_reports() -> None:
    driver = Client(apart(range_servers=1), 1, "placement-driver")
    made = told(driver, tables.CreateStreamRequest(stream=tables.Stream(replica=1))).stream
    wanted = tables.CreateRangeRequest(range=tables.Range(stream_id=made.stream_id, epoch=0, index=0, start=0))
    assert told(driver, wanted).status.code == 1502
    server = tables.RangeServer(server_id=5, advertise_addr="10.0.0.5:10911")
    driver.ask(tables.HeartbeatRequest(client_role=2, range_server=server))
    assert told(driver, wanted).range.servers == (server,)


def test_a_follower_names_the_nodes_and_refuses() -> None:
    mock = apart(range_servers=1, followers=1)
    mock.bound("placement-driver-2", "127.0.0.1", 4711)
    follower = Client(mock, 1, "placement-driver-2")
    status = told(follower, tables.DescribeStreamRequest(stream_id=0)).status
    assert status.code == 1503
    cluster = tables.status_detail(status)
    assert cluster is not None
    assert [(node.advertise_addr, node.is_leader) for node in cluster.nodes or ()] == [
        ("127.0.0.1:10911", True),
        ("127.0.0.1:4711", False),
    ]
    server = tables.RangeServer(server_id=5, advertise_addr="10.0.0.5:10911")
    beat = tables.HeartbeatRequest(client_role=2, range_server=server)
    assert told(follower, beat).status.code == 1200


def test_doors_of_servers_are_for_this_protocol() -> None:
    with pytest.raises(UsageError, match="followers: not allowed with pravega; only with sbp"):
        mock_for("pravega", MockOptions(followers=1))
