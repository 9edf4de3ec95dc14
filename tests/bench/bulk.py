"""How fast captures become numbers and tables, against tshark with a dissector, tshark without one, and dpkt.

    python -m tests.bench.bulk [--quick] [--only NAME]

Every tool reads the same capture as a whole process, start-up included, in turn. `--quick` takes small captures, of
which start-up is a good part, and only shows that nothing has collapsed. The exit code is 1 if a ratio is below its
mark, 2 if a tool is missing or fails.
"""

import argparse
import shutil
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.bench.decode import LUA, ToolFailed, cost_of
from tests.bench.pravega_appends import make_capture

#: Runs of each tool; of those that take more than `SLOW_S` only one.
ROUNDS = 3
SLOW_S = 20
#: Marks are for captures on which start-up does not count; of small ones a ratio this much lower will do.
QUICK_SHARE = 0.15

FIELDS = ("pravega.type", "pravega.length", "pravega.writer", "pravega.event_number")
PLAIN_FIELDS = ("frame.time_epoch", "ip.src", "ip.dst", "tcp.srcport", "tcp.dstport", "tcp.seq", "tcp.len")


@dataclass(frozen=True)
class Peer:
    """A tool that does the same job, or less, and how many times as long it must take; `good` is beyond that."""

    name: str
    command: Callable[[Path], list[str]]
    mark: float
    good: float = 0.0


@dataclass(frozen=True)
class Case:
    """A job of ours on a kind of capture: packets in full and quickly, and the makers of both."""

    name: str
    packets: tuple[int, int]
    make: Callable[[Path, int], int]
    command: Callable[[Path], list[str]]
    peers: Sequence[Peer]


def tshark_fields(names: Sequence[str], *options: str) -> Callable[[Path], list[str]]:
    """`tshark -T fields` with these names."""
    chosen = [word for name in names for word in ("-e", name)]
    return lambda path: ["tshark", "-r", str(path), *options, "-T", "fields", *chosen]


def with_lua(script: Path, *options: str) -> Callable[[Path], list[str]]:
    """tshark with a dissector of ours in Lua."""
    return lambda path: ["tshark", "-r", str(path), "-X", f"lua_script:{script}", *options]


def wiretool(*options: str) -> Callable[[Path], list[str]]:
    """wiretool; OUT stands for a place beside the capture."""
    return lambda path: [
        sys.executable,
        "-m",
        "wiretool",
        options[0],
        str(path),
        *(str(path.with_suffix(".out")) if option == "OUT" else option for option in options[1:]),
    ]


def dpkt_loop(path: Path) -> list[str]:
    """dpkt."""
    return [sys.executable, "-m", "tests.bench.dpkt_loop", str(path)]


def small_events(path: Path, packets: int) -> int:
    """Six appends of 100 bytes, or their acks, in each packet."""
    return make_capture(path, packets=packets, frames_per_packet=6, event_bytes=100)


def large_events(path: Path, packets: int) -> int:
    """One append of 30 kB, or its ack, in each packet."""
    return make_capture(path, packets=packets, frames_per_packet=1, event_bytes=30_000)


def reading(marks: tuple[float, float, float], good: tuple[float, float]) -> tuple[Peer, ...]:
    """The three peers that read captures of Pravega."""
    chosen = [word for name in FIELDS for word in ("-e", name)]
    return (
        Peer("tshark -T fields with Lua", with_lua(LUA, "-T", "fields", *chosen), marks[0], good[0]),
        Peer("tshark -T fields", tshark_fields(PLAIN_FIELDS), marks[1], good[1]),
        Peer("dpkt", dpkt_loop, marks[2]),
    )


CASES = (
    Case("small events, stats", (400_000, 50_000), small_events, wiretool("stats"), reading((25, 6, 3), (60, 30))),
    Case(
        "small events, Parquet",
        (400_000, 50_000),
        small_events,
        wiretool("decode", "--format", "parquet", "-o", "OUT"),
        reading((12, 3, 1.5), (60, 30)),
    ),
    Case(
        "small events, ndjson",
        (50_000, 10_000),
        small_events,
        wiretool("decode", "--format", "ndjson", "-o", "OUT"),
        (Peer("tshark -T json with Lua", with_lua(LUA, "-T", "json"), 8),),
    ),
    Case("large events, stats", (50_000, 5_000), large_events, wiretool("stats"), reading((25, 6, 1), (60, 30))),
)


def main() -> int:
    options = options_from(sys.argv[1:])
    cases = [case for case in CASES if options.only in case.name]
    try:
        with tempfile.TemporaryDirectory(prefix="bench-bulk-") as folder:
            verdicts = [verdict for case in cases for verdict in measure(case, Path(folder), options.quick)]
    except ToolFailed as failure:
        print(f"\n{failure}", file=sys.stderr)
        return 2
    return 0 if verdicts and all(verdicts) else 1


def options_from(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="the column path against tshark and dpkt")
    parser.add_argument("--quick", action="store_true", help="small captures, low marks")
    parser.add_argument("--only", default="", metavar="NAME", help="only the cases with this in their name")
    return parser.parse_args(arguments)


def measure(case: Case, folder: Path, is_quick: bool) -> Iterator[bool]:
    """Whether each peer takes long enough; prints a line for each."""
    packets = case.packets[1] if is_quick else case.packets[0]
    capture = folder / "capture.pcap"
    frames = case.make(capture, packets)
    size = capture.stat().st_size
    print(f"{case.name}: {packets:,} packets, {frames:,} frames, {size:,} bytes", flush=True)
    walls = walls_by_turns({"wiretool": case.command, **{peer.name: peer.command for peer in case.peers}}, capture)
    ours = walls["wiretool"]
    print(f"  wiretool {ours:.2f} s, {frames / ours:,.0f} frames/s")
    for peer in case.peers:
        ratio = walls[peer.name] / ours
        mark = peer.mark * (QUICK_SHARE if is_quick else 1)
        beyond = f", beyond {peer.good:g}" if peer.good and ratio >= peer.good else ""
        said = "reached" if ratio >= mark else "MISSED"
        print(f"  {peer.name} {walls[peer.name]:.2f} s: ratio {ratio:.2f}, mark {mark:g} {said}{beyond}", flush=True)
        yield ratio >= mark


def walls_by_turns(commands: dict[str, Callable[[Path], list[str]]], capture: Path) -> dict[str, float]:
    """The median of the seconds that each command takes."""
    walls: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(ROUNDS):
        for name, command in commands.items():
            if walls[name] and walls[name][0] > SLOW_S:
                continue
            remove(capture.with_suffix(".out"))
            walls[name].append(cost_of(command(capture), capture.parent).wall_s)
    remove(capture.with_suffix(".out"))
    return {name: statistics.median(each) for name, each in walls.items()}


def remove(path: Path) -> None:
    """Remove what a run has written."""
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


if __name__ == "__main__":
    sys.exit(main())
