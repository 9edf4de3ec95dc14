"""The batch style: streams, batches and ranges in S1 and S2, and how each refuses."""

import pytest

from tests.protocols.sbp.server.talk import SECOND, Client, code_of, ping
from tests.protocols.sbp_0_1.server.talk import (
    append_s1,
    append_s2,
    batch_s1,
    batch_s2,
    client_s1,
    client_s2,
    header_of,
    placed,
)
from wiretool import limits
from wiretool.errors import UsageError
from wiretool.protocols.sbp.messages import FETCH, GOAWAY, SbpFrame
from wiretool.protocols.sbp_0_1 import tables_s1 as s1
from wiretool.protocols.sbp_0_1 import tables_s2 as s2
from wiretool.protocols.sbp_0_1.messages import S2
from wiretool.protocols.sbp_0_1.server.mock import Sbp01Mock

MANAGER, DATA_NODE = "placement-manager", "sbp-0.1"


def with_streams(client: Client, count: int = 2) -> Client:
    streams = tuple(s1.Stream(replica_nums=1, retention_period_ms=5) for _ in range(count))
    made = header_of(client.ask(s1.CreateStreamsRequest(stremas=streams)))
    assert [result.stream.stream_id for result in made.create_responses] == list(range(count))
    return client


def fetch_s1(*wanted: tuple[int, int]) -> s1.FetchRequest:
    infos = tuple(
        s1.FetchInfo(stream_id=stream, request_index=index, fetch_offset=offset)
        for index, (stream, offset) in enumerate(wanted)
    )
    return s1.FetchRequest(fetch_requests=infos)


def seal_s1(stream: int, index: int) -> s1.SealRangesRequest:
    return s1.SealRangesRequest(ranges=(s1.RangeId(stream_id=stream, range_index=index),))


# -- S1 ----------------------------------------------------------------------------------------------------------------


def test_s1_batches_get_their_offsets_and_come_back() -> None:
    client = with_streams(client_s1())
    first, second, third = batch_s1(3, b"a"), batch_s1(2, b"b"), batch_s1(1, b"c")
    (answer,) = client.say(append_s1(50, (0, first), (1, second), (0, third)))
    results = header_of(answer).append_responses
    assert [(each.stream_id, each.request_index, each.base_offset) for each in results] == [
        *((0, 0, 0), (1, 1, 0), (0, 2, 3)),
    ]
    answer = client.ask(fetch_s1((1, 0), (0, 1), (0, 9)))
    assert answer.payload == placed(second, 0) + placed(first, 0)
    assert [each.batch_length for each in header_of(answer).fetch_responses] == [len(second), len(first), 0]
    assert client.ask(fetch_s1((0, 3))).payload == placed(third, 3)


def test_s1_says_for_each_batch_what_is_wrong_with_it() -> None:
    client = with_streams(client_s1())
    good = batch_s1(1)
    (answer,) = client.say(append_s1(50, (0, good), (7, good), (1, b"\x23" + good[1:]), (0, good)))
    results = header_of(answer).append_responses
    assert [each.error_code for each in results] == [0, 2, 2, 0]
    assert results[1].error_message == "no range in stream 7"
    cut = append_s1(51, (0, good), (0, good))
    (answer,) = client.say(SbpFrame(opcode=cut.opcode, stream_id=51, header=cut.header, payload=good + good[:-1]))
    assert [each.error_code for each in header_of(answer).append_responses] == [0, 2]


def test_s1_streams_are_described_updated_and_removed() -> None:
    client = with_streams(client_s1())
    changed = s1.Stream(stream_id=1, replica_nums=2, retention_period_ms=9)
    assert header_of(client.ask(s1.UpdateStreamsRequest(streams=(changed,)))).update_responses[0].stream == changed
    described = header_of(client.ask(s1.DescribeStreamsRequest(stream_ids=(1, 8)))).describe_responses
    assert [(each.stream.stream_id, each.error_code) for each in described] == [(1, 0), (8, 2)]
    removed = header_of(client.ask(s1.DeleteStreamsRequest(streams=(changed, changed)))).delete_responses
    assert [each.error_code for each in removed] == [0, 2]


