"""The pipeline on this machine and on Spark: `python -m tests.bench.pipeline [--quick]`.

Both make tables of the same synthetic captures, by turns; Spark's start-up does not count. What is printed: rows of
`frames` a second, the ratio of the walls, the memory of the largest Python process, and whether the counts are exact.
The index of a capture is made anew by each run, and counts.

With `--scale` a gigabyte of a small run is held against one of a large run. So that only the size is another, both are
read from the disk, and each process has made tables of another capture before: Java compiles what runs often.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import psutil

from tests.bench.pravega_appends import make_capture
from wiretool.capture.index.cache import cache_path

MIB = 1024 * 1024
#: Spark's wall in walls of the local engine, and what a Python process may take.
RATIO_MAX, WORKER_BYTES_MAX = 1.6, 500 * 1000 * 1000
#: How much more a gigabyte may cost in a large run.
COST_SPREAD_MAX = 1.2
SAMPLE_S = 0.05
ENGINES, MASTER = ("local", "spark"), "local[2]"
#: Megabytes of the capture that comes before one that counts, and how often a small one is read.
WARM_MB, SCALE_ROUNDS = 200, 3
#: Connections of each of these gigabytes: what comes of a larger run is more of the same, not longer connections.
GB_CONNECTIONS = 1000


@dataclass(frozen=True)
class Ran:
    """What one run took: its wall without start-up, its rows, and the most that a Python process had in memory."""

    wall_s: float
    frames: int
    connections: int
    python_bytes: int

    def __str__(self) -> str:
        return f"{self.wall_s:.1f} s, {self.frames / self.wall_s:,.0f} rows/s, {self.python_bytes / 1e6:,.0f} MB"


def run_here(engine: str, capture: Path, root: Path, warm: Path | None = None) -> None:
    """Make the tables in this process, and print what that took as JSON; those of `warm` before, which do not count."""
    with ExitStack() as stack:
        if warm is not None:
            if engine == "spark":
                from wiretool.pipeline.spark.session import session

                stack.enter_context(session(MASTER))
            make(engine, warm, root)
        print(json.dumps(make(engine, capture, root)))


def make(engine: str, capture: Path, root: Path) -> dict[str, float]:
    """Make the tables; the fields of `Ran` but for the memory."""
    from wiretool.pipeline.job import Job, Step

    job, begun, at = Job([capture], root), time.perf_counter(), dict[str, float]()

    def watch(step: Step) -> None:
        at.setdefault(step.name, time.perf_counter())

    if engine == "local":
        from wiretool.pipeline.local import run_local

        manifest = run_local(job, print, watch)
    else:
        from wiretool.pipeline.spark.run import run_spark

        manifest = run_spark(job, print, watch, master=MASTER)
    start_s = at["reading"] - at["starting Spark"] if engine == "spark" else 0
    wall_s = time.perf_counter() - begun - start_s
    return {"wall_s": wall_s, "frames": manifest.rows("frames"), "connections": manifest.connections}


def ran(engine: str, capture: Path, root: Path, warm: Path | None = None) -> Ran:
    """Make the tables in a process of its own; where packets are in the capture it has to find out by itself."""
    cache_path(capture).unlink(missing_ok=True)
    paths = [str(path) for path in (capture, root, warm) if path is not None]
    command = [sys.executable, "-m", "tests.bench.pipeline", "--engine", engine, *paths]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    most = [0]
    watching = threading.Thread(target=_sample, args=(process, most))
    watching.start()
    out, _ = process.communicate()
    watching.join()
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}")
    return Ran(**json.loads(out.splitlines()[-1]), python_bytes=most[0])


def _sample(process: "subprocess.Popen[str]", most: list[int]) -> None:
    """Note the most that one of its Python processes has in memory, itself among them."""
    own = psutil.Process(process.pid)
    while process.poll() is None:
        try:
            every = [own, *own.children(recursive=True)]
            most[0] = max(most[0], *(each.memory_info().rss for each in every if "python" in each.name()))
        except psutil.Error:
            pass
        time.sleep(SAMPLE_S)


def told(name: str, value: float, mark: float, text: str) -> bool:
    """Print a figure that is to be at most the mark; whether it is."""
    is_reached = value <= mark
    print(f"{name}: {text} (mark {mark:g} at most) {'reached' if is_reached else 'MISSED'}", flush=True)
    return is_reached


def check(ran_it: Ran, frames: int, connections: int) -> None:
    """SystemExit where rows are lost or doubled."""
    if (ran_it.frames, ran_it.connections) != (frames, connections):
        raise SystemExit(
            f"{ran_it.frames:,} frames, {ran_it.connections:,} connections; wants {frames:,}, {connections:,}"
        )


def against_each_other(folder: Path, megabytes: int, rounds: int) -> Iterator[bool]:
    """Both engines on one capture of a thousand connections."""
    capture, connections = folder / "capture.pcap", 1000
    frames = make_capture(capture, packets=megabytes * MIB // 720, event_bytes=1200, connections=connections)
    walls: dict[str, list[float]] = {engine: [] for engine in ENGINES}
    for number in range(rounds):
        for engine in ENGINES:
            result = ran(engine, capture, folder / "tables")
            print(f"round {number + 1}, {engine}, {capture.stat().st_size / 1e6:,.0f} MB: {result}", flush=True)
            check(result, frames, connections)
            walls[engine].append(result.wall_s)
    ratio = median(walls["spark"]) / median(walls["local"])
    yield told("Spark on local[2] / local engine", ratio, RATIO_MAX, f"{ratio:.2f}")


def in_memory(folder: Path, megabytes: int, flows: int) -> Iterator[bool]:
    """One large flow, and very many small ones."""
    large, many = folder / "large.pcap", folder / "many.pcap"
    frames = {
        large: make_capture(large, packets=megabytes * MIB // 720, event_bytes=1200),
        many: make_capture(many, packets=4 * flows, connections=flows),
    }
    for capture, connections, name in ((large, 1, "one flow"), (many, flows, f"{flows:,} flows")):
        for engine in ENGINES:
            result = ran(engine, capture, folder / "tables")
            print(f"{name}, {engine}, {capture.stat().st_size / 1e6:,.0f} MB: {result}", flush=True)
            check(result, frames[capture], connections)
            size = result.python_bytes
            yield told(f"{name}, {engine}: largest Python process", size, WORKER_BYTES_MAX, f"{size / 1e6:,.0f} MB")
        capture.unlink()


def at_scale(folder: Path, engine: str, gigabytes: int) -> Iterator[bool]:
    """What a gigabyte costs of one (the median of some runs), and of many."""
    costs, capture, warm = [], folder / "capture.pcap", folder / "warm.pcap"
    make_capture(warm, packets=WARM_MB * MIB // 720, event_bytes=1200, connections=GB_CONNECTIONS)
    for size, rounds in ((1, SCALE_ROUNDS), (gigabytes, 1)):
        connections = size * GB_CONNECTIONS
        frames = make_capture(capture, packets=size * 1000 * MIB // 720, event_bytes=1200, connections=connections)
        walls = []
        for _ in range(rounds):
            leave_to_disk(capture)
            result = ran(engine, capture, folder / "tables", warm)
            print(f"{engine}, {capture.stat().st_size / 1e9:.1f} GB: {result}", flush=True)
            check(result, frames, connections)
            walls.append(result.wall_s)
            shutil.rmtree(folder / "tables")
        costs.append(median(walls) / capture.stat().st_size * 1e9)
    ratio = max(costs) / min(costs)
    print(f"{engine}: a GB of 1 takes {costs[0]:.1f} s, a GB of {gigabytes} {costs[1]:.1f} s", flush=True)
    yield told(
        f"{engine}: a GB of {gigabytes} / a GB of 1, whichever costs more", ratio, COST_SPREAD_MAX, f"{ratio:.2f}"
    )


def leave_to_disk(capture: Path) -> None:
    """Have a capture written out and forgotten by the system, so that it is read from the disk."""
    with capture.open("rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def main() -> int:
    """Run what is asked for; 1 where a mark is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of everything, one round")
    parser.add_argument("--scale", choices=ENGINES, help="only 1 GB against 10 GB, with this engine")
    parser.add_argument("--engine", choices=ENGINES, help="one run here, of a capture into tables")
    parser.add_argument("paths", nargs="*", type=Path)
    options = parser.parse_args()
    if options.engine:
        run_here(options.engine, *options.paths)
        return 0
    part = 10 if options.quick else 1
    with TemporaryDirectory(prefix="bench-pipeline-") as name:
        folder = Path(name)
        if options.scale:
            marks = list(at_scale(folder, options.scale, 10 // part or 1))
        else:
            marks = list(against_each_other(folder, 2000 // part, 1 if options.quick else 3))
            marks += in_memory(folder, 1000 // part, 100_000 // part)
    return 0 if all(marks) else 1


if __name__ == "__main__":
    sys.exit(main())
