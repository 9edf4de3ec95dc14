"""How connections live and end: GOAWAY, silence, identifiers, malformed frames, FIN, bounds."""

import pytest

from tests.protocols.sbp.server.independent import Writer, to
from tests.protocols.sbp.server.talk import SECOND, Client, append, code_of, create_range, entry, fetch, frame_of, ping
from wiretool import limits
from wiretool.protocols.sbp import tables
from wiretool.protocols.sbp.framing import encode_frame
from wiretool.protocols.sbp.messages import GOAWAY, SbpFrame
from wiretool.protocols.sbp.server.mock import SbpMock

DRIVER, RANGES = "placement-driver", "sbp"
HEARTBEAT = tables.HeartbeatRequest(client_id="c", client_role=3)
MALFORMED = [
    bytes.fromhex("0000000f 17000100 00000002 01000000"),
    bytes.fromhex("ffffffff ffffffff ffffffff ffffffff"),
    bytes.fromhex("00000010 16000100 00000002 01000000 00000000"),
    bytes.fromhex("00000010 17000100 00000002 01000001 00000000"),
    bytes.fromhex("00000013 17000100 00000002 01000000 616263 00000000"),
    b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
]


def many_servers(count: int) -> bytes:
    """The header of a CREATE_RANGE with one range server, named so often."""
    writer = Writer()
    server = writer.table(2, to(1, writer.text("a:1")))
    wanted = writer.table(9, to(5, writer.tables([server] * count)))
    return writer.finish(writer.table(2, to(1, wanted)))


def two_doors(*, like_real: bool = False) -> SbpMock:
    return SbpMock(has_two_doors=True, like_real=like_real)


# -- PING and GOAWAY ---------------------------------------------------------------------------------------------------


def test_ping_is_echoed_with_its_format() -> None:
    (pong,) = Client(SbpMock()).say(SbpFrame(opcode=1, stream_id=7, header_format=200, header=b"h", payload=b"p"))
    assert (pong.flags, pong.stream_id, pong.header_format, pong.header, pong.payload) == (3, 7, 200, b"h", b"p")


def test_a_range_server_answers_ping_in_its_own_format() -> None:
    (pong,) = Client(two_doors(), door=RANGES).say(SbpFrame(opcode=1, stream_id=7, header_format=200))
    assert pong.header_format == 1


def test_a_goaway_is_answered_and_the_connection_closed_a_second_later() -> None:
    client = Client(SbpMock())
    _, goaway = client.say(ping(1), SbpFrame(opcode=GOAWAY, stream_id=2), ping(3))
    assert (goaway.opcode, goaway.flags, goaway.stream_id) == (GOAWAY, 3, 2)
    assert client.wait(SECOND - 1) == []
    assert client.closed is None
    client.wait(SECOND)
    assert client.closed is not None


def test_a_range_server_does_not_know_goaway() -> None:
    client = Client(two_doors(), door=RANGES)
    (answer,) = client.say(SbpFrame(opcode=GOAWAY, stream_id=2))
    assert (answer.flags, code_of(answer)) == (7, 1498)
    assert client.say(ping(3))


def test_a_response_is_dropped_and_its_identifier_does_not_count() -> None:
    client = Client(two_doors(), door=DRIVER)
    assert client.say(SbpFrame(opcode=1, flags=1, stream_id=9), SbpFrame(opcode=GOAWAY, flags=1, stream_id=9)) == []
    assert len(client.say(ping(3))) == 1


def test_a_real_range_server_serves_responses() -> None:
    client = Client(two_doors(like_real=True), door=RANGES)
    (pong,) = client.say(SbpFrame(opcode=1, flags=3, stream_id=9))
    assert pong.stream_id == 9


# -- identifiers -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("first", "again"), [(5, 5), (5, 4), (0, 0)])
def test_a_placement_driver_goes_away_from_an_identifier_that_does_not_rise(first: int, again: int) -> None:
    client = Client(two_doors(), door=DRIVER)
    assert len(client.say(ping(first))) == 1
    (goaway,) = client.say(ping(again), ping(50))
    assert (goaway.opcode, goaway.flags, goaway.stream_id) == (GOAWAY, 0, first + 1)
    client.wait(SECOND)
    assert client.closed is not None
    assert "identifier" in client.closed.why