def test_s1_seals_and_opens_the_next_range() -> None:
    client = with_streams(client_s1())
    client.say(append_s1(50, (0, batch_s1(4))))
    for _ in range(2):
        (result,) = header_of(client.ask(seal_s1(0, 0))).seal_responses
        assert [(each.range_index, each.start_offset, each.end_offset) for each in result.ranges] == [
            *((0, 0, 4), (1, 4, -1)),
        ]
    for stream, index in ((0, 2), (9, 0)):
        (result,) = header_of(client.ask(seal_s1(stream, index))).seal_responses
        assert (result.error_code, result.ranges) == (2, None)
    (answer,) = client.say(append_s1(51, (0, batch_s1(2))))
    assert header_of(answer).append_responses[0].base_offset == 4
    assert len(client.ask(fetch_s1((0, 2))).payload) == len(batch_s1(4))
    owners = (s1.RangeOwner(stream_id=0), s1.RangeOwner(data_node=s1.DataNode(node_id=0)), s1.RangeOwner(stream_id=5))
    listed = header_of(client.ask(s1.ListRangesRequest(range_owners=owners))).list_responses
    assert [len(each.ranges) for each in listed] == [2, 3, 0]


def test_s1_data_node_only_seals() -> None:
    mock = Sbp01Mock(has_two_doors=True)
    manager, node = client_s1(mock, 0, MANAGER), client_s1(mock, 1, DATA_NODE)
    with_streams(manager)
    node.say(append_s1(50, (0, batch_s1(4))))
    (result,) = header_of(node.ask(seal_s1(0, 0))).seal_responses
    assert [(each.range_index, each.next_offset) for each in result.ranges] == [(0, 4)]
    (answer,) = node.say(append_s1(51, (0, batch_s1(1))))
    assert header_of(answer).append_responses[0].error_code == 2
    (result,) = header_of(manager.ask(seal_s1(0, 0))).seal_responses
    assert len(result.ranges) == 2


def test_s1_ranges_are_taken_over_described_and_trimmed() -> None:
    client = client_s1()
    told = s1.Range(stream_id=0, range_index=0, start_offset=10)
    wanted = s1.StreamRanges(stream_id=0, ranges=(told,))
    (synced,) = header_of(client.ask(s1.SyncRangesRequest(stream_ranges=(wanted,)))).sync_responses
    assert synced.ranges[0].next_offset == 10
    client.say(append_s1(50, (0, batch_s1(4))))
    ids = (s1.RangeId(stream_id=0, range_index=0), s1.RangeId(stream_id=0, range_index=9))
    described = header_of(client.ask(s1.DescribeRangesRequest(ranges=ids))).describe_responses
    assert (described[0].ranges.next_offset, described[1].error_code) == (14, 2)
    client.ask(s1.UpdateStreamsRequest(streams=(s1.Stream(stream_id=0),)))
    client.ask(seal_s1(0, 0))
    trims = (s1.TrimmedStream(stream_id=0, trim_offset=14), s1.TrimmedStream(stream_id=5))
    trimmed = header_of(client.ask(s1.TrimeStreamsRequest(trimmed_streams=trims))).trim_responses
    assert (trimmed[0].range.range_index, trimmed[0].range.start_offset, trimmed[1].error_code) == (1, 14, 2)


def test_s1_counts_nodes_that_report() -> None:
    client = client_s1()
    node = s1.DataNode(node_id=4, advertise_addr="localhost:4")
    echoed = header_of(client.ask(s1.HeartbeatRequest(client_id="dn", client_role=2, data_node=node)))
    assert (echoed.client_id, echoed.data_node) == ("dn", node)
    assert header_of(client.ask(s1.ReportMetricsRequest(data_node=node))).data_node == node
    with_streams(client, 1)
    (listed,) = header_of(client.ask(s1.ListRangesRequest(range_owners=(s1.RangeOwner(),)))).list_responses
    assert listed.ranges[0].replica_nodes[0].data_node == node
    wanted = s1.CreateStreamsRequest(stremas=(s1.Stream(replica_nums=1), s1.Stream(replica_nums=2)))
    assert [each.error_code for each in header_of(client.ask(wanted)).create_responses] == [1, 1]


