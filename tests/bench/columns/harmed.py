"""Copies of captures with some of their segments lost, sent twice or out of order.

    python -m tests.bench.columns.harmed IN OUT [--share 0.001] [--seed 1] [--slowed 1]

Each harm is as frequent as the others. A doubled segment comes again within the next 20 packets, a swapped one after
the next of its flow. Packets are so many times as far apart as `--slowed` says. Equal arguments give equal bytes.
Prints how many segments there were of each.
"""

import argparse
import random
import struct
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.bench.columns.packets import FILE_HEADER, RECORD_BYTES

HARMS = ("lost", "doubled", "swapped")
#: How far after the first a second copy comes at most, in packets.
DOUBLED_WITHIN = 20
#: Addresses and ports in a record: Ethernet, IPv4 without options.
FLOW = slice(RECORD_BYTES + 26, RECORD_BYTES + 38)
#: Seconds and microseconds.
_TIME = struct.Struct("<II")


def harm(source: Path, target: Path, *, share: float = 0.001, seed: int = 1, slowed: int = 1) -> Counter[str]:
    """Write the harmed copy of a little-endian pcap file; count the harms. The times stay in order."""
    raw = source.read_bytes()
    spans = list(_records(raw))
    done = Counter[str]()
    flows = [raw[start:end][FLOW] for start, end in spans]
    order = list(_order(flows, share, random.Random(seed), done))
    with target.open("wb", buffering=1 << 20) as file:
        file.write(raw[: len(FILE_HEADER)])
        for place, index in enumerate(order):
            start, end = spans[index]
            time = spans[min(place, len(spans) - 1)][0]
            file.write(_time(raw, spans[0][0], time, slowed) + raw[start + 8 : end])
    return done


def _time(raw: bytes, first: int, at: int, slowed: int) -> bytes:
    """Return the time of the record that begins `at`, so many times as long after the first one."""
    times = (_TIME.unpack_from(raw, each) for each in (first, at))
    begun, time = (seconds * 1_000_000 + micros for seconds, micros in times)
    return _TIME.pack(*divmod(begun + (time - begun) * slowed, 1_000_000))


def _records(raw: bytes) -> Iterator[tuple[int, int]]:
    """Yield where each record begins and ends."""
    at = len(FILE_HEADER)
    while at < len(raw):
        end = at + RECORD_BYTES + int.from_bytes(raw[at + 8 : at + 12], "little")
        yield at, end
        at = end


def _order(flows: Sequence[bytes], share: float, rng: random.Random, done: Counter[str]) -> Iterator[int]:
    """Yield the packets, each by its index, in the order of the copy."""
    again: dict[int, list[int]] = {}
    swapped: dict[bytes, int] = {}
    for index, flow in enumerate(flows):
        harm_ = rng.choice(HARMS) if rng.random() < share else ""
        if harm_ == "swapped" and flow in swapped:
            harm_ = ""
        if harm_:
            done[harm_] += 1
        if harm_ == "doubled":
            again.setdefault(index + rng.randrange(1, DOUBLED_WITHIN), []).append(index)
        if harm_ == "swapped":
            swapped[flow] = index
        else:
            if harm_ != "lost":
                yield index
            if flow in swapped:
                yield swapped.pop(flow)
        yield from again.pop(index, ())
    yield from swapped.values()


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path)
    parser.add_argument("target", type=Path)
    parser.add_argument("--share", type=float, default=0.001)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--slowed", type=int, default=1)
    options = parser.parse_args(arguments)
    how = {"share": options.share, "seed": options.seed, "slowed": options.slowed}
    print(dict(harm(options.source, options.target, **how)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