def test_identifiers_wrap_behind_the_last() -> None:
    client = Client(two_doors(), door=DRIVER)
    assert len(client.say(ping(0xFFFF_FFFF), ping(0), ping(7))) == 3


def test_behind_one_door_identifiers_are_judged_once_it_is_a_placement_driver() -> None:
    client = Client(SbpMock())
    assert len(client.say(ping(5), ping(5))) == 2
    client.say(frame_of(tables.DescribeStreamRequest(stream_id=0), 9))
    (goaway,) = client.say(ping(9))
    assert goaway.opcode == GOAWAY


# -- silence -----------------------------------------------------------------------------------------------------------


def test_a_silent_client_of_a_placement_driver_gets_goaway_and_is_closed() -> None:
    client = Client(SbpMock())
    client.say(ping(5))
    assert client.wait(15 * SECOND - 1) == []
    (goaway,) = client.wait(15 * SECOND)
    assert (goaway.opcode, goaway.flags, goaway.stream_id) == (GOAWAY, 0, 6)
    client.wait(16 * SECOND)
    assert client.closed is not None
    assert client.closed.why == "silent"


def test_half_a_frame_is_silence_and_a_request_is_not() -> None:
    client = Client(SbpMock())
    client.wait(10 * SECOND)
    client.say(ping(1))
    client.send(encode_frame(ping(2, bytes(50)), "client")[:30])
    assert client.wait(24 * SECOND) == []
    assert len(client.wait(25 * SECOND)) == 1


def test_a_range_server_closes_a_silent_client_at_its_ticks() -> None:
    client = Client(two_doors(), door=RANGES)
    client.wait(3 * SECOND)
    client.say(ping(1))
    client.wait(12 * SECOND - 1)
    assert client.closed is None
    assert client.wait(12 * SECOND) == []
    assert client.closed is not None


def test_what_is_gone_leaves_no_work_behind() -> None:
    mock = SbpMock()
    client = Client(mock)
    client.say(ping(1))
    mock.lost(client.number, 5)
    assert mock.wake_ns is None
    assert mock.received(client.number, encode_frame(ping(2), "client"), 6) == []


# -- malformed ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("data", MALFORMED, ids=range(len(MALFORMED)))
@pytest.mark.parametrize("door", [DRIVER, RANGES])
def test_a_malformed_frame_ends_its_own_connection_only(data: bytes, door: str) -> None:
    mock = two_doors()
    client, other = Client(mock, 0, door), Client(mock, 1, door)
    good = encode_frame(ping(1), "client")
    pong, goaway = client.send(good + data + good)
    assert (pong.opcode, goaway.opcode, goaway.flags, goaway.stream_id) == (1, GOAWAY, 0, 2)
    assert client.send(good) == []
    client.wait(SECOND)
    assert client.closed is not None
    assert client.closed.why
    assert len(other.say(ping(1))) == 1
    assert other.closed is None


def test_a_real_range_server_falls_silent_on_a_malformed_frame() -> None:
    client = Client(two_doors(like_real=True), door=RANGES)
    client.wait(SECOND)
    assert client.send(MALFORMED[0]) == []
    assert client.say(ping(1)) == []
    client.wait(6 * SECOND)
    assert client.closed is not None


def test_a_real_placement_driver_ends_with_all_its_connections() -> None:
    mock = two_doors(like_real=True)
    client, other, ranges = Client(mock, 0, DRIVER), Client(mock, 1, DRIVER), Client(mock, 2, RANGES)
    actions = mock.received(0, encode_frame(frame_of(HEARTBEAT, 1, header_format=2), "client"), 0)
    assert {action.connection for action in actions} == {client.number, other.number}
    assert len(ranges.say(ping(1))) == 1