def test_s1_drops_what_it_does_not_know_and_what_is_no_flatbuffer() -> None:
    client = client_s1()
    foreign = SbpFrame(opcode=0x0003, stream_id=2, header=s1.HeartbeatRequest(client_id="x"), header_format=3)
    (pong,) = client.say(SbpFrame(opcode=0x7777, stream_id=1), foreign, ping(3))
    assert pong.stream_id == 3


def test_without_a_header_it_needs_no_format() -> None:
    none = SbpFrame(opcode=0x0003, stream_id=1, header_format=0)
    (answer,) = client_s1().say(none)
    assert header_of(answer) == s1.HeartbeatResponse()
    assert client_s1(Sbp01Mock(like_real=True)).say(none) == []


def test_s1_says_in_its_own_table_that_a_header_cannot_be_read() -> None:
    (answer,) = client_s1().say(SbpFrame(opcode=FETCH, stream_id=1, header=b"abc"))
    (result,) = header_of(answer).fetch_responses
    assert (result.error_code, result.error_message) == (2, "the header cannot be read")


def test_s1_fetch_is_cut_to_what_a_frame_carries() -> None:
    client = with_streams(client_s1())
    data = batch_s1(1, bytes(6 * 1024 * 1024))
    for number in range(3):
        client.say(append_s1(50 + number, (0, data)))
    assert len(client.ask(fetch_s1((0, 0), (0, 1), (0, 2))).payload) == 2 * len(data)


# -- S2 ----------------------------------------------------------------------------------------------------------------


def streams_s2(client: Client, count: int = 1) -> Client:
    wanted = tuple(s2.Stream(replica_num=1) for _ in range(count))
    made = header_of(client.ask(s2.CreateStreamsRequest(streams=wanted)))
    assert [(each.range.stream_id, each.range.range_index) for each in made.create_responses] == [
        (number, 0) for number in range(count)
    ]
    return client


def fetch_s2(stream: int, index: int, offset: int) -> s2.FetchRequest:
    wanted = s2.Range(stream_id=stream, range_index=index)
    return s2.FetchRequest(fetch_requests=(s2.FetchInfo(range=wanted, fetch_offset=offset),))


def test_s2_batches_are_counted_in_fetch() -> None:
    client = streams_s2(client_s2())
    one, two = batch_s2(2, b"a"), batch_s2(3, b"b")
    (answer,) = client.say(append_s2(50, (0, 0, one), (0, 0, two)))
    assert [each.base_offset for each in header_of(answer).append_responses] == [0, 2]
    answer = client.ask(fetch_s2(0, 0, 0))
    (result,) = header_of(answer).fetch_responses
    assert (result.batch_count, answer.payload) == (2, placed(one, 0) + placed(two, 2))
    codes = [
        header_of(client.ask(fetch_s2(*wanted))).fetch_responses[0].status.code
        for wanted in ((0, 0, 5), (0, 4, 0), (0, 0, -1))
    ]
    assert codes == [1204, 1462, 1400]


def test_s2_one_bad_batch_fails_the_frame() -> None:
    client = streams_s2(client_s2())
    good = batch_s2(1)
    for bad in ((0, 3, good), (0, 0, good[:-3])):
        (answer,) = client.say(append_s2(50, (0, 0, good), bad))
        assert answer.flags == 7
    (result,) = header_of(client.ask(fetch_s2(0, 0, 0))).fetch_responses
    assert result.status.code == 1204


