"""The packets that are cut out are those of the records, as they were captured."""

from collections.abc import Callable, Sequence
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.captures import Talk, ethernet, ip, packets_of, pcap_bytes, pcapng_bytes, tcp_packets
from tests.helpers.examples import needs_protocol
from wiretool.batches.rows import batch_of
from wiretool.capture.files import tables
from wiretool.capture.files.packet_counts import PacketCounts
from wiretool.capture.files.reading import read_packets
from wiretool.capture.packets import Packet
from wiretool.capture.tcp.fragments import Fragments
from wiretool.capture.tcp.reassembler import Streams
from wiretool.capture.tcp.segments_of_packets import segment_of
from wiretool.dissect.dissector import read
from wiretool.errors import CaptureError, UsageError
from wiretool.protocols.base.registry import server_ports
from wiretool.records import Record
from wiretool.sinks.output import Output
from wiretool.sinks.packets import Packets
from wiretool.sinks.slice import Chosen, Stretches, cut

CAPTURES = Path(__file__).parents[2] / "captures"
HELLO = bytes.fromhex("ffffff81000000080000001100000005")


def keep_alive(size: int) -> bytes:
    """A Pravega Padding of so many bytes, which nobody answers."""
    return bytes.fromhex("ffffffff") + size.to_bytes(4, "big") + bytes(size)


def cut_all(paths: Sequence[Path], chosen: Chosen, packets: Packets) -> CaptureError | None:
    """Write the chosen packets; gives the damage."""
    try:
        for _ in cut(paths, chosen, packets, server_ports()):
            pass
    except CaptureError as err:
        return err
    return None


def sliced(
    paths: Sequence[Path], wanted: Callable[[Record], bool], *, whole: bool = False
) -> tuple[list[Packet], list[Record], CaptureError | None]:
    """The packets that are cut out for the wanted records, these records, and the damage."""
    chosen = Chosen(whole_connections=whole)
    records = []
    try:
        for record in read(paths):
            if wanted(record):
                records.append(record)
                chosen.add(batch_of([record]))
    except CaptureError:
        pass
    file = BytesIO()
    damage = cut_all(paths, chosen, Packets(Output(file)))
    return list(read_packets([BytesIO(file.getvalue())])), records, damage


def owned(paths: Sequence[Path]) -> list[tuple[Packet, int, str]]:
    """Every packet with the connection and side that it is of, found out one by one."""
    streams, fragments, counts = Streams(server_ports()), Fragments(), PacketCounts()
    out = []
    try:
        for packet in read_packets(paths):
            segment = segment_of(packet, fragments, counts)
            if segment is not None:
                streams.feed(segment)
                flow = streams.flow_of(segment.flow)
                out.append((packet, flow.connection.id, flow.side) if flow else (packet, -1, ""))
    except CaptureError:
        pass
    return out


def as_captured(packets: Sequence[Packet]) -> list[tuple[object, ...]]:
    """All of the packets but their numbers, in their order."""
    return [packet[1:] for packet in packets]


def expected(paths: Sequence[Path], records: Sequence[Record], *, whole: bool) -> list[Packet]:
    """The packets of the records, by their definition."""
    if whole:
        connections = {record.connection for record in records}
        return [packet for packet, connection, _ in owned(paths) if connection in connections]
    return [
        packet
        for packet, connection, side in owned(paths)
        if any(
            (each.connection, each.side) == (connection, side) and each.packets[0] <= packet.number <= each.packets[1]
            for each in records
        )
    ]


def of_connection(number: int) -> Callable[[Record], bool]:
    return lambda record: record.connection == number


