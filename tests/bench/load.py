"""Speed of `wiretool bench`'s load processes, beside a plain Locust User that does the same exchange.

    python -m tests.bench.load [--quick]

One after the other in each round, each against the same server process: 64 appenders with one event each, one in flight
and 16, verified and not, with histograms and without any, on the leanest server there can be (lean_pravega.py), so that
it is the load processes that are measured; the same and batches of 100 events on a mock, which has more to do for each
append than they have; then how long 1,000 appenders take to be ready. What waits for one answer at a time counts both
times in one histogram, as they are the same there; so what two of them cost is seen with 16 in flight. The exit
code is 1 where a median misses its mark; rates are not judged in a quick run, as they hang on the machine.
"""

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import msgspec

from tests.interop.processes import report_of, server
from wiretool.load.measure.intervals import Ended, Interval, Orders, Ready
from wiretool.load.measure.totals import Gathering, Totals
from wiretool.load.planning.plan import Plan
from wiretool.load.run.children import Load, load_process, mock_server
from wiretool.net.addresses import Address, address_from

APPENDERS = 64
ROUNDS, ROUNDS_QUICK = 5, 3
SECONDS, SECONDS_QUICK = 4.0, 2.0
WARM_UP_S = 1.0
MANY, MANY_S_MAX = 1_000, 10.0

PLAIN = "plain Locust User"
#: Its load process has no histograms (tests/bench/no_histograms.py).
BARE = "16 in flight, no histograms"
ONE = {"is_verified": False}
SIXTEEN = {"pipeline": 16, "is_verified": False}
#: What is run in each round, by name: on a server that is faster than any of them, so that none waits for it...
LEAN_RUNS: Mapping[str, dict[str, Any]] = {
    "one in flight": ONE,
    "one in flight, verified": {},
    "16 in flight": SIXTEEN,
    BARE: SIXTEEN,
}
#: ...and on the mock.
MOCK_RUNS: Mapping[str, dict[str, Any]] = {
    "one in flight": ONE,
    "16 in flight": SIXTEEN,
    "batches of 100": {"batch": 100, "is_verified": False},
    "batches of 100, verified": {"batch": 100},
}
#: (what, of which, at least): ratios within a round and a server.
LEAN_RATIOS = (
    ("one in flight", PLAIN, 1.4),
    ("16 in flight", PLAIN, 2.5),
    ("16 in flight", BARE, 0.9),
    ("one in flight, verified", "one in flight", 0.85),
)
MOCK_RATIOS = (("batches of 100, verified", "batches of 100", 0.5),)
#: The mock itself is the limit of these: shown, not judged.
SHOWN = (("one in flight", PLAIN), ("16 in flight", PLAIN))
EVENTS_PER_S = 500_000
LEAN_SERVER = [sys.executable, "-m", "tests.bench.lean_pravega"]

Rates = Mapping[str, list[float]]


