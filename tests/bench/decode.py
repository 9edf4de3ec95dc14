"""How many frames a second `wiretool decode --format ndjson` makes, against `tshark -T json` with a Lua dissector.

    python -m tests.bench.decode [--quick] [--tool-only tshark|wiretool]

Both read the same capture of small appends and run in turn, as whole processes, start-up included. The exit code is 1
if the ratio is below MARK_MIN in a shape or the two do not see the same frames, 2 if a tool is missing or fails.
"""

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from tests.bench.pravega_appends import make_capture

LUA = Path(__file__).with_name("pravega.lua")
#: Frames per packet of each shape measured.
SHAPES = (1, 6)
PACKETS = 50_000
PACKETS_QUICK = 40_000
ROUNDS = 3
MARK_MIN = 4
#: Start-up counts in smaller captures, and tshark has less of it: 60 % of the mark.
MARK_QUICK = 2.4
MARK_GOOD = 8


@dataclass(frozen=True)
class Cost:
    """What one run of a tool took."""

    wall_s: float
    user_s: float


class ToolFailed(Exception):
    """A measured tool is missing or ended with an error."""


def main() -> int:
    options = options_from(sys.argv[1:])
    tools = (options.tool_only,) if options.tool_only else ("tshark", "wiretool")
    packets = PACKETS_QUICK if options.quick else PACKETS
    try:
        with tempfile.TemporaryDirectory(prefix="bench-decode-") as folder:
            mark = MARK_QUICK if options.quick else MARK_MIN
            verdicts = [measure_shape(Path(folder), shape, packets, tools, mark) for shape in SHAPES]
    except ToolFailed as failure:
        print(f"\n{failure}", file=sys.stderr)
        return 2
    return 0 if all(verdicts) else 1


def options_from(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="frames a second of wiretool decode against tshark with Lua")
    parser.add_argument("--quick", action="store_true", help=f"{PACKETS_QUICK:,} packets instead of {PACKETS:,}")
    parser.add_argument("--tool-only", choices=("tshark", "wiretool"), help="measure this one alone, without a ratio")
    return parser.parse_args(arguments)


def measure_shape(folder: Path, frames_per_packet: int, packets: int, tools: tuple[str, ...], mark: float) -> bool:
    """Whether the shape passes; prints its line."""
    capture = folder / f"appends-{frames_per_packet}.pcap"
    frames = make_capture(capture, packets=packets, frames_per_packet=frames_per_packet)
    print(f"{packets:,} packets, {frames_per_packet} a packet: {frames:,} frames", end="", flush=True)
    if not all(sees_frames(tool, capture, frames) for tool in tools):
        return False
    costs = costs_by_turns(tools, capture)
    for tool in tools:
        print(" |", summary(tool, frames, costs[tool]), end="")
    passed = True
    if len(tools) == 2:
        ratio = median_wall_s(costs["tshark"]) / median_wall_s(costs["wiretool"])
        passed = ratio >= mark
        print(f" | ratio {ratio:.2f}: {verdict(ratio, mark)}, aim {MARK_GOOD}", end="")
    print()
    return passed


def sees_frames(tool: str, capture: Path, frames: int) -> bool:
    """Whether the tool finds as many frames as were written; says so if not."""
    seen = count_tshark(capture) if tool == "tshark" else count_wiretool(capture)
    if seen != frames:
        print(f" | {tool} sees {seen:,}")
    return seen == frames


def costs_by_turns(tools: tuple[str, ...], capture: Path) -> dict[str, list[Cost]]:
    costs: dict[str, list[Cost]] = {tool: [] for tool in tools}
    for _ in range(ROUNDS):
        for tool in tools:
            command = tshark(capture, "-T", "json") if tool == "tshark" else wiretool(capture, "-o", os.devnull)
            costs[tool].append(cost_of(command, capture.parent))
    return costs


def summary(tool: str, frames: int, costs: list[Cost]) -> str:
    wall_s = median_wall_s(costs)
    user_s = statistics.median(cost.user_s for cost in costs)
    return f"{tool} {wall_s:.2f} s (user {user_s:.2f} s) {frames / wall_s:,.0f} frames/s"


def median_wall_s(costs: list[Cost]) -> float:
    return statistics.median(cost.wall_s for cost in costs)


def verdict(ratio: float, mark: float) -> str:
    return f"mark {mark} {'reached' if ratio >= mark else 'missed'}"


def tshark(capture: Path, *options: str) -> list[str]:
    return ["tshark", "-r", str(capture), "-X", f"lua_script:{LUA}", *options]


def wiretool(capture: Path, *options: str) -> list[str]:
    return [sys.executable, "-m", "wiretool", "decode", str(capture), "--format", "ndjson", *options]


def count_tshark(capture: Path) -> int:
    with lines_of(tshark(capture, "-T", "fields", "-e", "pravega.type"), capture.parent) as lines:
        return sum(len(line.strip().split(b",")) for line in lines if line.strip())


def count_wiretool(capture: Path) -> int:
    with lines_of(wiretool(capture), capture.parent) as lines:
        return sum(json.loads(line)["kind"] == "frame" for line in lines)


def cost_of(command: list[str], folder: Path) -> Cost:
    """Wall clock and user CPU of the command from its start to its end, its output thrown away."""
    user_before_s = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    start_s = time.perf_counter()
    with started(command, folder, subprocess.DEVNULL):
        pass
    wall_s = time.perf_counter() - start_s
    return Cost(wall_s, resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - user_before_s)


@contextmanager
def lines_of(command: list[str], folder: Path) -> Iterator[IO[bytes]]:
    """The lines that the command prints."""
    with started(command, folder, subprocess.PIPE) as process:
        assert process.stdout is not None
        yield process.stdout


@contextmanager
def started(command: list[str], folder: Path, stdout: int) -> Iterator[subprocess.Popen[bytes]]:
    """The running command, which has ended well when the block is left; `folder` is tshark's empty configuration."""
    if shutil.which(command[0]) is None:
        raise ToolFailed(f"{command[0]} is not installed")
    environment = os.environ | {"WIRESHARK_CONFIG_DIR": str(folder)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # as it is used: from the second start on modules are compiled
    errors_path = folder / "stderr"
    with errors_path.open("wb") as errors:
        process = subprocess.Popen(command, stdout=stdout, stderr=errors, env=environment)
        with process:
            yield process
    if process.returncode:
        said = errors_path.read_text(errors="replace")
        raise ToolFailed(f"{' '.join(command)} ended with {process.returncode}:\n{said}")


if __name__ == "__main__":
    sys.exit(main())
