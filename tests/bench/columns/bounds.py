"""The parts of the bench that are not ratios to peers: memory, start-up, and what a second process brings."""

import statistics
from collections.abc import Callable, Mapping

from tests.bench.columns.captures import Recipe, command_of
from tests.bench.columns.parts import PACKETS, PACKETS_QUICK, chosen, named
from tests.bench.columns.runs import Command, parquet, run, run_fed, stats
from tests.bench.columns.timing import Bench

Jobs = Mapping[str, Callable[..., Command]]

JOBS: Jobs = {"stats": stats, "Parquet": parquet}
#: MB at most, and what is hoped for; in quick runs more, as allocators of other machines keep more of what is freed.
MEMORY_MARK, MEMORY_SHORT_MARK, MEMORY_AIM = 300.0, 400.0, 200.0
MEMORY_QUICK_SHARE = 0.75
#: Bytes of a capture for each packet of appends, about; and sizes of the captures that come through a pipe.
PACKET_BYTES = 1_000
STREAMED, STREAMED_QUICK = (100_000_000, 2_000_000_000), (20_000_000, 100_000_000)
STREAMED_CONNECTIONS = 64
#: Bytes that a process may grow by for each byte that the larger stream is larger. One that holds the file grows by 1
#: or more; batches that are not full yet in the smaller one make up to 0.6.
GROWTH_MAX = 0.9
OPEN, OPEN_QUICK, OPEN_PACKETS = 10_000, 2_000, 15
SHORT, SHORT_QUICK = 100_000, 5_000
#: The exit code for a capture without packets.
NOTHING_READ = 1
START_UP_MARKS = {"stats": 0.3, "Parquet": 0.5}
WORKERS_CONNECTIONS, WORKERS_MARK = (64, 1_000), 1.6


def measure_memory(bench: Bench) -> None:
    """Measure the largest resident size: with a large stream, with many open connections, and with short ones."""
    for name, job in JOBS.items():
        measure_streams(bench, name, job("columns"))
        opened = OPEN_QUICK if bench.is_quick else OPEN
        peak = peak_of(bench, job(bench.engine), Recipe("appends", opened, OPEN_PACKETS * opened))
        hold_memory(bench, f"{name}, {opened:,} open connections", peak, MEMORY_MARK)
        short = SHORT_QUICK if bench.is_quick else SHORT
        peak = peak_of(bench, job(bench.engine), Recipe("short", short, short))
        hold_memory(bench, f"{name}, {short:,} short connections", peak, MEMORY_SHORT_MARK)


def measure_streams(bench: Bench, name: str, command: Command) -> None:
    """Measure the largest resident size with a small and a large stream, and how much it grows."""
    sizes, peaks = STREAMED_QUICK if bench.is_quick else STREAMED, []
    for size in sizes:
        recipe = Recipe("appends", STREAMED_CONNECTIONS, size // PACKET_BYTES)
        done = run_fed(command, command_of(recipe, "-"), bench.folder)
        title = f"{name}, {size / 1e6:,.0f} MB, {named(STREAMED_CONNECTIONS)}"
        bench.report.exactly(f"{title}: frames found", done.found or 0, done.fed or 0)
        peaks.append(done.peak_bytes)
        hold_memory(bench, title, done.peak_bytes / 1e6, MEMORY_MARK)
    growth = growth_of(peaks[0], peaks[-1], sizes[-1] - sizes[0])
    title = f"memory of {name}, growth by that of the capture"
    bench.report.at_most(title, growth, GROWTH_MAX, quick_share=1.0)


def hold_memory(bench: Bench, title: str, megabytes: float, mark: float) -> None:
    """Hold a largest resident size against its mark."""
    share = MEMORY_QUICK_SHARE
    bench.report.at_most(f"memory of {title}", megabytes, mark, aim=MEMORY_AIM, unit=" MB", quick_share=share)


def peak_of(bench: Bench, command: Command, recipe: Recipe) -> float:
    """Return the largest resident size of a command in MB."""
    return run(command, bench.captures.get(recipe).path, bench.folder).peak_bytes / 1e6


def growth_of(smaller: float, larger: float, more_bytes: int) -> float:
    """Return by how many bytes a process grew for each byte of the larger stream."""
    return (larger - smaller) / more_bytes


def measure_start_up(bench: Bench) -> None:
    """Measure the processor seconds on a capture without packets."""
    capture = bench.captures.get(Recipe("empty"))
    for name, job in JOBS.items():
        command = job(bench.engine)._replace(in_output=None, codes=(0, NOTHING_READ))
        run(command, capture.path, bench.folder)  # as it is used: modules are compiled by the first start
        seconds = statistics.median(run(command, capture.path, bench.folder).cpu_s for _ in range(bench.rounds))
        bench.report.at_most(f"start-up of {name}", seconds, START_UP_MARKS[name], unit=" s", quick_share=1.0)


def measure_workers(bench: Bench) -> None:
    """Measure one process against two, by the clock on the wall: requires two idle cores."""
    on_wall = Bench(**{**vars(bench), "clock": "wall"})
    for count in chosen(bench, WORKERS_CONNECTIONS):
        recipe = Recipe("appends", count, PACKETS_QUICK if bench.is_quick else PACKETS)
        for name, job in JOBS.items():
            title = f"workers, {name}, {named(count)}"
            commands = {workers: job(bench.engine, "--workers", workers) for workers in ("1", "2")}
            seconds = on_wall.seconds(title, recipe, commands)
            bench.report.at_least(f"{title}: 1 / 2", seconds["1"] / seconds["2"], WORKERS_MARK)


BOUNDS: Mapping[str, Callable[[Bench], None]] = {
    "memory": measure_memory,
    "start-up": measure_start_up,
    "workers": measure_workers,
}