def test_s2_seals_and_tells_the_writable_range() -> None:
    client = streams_s2(client_s2())
    client.say(append_s2(50, (0, 0, batch_s2(3))))
    wanted = tuple(
        s2.RangeId(stream_id=stream, range_index=index) for stream, index in ((0, 0), (0, 0), (0, 5), (9, 0))
    )
    results = header_of(client.ask(s2.SealRangesRequest(ranges=wanted))).seal_responses
    assert [each.status.code for each in results] == [1200, 1200, 1510, 1510]
    assert [each.range.range_index if each.range else None for each in results] == [1, 1, 1, None]
    (answer,) = client.say(append_s2(51, (0, 0, batch_s2(1))))
    assert (answer.flags, code_of(answer)) == (7, 1460)


def test_s2_leaves_out_what_the_real_manager_does() -> None:
    client = client_s2()
    made = header_of(client.ask(s2.CreateStreamsRequest(streams=(s2.Stream(replica_num=0),))))
    assert made.create_responses[0].range.replica_nodes is None
    criteria = (s2.RangeCriteria(stream_id=0), s2.RangeCriteria(stream_id=7), s2.RangeCriteria())
    listed = header_of(client.ask(s2.ListRangesRequest(range_criteria=criteria))).list_responses
    assert [None if each.ranges is None else len(each.ranges) for each in listed] == [1, 0, None]


def test_s2_data_node_tells_the_end_of_what_it_sealed() -> None:
    mock = Sbp01Mock(has_two_doors=True, schema="S2")
    manager, node = client_s2(mock, 0, MANAGER), client_s2(mock, 1, DATA_NODE)
    streams_s2(manager)
    node.say(append_s2(50, (0, 0, batch_s2(3))))
    sealed = header_of(node.ask(s2.SealRangesRequest(ranges=(s2.RangeId(stream_id=0, range_index=0),))))
    assert (sealed.seal_responses[0].range.end_offset, sealed.seal_responses[0].range.next_offset) == (3, 3)
    described = header_of(node.ask(s2.DescribeRangesRequest(ranges=(s2.RangeId(stream_id=5, range_index=0),))))
    assert described.describe_responses[0].status.code == 1500
    (answer,) = manager.say(append_s2(60, (0, 0, batch_s2(1))))
    assert (answer.flags, code_of(answer)) == (7, 1499)


def test_s2_refuses_with_a_system_error_what_it_cannot_read() -> None:
    client = client_s2()
    (unknown, unreadable) = client.say(
        SbpFrame(opcode=0x7777, stream_id=1), SbpFrame(opcode=0x3001, stream_id=2, header=b"abc")
    )
    assert [(each.flags, code_of(each)) for each in (unknown, unreadable)] == [(7, 1499), (7, 1400)]


def test_s2_real_manager_ends_with_all_its_connections() -> None:
    mock = Sbp01Mock(has_two_doors=True, schema="S2", like_real=True)
    client, other = client_s2(mock, 0, MANAGER), client_s2(mock, 1, MANAGER)
    for number, frame in enumerate(
        (
            SbpFrame(opcode=0x3001, stream_id=9, header=b"abc"),
            SbpFrame(opcode=0x3001, stream_id=9, header=s2.CreateStreamsRequest(), header_format=2),
        )
    ):
        again = client_s2(mock, 10 + number, MANAGER)
        again.say(frame)
        assert again.closed is not None
    assert client.number not in mock.links
    assert other.number not in mock.links


def test_s2_cluster_and_ids() -> None:
    client = client_s2()
    assert [header_of(client.ask(s2.IdAllocationRequest(host="h"))).id for _ in range(2)] == [0, 1]
    wanted = s2.DescribePlacementManagerClusterRequest(data_node=s2.DataNode(node_id=1))
    (node,) = header_of(client.ask(wanted)).cluster.nodes
    assert (node.advertise_addr, node.is_leader) == ("127.0.0.1:10911", True)


# -- which schema ------------------------------------------------------------------------------------------------------


def test_a_connection_is_s1_until_a_request_can_only_be_s2() -> None:
    mock = Sbp01Mock()
    with_streams(client_s1(mock))
    client = client_s1(mock, 1)
    assert header_of(client.ask(s1.HeartbeatRequest(client_id="x"))).client_id == "x"
    client.schema = S2
    criteria = (s2.RangeCriteria(stream_id=0),)  # no writer of S1 stores a 0
    (listed,) = header_of(client.ask(s2.ListRangesRequest(range_criteria=criteria))).list_responses
    assert (listed.status.code, len(listed.ranges)) == (1200, 1)