CONDITIONS: dict[str, Callable[[Record], bool]] = {
    "every ninth": lambda record: record.n % 9 == 0,
    "servers": lambda record: record.side == "server" and record.n % 3 == 0,
    "no frames": lambda record: record.kind != "frame",
    "first connections": lambda record: record.connection < 2 and record.n % 2 == 0,
}


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("condition", CONDITIONS)
@pytest.mark.parametrize(
    "name",
    [
        "pravega/write.pcap",
        "pravega/reconnect.pcap",
        "pravega/java_mtu1500.pcap.gz",
        "offramp/mixed_noise.pcap",
        "offramp/plain_any_sll2.pcap",
        "offramp/plain_dumpcap.pcapng",
        "offramp/plain_ipv6.pcap",
        "offramp/plain_nano.pcap",
        "sbp/pd_malformed.pcap",
    ],
)
def test_the_packets_of_records_are_cut_out_as_they_are(
    name: str, condition: str, whole: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "TABLE_PACKETS", 150)
    paths = [CAPTURES / name]
    packets, records, damage = sliced(paths, CONDITIONS[condition], whole=whole)
    assert damage is None
    assert as_captured(packets) == as_captured(expected(paths, records, whole=whole))
    assert packets or not records


@needs_protocol("offramp")
def test_several_captures_are_read_as_one() -> None:
    paths = [CAPTURES / "offramp" / name for name in ("plain.pcap", "plain_any_sll2.pcap", "plain_ipv6.pcap")]
    packets, records, _ = sliced(paths, lambda record: record.n % 2 == 0)
    assert as_captured(packets) == as_captured(expected(paths, records, whole=False))
    assert {packet.link_type for packet in packets} == {1, 276}
    assert len({record.connection for record in records}) == 3


def test_a_whole_connection_reads_as_before() -> None:
    path = CAPTURES / "pravega" / "write.pcap"
    wanted = {record.connection for record in read(path) if record.message == "AppendBlockEnd"}
    whole, _, _ = sliced([path], lambda record: record.message == "AppendBlockEnd", whole=True)
    again = [record.raw for record in read(BytesIO(pcapng_bytes(whole)))]
    assert again == [record.raw for record in read(path) if record.connection in wanted]


def test_only_one_of_two_connections_between_the_same_ports(tmp_path: Path) -> None:
    talk, later = Talk(server=("10.0.0.2", 12345)), Talk(server=("10.0.0.2", 12345), isn=(90_000, 70_000))
    for each, size in ((talk, 5), (later, 6)):
        each.open()
        each.say("client", HELLO + keep_alive(size))
        each.close("fin")
    path = tmp_path / "two.pcap"
    path.write_bytes(pcap_bytes(packets_of(talk.frames + later.frames)))
    for connection, frames in enumerate((talk.frames, later.frames)):
        packets, records, _ = sliced([path], of_connection(connection), whole=True)
        assert [packet.data for packet in packets] == frames
        assert len(records) == 2


def test_a_large_frame_takes_all_its_packets_and_no_others(tmp_path: Path) -> None:
    talk, beside = Talk(server=("10.0.0.2", 12345)), Talk(("10.0.0.9", 5), ("10.0.0.2", 12345))
    for each in (talk, beside):
        each.open()
        each.say("client", HELLO, acks=False)
    before = len(talk.frames)
    talk.say("client", keep_alive(6000))
    beside.say("client", keep_alive(6000), acks=False)
    frames = [frame for pair in zip(talk.frames, beside.frames, strict=False) for frame in pair]
    frames += talk.frames[len(beside.frames) :]
    path = tmp_path / "large.pcap"
    path.write_bytes(pcap_bytes(packets_of(frames)))
    packets, _, _ = sliced([path], lambda record: record.connection == 0 and record.message == "Padding")
    assert [packet.data for packet in packets] == [frame for frame in talk.frames[before:] if len(frame) > 100]


def test_fragments_come_with_the_segment_they_make_up(tmp_path: Path) -> None:
    talk = Talk(server=("10.0.0.2", 12345))
    talk.open()
    talk.say("client", HELLO)
    talk.say("client", keep_alive(1200))
    frames = [ethernet(piece) for frame in talk.frames for piece in in_pieces(frame)]
    strangers = [
        ethernet(ip("10.0.0.8", "10.0.0.2", 6, bytes(64), fragment=0x2000)),
        ethernet(bytes([0x45]) + bytes(60)),
    ]
    path = tmp_path / "pieces.pcap"
    path.write_bytes(pcap_bytes(packets_of(frames[:5] + strangers + frames[5:])))
    packets, records, _ = sliced([path], lambda record: record.message == "Padding")
    assert len(records) == 1
    assert [packet.data for packet in packets] == frames[5:8]
    assert [record.raw for record in read(BytesIO(pcapng_bytes(packets)))] == [keep_alive(1200)]


