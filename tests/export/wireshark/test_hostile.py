"""tshark shows frames with random changes without an error of Lua, and reports the problems that `decode` reports."""

import random
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Literal

import pytest

from tests.export.wireshark.shown import by_decode, frames_listed, list_fields
from tests.helpers.captures import Endpoint, pcap_bytes, tcp_packets
from tests.helpers.examples import needs_protocol
from wiretool.capture.packets import Packet
from wiretool.codec.message import Side
from wiretool.dissect.dissector import read
from wiretool.export.wireshark import make_dissector
from wiretool.faults.adapter import fault_adapter_of
from wiretool.protocols.base.protocol import Protocol
from wiretool.protocols.base.registry import PROTOCOLS

ROOT = Path(__file__).parents[3]
#: Changed frames of each kind.
COUNT = 80
#: Bytes of a frame: those after its length, and those of the longest header.
AFTER_LENGTH, HEADER = range(8, 2**16), range(16)
SERVER = "10.0.0.2"


def frames_of(protocol: Protocol) -> list[tuple[Side, bytes]]:
    """Return a frame of each message that captures have, by sender."""
    folder = ROOT / "captures" / protocol.name
    found: dict[tuple[str, str], tuple[Side, bytes]] = {}
    for path in sorted(folder.glob("*.pcap")):
        for record in read(path, ports=dict.fromkeys(protocol.ports, protocol.name)):
            if record.kind == "frame" and record.protocol == protocol.name and record.length < 1000:
                found.setdefault((record.message, record.side), (record.side, record.raw))
    return list(found.values())


def change(raw: bytes, fields: Sequence[tuple[int, int]], rng: random.Random) -> bytes:
    """Return a frame of which one or two fields, by place and width, have another value."""
    changed = bytearray(raw)
    for _ in range(rng.choice((1, 1, 2))):
        at, width = rng.choice(fields)
        order: Literal["big", "little"] = rng.choice(("big", "little"))
        top = 256**width
        value = rng.choice((0, 1, 4, len(raw), len(raw) - at, top // 2, top // 2 - 1, top - 1, rng.randrange(top)))
        changed[at : at + width] = (value % top).to_bytes(width, order)
    return bytes(changed)


def changed_frames(protocol: Protocol, among: range, rng: random.Random) -> Iterator[tuple[Side, bytes, bytes]]:
    """Yield frames, and these with other numbers among some bytes: counts, offsets, lengths."""
    frames, repair = frames_of(protocol), fault_adapter_of(protocol).with_right_checksum
    for _ in range(COUNT):
        side, raw = rng.choice(frames)
        spans = protocol.open(False).annotate(side, raw, 0, len(raw))
        fields = [(span.offset, span.length) for span in spans if span.offset in among and 0 < span.length <= 8]
        yield side, raw, repair(change(raw, fields or [(0, 4)], rng))


def talk(says: Sequence[tuple[Side, bytes]], port: int, server: Endpoint, *, begin: bool) -> list[Packet]:
    return tcp_packets(says, client=("10.0.0.1", port), server=server, acks=False, begin=begin)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=needs_protocol(name)) for name in ("pravega", "sbp", "sbp-0.1")]
)
def test_changed_frames_are_shown_with_the_problems_of_decode(name: str, tmp_path: Path) -> None:
    """One in each connection; others are after bytes without a frame, where a message has to be recognised."""
    protocol, rng = PROTOCOLS[name], random.Random(23)
    script, path, server = tmp_path / "wiretool.lua", tmp_path / "changed.pcap", (SERVER, protocol.ports[0])
    script.write_text(make_dissector([protocol], "0"))
    alone = changed_frames(protocol, AFTER_LENGTH, rng)
    talks = [talk([(side, changed)], 10_000 + n, server, begin=True) for n, (side, _, changed) in enumerate(alone)]
    after_others = changed_frames(protocol, HEADER, rng)
    for n, (side, raw, changed) in enumerate(after_others):
        talks.append(talk([(side, b"\xee" + raw + changed)], 20_000 + n, server, begin=False))
    path.write_bytes(pcap_bytes(chain.from_iterable(talks)))

    lines = list_fields(script, path, protocol)
    assert [line for line in lines if "Lua Error" in line[-1] or "Dissector bug" in line[-1]] == []
    ours, theirs = by_decode(path, protocol), frames_listed(lines, protocol)
    whole = [ends for ends in ours if any(end.startswith("10.0.0.1:1") for end in ends)]
    assert sum(bool(frame.problems) for ends in whole for frame in ours[ends]) > COUNT // 10
    for ends in whole:
        assert [frame.problems for frame in theirs[ends]] == [frame.problems for frame in ours[ends]], ends
