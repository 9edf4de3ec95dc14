"""The capture of each flow, of several captures."""

import re
import socket
from pathlib import Path

import pytest

from tests.helpers.examples import needs_protocol
from wiretool.capture.files.reading import read_packets, read_with_origins
from wiretool.capture.packets import Packet
from wiretool.capture.tcp.origins import Origins
from wiretool.capture.tcp.segments_of_packets import Segment, read_segments
from wiretool.errors import CaptureError

CAPTURES = Path(__file__).parents[3] / "captures"
PATHS = [CAPTURES / "pravega" / "write.pcap", CAPTURES / "offramp" / "plain.pcap"]


@needs_protocol("offramp")
def test_packets_are_those_of_a_merged_reading() -> None:
    assert list(read_with_origins(PATHS, Origins(2))) == list(read_packets(PATHS))


@needs_protocol("offramp")
def test_damage_comes_after_the_packets_of_all_sources(tmp_path: Path) -> None:
    cut = tmp_path / "cut.pcap"
    cut.write_bytes(PATHS[0].read_bytes()[:3000])
    seen: list[list[Packet]] = []
    for read in (read_packets, lambda sources: read_with_origins(sources, Origins(2))):
        packets: list[Packet] = []
        with pytest.raises(CaptureError, match=re.escape(f"{cut}: byte ")):
            packets.extend(read([cut, PATHS[1]]))
        seen.append(packets)
    assert seen[0] == seen[1]
    assert len(seen[0]) > len(list(read_packets([PATHS[1]])))


@needs_protocol("offramp")
def test_each_capture_has_the_flows_that_it_has_alone() -> None:
    origins = Origins(2)
    segments = list(origins.noted(read_segments(read_with_origins(PATHS, origins))))
    assert segments == list(read_segments(read_packets(PATHS)))
    for at, path in enumerate(PATHS):
        alone = Origins(1)
        assert list(alone.noted(read_segments(read_with_origins([path], alone))))
        assert origins.hosts_of(at) == alone.hosts_of(0) != frozenset()
    assert not origins.hosts_of(0) & origins.hosts_of(1)


@pytest.mark.parametrize(
    ("family", "src", "dst"), [(socket.AF_INET, "10.0.0.1", "10.0.0.2"), (socket.AF_INET6, "fe80::1", "fe80::2")]
)
def test_both_directions_are_between_the_same_hosts(family: socket.AddressFamily, src: str, dst: str) -> None:
    a, b = socket.inet_pton(family, src), socket.inet_pton(family, dst)
    one, two = (5).to_bytes(2, "big"), (6).to_bytes(2, "big")
    origins = Origins(1)
    origins.note_packet(0)
    origins.note_packet(0)
    flows = [a + b + one + two, b + a + two + one]
    assert list(origins.noted(Segment(at, 0, flow, 0, 0, 0, b"", 0) for at, flow in enumerate(flows, 1)))
    (hosts,) = origins.hosts_of(0)
    shown = f"[{src}]" if ":" in src else src
    other = f"[{dst}]" if ":" in dst else dst
    assert hosts == {f"{shown}:5", f"{other}:6"}
