from collections.abc import Iterable, Sequence

import pytest

from tests.helpers.captures import Talk, packets_of, tcp_packets
from tests.helpers.streams import (
    SAID,
    SAYS,
    bytes_of,
    ends,
    findings,
    gaps,
    items_of,
    lossy,
    of,
)
from wiretool.capture.tcp import reassembler as streams
from wiretool.capture.tcp.reassembler import Streams
from wiretool.capture.tcp.segments_of_packets import ACK, FIN, RST, SYN, read_segments
from wiretool.capture.tcp.stream_events import Data, End, Item

# -- a capture in good order -------------------------------------------------------------------------------------------


def test_a_conversation() -> None:
    items = items_of(tcp_packets(SAYS))
    connection = items[0].connection
    assert (connection.client, connection.server) == ("10.0.0.1:40000", "10.0.0.2:8080")
    assert (connection.client_port, connection.server_port) == (40000, 8080)
    assert connection.opened
    assert (connection.packets, connection.closed) == (18, "fin")
    assert connection.last_ns > connection.first_ns
    assert bytes_of(items) == SAID
    assert ends(items) == [("client", "fin"), ("server", "fin")]
    assert len(of(Data, items)) == len(items) - 2


def test_ipv6_ends_are_shown_in_brackets() -> None:
    items = items_of(tcp_packets(SAYS, client=("::1", 40000), server=("2001:db8::2", 8080)))
    assert (items[0].connection.client, items[0].connection.server) == ("[::1]:40000", "[2001:db8::2]:8080")


def test_data_comes_with_its_packet() -> None:
    following = Streams()
    for segment in read_segments(tcp_packets(SAYS)):
        for item in following.feed(segment):
            assert (item.packet, item.time_ns) == (segment.number, segment.time_ns)


def test_a_capture_that_stops() -> None:
    assert ends(items_of(tcp_packets(SAYS, end=""))) == [("client", "capture-end"), ("server", "capture-end")]


def test_a_side_that_ended_does_not_end_again() -> None:
    packets = tcp_packets(SAYS)[:-2]
    assert ends(items_of(packets)) == [("client", "fin"), ("server", "capture-end")]


def test_a_reset_ends_both() -> None:
    assert ends(items_of(tcp_packets(SAYS, end="rst"))) == [("", "rst")]


def test_a_refused_connection_has_no_bytes() -> None:
    talk = Talk()
    talk.send("client", SYN, seq=1000, ack=0)
    talk.send("server", RST | ACK, seq=0, ack=1001)
    (end,) = items_of(packets_of(talk.frames))
    assert isinstance(end, End)
    assert end.connection.opened
    assert end.how == "rst"


def test_nothing_is_made_of_what_says_nothing() -> None:
    talk = Talk()
    talk.send("client", ACK)
    talk.send("server", RST | ACK)
    talk.send("server", FIN | ACK)
    assert items_of(packets_of(talk.frames)) == []


def test_data_with_the_syn() -> None:
    talk = Talk()
    talk.send("client", SYN, b"early", seq=1000, ack=0)
    talk.send("server", SYN | ACK, seq=5000, ack=1006)
    talk.next["client"] += 5
    talk.say("client", b"late")
    assert bytes_of(items_of(packets_of(talk.frames))) == {(0, "client"): b"earlylate"}


@pytest.mark.parametrize("isn", [(2**32 - 1, 2**32 - 3000), (2**32 - 4, 2**31 - 100)])
def test_sequence_numbers_wrap(isn: tuple[int, int]) -> None:
    assert bytes_of(items_of(tcp_packets(SAYS, isn=isn))) == SAID


def test_more_than_four_gigabytes_have_offsets_beyond() -> None:
    following, offset = Streams(), 0
    (first,) = read_segments(tcp_packets([("client", b"x")], begin=False, acks=False, end=""))
    following.feed(first._replace(flags=SYN, payload=b"", seq=2**32 - 1))
    block = bytes(1 << 24)
    for _ in range(300):
        (item,) = following.feed(first._replace(seq=offset % 2**32, payload=block))
        assert isinstance(item, Data)
        assert item.offset == offset
        offset += len(block)
    assert offset > 2**32


# -- who is the client -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ports", "server"),
    [((), "10.0.0.2:8080"), ((40000,), "10.0.0.1:40000"), ((8080,), "10.0.0.2:8080"), ((8080, 40000), "10.0.0.2:8080")],
)
def test_without_a_syn_the_ports_tell(ports: Sequence[int], server: str) -> None:
    for side in ("client", "server"):
        items = items_of(tcp_packets([(side, b"x")], begin=False), ports)
        assert items[0].connection.server == server
        assert not items[0].connection.opened


def test_a_syn_tells_against_the_ports() -> None:
    assert items_of(tcp_packets(SAYS), (40000,))[0].connection.server == "10.0.0.2:8080"


def test_a_syn_ack_tells_where_both_sides_start() -> None:
    items = items_of(tcp_packets(SAYS, drop=[0]))
    assert items[0].connection.opened
    assert items[0].connection.server == "10.0.0.2:8080"
    assert bytes_of(items) == SAID
    assert gaps(items_of(tcp_packets(SAYS, drop=[0, 3]))) == [("client", 0, 5)]


