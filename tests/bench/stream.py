"""Whether tables keep up with captures that are written meanwhile: `python -m tests.bench.stream [--quick]`.

A process writes a capture at a rate, each packet with the time at which it is written; a stream makes tables of it.
A batch is behind by the time from its newest packet to the moment at which its tables are there. The exit code is 1
where that grows, where it takes long until all is in the tables once nothing more is written, or where a count differs
from that of a single run.
"""

import argparse
import json
import math
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import NamedTuple

import psutil
import pyarrow.parquet as pq

from tests.bench.growing import MB
from tests.bench.pipeline import told
from wiretool.pipeline.layout import FRAMES, MANIFEST, Manifest, read_manifest

#: How much further behind the last quarter of the batches may be than the second; less than `LAG_S` counts as that.
GROWTH_MAX, LAG_S = 2.0, 1.0
#: How long it may take until all that was written is in the tables.
DRAIN_S = {"local": 10.0, "spark": 20.0}
#: How often is looked for new tables, and at what the stream uses.
LOOK_S, SAMPLE_S = 0.01, 0.5
#: Until a stream has begun, until all is in the tables at the latest, and until a run has ended.
BEGIN_S, WAIT_S, RUN_S = 90.0, 300.0, 1_800.0
STOPPED = 130


class Batch(NamedTuple):
    """When a batch was in place, and how far its newest and its oldest frame were behind then; in seconds."""

    at_s: float
    newest_s: float
    oldest_s: float


@dataclass
class Watch:
    """The manifests that were there in turn, each with the time at which it came."""

    root: Path
    manifests: list[tuple[int, Manifest]] = field(default_factory=list)
    #: What the stream had in memory at most, and how long it used processors, all of its processes together.
    bytes: int = 0
    busy_s: float = 0
    is_over: bool = False

    def look(self) -> None:
        """Note each manifest, until it is over."""
        path, seen = self.root / MANIFEST, (0, 0)
        while not self.is_over:
            with suppress(FileNotFoundError):
                stat = path.stat()
                if (stat.st_ino, stat.st_mtime_ns) != seen:
                    seen = stat.st_ino, stat.st_mtime_ns
                    self.manifests.append((time.time_ns(), read_manifest(self.root)))
            time.sleep(LOOK_S)

    def weigh(self, process: psutil.Process) -> None:
        """Note what the processes use, until it is over."""
        while not self.is_over:
            with suppress(psutil.Error):
                every = [process, *process.children(recursive=True)]
                self.bytes = max(self.bytes, sum(each.memory_info().rss for each in every))
                # With what its children have used that have ended.
                self.busy_s = max(self.busy_s, sum(sum(each.cpu_times()[:4]) for each in every))
            time.sleep(SAMPLE_S)

    def packets(self, at_s: float = math.inf) -> int:
        """How many packets were in the tables at that time, or are now."""
        there = [manifest for at_ns, manifest in self.manifests if at_ns <= at_s * 1e9]
        return sum(each.packets for each in there[-1].inputs) if there else 0

    def batches(self) -> Iterator[Batch]:
        """Those that brought frames."""
        before: set[str] = set()
        for at_ns, manifest in self.manifests:
            paths = {file.path for file in manifest.tables.get(FRAMES, ())}
            times = [moment for path in paths - before for moment in _times(self.root / path)]
            before = paths
            if times:
                yield Batch(at_ns / 1e9, (at_ns - max(times)) / 1e9, (at_ns - min(times)) / 1e9)


def _times(path: Path) -> Iterator[int]:
    """The least and the largest time of the frames in each part of a file."""
    metadata = pq.read_metadata(path)
    column = metadata.schema.names.index("time_ns")
    for part in range(metadata.num_row_groups):
        statistics = metadata.row_group(part).column(column).statistics
        yield statistics.min
        yield statistics.max


# -- what runs ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Bench:
    """A folder with all that a run of the bench makes, and how it is made."""

    folder: Path
    engine: str
    interval: str
    rate: float
    seconds: float
    connections: int
    packets: int

    @property
    def captures(self) -> Path:
        return self.folder / "captures"

    @property
    def tables(self) -> Path:
        return self.folder / "tables"

    def stream(self, *more: str) -> list[str]:
        """The command of the stream."""
        places = [str(self.captures), "-o", str(self.tables), "--checkpoint", str(self.folder / "checkpoint")]
        return _wiretool("stream", *places, "--engine", self.engine, "--interval", self.interval, *more)

    def writer(self) -> list[str]:
        """The command of the writer."""
        pace = ["--rate", str(self.rate), "--seconds", str(self.seconds), "--connections", str(self.connections)]
        how = ["--packets", str(self.packets), "--rotate", "50", "--live", "--ahead"]
        return [sys.executable, "-m", "tests.bench.growing", str(self.captures), *pace, *how]


def _wiretool(*words: str) -> list[str]:
    return [sys.executable, "-m", "wiretool", "pipeline", *words]


@contextmanager
def streaming(bench: Bench) -> Iterator[Watch]:
    """A stream that has begun, and is watched; stopped by Ctrl-C in the end."""
    bench.captures.mkdir()
    watch = Watch(bench.tables)
    log = bench.folder / "log"
    with log.open("wb") as errors:
        process = subprocess.Popen(bench.stream(), stderr=errors)
    threads = [
        threading.Thread(target=watch.look),
        threading.Thread(target=watch.weigh, args=(psutil.Process(process.pid),)),
    ]
    for thread in threads:
        thread.start()
    try:
        wait_for(lambda: bool(watch.manifests) or process.poll() is not None, BEGIN_S)
        yield watch
    finally:
        watch.is_over = True
        process.send_signal(signal.SIGINT)
        code = process.wait(WAIT_S)
        for thread in threads:
            thread.join()
    if code != STOPPED:
        raise SystemExit(f"the stream ended with {code}: {log.read_text()[-1000:]}")


