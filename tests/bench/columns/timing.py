"""Medians of runs by turns, of wiretool and its peers on one capture."""

import statistics
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from tests.bench.columns.captures import Capture, Captures, Recipe
from tests.bench.columns.marks import Report
from tests.bench.columns.runs import Command, Run, run

Clock = Literal["cpu", "wall"]
#: Runs of each tool; of those that take longer than this, in seconds of the clock, only one.
ROUNDS, SLOW_S, SLOW_QUICK_S = 3, 15.0, 5.0
#: What is left at least where start-up is subtracted.
NET_S_MIN = 0.01


@dataclass
class Bench:
    """The options of a run of the bench, its captures and its verdicts.

    `connections` are the numbers that are measured, all if it is empty. `packets` is the size of captures of appends, 0
    for the usual one. `without` are names of peers. With `is_net` the start-up of each tool is subtracted.
    """

    captures: Captures
    folder: Path
    is_quick: bool = False
    is_net: bool = False
    packets: int = 0
    clock: Clock = "cpu"
    engine: str = "columns"
    rounds: int = ROUNDS
    connections: tuple[int, ...] = ()
    without: frozenset[str] = frozenset()
    report: Report = field(default_factory=Report)
    _start_ups: dict[tuple[str, str], float] = field(default_factory=dict)

    def seconds(
        self, title: str, recipe: Recipe, commands: Mapping[str, Command], *, found_min: float = 1.0
    ) -> dict[str, float]:
        """Return the median of each command on a capture, printed; less its start-up if that is asked for.

        A command that does not find the frames that were written, or at least `found_min` of them, is a missed mark.
        """
        capture = self.captures.get(recipe)
        print(f"{title}: {capture.frames:,} frames, {capture.megabytes:,.1f} MB", flush=True)
        chosen = {name: command for name, command in commands.items() if name not in self.without}
        medians = {}
        for name, runs in self._by_turns(chosen, capture).items():
            self._check_found(f"{title}: frames found by {name}", runs, capture.frames, found_min)
            whole = statistics.median(self.time_of(each) for each in runs)
            start = self._start_up(name, recipe, chosen[name]) if self.is_net else 0.0
            medians[name] = max(whole - start, NET_S_MIN)
            print(f"  {name:32} {_line(runs, capture)}", flush=True)
        return medians

    def time_of(self, run: Run) -> float:
        """Return the seconds of a run on the chosen clock."""
        return run.cpu_s if self.clock == "cpu" else run.wall_s

    def _by_turns(self, commands: Mapping[str, Command], capture: Capture) -> dict[str, list[Run]]:
        runs: dict[str, list[Run]] = {name: [] for name in commands}
        slow_s = SLOW_QUICK_S if self.is_quick else SLOW_S
        for _ in range(self.rounds):
            for name, command in commands.items():
                if not runs[name] or self.time_of(runs[name][0]) <= slow_s:
                    runs[name].append(run(command, capture.path, self.folder))
        return runs

    def _start_up(self, name: str, recipe: Recipe, command: Command) -> float:
        """Return the median for the smallest capture of the kind."""
        key = name, recipe.kind
        if key not in self._start_ups:
            capture = self.captures.get(recipe.tiny)
            runs = [run(command, capture.path, self.folder) for _ in range(self.rounds)]
            self._start_ups[key] = statistics.median(self.time_of(each) for each in runs)
        return self._start_ups[key]

    def _check_found(self, name: str, runs: list[Run], frames: int, found_min: float) -> None:
        for each in runs:
            if each.found is not None and not found_min * frames <= each.found <= frames:
                self.report.exactly(name, each.found, frames)
                return


def _line(runs: list[Run], capture: Capture) -> str:
    """Return the medians of the runs of a command, start-up included."""
    cpu_s = statistics.median(each.cpu_s for each in runs)
    wall_s = statistics.median(each.wall_s for each in runs)
    peak = max(each.peak_bytes for each in runs) / 1e6
    rate = capture.megabytes / cpu_s
    found = runs[-1].found
    missing = "" if found in (None, capture.frames) else f"  {found:,} frames found"
    return f"{cpu_s:7.2f} s cpu {wall_s:7.2f} s wall {rate:8.1f} MB/cpu-s {peak:6.0f} MB{missing}"
