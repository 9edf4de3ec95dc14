from itertools import pairwise
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.captures import CLIENT, Talk, packets_of, tcp_packets
from tests.helpers.streams import SAID, SAYS, bytes_of, ends, findings, gaps, items_of, items_of_segments, lossy, of
from wiretool import limits
from wiretool.capture.tcp.direction import ACKED_SEGMENTS, ONE_WAY_SEGMENTS, START_SEGMENTS
from wiretool.capture.tcp.reassembler import Streams
from wiretool.capture.tcp.segments_of_packets import ACK, FIN, RST, SYN, Segment, read_segments
from wiretool.capture.tcp.stream_events import Data, Finding, Gap, Item, Side

# -- order, repetition and loss ----------------------------------------------------------------------------------------


def test_a_reordered_segment_is_waited_for() -> None:
    order = [0, 1, 2, 3, 4, 7, 8, 5, 6, 9, 10, 11, 12, 13, 14, 15, 16, 17]
    items = items_of(tcp_packets(SAYS, order=order))
    assert bytes_of(items) == SAID
    assert not gaps(items)


def test_a_lost_segment_is_a_gap() -> None:
    items = items_of(tcp_packets(SAYS, drop=[7]))
    assert gaps(items) == [("server", 1460, 1460)]
    assert len(bytes_of(items)[0, "server"]) == 3540


def test_lost_last_bytes_are_told_by_the_fin_or_the_acknowledgement() -> None:
    assert gaps(items_of(tcp_packets(SAYS, drop=[13]))) == [("client", 5, 3)]
    assert gaps(items_of(tcp_packets(SAYS, drop=[13], end=""))) == [("client", 5, 3)]


def test_an_acknowledged_fin_that_was_lost_is_no_gap() -> None:
    assert not gaps(items_of(tcp_packets(SAYS, drop=[15])))


def test_a_hole_is_given_up_some_segments_after_its_acknowledgement() -> None:
    following = Streams()
    found = [following.feed(segment) for segment in lossy(200)]
    at = next(index for index, items in enumerate(found) if items)
    # 3 of the handshake, the acknowledgement of what is lost, and the segment that shows the hole.
    assert at == 3 + 1 + ACKED_SEGMENTS
    assert isinstance(found[at][0], Gap)
    assert all(isinstance(item, Data) for items in found[at + 1 :] for item in items)


def test_a_hole_is_given_up_some_time_after_its_acknowledgement() -> None:
    following = Streams()
    segments = lossy(3)
    assert not [item for segment in segments for item in following.feed(segment)]
    other = segments[0]._replace(flow=b"another host", time_ns=segments[-1].time_ns + 2_000_000_000)
    assert gaps(following.feed(other)) == [("client", 0, 8)]


def test_a_hole_that_is_not_acknowledged_stays_open() -> None:
    following = Streams()
    segments = [segment for segment in lossy(500) if segment.sport == CLIENT[1] or segment.flags & SYN]
    lost = segments[3]._replace(seq=segments[3].seq - 8, payload=b"lostlost")
    assert not [item for segment in segments for item in following.feed(segment)]
    assert len(of(Data, following.feed(lost))) == 500


def test_one_direction_alone_is_enough() -> None:
    packets = [packet for packet in tcp_packets(SAYS) if packet.data[26:30] == bytes([10, 0, 0, 2])]
    items = items_of(packets)
    assert bytes_of(items) == {(0, "server"): SAID[0, "server"]}
    assert ends(items) == [("server", "fin"), ("client", "capture-end")]


def test_one_direction_alone_gives_up_later() -> None:
    following = Streams()
    segments = [segment for segment in lossy(ONE_WAY_SEGMENTS + 10, acks=False) if segment.sport == CLIENT[1]]
    found = [following.feed(segment) for segment in segments]
    assert sum(bool(items) for items in found) == 10 - 1
    assert gaps(item for items in found for item in items) == [("client", 0, 8)]


def test_bytes_for_a_hole_that_was_given_up_are_told() -> None:
    following = Streams()
    segments = lossy(200)
    items = [item for segment in segments for item in following.feed(segment)]
    late = segments[-1]._replace(seq=1001, payload=b"lostlost1234", flow=segments[0].flow)
    assert findings(following.feed(late)) == [("after-gap", 0, b"lostlost")]
    assert following.feed(late) == []
    assert items[0].connection.duplicate_bytes["client"] == 4 + 12