def wait_for(is_so: Callable[[], bool], bound_s: float) -> None:
    """Wait until it is so, so long at most."""
    begun = time.monotonic()
    while not is_so() and time.monotonic() - begun < bound_s:
        time.sleep(LOOK_S)


def ended(command: Sequence[str]) -> str:
    """Run a command to its end; what it printed. SystemExit where it does not end well."""
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=RUN_S, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {done.returncode}")
    return done.stdout


# -- what it comes to --------------------------------------------------------------------------------------------------


def kept_up(bench: Bench) -> Iterator[bool]:
    """Write and stream side by side; whether each mark is reached."""
    with streaming(bench) as watch:
        written = json.loads(ended(bench.writer()).splitlines()[-1])
        wait_for(lambda: watch.packets() >= written["packets"], WAIT_S)
        done_s = time.time() - (ended_s := written["begun_s"] + written["wall_s"])
    print(
        f"written: {written['bytes'] / MB:,.0f} MB in {written['wall_s']:.1f} s, {written['packets']:,} packets in "
        f"{written['files']} files; the writer was late by {written['late_s']:.2f} s at worst"
    )
    batches = list(watch.batches())
    while_written = [each for each in batches if each.at_s <= ended_s]
    yield from not_growing(while_written)
    behind_s = ended_s - while_written[-1].at_s + while_written[-1].newest_s if while_written else bench.seconds
    missing = written["packets"] - watch.packets(ended_s)
    behind_mb = missing / written["packets"] * written["bytes"] / MB
    print(f"when the writer ended: {missing:,} packets ({behind_mb:,.1f} MB, {behind_s:.1f} s) were not in the tables")
    rate = written["bytes"] / MB / watch.busy_s
    print(
        f"the stream: {watch.bytes / MB:,.0f} MB of memory at most, {watch.busy_s:.1f} s of processors: {rate:.1f} MB/s"
    )
    mark = DRAIN_S[bench.engine]
    yield told("from the writer's end until all is in the tables, s", done_s, mark, f"{done_s:.1f}")


def not_growing(batches: Sequence[Batch]) -> Iterator[bool]:
    """Whether later batches are no further behind than earlier ones."""
    newest = [each.newest_s for each in batches]
    quarter = len(newest) // 4
    if not quarter:
        raise SystemExit(f"{len(newest)} batches are too few: give more --seconds, or a shorter --interval")
    print(f"{len(batches)} batches: newest frame behind by {_spread(newest)}")
    print(f"{len(batches)} batches: oldest frame behind by {_spread([each.oldest_s for each in batches])}")
    print(f"newest frame behind, batch by batch: {' '.join(f'{each:.1f}' for each in newest)} s")
    second, last = median(newest[quarter : 2 * quarter]), median(newest[-quarter:])
    ratio = max(last, LAG_S) / max(second, LAG_S)
    text = f"{ratio:.2f} ({last:.2f} s, {second:.2f} s)"
    yield told("newest frame behind, last quarter / second quarter", ratio, GROWTH_MAX, text)


def _spread(seconds: Sequence[float]) -> str:
    return f"{median(seconds):.2f} s (median), {max(seconds):.2f} s (worst)"


def counted(bench: Bench) -> bool:
    """Close the stream's flows, and count rows against those of a single run."""
    wanted = bench.folder / "wanted"
    ended(bench.stream("--once", "--finish"))
    ended(_wiretool("run", str(bench.captures), "-o", str(wanted)))
    one, other = read_manifest(wanted), read_manifest(bench.tables)
    names = sorted({*one.tables, *other.tables})
    differing = [name for name in names if one.rows(name) != other.rows(name)]
    for name in differing:
        print(f"{name}: {other.rows(name):,} rows, a single run has {one.rows(name):,}")
    is_exact = not differing and (one.total, one.connections) == (other.total, other.connections)
    frames = f"{other.rows(FRAMES):,} frames, {other.connections:,} connections, {len(names)} tables"
    print(f"counts against a single run: {frames}: {'exact' if is_exact else 'NOT exact'}")
    return is_exact


def main() -> int:
    """Run; 1 where a mark is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="16 seconds, a batch every second")
    parser.add_argument("--rate", type=float, default=20, help="MB/s")
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--interval", help="of batches")
    parser.add_argument("--connections", type=int, default=50, help="of each protocol, open at once")
    parser.add_argument("--packets", type=int, default=10_000, help="of a connection, about")
    parser.add_argument("--engine", choices=tuple(DRAIN_S), default="local")
    options = parser.parse_args()
    seconds = options.seconds or (16 if options.quick else 60)
    interval = options.interval or ("1s" if options.quick else "2s")
    with TemporaryDirectory(prefix="bench-stream-") as name:
        bench = Bench(Path(name), options.engine, interval, options.rate, seconds, options.connections, options.packets)
        many = f"{2 * options.connections:,} connections at once"
        print(
            f"{options.engine}: {options.rate:g} MB/s for {seconds:g} s, {many}, a batch every {interval}", flush=True
        )
        marks = [*kept_up(bench), counted(bench)]
    return 0 if all(marks) else 1


if __name__ == "__main__":
    sys.exit(main())
