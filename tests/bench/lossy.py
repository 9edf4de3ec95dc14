"""Copies a pcap file with some of its packets lost, sent twice or out of order: `python -m tests.bench.lossy IN OUT`.

One packet in `--one-in` is dropped, doubled (again within the next 20) or swapped with the one behind it, each as
often as the others; the same seed gives the same file. Prints how many there were of each.
"""

import argparse
import random
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from struct import Struct

FILE_HEADER_BYTES, RECORD = 24, Struct("<IIII")
#: How far behind the first a second copy comes at most, in packets.
DOUBLED_WITHIN = 20


def harm(source: Path, target: Path, *, one_in: int = 1000, seed: int = 1) -> Counter[str]:
    """Write the harmed copy of a little-endian pcap file, and count what was done. Times stay in order."""
    raw = source.read_bytes()
    rng, done = random.Random(seed), Counter[str]()
    spans = list(_records(raw))
    order = list(_places(len(spans), one_in, rng, done))
    with target.open("wb") as file:
        file.write(raw[:FILE_HEADER_BYTES])
        for place, index in enumerate(order):
            start, end = spans[index]
            time = spans[min(place, len(spans) - 1)][0]
            file.write(raw[time : time + 8] + raw[start + 8 : end])
    return done


def _records(raw: bytes) -> Iterator[tuple[int, int]]:
    """Where each record begins and ends."""
    at = FILE_HEADER_BYTES
    while at < len(raw):
        end = at + RECORD.size + RECORD.unpack_from(raw, at)[2]
        yield at, end
        at = end


def _places(count: int, one_in: int, rng: random.Random, done: Counter[str]) -> Iterator[int]:
    """The packets in the order of the copy."""
    again: dict[int, list[int]] = {}
    waiting: int | None = None
    for index in range(count):
        what = rng.choice(("dropped", "doubled", "swapped")) if rng.randrange(one_in) == 0 else ""
        if what:
            done[what] += 1
        if what == "doubled":
            again.setdefault(index + rng.randrange(1, DOUBLED_WITHIN), []).append(index)
        if what == "swapped" and waiting is None:
            waiting = index
        else:
            if what != "dropped":
                yield index
            if waiting is not None:
                yield waiting
                waiting = None
        yield from again.pop(index, ())


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("source", type=Path)
    parser.add_argument("target", type=Path)
    parser.add_argument("--one-in", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    print(dict(harm(options.source, options.target, one_in=options.one_in, seed=options.seed)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