def test_a_header_that_cannot_be_read_is_a_bad_request() -> None:
    for header, header_format in ((None, 1), (b"abc", 1), (b"\xff" * 24, 1), (HEARTBEAT, 3)):
        for door in (DRIVER, RANGES):
            client = Client(two_doors(), door=door)
            frame = SbpFrame(opcode=0x0003, stream_id=1, header=header, header_format=header_format)
            (answer,) = client.say(frame)
            assert (answer.flags, code_of(answer)) == (7, 1400)


@pytest.mark.parametrize("door", [DRIVER, RANGES])
def test_a_header_of_too_many_tables_is_a_bad_request(door: str) -> None:
    client = Client(two_doors(), door=door)
    frame = SbpFrame(opcode=0x2004, stream_id=1, header=many_servers(limits.SBP_ENTRIES_MAX))
    answer, pong = client.say(frame, ping(2))
    assert (answer.flags, code_of(answer), pong.stream_id) == (7, 1400, 2)
    few = SbpFrame(opcode=0x2004, stream_id=3, header=many_servers(limits.SBP_ENTRIES_MAX - 2))
    (answer,) = client.say(few)
    assert answer.flags == 3


def test_behind_a_header_of_too_many_tables_the_checksum_still_counts() -> None:
    client = Client(SbpMock())
    header = many_servers(limits.SBP_ENTRIES_MAX)
    frame = SbpFrame(opcode=0x2004, stream_id=1, header=header, payload=b"abc", checksum=1)
    assert [answer.opcode for answer in client.say(frame)] == [GOAWAY]


def test_an_operation_without_tables_takes_any_header() -> None:
    header = many_servers(limits.SBP_ENTRIES_MAX)
    (pong,) = Client(SbpMock()).say(SbpFrame(opcode=1, stream_id=1, header=header))
    assert pong.header == header


@pytest.mark.parametrize("header_format", [0, 1])
def test_without_a_header_it_needs_no_format(header_format: int) -> None:
    frame = SbpFrame(opcode=0x0004, stream_id=1, header_format=header_format)
    (answer,) = Client(two_doors(), door=DRIVER).say(frame)
    assert (answer.flags, code_of(answer)) == (3, 1200)


def test_a_real_placement_driver_ends_by_a_header_without_format() -> None:
    client = Client(two_doors(like_real=True), door=DRIVER)
    assert client.say(SbpFrame(opcode=0x0004, stream_id=1, header_format=0)) == []
    assert client.closed is not None


# -- the end -----------------------------------------------------------------------------------------------------------


def test_a_client_that_is_done_is_closed_behind_its_answers() -> None:
    client = Client(SbpMock())
    client.say(ping(1))
    client.end()
    assert client.closed is not None
    assert client.closed.why == ""


def test_a_client_that_is_done_gets_the_answer_that_is_open() -> None:
    client = Client(SbpMock(commit_ns=500))
    client.ask(create_range())
    client.next_id = 5
    assert client.say(append(6, entry(0, 1))) == []
    client.end()
    assert client.closed is None
    (answer,) = client.wait(500)
    assert code_of(answer) == 1200
    assert client.closed is not None


def test_what_is_answered_behind_the_end_of_its_connection_closes_nothing_twice() -> None:
    mock = SbpMock(commit_ns=500)
    client = Client(mock)
    client.ask(create_range())
    client.say(append(6, entry(0, 1)))
    client.end()
    mock.lost(client.number, 0)
    assert mock.woken(500) == []
    assert mock.range_server.replicas[1, 0].committed == 1


@pytest.mark.parametrize(
    ("like_real", "of_ranges"), [(True, "0002 01 00000000"), (False, "0002 00 00000007")], ids=["recorded", "default"]
)
def test_a_stopped_server_says_goaway(like_real: bool, of_ranges: str) -> None:
    mock = two_doors(like_real=like_real)
    driver, ranges = Client(mock, 0, DRIVER), Client(mock, 1, RANGES)
    driver.say(ping(4))
    ranges.say(ping(7), ping(3))
    sent = {action.connection: action for action in mock.stopped(0)}
    assert sent[driver.number].data[5:12] == bytes.fromhex("0002 00 00000005")  # type: ignore[union-attr]
    assert sent[ranges.number].data[5:12] == bytes.fromhex(of_ranges)  # type: ignore[union-attr]


