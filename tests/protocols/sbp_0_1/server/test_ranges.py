"""Ranges that clients tell of, in any order and with any number; streams that were removed."""

import pytest

from tests.protocols.sbp.server.talk import Client
from tests.protocols.sbp_0_1.server.talk import (
    append_s1,
    append_s2,
    batch_s1,
    batch_s2,
    client_s1,
    client_s2,
    header_of,
)
from wiretool import limits
from wiretool.protocols.sbp_0_1 import tables_s1 as s1
from wiretool.protocols.sbp_0_1 import tables_s2 as s2
from wiretool.protocols.sbp_0_1.server.mock import Sbp01Mock
from wiretool.protocols.sbp_0_1.server.store import Store, Stream

LAST_INDEX = 2**31 - 1


def synced(client: Client, *ranges: tuple[int, int]) -> list[int]:
    """The error codes of taking over ranges of stream 0, by index and start, one request each."""
    codes = []
    for index, start in ranges:
        told = s1.Range(stream_id=0, range_index=index, start_offset=start)
        wanted = s1.SyncRangesRequest(stream_ranges=(s1.StreamRanges(stream_id=0, ranges=(told,)),))
        codes += [each.error_code for each in header_of(client.ask(wanted)).sync_responses]
    return codes


def appended(client: Client, stream: int = 0, count: int = 2) -> s1.AppendResult:
    client.next_id += 1
    (answer,) = client.say(append_s1(client.next_id, (stream, batch_s1(count))))
    result: s1.AppendResult = header_of(answer).append_responses[0]
    return result


def listed(client: Client) -> list[tuple[int, int, int]]:
    """Index, start and end of the ranges of stream 0."""
    wanted = s1.ListRangesRequest(range_owners=(s1.RangeOwner(stream_id=0),))
    (result,) = header_of(client.ask(wanted)).list_responses
    return [(each.range_index, each.start_offset, each.end_offset) for each in result.ranges]


def sealed(client: Client, index: int) -> s1.SealRangesResult:
    ranges = (s1.RangeId(stream_id=0, range_index=index),)
    (result,) = header_of(client.ask(s1.SealRangesRequest(ranges=ranges))).seal_responses
    assert isinstance(result, s1.SealRangesResult)
    return result


@pytest.mark.parametrize(("index", "start"), [(0, -5), (-1, 0), (-(2**31), -(2**63))])
def test_a_range_that_cannot_be_is_not_taken_over(index: int, start: int) -> None:
    client = client_s1()
    assert synced(client, (index, start)) == [2]
    assert appended(client).error_message == "no range in stream 0"
    assert listed(client) == []


def test_behind_the_last_range_of_all_comes_none_and_it_stays_open() -> None:
    client = client_s1()
    assert synced(client, (LAST_INDEX, 7)) == [0]
    assert sealed(client, LAST_INDEX).error_code == 1
    assert appended(client).base_offset == 7
    assert listed(client) == [(LAST_INDEX, 7, -1)]


def test_ranges_stand_in_the_order_of_their_index_and_the_last_is_writable() -> None:
    client = client_s1()
    assert synced(client, (3, 100), (1, 10), (2, 50), (1, 77)) == [0, 0, 0, 0]
    assert listed(client) == [(1, 10, -1), (2, 50, -1), (3, 100, -1)]
    assert appended(client).base_offset == 100
    assert sealed(client, 3).error_code == 0
    assert listed(client)[-2:] == [(3, 100, 102), (4, 102, -1)]


def test_a_range_starts_between_those_beside_it() -> None:
    client = client_s1()
    assert synced(client, (1, 10), (3, 30)) == [0, 0]
    assert synced(client, (0, 11), (2, 9), (2, 31), (4, 29)) == [2, 2, 2, 2]
    assert synced(client, (0, 10), (2, 30), (4, 30)) == [0, 0, 0]


def test_a_new_stream_takes_no_number_that_has_ranges() -> None:
    client = client_s1()
    assert synced(client, (0, 5)) == [0]
    wanted = s1.CreateStreamsRequest(stremas=(s1.Stream(replica_nums=1), s1.Stream(replica_nums=1)))
    made = header_of(client.ask(wanted)).create_responses
    assert [each.stream.stream_id for each in made] == [1, 2]
    assert listed(client) == [(0, 5, -1)]


def test_an_offset_is_found_in_its_range_or_the_next() -> None:
    store = Store(1_000_000, 0)
    for index, start in enumerate((0, 10, 20, 20)):
        store.append(store.take_over(0, index, start, ()), batch_s1(2, b"%d" % start), 2)
    assert [store.fetch(0, None, offset, 1, 1000)[0][1:9] for offset in (0, 1, 2, 9, 10, 11, 12, 20, 21)] == [
        start.to_bytes(8, "big") for start in (0, 0, 10, 10, 10, 10, 20, 20, 20)
    ]
    assert store.fetch(0, None, 22, 1, 1000) == []


def test_trimming_drops_ranges_and_their_batches() -> None:
    store = Store(1_000_000, 0)
    store.create_streams([], 0)
    store.take_over(0, 0, 0, ())
    for index in range(5):
        store.append(store.range_of(0, None), batch_s1(10), 10)
        store.seal_and_new(0, index)
    first = store.trim(0, 25)
    assert first is not None
    assert (first.index, first.start) == (2, 20 + 5)
    assert len(store.ranges[0]) == 4
    assert store.keeper.held_bytes == 3 * (len(batch_s1(10)) + limits.SBP_BATCH_OVERHEAD_BYTES)


def test_a_stream_that_was_removed_takes_no_more_writes_until_it_is_there_again() -> None:
    client = client_s1()
    client.ask(s1.CreateStreamsRequest(stremas=(s1.Stream(replica_nums=1), s1.Stream(replica_nums=1))))
    assert appended(client).error_code == 0
    client.ask(s1.DeleteStreamsRequest(streams=(s1.Stream(stream_id=0),)))
    refused = appended(client)
    assert (refused.error_code, refused.error_message) == (2, "stream 0 was deleted")
    assert appended(client, 1).error_code == 0
    assert client.ask(s1.FetchRequest(fetch_requests=(s1.FetchInfo(stream_id=0),))).payload
    client.ask(s1.UpdateStreamsRequest(streams=(s1.Stream(stream_id=0, replica_nums=1),)))
    assert appended(client).base_offset == 2


def test_s2_data_node_knows_nothing_of_streams() -> None:
    client = client_s2()
    client.ask(s2.CreateStreamsRequest(streams=(s2.Stream(replica_num=1),)))
    client.ask(s2.DeleteStreamsRequest(streams=(s2.Stream(stream_id=0),)))
    (answer,) = client.say(append_s2(50, (0, 0, batch_s2(1))))
    assert header_of(answer).append_responses[0].base_offset == 0


@pytest.mark.parametrize(("retention_ms", "told_ms"), [(-(2**63), -(2**31)), (2**63 - 1, 2**31 - 1)])
def test_s1_tells_a_retention_that_only_s2_can_say_as_near_as_it_can(retention_ms: int, told_ms: int) -> None:
    mock = Sbp01Mock()
    mock.store.update_stream(Stream(0, 1, retention_ms))
    (told,) = header_of(client_s1(mock).ask(s1.DescribeStreamsRequest(stream_ids=(0,)))).describe_responses
    assert told.stream.retention_period_ms == told_ms