def test_a_schema_that_is_given_stays() -> None:
    client = client_s1(Sbp01Mock(schema="S1"))
    with_streams(client)
    criteria = (s2.RangeCriteria(stream_id=0),)
    (listed,) = header_of(client.ask(s2.ListRangesRequest(range_criteria=criteria))).list_responses
    assert listed.error_code == 0
    with pytest.raises(UsageError, match="S1 and S2, not 'S3'"):
        Sbp01Mock(schema="S3")


# -- connections -------------------------------------------------------------------------------------------------------


def test_goaway_and_silence_are_as_the_placement_drivers() -> None:
    client = client_s1()
    (answer,) = client.say(SbpFrame(opcode=GOAWAY, stream_id=1))
    assert (answer.opcode, answer.flags) == (GOAWAY, 3)
    silent = client_s1(client.mock, 1)  # type: ignore[arg-type]
    (goaway,) = silent.wait(15 * SECOND)
    assert (goaway.opcode, goaway.flags) == (GOAWAY, 0)
    silent.wait(16 * SECOND)
    assert silent.closed is not None


def test_a_malformed_frame_ends_its_own_connection_only() -> None:
    mock = Sbp01Mock()
    client, other = client_s1(mock, 0), client_s1(mock, 1)
    assert [each.opcode for each in client.send(b"\x00\x00\x00\x05" + bytes(20))] == [GOAWAY]
    client.wait(SECOND)
    assert client.closed is not None
    assert len(other.say(ping(1))) == 1


# -- bounds and operations ---------------------------------------------------------------------------------------------


def test_the_oldest_batches_go_first() -> None:
    client = with_streams(client_s1(Sbp01Mock(retain_bytes=5_000)), 1)
    data = batch_s1(1, bytes(1_000))
    for number in range(10):
        client.say(append_s1(50 + number, (0, data)))
    oldest = client.ask(fetch_s1((0, 0))).payload
    kept = 10 - int.from_bytes(oldest[1:9], "big")
    assert 2 <= kept <= 4
    assert client.ask(fetch_s1((0, 9))).payload == placed(data, 9)


def test_no_more_streams_and_ranges_than_there_is_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "SBP_STREAMS_MAX", 2)
    client = with_streams(client_s1())
    more = s1.CreateStreamsRequest(stremas=(s1.Stream(replica_nums=1),))
    assert [each.error_code for each in header_of(client.ask(more)).create_responses] == [1]
    monkeypatch.setattr(limits, "SBP_RANGES_MAX", 2)
    (result,) = header_of(client.ask(seal_s1(0, 0))).seal_responses
    assert result.error_code == 1
    (answer,) = client.say(append_s1(50, (0, batch_s1(1))))
    assert header_of(answer).append_responses[0].error_code == 0


def test_somebody_may_seal_a_range() -> None:
    mock = Sbp01Mock()
    client = with_streams(client_s1(mock))
    client.say(append_s1(50, (0, batch_s1(4))))
    assert mock.operate("seal", {"stream": 0}, 0) == ({"stream": 0, "index": 0, "end": 4}, [])
    with pytest.raises(UsageError, match="stream 9"):
        mock.operate("seal", {"stream": 9}, 0)
    for wrong in ({"stream": [0]}, {"stream": "0"}, {"stream": 0, "index": 1.5}):
        with pytest.raises(UsageError, match="is a whole number, not"):
            mock.operate("seal", wrong, 0)
    with pytest.raises(UsageError, match="seal: missing stream; expected a whole number"):
        mock.operate("seal", {}, 0)
    with pytest.raises(UsageError, match=r"no operation 'scale': there is seal$"):
        mock.operate("scale", {}, 0)


def test_a_restarted_mock_remembers_nothing() -> None:
    mock = Sbp01Mock()
    with_streams(client_s1(mock))
    mock.restart(5)
    with_streams(client_s1(mock, 1))