def test_a_stopped_range_server_says_goaway_once() -> None:
    mock = two_doors()
    client = Client(mock, 0, RANGES)
    assert [answer.opcode for answer in client.send(MALFORMED[0])] == [GOAWAY]
    assert mock.stopped(0) == []


def test_a_restarted_mock_remembers_nothing() -> None:
    mock = SbpMock()
    client = Client(mock)
    client.ask(tables.CreateStreamRequest(stream=tables.Stream(replica=1)))
    (closed,) = mock.restart(5)
    assert closed.is_abort  # type: ignore[union-attr]
    again = Client(mock, 1)
    assert code_of(again.ask(tables.DescribeStreamRequest(stream_id=0))) == 1404


# -- bounds ------------------------------------------------------------------------------------------------------------


def test_answers_past_their_bound_wait_until_the_others_have_left() -> None:
    mock = SbpMock()
    client = Client(mock, slow=True)
    size = limits.MOCK_REPLY_BYTES_MAX // 4
    data = b"".join(encode_frame(ping(number, bytes(size)), "client") for number in range(1, 9))
    assert len(client.send(data)) == 4
    assert client.say(ping(9)) == []
    before = len(client.received)
    client.carry_out(mock.drained(0, 0))
    assert len(client.frames(before)) == 4
    client.carry_out(mock.drained(0, 0))
    assert client.frames()[-1].stream_id == 9
    assert mock.drained(0, 0) == []


def test_a_fetch_is_cut_to_what_a_frame_carries() -> None:
    client = Client(SbpMock())
    client.ask(create_range())
    body = bytes(5 * 1024 * 1024)
    for number in range(4):
        client.say(append(10 + number, entry(number, 1, body)))
    answer = client.ask(fetch(0))
    assert code_of(answer) == 1200
    assert 3 * len(body) < len(answer.payload) < 4 * len(body)


def test_a_real_range_server_never_answers_again_behind_an_answer_that_does_not_fit() -> None:
    client = Client(two_doors(like_real=True), door=RANGES)
    client.ask(create_range())
    for number in range(4):
        client.say(append(10 + number, entry(number, 1, bytes(5 * 1024 * 1024))))
    client.wait(SECOND)
    assert client.say(frame_of(fetch(0), 20)) == []
    assert client.say(ping(21)) == []
    client.wait(12 * SECOND)
    assert client.closed is not None


def test_a_list_that_fits_into_no_frame_is_an_internal_error() -> None:
    mock = SbpMock(servers=dict.fromkeys(range(100), "a" * 100000))
    client = Client(mock)
    client.ask(tables.CreateStreamRequest(stream=tables.Stream(replica=100)))
    first = tables.Range(stream_id=0, index=0, start=0, epoch=0)
    client.ask(tables.CreateRangeRequest(range=first))
    client.ask(tables.SealRangeRequest(kind=2, range=tables.Range(stream_id=0, index=0, end=1, epoch=0)))
    client.ask(tables.CreateRangeRequest(range=tables.Range(stream_id=0, index=1, start=1, epoch=0)))
    answer = client.ask(tables.ListRangeRequest(criteria=tables.ListRangeCriteria(stream_id=0)))
    assert (answer.flags, code_of(answer)) == (7, 1500)


def test_messages_are_counted_by_side_and_name() -> None:
    mock = SbpMock()
    Client(mock).say(ping(1), SbpFrame(opcode=0x7777, stream_id=2))
    assert mock.outbox.counts == {
        ("client", "PING"): 1,
        ("server", "PING"): 1,
        ("client", "Unknown"): 1,
        ("server", "Unknown"): 1,
    }
