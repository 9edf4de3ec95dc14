"""What one request may ask for, and how much of a frame batches may take."""

import pytest

from tests.protocols.sbp.server.independent import Writer, to
from tests.protocols.sbp.server.talk import Client, code_of, ping
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
from wiretool.codec.flatbuffers.declaration import Table
from wiretool.protocols.sbp.messages import APPEND, SbpFrame
from wiretool.protocols.sbp.server.link import CONTENT_BYTES_MAX
from wiretool.protocols.sbp_0_1 import tables_s1 as s1
from wiretool.protocols.sbp_0_1 import tables_s2 as s2
from wiretool.protocols.sbp_0_1.server import serving
from wiretool.protocols.sbp_0_1.server.asking import RESULT_BYTES
from wiretool.protocols.sbp_0_1.server.mock import Sbp01Mock

MEBIBYTE = 1024 * 1024
#: A batch that fits into an answer alone, behind a header with one result.
LARGEST_S1, LARGEST_S2 = CONTENT_BYTES_MAX - 64, CONTENT_BYTES_MAX - 96


def shared(count: int, *, slot: int = 1) -> bytes:
    """A header of which one slot names a single empty table so often."""
    writer = Writer()
    empty = writer.table(0)
    return writer.finish(writer.table(slot + 1, to(slot, writer.tables([empty] * count))))


def with_stream(client: Client, count: int = 1) -> Client:
    client.ask(s1.CreateStreamsRequest(stremas=tuple(s1.Stream(replica_nums=1) for _ in range(count))))
    client.next_id = 100
    return client


# -- headers -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [limits.SBP_ENTRIES_MAX, 100_000])
def test_s1_does_not_read_a_header_of_too_many_tables(count: int) -> None:
    client = client_s1()
    answer, pong = client.say(SbpFrame(opcode=APPEND, stream_id=1, header=shared(count)), ping(2))
    (result,) = header_of(answer).append_responses
    assert (result.error_code, result.error_message) == (2, "the header cannot be read")
    assert pong.stream_id == 2
    assert client.closed is None


def test_s1_serves_as_many_tables_as_it_may() -> None:
    header = shared(limits.SBP_ENTRIES_MAX - 1)
    (answer,) = client_s1(Sbp01Mock(schema="S1")).say(SbpFrame(opcode=APPEND, stream_id=1, header=header))
    assert len(header_of(answer).append_responses) == limits.SBP_ENTRIES_MAX - 1


def test_s2_does_not_read_a_header_of_too_many_tables() -> None:
    header = shared(limits.SBP_ENTRIES_MAX)
    (answer,) = client_s2().say(SbpFrame(opcode=APPEND, stream_id=1, header=header))
    assert (answer.flags, code_of(answer), answer.header.status.message) == (7, 1400, None)  # type: ignore[union-attr]


def test_a_header_of_too_many_tables_does_not_show_its_schema(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at: list[int] = []
    monkeypatch.setattr(serving, "only_fit", lambda data, at, end: looked_at.append(end))
    for slot in (1, 2):
        header = shared(limits.SBP_ENTRIES_MAX, slot=slot)
        client_s1().say(SbpFrame(opcode=0x1000 + slot, stream_id=1, header=header))
    assert looked_at == []
    client_s1().say(ping(1))
    assert len(looked_at) == 1


def test_more_numbers_than_may_be_asked_for_are_refused() -> None:
    ids = tuple(range(limits.SBP_ENTRIES_MAX + 1))
    (result,) = header_of(client_s1().ask(s1.DescribeStreamsRequest(stream_ids=ids))).describe_responses
    assert (result.error_code, result.error_message) == (2, "8193 are more than 8192 in one request")
    refused = header_of(client_s2().ask(s2.DescribeStreamsRequest(stream_ids=ids)))
    assert (refused.status.code, refused.describe_responses) == (1400, None)


def test_the_same_ranges_are_not_listed_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "SBP_LISTED_MAX", 8)
    client = with_stream(client_s1(), 2)
    owners = (s1.RangeOwner(stream_id=0), s1.RangeOwner(stream_id=1)) * 2
    results = header_of(client.ask(s1.ListRangesRequest(range_owners=owners))).list_responses
    assert [len(each.ranges) for each in results] == [1, 1, 1, 1]
    (result,) = header_of(client.ask(s1.ListRangesRequest(range_owners=owners * 2))).list_responses
    assert (result.error_code, result.error_message) == (1, "more ranges than one answer lists")