def test_of_very_many_holes_the_oldest_are_merged_and_late_bytes_still_accounted() -> None:
    """The checks of `items_of_segments` are that no byte is lost or counted twice."""
    count = limits.FLOW_HOLES_MAX + 500
    sent = [each for each in lossy(count * 2 + 1, acks=False) if each.sport == CLIENT[1] and each.payload]
    heard = sent[::2]  # a hole of eight bytes is before each
    late = [each._replace(seq=each.seq - 8) for each in heard]
    gone = gaps(items_of_segments(heard))
    items = items_of_segments([*heard, *late, *late])
    assert len(gone) > limits.FLOW_HOLES_MAX
    told = {(offset, len(data)) for _, offset, data in findings(items)}
    assert {(offset, length) for _, offset, length in gaps(items)} <= told


def test_a_hole_at_the_fin_waits_like_any_other() -> None:
    items = items_of(tcp_packets([("client", b"1234")], drop=[3]))
    assert gaps(items) == [("client", 0, 4)]
    assert ends(items) == [("server", "fin"), ("client", "fin")]


def test_what_the_snap_length_cut_is_a_gap() -> None:
    kept = 14
    items = items_of(packet._replace(data=packet.data[: 66 + kept]) for packet in tcp_packets(SAYS))
    whole = SAID[0, "server"]
    seen = b"".join(whole[at : at + kept] for at in range(0, len(whole), 1460))
    assert bytes_of(items) == {**SAID, (0, "server"): seen}
    assert gaps(items) == [("server", 14, 1446), ("server", 1474, 1446), ("server", 2934, 1446), ("server", 4394, 606)]


def test_repetition_is_counted_and_not_given_out() -> None:
    items = items_of(
        tcp_packets(SAYS, order=[0, 0, 1, 1, 2, 3, 3, 4, 3, 5, 6, 7, 5, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17])
    )
    assert bytes_of(items) == SAID
    assert not findings(items)
    assert items[0].connection.duplicate_bytes == {"client": 10, "server": 1460}


def talk_of(*sent: tuple[int, bytes]) -> list[Item]:
    """What segments of the client give, each at an offset of its stream."""
    talk = Talk()
    talk.open()
    for offset, data in sent:
        talk.send("client", ACK, data, seq=1001 + offset)
    return items_of(packets_of(talk.frames))


def test_other_bytes_at_the_same_place_are_a_finding_and_the_first_stand() -> None:
    items = talk_of((0, b"abcdef"), (2, b"cXe"), (4, b"efgh"))
    assert bytes_of(items)[0, "client"] == b"abcdefgh"
    assert findings(items) == [("overlap-differs", 2, b"")]
    assert items[0].connection.duplicate_bytes["client"] == 5


def test_other_bytes_at_the_same_place_of_what_is_held() -> None:
    items = talk_of((4, b"efgh"), (2, b"cdXfghij"), (0, b"ab"))
    assert bytes_of(items)[0, "client"] == b"abcdefghij"
    assert findings(items) == [("overlap-differs", 4, b"")]


def test_a_keep_alive_probe_is_no_finding() -> None:
    items = talk_of((0, b"abc"), (2, b"\0"), (2, b""), (3, b"def"))
    assert bytes_of(items)[0, "client"] == b"abcdef"
    assert not findings(items)
    assert items[0].connection.duplicate_bytes["client"] == 1


def test_a_keep_alive_probe_behind_a_hole_is_no_finding() -> None:
    """The byte before the end is held, and the one in the probe is a zero."""
    items = talk_of((0, b"abc"), (6, b"ghi"), (8, b"\0"), (3, b"def"))
    assert bytes_of(items)[0, "client"] == b"abcdefghi"
    assert not findings(items)
    assert items[0].connection.duplicate_bytes["client"] == 1


# -- no beginning ------------------------------------------------------------------------------------------------------


def test_a_stream_without_beginning_starts_at_its_first_byte() -> None:
    items = items_of(tcp_packets(SAYS, begin=False))
    assert bytes_of(items) == SAID
    assert not items[0].connection.opened


def test_the_answer_to_what_was_seen_is_not_held() -> None:
    following = Streams()
    segments = list(read_segments(tcp_packets(SAYS, begin=False)))
    assert following.feed(segments[0]) == []
    assert len(of(Data, following.feed(segments[1]))) == 1
    assert len(of(Data, following.feed(segments[2]))) == 1


