"""What a second process brings: `wiretool decode --format parquet` with one worker and with two, on the same capture.

    python -m tests.bench.bulk_workers [--quick]

Whole processes, start-up included, in turn, on a machine with two idle cores. The exit code is 1 if two are not
`MARK` times as fast as one, or do not write the same tables.
"""

import argparse
import sys
import tempfile
from pathlib import Path

import pyarrow.parquet as pq

from tests.bench.bulk import QUICK_SHARE, remove, small_events, walls_by_turns, wiretool
from tests.bench.decode import ToolFailed, cost_of

MARK = 1.6
PACKETS, PACKETS_QUICK = 400_000, 50_000


def main() -> int:
    parser = argparse.ArgumentParser(description="one worker against two")
    parser.add_argument("--quick", action="store_true", help="a small capture, a low mark")
    is_quick = parser.parse_args().quick
    words = ("decode", "--format", "parquet", "-o", "OUT", "--workers")
    commands = {name: wiretool(*words, name) for name in ("1", "2")}
    try:
        with tempfile.TemporaryDirectory(prefix="bench-workers-") as folder:
            capture = Path(folder) / "capture.pcap"
            frames = small_events(capture, PACKETS_QUICK if is_quick else PACKETS)
            walls = walls_by_turns(commands, capture)
            tables = []
            for command in commands.values():
                cost_of(command(capture), Path(folder))
                tables.append(pq.read_table(capture.with_suffix(".out") / "frames.parquet"))
                remove(capture.with_suffix(".out"))
    except ToolFailed as failure:
        print(f"\n{failure}", file=sys.stderr)
        return 2
    one, two = walls.values()
    mark = MARK * (QUICK_SHARE if is_quick else 1)
    is_same = tables[0].equals(tables[1])
    said = "reached" if one / two >= mark else "MISSED"
    print(f"{frames:,} frames to Parquet: one worker {one:.2f} s, two {two:.2f} s", end=": ")
    print(f"ratio {one / two:.2f}, mark {mark:g} {said}")
    print(f"the tables are {'the same' if is_same else 'NOT the same'}")
    return 0 if is_same and one / two >= mark else 1


if __name__ == "__main__":
    sys.exit(main())