def test_s2_lists_the_same_ranges_not_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "SBP_LISTED_MAX", 8)
    client = client_s2()
    client.ask(s2.CreateStreamsRequest(streams=(s2.Stream(replica_num=1),)))
    criteria = (s2.RangeCriteria(stream_id=0),) * 5
    assert header_of(client.ask(s2.ListRangesRequest(range_criteria=criteria))).status.code == 1500
    assert header_of(client.ask(s2.ListRangesRequest(range_criteria=criteria[:4]))).status.code == 1200


def test_an_answer_that_fits_into_no_frame_is_the_servers_fault() -> None:
    mock = Sbp01Mock(nodes={0: "a" * 9 * MEBIBYTE})
    client = with_stream(client_s1(mock))
    owners = (s1.RangeOwner(stream_id=0),) * 2
    (result,) = header_of(client.ask(s1.ListRangesRequest(range_owners=owners))).list_responses
    assert (result.error_code, result.error_message) == (1, "the answer does not fit into a frame")


# -- batches -----------------------------------------------------------------------------------------------------------


def fetch_s1(*streams: int) -> Table:
    infos = tuple(s1.FetchInfo(stream_id=stream, request_index=place) for place, stream in enumerate(streams))
    return s1.FetchRequest(fetch_requests=infos)


def fetch_s2(*streams: int) -> Table:
    ranges = (s2.Range(stream_id=stream, range_index=0) for stream in streams)
    return s2.FetchRequest(fetch_requests=tuple(s2.FetchInfo(range=each) for each in ranges))


def of_size_s1(size: int) -> bytes:
    return batch_s1(1, bytes(size - len(batch_s1(1, b""))))


def of_size_s2(size: int) -> bytes:
    return batch_s2(1, bytes(size - len(batch_s2(1, b""))))


def test_s1_gives_back_any_batch_that_fits_and_says_of_others_that_they_do_not() -> None:
    client = with_stream(client_s1(), 2)
    for stream, size in ((0, LARGEST_S1), (1, LARGEST_S1 + 1)):
        (answer,) = client.say(append_s1(101 + stream, (stream, of_size_s1(size))))
        assert header_of(answer).append_responses[0].error_code == 0
    client.next_id = 200
    assert client.ask(fetch_s1(0)).payload == placed(of_size_s1(LARGEST_S1), 0)
    answer = client.ask(fetch_s1(1))
    (result,) = header_of(answer).fetch_responses
    assert (result.error_code, result.batch_length, answer.payload) == (1, 0, b"")
    assert result.error_message == f"a batch of {LARGEST_S1 + 1} bytes does not fit into the answer"


def test_s1_says_of_each_entry_whether_its_batch_fits() -> None:
    client = with_stream(client_s1(), 3)
    large, small = batch_s1(1, bytes(9 * MEBIBYTE)), batch_s1(1)
    for stream, data in enumerate((large, large, small)):
        client.say(append_s1(101 + stream, (stream, data)))
    client.next_id = 200
    answer = client.ask(fetch_s1(0, 1, 2, 2))
    results = header_of(answer).fetch_responses
    assert [(each.error_code, each.batch_length) for each in results] == [
        *((0, len(large)), (1, 0), (0, len(small)), (0, len(small))),
    ]
    assert answer.payload == placed(large, 0) + placed(small, 0) * 2


def test_s1_has_room_for_every_refusal_behind_a_batch() -> None:
    client = with_stream(client_s1())
    largest = LARGEST_S1 - 99 * RESULT_BYTES
    client.say(append_s1(101, (0, of_size_s1(largest))))
    client.next_id = 200
    answer = client.ask(fetch_s1(*[0] * 100))
    results = header_of(answer).fetch_responses
    assert [each.error_code for each in results] == [0] + [1] * 99
    assert len(answer.payload) == largest


def test_s2_says_of_each_entry_whether_its_first_batch_fits() -> None:
    client = client_s2()
    client.ask(s2.CreateStreamsRequest(streams=(s2.Stream(replica_num=1),) * 2))
    for stream, size in ((0, LARGEST_S2), (1, LARGEST_S2 + 1)):
        (answer,) = client.say(append_s2(101 + stream, (stream, 0, of_size_s2(size))))
        assert header_of(answer).append_responses[0].status.code == 1200
    client.next_id = 200
    answers = [client.ask(fetch_s2(*streams)) for streams in ((0,), (1,), (0, 1))]
    codes = [[each.status.code for each in header_of(answer).fetch_responses] for answer in answers]
    assert codes == [[1200], [2500], [2500, 2500]]
    assert [len(answer.payload) for answer in answers] == [LARGEST_S2, 0, 0]