def test_the_acknowledgement_of_a_lost_syn_ack_tells_where_the_server_starts() -> None:
    assert bytes_of(items_of(tcp_packets(SAYS, drop=[1]))) == SAID
    assert gaps(items_of(tcp_packets(SAYS, drop=[1, 5]))) == [("server", 0, 1460)]


# -- ports used again --------------------------------------------------------------------------------------------------


def again(isn: tuple[int, int], end: str = "", drop: Iterable[int] = ()) -> list[Item]:
    first = tcp_packets(SAYS, end=end)
    second = tcp_packets([("client", b"second")], isn=isn, drop=drop)
    return items_of(packets_of(packet.data for packet in [*first, *second]))


@pytest.mark.parametrize("isn", [(900_000, 800_000), (3_000_000_000, 4_000_000_000)])
def test_a_new_syn_is_a_new_connection(isn: tuple[int, int]) -> None:
    items = again(isn)
    assert bytes_of(items) == {**SAID, (1, "client"): b"second"}
    assert ends(items)[0] == ("", "reused")


@pytest.mark.parametrize("end", ["fin", "rst"])
def test_a_new_syn_after_the_end(end: str) -> None:
    items = again((900_000, 800_000), end)
    assert bytes_of(items) == {**SAID, (1, "client"): b"second"}
    assert ("", "reused") not in ends(items)


def test_far_away_bytes_are_a_new_connection() -> None:
    items = again((3_000_000_000, 4_000_000_000), drop=[0, 1, 2])
    assert bytes_of(items) == {**SAID, (1, "client"): b"second"}
    assert [item.connection.opened for item in items if isinstance(item, Data)][-1] is False


def test_a_syn_sent_again_is_not_a_new_connection() -> None:
    items = items_of(tcp_packets(SAYS, order=[0, 0, 1, 1, 2, 0, *range(3, 18), 0]))
    assert {item.connection.id for item in items} == {0}


def test_a_syn_sent_again_after_a_reset_is_a_new_connection() -> None:
    talk = Talk()
    talk.send("client", SYN, seq=1000, ack=0)
    talk.send("client", RST, seq=1001, ack=0)
    talk.open()
    talk.say("client", b"hello")
    assert bytes_of(items_of(packets_of(talk.frames))) == {(1, "client"): b"hello"}


def test_repetition_after_the_end_is_counted() -> None:
    items = items_of(tcp_packets(SAYS, order=[*range(18), 13, 16, 3]))
    assert {item.connection.id for item in items} == {0}
    assert items[0].connection.duplicate_bytes["client"] == 8


def test_bytes_after_the_end_are_told() -> None:
    talk = Talk()
    talk.open()
    talk.say("client", b"hello")
    talk.close("rst")
    talk.say("server", b"still here")
    assert findings(items_of(packets_of(talk.frames))) == [("after-end", 0, b"still here")]


def test_the_text_of_a_reset_is_told() -> None:
    talk = Talk()
    talk.open()
    talk.send("server", RST, b"go away")
    items = items_of(packets_of(talk.frames))
    assert findings(items) == [("rst-payload", 0, b"go away")]
    assert ends(items) == [("", "rst")]


def test_a_reset_of_something_else_does_not_end_it() -> None:
    talk = Talk()
    talk.open()
    talk.send("server", RST, seq=3_000_000_000)
    talk.say("server", b"still here")
    assert bytes_of(items_of(packets_of(talk.frames))) == {(0, "server"): b"still here"}


# -- bounds ------------------------------------------------------------------------------------------------------------


def test_too_much_held_of_one_flow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "FLOW_BYTES_MAX", 10_000)
    following = Streams()
    for segment in lossy(200, acks=False):
        following.feed(segment)
        assert following._shared.held.size <= 10_000
    assert following._shared.held.size == 0


def test_too_much_held_of_all_flows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "FLOWS_BYTES_MAX", 10_000)
    following = Streams()
    for port in range(300):
        for segment in read_segments(tcp_packets([("client", b"12345678")] * 3, client=("10.0.0.1", port), drop=[3])):
            following.feed(segment)
            assert following._shared.held.size <= 10_000


def test_too_many_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "CONNECTIONS_MAX", 32)
    packets = [tcp_packets(SAYS, client=("10.0.0.1", port), end="") for port in range(100)]
    items = items_of(packets_of(packet.data for each in packets for packet in each))
    assert {item.connection.id for item in items if isinstance(item, End)} == set(range(100))
    evicted = [item.connection.id for item in items if isinstance(item, End) and item.how == "evicted"]
    assert evicted == list(range(len(evicted)))
    assert len(evicted) >= 68


def test_what_is_over_is_forgotten_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "CONNECTIONS_MAX", 32)
    packets = [tcp_packets(SAYS, client=("10.0.0.1", port)) for port in range(100)]
    items = items_of(packets_of(packet.data for each in packets for packet in each))
    assert {how for _, how in ends(items)} == {"fin"}


def test_bounds_are_not_kept_without_end() -> None:
    """A sum that says more than there is: where no piece is left, there is nothing to give up."""
    tracked = Streams()
    segments = list(read_segments(tcp_packets([("client", b"hello"), ("client", b"again")], acks=False, end="")))
    for segment in segments[:-1]:
        tracked.feed(segment)
    flow = tracked.flow_of(segments[-1].flow)
    assert flow is not None
    flow.pieces.size, flow.is_plain = 1 << 40, False
    assert [item.data for item in tracked.feed(segments[-1]) if isinstance(item, Data)] == [b"again"]