@given(st.permutations(range(START_SEGMENTS)))
def test_the_first_segments_may_come_in_any_order(order: list[int]) -> None:
    packets = tcp_packets([("client", b"abcdefghi")], mtu=3, begin=False, acks=False, end="", order=order)
    assert bytes_of(items_of(packets)) == {(0, "client"): b"abcdefghi"}


def test_bytes_before_the_start_are_told() -> None:
    packets = tcp_packets([("client", b"abcdefghi")], mtu=3, begin=False, order=[2, 3, 4, 5, 0, 1, 0])
    items = items_of(packets)
    assert bytes_of(items) == {(0, "client"): b"defghi"}
    assert findings(items) == [("before-start", -3, b"abc")]
    assert items[0].connection.duplicate_bytes["client"] == 3


def test_a_syn_that_comes_after_the_first_bytes() -> None:
    packets = tcp_packets(SAYS, order=[3, 0, 1, 2, *range(4, 18)])
    items = items_of(packets)
    assert bytes_of(items) == SAID
    assert items[0].connection.opened


# -- anything at all ---------------------------------------------------------------------------------------------------


@st.composite
def shuffled(draw: st.DrawFn) -> tuple[bytes, list[tuple[int, bytes]]]:
    """A stream, and segments of it that together hold all of it: overlapping, repeated, in any order."""
    stream = draw(st.binary(min_size=1, max_size=300))
    cuts = sorted({0, len(stream), *draw(st.lists(st.integers(0, len(stream)), max_size=12))})
    spans = [(start, min(end + draw(st.integers(0, 9)), len(stream))) for start, end in pairwise(cuts)]
    spans += draw(st.lists(st.sampled_from(spans), max_size=5))
    return stream, [(start, stream[start:end]) for start, end in draw(st.permutations(spans))]


@given(shuffled(), st.integers(0, 2**32 - 1))
def test_any_order_and_overlap_gives_the_same_bytes(given_: tuple[bytes, list[tuple[int, bytes]]], isn: int) -> None:
    stream, segments = given_
    talk = Talk(isn=(isn, 77))
    talk.open()
    for offset, data in segments:
        talk.send("client", ACK, data, seq=isn + 1 + offset)
    items = items_of(packets_of(talk.frames))
    assert bytes_of(items) == {(0, "client"): stream}
    assert not gaps(items)
    assert not findings(items)


@given(
    st.lists(st.tuples(st.sampled_from(["client", "server"]), st.binary(min_size=1, max_size=50)), max_size=20),
    st.data(),
)
def test_any_loss_gives_true_bytes_at_true_offsets(says: list[tuple[Side, bytes]], data: st.DataObject) -> None:
    packets = tcp_packets(says)
    lost = data.draw(st.sets(st.integers(2, len(packets) - 1)))
    whole = {side: b"".join(said for by, said in says if by == side) for side in ("client", "server")}
    for item in items_of(packet for at, packet in enumerate(packets) if at not in lost):
        if isinstance(item, Data):
            assert whole[item.side][item.offset :].startswith(item.data)
        assert not isinstance(item, Finding)


@given(st.integers(0, 2**32), st.integers(0, 150))
def test_any_segments_are_accounted_for(seed: int, count: int) -> None:
    random = Random(seed)
    items_of_segments([_any_segment(random, number) for number in range(count)])


def _any_segment(random: Random, number: int) -> Segment:
    ends_ = [b"\x0a\0\0\x01", b"\x0a\0\0\x02"]
    ports = [random.choice((b"\x9c\x40", b"\x9c\x41")), b"\x1f\x90"]
    if random.random() < 0.5:
        ends_.reverse()
        ports.reverse()
    flags = random.choice((ACK,) * 12 + (SYN, SYN | ACK, FIN | ACK, RST, RST | ACK, 0, SYN | FIN | RST))
    seq, ack = (random.choice((0, 2**31, 2**32 - 20)) if random.random() < 0.03 else 100 for _ in range(2))
    payload = random.randbytes(random.choice((0, 1, 1, 3, 9)))
    cut = random.choice((0,) * 9 + (3,))
    now_ns = number * random.choice((1, 1_000_000, 10**9))
    place = (seq + random.randrange(60)) % 2**32
    return Segment(
        number, now_ns, b"".join(ends_ + ports), place, (ack + random.randrange(60)) % 2**32, flags, payload, cut
    )