def in_pieces(frame: bytes, size: int = 512) -> list[bytes]:
    """The IP packet of a frame, in fragments where it is large."""
    packet = frame[14 : 14 + int.from_bytes(frame[16:18], "big")]
    body = packet[20:]
    if len(body) <= size:
        return [packet]
    starts = range(0, len(body), size)
    return [
        ip("10.0.0.1", "10.0.0.2", 6, body[at : at + size], fragment=at // 8 | 0x2000 * (at + size < len(body)))
        for at in starts
    ]


def test_lengths_on_the_wire_and_times_are_kept(tmp_path: Path) -> None:
    """Cut by the snap length, before 1970, and with a nanosecond that matters."""
    whole = tcp_packets([("client", HELLO), ("server", HELLO)], server=("10.0.0.2", 12345))
    odd = [packet._replace(length=packet.length + 7, time_ns=packet.time_ns + packet.number) for packet in whole]
    path = tmp_path / "odd.pcap"
    path.write_bytes(pcap_bytes(odd, nano=True))
    packets, records, _ = sliced([path], lambda record: record.side == "server", whole=True)
    assert as_captured(packets) == as_captured(odd)
    assert len(records) == 1


def test_times_before_1970_are_kept() -> None:
    times = np.array([-1, 5, -(2**62)])
    where = np.arange(3)
    table = tables.PacketTable(1, b"abc", where, where + 1 - where, where + 2, times, np.array([1, 1, 101]))
    file = BytesIO()
    packets = Packets(Output(file))
    packets.write(table, where)
    packets.end()
    read_back = list(read_packets([BytesIO(file.getvalue())]))
    assert as_captured(read_back) == [(-1, 1, b"a", 2), (5, 1, b"b", 3), (-(2**62), 101, b"c", 4)]
    assert packets.count == 3


def test_damage_comes_after_what_is_good(tmp_path: Path) -> None:
    good = pcap_bytes(tcp_packets([("client", HELLO), ("server", HELLO)], server=("10.0.0.2", 12345)))
    path = tmp_path / "cut.pcap"
    path.write_bytes(good[:-10])
    packets, records, damage = sliced([path], lambda record: True)
    assert len(packets) == len(records) == 2
    assert damage is not None
    assert "ends early" in str(damage)


def test_nothing_is_written_of_what_is_no_capture(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_bytes(b"no capture")
    file = BytesIO()
    packets = Packets(Output(file))
    damage = cut_all([path], Chosen(), packets)
    assert "neither pcap nor pcapng" in str(damage)
    assert (file.getvalue(), packets.has_begun) == (b"", False)


def test_terminals_are_spared() -> None:
    output = Output(BytesIO())
    output.is_terminal = True
    with pytest.raises(UsageError, match="refusing to write pcapng to a terminal; use -o FILE or a pipe"):
        Packets(output)


pairs = st.tuples(st.integers(1, 60), st.integers(0, 9)).map(lambda pair: (pair[0], pair[0] + pair[1]))


@given(st.lists(st.lists(pairs, min_size=1, max_size=8), min_size=1, max_size=8))
def test_stretches_hold_what_lies_in_one_of_them(several: list[list[tuple[int, int]]]) -> None:
    stretches = Stretches()
    for each in several:
        stretches.add(np.array(each, np.int64))
    numbers = np.arange(1, 75)
    every = [pair for each in several for pair in each]
    assert stretches.holds(numbers).tolist() == [any(a <= n <= b for a, b in every) for n in numbers.tolist()]


def test_stretches_that_overlap_take_no_room() -> None:
    stretches = Stretches()
    for start in range(0, 100_000, 50):
        at = np.arange(start, start + 50)
        stretches.add(np.stack((at, at + 1), 1))
    assert stretches.count < 10_000
    assert stretches.holds(np.array([0, 50_000, 100_000, 100_001])).tolist() == [True, True, True, False]
