"""Which of the two servers a request is for, behind one door and behind two."""

import pytest

from tests.protocols.sbp.server.talk import Client, append, code_of, codes_of, create_range, entry, fetch, frame_of
from wiretool.codec.flatbuffers.declaration import Table
from wiretool.protocols.sbp import tables
from wiretool.protocols.sbp.messages import SbpFrame
from wiretool.protocols.sbp.server.link import Role
from wiretool.protocols.sbp.server.mock import SbpMock
from wiretool.protocols.sbp.server.roles import SERVED, only_role

PLAIN = tables.CreateRangeRequest(range=tables.Range(stream_id=0, index=0, start=0, epoch=0))


def seal(kind: int, end: int = -1) -> tables.SealRangeRequest:
    return tables.SealRangeRequest(kind=kind, range=tables.Range(stream_id=0, index=0, epoch=0, end=end))


def test_every_operation_has_its_servers() -> None:
    both = {0x0003, 0x2002, 0x2004}
    assert SERVED[Role.PLACEMENT_DRIVER] & SERVED[Role.RANGE_SERVER] == both
    assert {only_role(opcode) for opcode in both} == {None}
    assert only_role(0x1001) is Role.RANGE_SERVER
    assert only_role(0x3004) is Role.PLACEMENT_DRIVER
    assert only_role(0x3005) is None


def test_one_connection_can_do_with_both_behind_one_door() -> None:
    client = Client(SbpMock())
    client.ask(tables.CreateStreamRequest(stream=tables.Stream(replica=1, ack_count=1)))
    placed = client.ask(PLAIN).header.range  # type: ignore[union-attr]
    assert code_of(client.ask(PLAIN)) == 1470
    assert client.ask(tables.CreateRangeRequest(range=placed)).header.status.message == "OK"  # type: ignore[union-attr]
    (answer,) = client.say(append(50, entry(0, 4, stream=0)))
    assert codes_of(answer) == [1200]
    client.next_id = 50
    assert client.ask(seal(1)).header.range.end == 4  # type: ignore[union-attr]
    assert client.ask(seal(2, end=4)).header.range.end == 4  # type: ignore[union-attr]
    assert code_of(client.ask(seal(2, end=4))) == 1460


def test_a_connection_that_asks_a_placement_driver_only_is_with_that() -> None:
    client = Client(SbpMock())
    client.ask(tables.CreateStreamRequest(stream=tables.Stream(replica=1)))
    assert code_of(client.ask(seal(1))) == 1400
    assert code_of(client.ask(create_range(stream=0))) == 1200
    assert client.ask(tables.HeartbeatRequest(client_role=3)).header.status.message is None  # type: ignore[union-attr]


def test_a_connection_that_asks_a_range_server_only_is_with_that() -> None:
    client = Client(SbpMock())
    assert code_of(client.ask(fetch(0))) == 1462
    assert code_of(client.ask(PLAIN)) == 1200
    assert code_of(client.ask(seal(2))) == 1200
    (answer,) = client.say(SbpFrame(opcode=0x7777, stream_id=9))
    assert (answer.flags, code_of(answer)) == (7, 1498)


def test_what_is_broken_shows_nothing() -> None:
    client = Client(SbpMock())
    (refused,) = client.say(SbpFrame(opcode=0x1002, stream_id=1))
    assert code_of(refused) == 1400
    (answer,) = client.say(SbpFrame(opcode=0x7777, stream_id=2))
    assert code_of(answer) == 1499


@pytest.mark.parametrize(
    ("door", "header"),
    [
        ("sbp", tables.DescribeStreamRequest(stream_id=0)),
        ("sbp", tables.TrimStreamRequest(stream_id=0)),
        ("placement-driver", fetch(0)),
        ("placement-driver", tables.TrimStreamRequest(stream_id=0)),
    ],
)
def test_behind_two_doors_each_serves_its_own(door: str, header: Table) -> None:
    (answer,) = Client(SbpMock(has_two_doors=True), door=door).say(frame_of(header, 1))
    assert (answer.flags, code_of(answer)) == (7, 1498)
