"""What a list of packets gives as streams, with the checks that hold for any packets."""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from tests.helpers.captures import tcp_packets
from wiretool.capture.packets import Packet
from wiretool.capture.tcp.reassembler import Streams
from wiretool.capture.tcp.segments_of_packets import Segment, read_segments
from wiretool.capture.tcp.stream_events import Connection, Data, End, Finding, Gap, Item, Side

Bytes = dict[tuple[int, str], bytes]


def items_of(packets: Iterable[Packet], ports: Sequence[int] = ()) -> list[Item]:
    """Everything that the packets give; checks on the way what must hold for any packets."""
    return items_of_segments(list(read_segments(packets)), ports)


def items_of_segments(segments: Sequence[Segment], ports: Sequence[int] = ()) -> list[Item]:
    following = Streams(ports)
    items = [item for segment in segments for item in following.feed(segment)]
    items += following.end()
    check_tiling(items)
    assert accounted(items) == sum(len(segment.payload) for segment in segments)
    assert not following.end()
    return items


def check_tiling(items: Iterable[Item]) -> None:
    """Data and gaps of each side follow each other, and nothing of them comes after its end."""
    ends: dict[tuple[int, str], int] = defaultdict(int)
    over: set[tuple[int, str]] = set()
    for item in items:
        number = item.connection.id
        if isinstance(item, Data | Gap):
            assert (number, item.side) not in over
            assert item.offset == ends[number, item.side]
            ends[number, item.side] += len(item.data) if isinstance(item, Data) else item.length
            assert ends[number, item.side] > item.offset
        elif isinstance(item, End):
            sides = {(number, item.side)} if item.side else {(number, "client"), (number, "server")}
            assert not sides <= over
            over |= sides


def accounted(items: Iterable[Item]) -> int:
    """Payload bytes that were given out or counted."""
    connections: dict[int, Connection] = {}
    total = 0
    for item in items:
        connections[item.connection.id] = item.connection
        total += len(item.data) if isinstance(item, Data | Finding) else 0
    return total + sum(sum(each.duplicate_bytes.values()) for each in connections.values())


def bytes_of(items: Iterable[Item]) -> Bytes:
    found: Bytes = defaultdict(bytes)
    for item in items:
        if isinstance(item, Data):
            found[item.connection.id, item.side] += item.data
    return dict(found)


def of(kind: type, items: Iterable[Item]) -> list[Item]:
    return [item for item in items if isinstance(item, kind)]


def ends(items: Iterable[Item]) -> list[tuple[str, str]]:
    return [(item.side, item.how) for item in items if isinstance(item, End)]


def gaps(items: Iterable[Item]) -> list[tuple[str, int, int]]:
    return [(item.side, item.offset, item.length) for item in items if isinstance(item, Gap)]


def findings(items: Iterable[Item]) -> list[tuple[str, int, bytes]]:
    return [(item.kind, item.offset, item.data) for item in items if isinstance(item, Finding)]


SAYS: list[tuple[Side, bytes]] = [("client", b"hello"), ("server", b"world" * 1000), ("client", b"bye")]
SAID = {(0, "client"): b"hellobye", (0, "server"): b"world" * 1000}


def lossy(count: int, *, acks: bool = True) -> list[Segment]:
    """A handshake, and `count` segments of the client of which the first is lost."""
    packets = tcp_packets([("client", b"12345678")] * count, acks=acks, end="")
    return [*read_segments(packets)][:3] + [*read_segments(packets)][4:]
