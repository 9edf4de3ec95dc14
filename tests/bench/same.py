"""Whether `bench compare` calls two runs of the same thing equal: real runs, each compared with the one before it.

    python -m tests.bench.same [--runs N] [--duration SECONDS] [--keep FOLDER] [-- OPTIONS OF BENCH]

Equal is what shows no difference beyond the tolerance: no figure is worse, none better. Runs that were INVALID measured
the machine, and are told and made again. Last come the spreads of each figure from run to run, which say how large the
differences are that were passed over. The exit code is 1 where fewer than 95 of 100 comparisons are equal.
"""

import argparse
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import log
from pathlib import Path

from wiretool.load.compare import compare
from wiretool.load.report import read_result
from wiretool.load.result import Result

SHARE = 0.95
#: Of so many runs that are asked for, how many more may be INVALID.
INVALID_SHARE = 0.5


def main() -> int:
    """Run, compare, print, judge."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=101)
    parser.add_argument("--duration", default="3")
    parser.add_argument("--keep", type=Path, help="leave the reports in this folder")
    parser.add_argument("options", nargs="*", help="of wiretool bench, behind --")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        kept = options.keep or Path(folder)
        kept.mkdir(parents=True, exist_ok=True)
        results = list(valid_runs(kept, options.runs, ["--duration", options.duration, *options.options]))
    differing = [number for number, (a, b) in enumerate(pairwise(results), 1) if not are_equal(number, a, b)]
    for name, spread in spreads(results):
        print(f"{name}: from run to run {spread:.1%}")
    many = len(results) - 1
    equal = many - len(differing)
    is_reached = equal >= SHARE * many
    print(f"equal: {equal} of {many} comparisons (mark {SHARE:.0%}) {'reached' if is_reached else 'MISSED'}")
    return 0 if is_reached else 1


def valid_runs(folder: Path, wanted: int, options: Sequence[str]) -> Iterator[Result]:
    """So many runs that measured what they should."""
    invalid = 0
    for number in range(round(wanted * (1 + INVALID_SHARE))):
        path = folder / f"{number}.json"
        command = [sys.executable, "-m", "wiretool", "bench", "--warmup", "1", "--json", str(path), *options]
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
        if ended.returncode not in (0, 1):
            raise SystemExit(f"bench ended with {ended.returncode}: {ended.stderr}")
        result = read_result(path)
        if result.valid:
            yield result
        else:
            invalid += 1
            print(f"run {number} is INVALID: {'; '.join(result.reasons)}", flush=True)
        if number + 1 - invalid == wanted:
            return
    raise SystemExit(f"{invalid} runs were INVALID: this machine is too busy")


def are_equal(number: int, a: Result, b: Result) -> bool:
    """Whether nothing is called different; what is, is printed."""
    comparison = compare(a, b)
    for figure in (*comparison.worse, *comparison.better):
        name = " ".join(part for part in (figure.operation, figure.source, figure.figure) if part)
        print(f"comparison {number}: {name} {figure.verdict}, {figure.a:,.0f} and {figure.b:,.0f}", flush=True)
    return not (comparison.worse or comparison.better)


def spreads(results: Sequence[Result]) -> Iterator[tuple[str, float]]:
    """Of each figure, the standard deviation of its logarithm over all runs: a share, where it is small."""
    for name in results[0].operations:
        each = [result.operations[name] for result in results]
        yield f"{name} per_s", statistics.pstdev(log(operation.per_s) for operation in each)
        for figure in ("p50", "p90", "p99", "p99_9"):
            times = [getattr(operation.response_us, figure) for operation in each]
            yield f"{name} {figure}", statistics.pstdev(log(time) for time in times)


if __name__ == "__main__":
    sys.exit(main())