def main() -> int:
    """Measure, print, judge."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer and shorter rounds, for CI")
    options = parser.parse_args()
    rounds, seconds = (ROUNDS_QUICK, SECONDS_QUICK) if options.quick else (ROUNDS, SECONDS)
    on_lean, on_mock = measured(rounds, seconds)
    reached = [judged_ratio(on_lean, *ratio) for ratio in LEAN_RATIOS]
    for what, of in SHOWN:
        print(f"on the mock: {what} / {of} {median_ratio(on_mock, what, of):.2f}", flush=True)
    reached += [judged_ratio(on_mock, *ratio) for ratio in MOCK_RATIOS]
    events = statistics.median(on_mock["batches of 100"]) * 100
    reached.append(judged("batches of 100: events/s", events, EVENTS_PER_S, ",.0f") or options.quick)
    with mock_server("pravega", seed=0, faults=(), run_s=60.0) as mock:
        reached.append(judged(f"{MANY:,} appenders ready: s", -ready_s(mock.address), -MANY_S_MAX, ".1f"))
    return 0 if all(reached) else 1


def measured(rounds: int, seconds: float) -> tuple[Rates, Rates]:
    """Appends a second of everything on the lean server and on the mock, lists over the rounds, told as they come."""
    on_lean: dict[str, list[float]] = defaultdict(list)
    on_mock: dict[str, list[float]] = defaultdict(list)
    with tempfile.TemporaryDirectory(prefix="bench-") as folder, server(LEAN_SERVER, Path(folder)) as (doors, _):
        lean = address_from(doors["store"], option="store")
        for number in range(1, rounds + 1):
            run_all(LEAN_RUNS, lean, seconds, on_lean)
            # This server keeps what is written: a new one for each round.
            with mock_server("pravega", seed=0, faults=(), run_s=300.0) as mock:
                run_all(MOCK_RUNS, mock.address, seconds, on_mock)
            for name, rates in (("lean server", on_lean), ("mock", on_mock)):
                told = ", ".join(f"{run} {each[-1]:,.0f}/s" for run, each in rates.items())
                print(f"round {number}, {name}: {told}", flush=True)
    return on_lean, on_mock


def run_all(
    runs: Mapping[str, dict[str, Any]], address: Address, seconds: float, rates: dict[str, list[float]]
) -> None:
    """The plain User and each of our runs, one after the other."""
    peer = [sys.executable, "-m", "tests.bench.plain_locust", str(address), str(APPENDERS), str(seconds)]
    rates[PLAIN].append(float(report_of(peer)["per_s"]))
    for name, options in runs.items():
        rates[name].append(rate(plan_for(address, seconds, options), has_histograms=name != BARE))


def plan_for(address: Address, seconds: float, options: Mapping[str, Any]) -> Plan:
    """A load of so long on that server."""
    plan = Plan(protocol="pravega", appenders=APPENDERS, duration_s=seconds, warmup_s=WARM_UP_S, run=uuid4().hex[:8])
    return msgspec.structs.replace(plan, **options).on(*address)


@contextmanager
def bare_process() -> Iterator[Load]:
    """A load process without histograms."""
    command = [sys.executable, "-m", "tests.bench.no_histograms"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        yield Load(child)


def rate(plan: Plan, *, has_histograms: bool) -> float:
    """Appends a second that were acknowledged."""
    totals, gathering = Totals(plan.duration_s), Gathering()
    with load_process() if has_histograms else bare_process() as load:
        load.order(Orders(plan=plan))
        while (said := load.next()) is not None:
            if isinstance(said, Interval):
                for merged in gathering.add(said):
                    totals.add(merged)
            elif isinstance(said, Ended):
                assert not said.failure, said.failure
                measured_s = said.duration_s
    append = totals.operations(measured_s)["append"]
    assert not append.errors, append.error_kinds
    return append.events_per_s / plan.batch


def ready_s(address: Address) -> float:
    """Seconds from the start of a load process to the readiness of a thousand appenders."""
    began = time.perf_counter()
    with load_process() as load:
        load.order(Orders(plan=plan_for(address, 1.0, {"appenders": MANY})))
        said = load.next()
        passed_s = time.perf_counter() - began
        assert isinstance(said, Ready), said
        while load.next() is not None:
            continue
    return passed_s


def judged_ratio(rates: Rates, what: str, of: str, mark: float) -> bool:
    """Print the median ratio of two rates of one round, and say whether it reaches its mark."""
    return judged(f"{what} / {of}", median_ratio(rates, what, of), mark, ".2f")


def median_ratio(rates: Rates, what: str, of: str) -> float:
    """Of two rates of one round, over all rounds."""
    return statistics.median(ours / theirs for ours, theirs in zip(rates[what], rates[of], strict=True))


def judged(what: str, median: float, mark: float, form: str) -> bool:
    """Print how a median compares with its mark, and say whether it reaches it; less is better of what is below 0."""
    is_reached = median >= mark
    print(f"{what} {abs(median):{form}} (mark {abs(mark):{form}}) {'reached' if is_reached else 'MISSED'}", flush=True)
    return is_reached


if __name__ == "__main__":
    sys.exit(main())
