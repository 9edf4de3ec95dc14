"""What loss costs in bulk: `wiretool stats` on a capture, and on the same with some packets lost, doubled or swapped.

    python -m tests.bench.bulk_loss [--quick] [--only NAME]

Whole processes, start-up included, in turn. Of 1,000 packets one is harmed (see tests/bench/lossy.py). `--quick` takes
small captures, and seconds of the processor instead of the clock. The exit code is 1 if the harmed capture takes more
than `MARK` times as long, or too few of its frames are found; 2 if a run fails.
"""

import argparse
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from tests.bench.bulk import (
    found_by_wiretool,
    road,
    small_events,
    small_requests,
    user_seconds,
    walls_by_turns,
    wiretool,
)
from tests.bench.decode import ToolFailed
from tests.bench.lossy import harm

MARK = 1.5
#: One run of each on a small capture only shows that nothing has collapsed.
MARK_QUICK = 2.5
#: Of the frames that were written, how many are still found.
FOUND_SHARE_MIN = 0.99

#: What makes each kind of capture, and how large in full and quickly, in packets or messages.
KINDS: dict[str, tuple[Callable[[Path, int], int], int, int]] = {
    "small events": (small_events, 400_000, 20_000),
    "sbp": (small_requests, 100_000, 15_000),
    "offramp": (road, 250_000, 15_000),
}


def main() -> int:
    parser = argparse.ArgumentParser(description="a clean capture against a harmed one")
    parser.add_argument("--quick", action="store_true", help="small captures, a low mark")
    parser.add_argument("--only", default="", metavar="NAME", help="only the captures with this in their name")
    options = parser.parse_args()
    try:
        with tempfile.TemporaryDirectory(prefix="bench-loss-") as folder:
            verdicts = [measure(name, Path(folder), options.quick) for name in KINDS if options.only in name]
    except ToolFailed as failure:
        print(f"\n{failure}", file=sys.stderr)
        return 2
    return 0 if verdicts and all(verdicts) else 1


def measure(name: str, folder: Path, is_quick: bool) -> bool:
    """Whether loss costs little and most frames are still found; prints a line."""
    make, full, small = KINDS[name]
    clean, harmed = folder / "clean.pcap", folder / "harmed.pcap"
    frames = make(clean, small if is_quick else full)
    done = sum(harm(clean, harmed).values())
    print(f"{name}: {frames:,} frames, {done} packets harmed", end="", flush=True)
    stats = wiretool("stats")
    found = found_by_wiretool(stats(harmed), harmed)
    print(f", {found:,} frames still found: ", end="", flush=True)
    commands = {"clean": lambda _: stats(clean), "harmed": lambda _: stats(harmed)}
    seconds = user_seconds(commands, clean) if is_quick else walls_by_turns(commands, clean)
    ratio, mark = seconds["harmed"] / seconds["clean"], MARK_QUICK if is_quick else MARK
    said = "reached" if ratio <= mark else "MISSED"
    print(f"clean {seconds['clean']:.2f} s, harmed {seconds['harmed']:.2f} s, ratio {ratio:.2f}, mark {mark:g} {said}")
    return ratio <= mark and found >= FOUND_SHARE_MIN * frames


if __name__ == "__main__":
    sys.exit(main())
