"""Measure the exported dissector of Wireshark in tshark, against dissectors that are written by hand.

    python -m tests.bench.wireshark [--quick]

The peers are tests/bench/wireshark.lua, which shows the same fields of appends and acks and links them too, and
tests/bench/pravega.lua with fewer fields and no links, against wiretool without links. All read the same captures of
appends over 1, 64 and 1,000 connections, by turns; seconds are those of the processor, the median of all rounds. The
ratio is the peer's time divided by ours. The exit code is 1 if the first is less than its mark.
"""

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from tests.bench.columns.captures import STREAMED, Recipe

HERE = Path(__file__).parent


class Match(NamedTuple):
    """What is compared: the peer, the options of tshark for ours, the field that both show, and the mark."""

    title: str
    peer: Path
    options: Sequence[str]
    field: str
    mark: float | None


MATCHES = (
    Match("same fields and links", HERE / "wireshark.lua", (), "pravega.response_to", 1.0),
    Match("few fields, no links", HERE / "pravega.lua", ("-o", "pravega.links:FALSE"), "pravega.type", None),
)
CONNECTIONS = (1, 64, 1_000)
PACKETS, PACKETS_QUICK = 20_000, 5_000
TIMES, TIMES_QUICK = 5, 3


def measure(script: Path, capture: Path, field: str, options: Sequence[str]) -> tuple[float, int]:
    """Return the seconds of the processor that tshark takes, and how many values of a field it printed."""
    command = ["tshark", "-r", str(capture), "-X", f"lua_script:{script}", *options, "-T", "fields", "-e", field]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    shown = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    count = sum(bool(value) for line in shown.split(b"\n") for value in line.split(b","))
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, count


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="smaller captures, fewer rounds")
    quick = parser.parse_args().quick
    is_good = True
    with tempfile.TemporaryDirectory(prefix="bench-wireshark-") as name:
        ours = Path(name) / "wiretool.lua"
        command = [sys.executable, "-m", "wiretool", "export", "wireshark", "-o", str(ours)]
        subprocess.run(command, check=True, stderr=subprocess.DEVNULL, env=os.environ)
        for connections in CONNECTIONS:
            recipe = Recipe("appends", connections, PACKETS_QUICK if quick else PACKETS)
            capture = Path(name) / recipe.file_name
            with capture.open("wb") as file:
                STREAMED[recipe.kind](file, recipe)
            for match in MATCHES:
                by_hand, exported = medians(match, ours, capture, TIMES_QUICK if quick else TIMES)
                is_good &= report(f"{connections:,} connections, {match.title}", by_hand, exported, match.mark)
    return 0 if is_good else 1


def medians(match: Match, ours: Path, capture: Path, rounds: int) -> tuple[float, float]:
    """Return the seconds of the peer and of ours, which must show the same number of values."""
    by_hand, exported = [], []
    for _ in range(rounds):
        their_time, their_count = measure(match.peer, capture, match.field, ())
        our_time, our_count = measure(ours, capture, match.field, match.options)
        assert our_count == their_count > 0, (our_count, their_count)
        by_hand.append(their_time)
        exported.append(our_time)
    return statistics.median(by_hand), statistics.median(exported)


def report(label: str, by_hand: float, exported: float, mark: float | None) -> bool:
    """Print a line of results, and return whether the mark is reached."""
    ratio = by_hand / exported
    verdict = "" if mark is None else f" | mark {mark} {'reached' if ratio >= mark else 'missed'}"
    print(f"{label}: by hand {by_hand:.2f} s, exported {exported:.2f} s, ratio {ratio:.2f}{verdict}", flush=True)
    return mark is None or ratio >= mark


if __name__ == "__main__":
    sys.exit(main())
