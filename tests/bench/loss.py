"""Remove any one segment of a conversation, at every position: how many of the other frames are still decoded?

Prints a line for each protocol and cut: the mean and the worst share of the frames wholly outside the hole, and how
many frames were told that were never sent. Marks: 99.5 % in the mean, never under 98 %, none that was not sent.
"""

import argparse
import random
import sys
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from tests.bench.talk import Sent, segments
from tests.helpers.frames import TALKS
from wiretool.capture.tcp.segments_of_packets import Segment
from wiretool.codec.message import Side
from wiretool.dissect.dissector import Dissector
from wiretool.protocols.base.registry import PROTOCOLS

MEAN_MARK, WORST_MARK = 0.995, 0.98
#: One frame a segment; and as a full Ethernet segment cuts them.
CUTS = {"a frame a segment": 0, "1,448 bytes a segment": 1_448}

#: side, offset in its stream, bytes
Frame = tuple[Side, int, bytes]


class Sweep(NamedTuple):
    """What a sweep over one conversation found."""

    mean: float
    worst: float
    not_sent: int
    positions: int

    @property
    def is_good(self) -> bool:
        return self.mean >= MEAN_MARK and self.worst >= WORST_MARK and not self.not_sent


def frames_of(sent: Sequence[Sent]) -> list[Frame]:
    """Every frame with its place."""
    at: dict[Side, int] = {"client": 0, "server": 0}
    out: list[Frame] = []
    for side, data in sent:
        out.append((side, at[side], data))
        at[side] += len(data)
    return out


def decoded(carriers: Sequence[Segment]) -> Counter[Frame]:
    """The frames that wiretool tells."""
    records = Dissector().records_of(carriers)
    return Counter((record.side, record.offset, record.raw) for record in records if record.kind == "frame")


def _touches(frame: Frame, side: Side, start: int, end: int) -> bool:
    """Whether bytes of the frame are among the lost ones."""
    return frame[0] == side and frame[1] < end and frame[1] + len(frame[2]) > start


def sweep(sent: Sequence[Sent], carriers: Sequence[Segment], port: int, step: int) -> Sweep:
    """Remove each `step`-th segment that carries bytes, one at a time."""
    frames = frames_of(sent)
    places = [number for number, carrier in enumerate(carriers) if carrier.payload][::step]
    base: dict[bool, int] = {carrier.sport == port: carrier.seq + 1 for carrier in reversed(carriers[:2])}
    shares: list[float] = []
    not_sent = 0
    for place in places:
        lost = carriers[place]
        side: Side = "server" if lost.sport == port else "client"
        start = lost.seq - base[side == "server"]
        end = start + len(lost.payload)
        outside = Counter(each for each in frames if not _touches(each, side, start, end))
        got = decoded([*carriers[:place], *carriers[place + 1 :]])
        shares.append((outside & got).total() / outside.total())
        not_sent += (got - Counter(frames)).total()
    return Sweep(sum(shares) / len(shares), min(shares), not_sent, len(places))


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="each 25th position only")
    parser.add_argument("--protocol", choices=sorted(TALKS), action="append")
    options = parser.parse_args(arguments)
    all_good = True
    print(f"{'protocol':14} {'cut':24} {'positions':>9} {'mean':>9} {'worst':>9} {'not sent':>9}")
    for name in options.protocol or TALKS:
        sent = list(TALKS[name](random.Random(1)))
        port = PROTOCOLS[name].ports[0]
        for title, size in CUTS.items():
            found = sweep(sent, segments(sent, port=port, segment_bytes=size), port, 25 if options.quick else 1)
            row = f"{name:14} {title:24} {found.positions:9} {found.mean:9.3%} {found.worst:9.3%} {found.not_sent:9}"
            print(row + ("" if found.is_good else "  below the mark"), flush=True)
            all_good &= found.is_good
    return 0 if all_good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
