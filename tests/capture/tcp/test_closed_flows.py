"""Connections that have ended, in little memory: what comes late is taken as if they had been kept whole."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.helpers.captures import Talk, packets_of, tcp_packets
from tests.helpers.streams import SAYS, ends, findings
from wiretool.capture.tcp import reassembler as streams
from wiretool.capture.tcp.closed_flows import way_back
from wiretool.capture.tcp.reassembler import Streams
from wiretool.capture.tcp.segments_of_packets import ACK, FIN, RST, SYN, Segment, read_segments
from wiretool.capture.tcp.stream_events import Connection, Side

KEYS = tuple(bytes((10, 0, 0, 1, 10, 0, 0, 2)) + port.to_bytes(2, "big") + b"\x1f\x90" for port in (40000, 40001))
#: A connection to itself.
OWN_KEY = bytes((10, 0, 0, 1)) * 2 + b"\x1f\x90" * 2
ISN = {"client": 2**32 - 3, "server": 5000}


class Sent(NamedTuple):
    """One segment, before its place in a capture is known."""

    key: bytes
    side: str
    flags: int
    seq: int
    ack: int
    payload: bytes
    cut: int
    later_ns: int


_sent = st.builds(
    Sent,
    key=st.sampled_from([KEYS[0], *KEYS, OWN_KEY]),
    side=st.sampled_from(["client", "server"]),
    flags=st.sampled_from([SYN, SYN | ACK, ACK, ACK, ACK, FIN | ACK, FIN | ACK, RST, RST | ACK]),
    seq=st.sampled_from([0, 0, 1, 1, 2, 3, 4, 5, 7, 2**30, 2**31]),
    ack=st.integers(0, 8),
    payload=st.sampled_from([b"", b"", b"a", b"ab", b"abcd", b"xy"]),
    cut=st.sampled_from([0, 0, 0, 2]),
    later_ns=st.sampled_from([0, 1_000_000, 3_000_000_000]),
)


def conversation(key: bytes, end: str) -> list[Sent]:
    """A connection from its first segment to its last."""
    talk = [("client", SYN, 0, 0, b""), ("server", SYN | ACK, 0, 1, b""), ("client", ACK, 1, 1, b"abcd")]
    talk += [("server", ACK, 1, 5, b"ab")]
    if end == "rst":
        talk += [("server", RST | ACK, 3, 5, b"")]
    else:
        talk += [("client", FIN | ACK, 5, 3, b""), ("server", FIN | ACK, 3, 6, b""), ("client", ACK, 6, 4, b"")]
    return [Sent(key, side, flags, seq, ack, payload, 0, 1000) for side, flags, seq, ack, payload in talk]


def segments_of(sent: Sequence[Sent]) -> list[Segment]:
    time_ns, out = 0, []
    for number, each in enumerate(sent, 1):
        time_ns += each.later_ns
        is_client = each.side == "client"
        seq, ack = (ISN[side] for side in (("client", "server") if is_client else ("server", "client")))
        place = (seq + each.seq) % 2**32, (ack + each.ack) % 2**32 if each.flags & ACK else 0
        key = each.key if is_client else way_back(each.key)
        out.append(Segment(number, time_ns, key, *place, each.flags, each.payload, each.cut))
    return out


class Followed(NamedTuple):
    """All that is given of segments: items one by one, what is known of each flow then, and of each connection."""

    items: list[Any]
    flows: list[Any]
    connections: list[Any]


def followed(segments: Sequence[Segment]) -> Followed:
    following, connections = Streams((8080,)), dict[Connection, None]()
    items, flows = list[Any](), list[Any]()
    for segment in segments:
        for item in following.feed(segment):
            connections[item.connection] = None
            items.append((item.connection.id, type(item), *item[1:]))
        flow = following.flow_of(segment.flow)
        flows.append(flow and (flow.connection.id, flow.side, flow.key, flow.peer.key, flow.offset, flow.is_ended))
        flows.append(following.room)
    items += [(item.connection.id, type(item), *item[1:]) for item in following.end()]
    names = [name for name in Connection.__slots__ if name != "reader"]
    return Followed(items, flows, [[getattr(each, name) for name in names] for each in connections])


@contextmanager
def kept_whole() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(streams, "may_be_packed", lambda client: False)
        yield


def check(sent: Sequence[Sent]) -> None:
    segments = segments_of(sent)
    with kept_whole():
        whole = followed(segments)
    packed = followed(segments)
    assert packed.items == whole.items
    assert packed.flows == whole.flows
    assert packed.connections == whole.connections


@given(
    before=st.lists(_sent, max_size=4),
    end=st.sampled_from(["fin", "rst"]),
    late=st.lists(_sent, min_size=1, max_size=12),
)
@example(before=[], end="fin", late=conversation(KEYS[0], "fin"))
@example(before=[], end="rst", late=conversation(KEYS[0], "rst")[2:])
def test_whatever_comes_late(before: list[Sent], end: str, late: list[Sent]) -> None:
    check([*before, *conversation(KEYS[0], end), *late])


@given(st.lists(_sent, min_size=1, max_size=30))
def test_any_segments(sent: list[Sent]) -> None:
    check(sent)


@given(st.lists(_sent, min_size=1, max_size=30), st.integers(1, 3))
def test_room_for_few(sent: list[Sent], most: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(streams, "CONNECTIONS_MAX", most)
        check(sent)


def test_what_is_late_is_held_against_what_was_given() -> None:
    talk = Talk()
    talk.open()
    talk.say("client", b"hello")
    talk.close("fin")
    talk.send("client", ACK, b"jello", seq=1001)
    talk.send("client", ACK, b"hello, and more", seq=1001)
    following, items = Streams(), list[Any]()
    for segment in read_segments(packets_of(talk.frames)):
        items += following.feed(segment)
    assert ends(items) == [("client", "fin"), ("server", "fin")]
    assert findings(items) == [("overlap-differs", 0, b""), ("after-end", 5, b", and more")]
    assert items[0].connection.duplicate_bytes == {"client": 10, "server": 0}


def test_holes_are_remembered_behind_the_end() -> None:
    says: list[tuple[Side, bytes]] = [("client", b"hole"), ("client", b"more")]
    packets = tcp_packets(says, drop=[3], acks=False, end="rst")
    packets += packets_of([tcp_packets(says)[3].data] * 2)
    items: list[Any] = []
    following = Streams()
    for segment in read_segments(packets):
        items += following.feed(segment)
    assert findings(items) == [("after-gap", 0, b"hole")]
    assert items[0].connection.duplicate_bytes["client"] == 4


class Reader:
    """Notes what it is told."""

    def __init__(self) -> None:
        self.told: list[int] = []

    def note_duplicates(self, connection: Connection) -> None:
        self.told.append(sum(connection.duplicate_bytes.values()))


def test_a_reader_is_told_of_repetition_behind_the_end() -> None:
    following, reader = Streams(), Reader()
    for segment in read_segments(tcp_packets(SAYS, order=[*range(18), 3, 3])):
        for item in following.feed(segment):
            item.connection.reader = reader
    assert reader.told == [0, 5, 10]
