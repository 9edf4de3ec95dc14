"""What a second process brings: `wiretool stats` and `decode --format parquet` with one worker and with two.

    python -m tests.bench.bulk_workers [--quick]

Whole processes, start-up included, in turn, on a machine with two idle cores; on one capture, as it is and packed by
gzip. One worker uses more than one core where it writes tables: a thread packs them. So the bench also says how many
times as fast two cores can do at most what one process did, if nothing were added and nobody ever waited. The exit
code is 1 if two are not `MARK` times as fast as one in some job, or do not write the same.
"""

import argparse
import gzip
import shutil
import sys
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tests.bench.bulk import QUICK_SHARE, remove, small_events, user_seconds, walls_by_turns, wiretool
from tests.bench.decode import ToolFailed, cost_of

MARK = 1.6
CORES = 2
PACKETS, PACKETS_QUICK = 400_000, 50_000
JOBS = {
    "stats": ("stats", "--format", "json", "-o", "OUT", "--workers"),
    "Parquet": ("decode", "--format", "parquet", "-o", "OUT", "--workers"),
}


def main() -> int:
    parser = argparse.ArgumentParser(description="one worker against two")
    parser.add_argument("--quick", action="store_true", help="a small capture, a low mark")
    is_quick = parser.parse_args().quick
    mark = MARK * (QUICK_SHARE if is_quick else 1)
    try:
        with tempfile.TemporaryDirectory(prefix="bench-workers-") as folder:
            plain = Path(folder) / "capture.pcap"
            frames = small_events(plain, PACKETS_QUICK if is_quick else PACKETS)
            print(f"{frames:,} frames, mark {mark:g}")
            captures = {"": plain, ", packed": packed(plain)}
            is_good = [
                compared(job + how, words, capture, mark)
                for how, capture in captures.items()
                for job, words in JOBS.items()
            ]
    except ToolFailed as failure:
        print(f"\n{failure}", file=sys.stderr)
        return 2
    return 0 if all(is_good) else 1


def packed(capture: Path) -> Path:
    """The capture packed by gzip, beside it."""
    path = capture.with_name(f"packed-{capture.name}.gz")
    with capture.open("rb") as source, gzip.open(path, "wb", compresslevel=1) as out:
        shutil.copyfileobj(source, out)
    return path


def compared(name: str, words: tuple[str, ...], capture: Path, mark: float) -> bool:
    """Whether two workers do the same as one, so many times as fast; printed."""
    commands = {workers: wiretool(*words, workers) for workers in ("1", "2")}
    walls, users = walls_by_turns(commands, capture), user_seconds(commands, capture)
    results = []
    for command in commands.values():
        cost_of(command(capture), capture.parent)
        results.append(written(capture.with_suffix(".out")))
        remove(capture.with_suffix(".out"))
    ratio, most = walls["1"] / walls["2"], min(CORES, CORES * walls["1"] / users["1"])
    print(
        f"{name}: one worker {walls['1']:.2f} s ({users['1']:.2f} s of processors), two {walls['2']:.2f} s"
        f" ({users['2']:.2f} s): ratio {ratio:.2f} {'reached' if ratio >= mark else 'MISSED'};"
        f" {CORES} cores can give {most:.2f};"
        f" what is written is {'the same' if results[0] == results[1] else 'NOT the same'}",
        flush=True,
    )
    return ratio >= mark and results[0] == results[1]


def written(out: Path) -> bytes | dict[str, pa.Table]:
    """What a run has written: a file, or the tables in a folder by their names."""
    if not out.is_dir():
        return out.read_bytes()
    return {path.name: pq.read_table(path) for path in sorted(out.rglob("*.parquet"))}


if __name__ == "__main__":
    sys.exit(main())
