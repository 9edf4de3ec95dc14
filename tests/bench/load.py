"""Speed of `wiretool bench`'s load processes, beside a plain Locust User that does the same exchange.

    python -m tests.bench.load [--quick]

All against one server process, a mock, one after the other in each round: 64 appenders with one event each, one in
flight and 16, verified and not; then batches of 100 events; then how long 1,000 appenders take to be ready. The exit
code is 1 where a median misses its mark; rates are not judged in a quick run, as they hang on the machine.
"""

import argparse
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Mapping
from typing import Any
from uuid import uuid4

import msgspec

from tests.interop.processes import report_of
from wiretool.load.children import load_process, mock_server
from wiretool.load.intervals import Ended, Interval, Orders, Ready
from wiretool.load.plan import Plan
from wiretool.load.totals import Gathering, Totals
from wiretool.net.addresses import Address

APPENDERS = 64
ROUNDS, ROUNDS_QUICK = 5, 3
SECONDS, SECONDS_QUICK = 4.0, 2.0
WARM_UP_S = 1.0
MANY, MANY_S_MAX = 1_000, 10.0

#: What is run in each round, by name.
RUNS: Mapping[str, dict[str, Any]] = {
    "one in flight": {"is_verified": False},
    "one in flight, verified": {},
    "16 in flight": {"pipeline": 16, "is_verified": False},
    "batches of 100": {"batch": 100, "is_verified": False},
    "batches of 100, verified": {"batch": 100},
}
PLAIN = "plain Locust User"
#: (what, of which, at least): ratios within a round.
RATIOS = (
    ("one in flight", PLAIN, 1.4),
    ("16 in flight", PLAIN, 2.5),
    ("one in flight, verified", "one in flight", 0.85),
    ("batches of 100, verified", "batches of 100", 0.5),
)
EVENTS_PER_S = 500_000


def main() -> int:
    """Measure, print, judge."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer and shorter rounds, for CI")
    options = parser.parse_args()
    rounds, seconds = (ROUNDS_QUICK, SECONDS_QUICK) if options.quick else (ROUNDS, SECONDS)
    rates = measured(rounds, seconds)
    reached = [judged_ratio(rates, *ratio) for ratio in RATIOS]
    events = statistics.median(rates["batches of 100"]) * 100
    reached.append(judged("batches of 100: events/s", events, EVENTS_PER_S, ",.0f") or options.quick)
    with mock_server("pravega", seed=0, faults=(), run_s=60.0) as mock:
        reached.append(judged(f"{MANY:,} appenders ready: s", -ready_s(mock.address), -MANY_S_MAX, ".1f"))
    return 0 if all(reached) else 1


def measured(rounds: int, seconds: float) -> dict[str, list[float]]:
    """Appends a second of everything, a list over the rounds, printed as they come."""
    rates: dict[str, list[float]] = defaultdict(list)
    for number in range(1, rounds + 1):
        # A server keeps what is written: a new one for each round.
        with mock_server("pravega", seed=0, faults=(), run_s=300.0) as mock:
            peer = [sys.executable, "-m", "tests.bench.plain_locust", str(mock.address), str(APPENDERS), str(seconds)]
            rates[PLAIN].append(float(report_of(peer)["per_s"]))
            for name, wishes in RUNS.items():
                rates[name].append(rate(mock.address, seconds, wishes))
        print(f"round {number}: " + ", ".join(f"{name} {each[-1]:,.0f}/s" for name, each in rates.items()), flush=True)
    return rates


def plan_for(address: Address, seconds: float, wishes: Mapping[str, Any]) -> Plan:
    """A load of so long on that server."""
    plan = Plan(protocol="pravega", appenders=APPENDERS, duration_s=seconds, warmup_s=WARM_UP_S, run=uuid4().hex[:8])
    return msgspec.structs.replace(plan, **wishes).on(*address)


def rate(address: Address, seconds: float, wishes: Mapping[str, Any]) -> float:
    """Appends a second that were acknowledged."""
    totals, gathering = Totals(seconds), Gathering()
    with load_process() as load:
        load.order(Orders(plan=plan_for(address, seconds, wishes)))
        while (said := load.next()) is not None:
            if isinstance(said, Interval):
                for merged in gathering.add(said):
                    totals.add(merged)
            elif isinstance(said, Ended):
                assert not said.failure, said.failure
                measured_s = said.duration_s
    append = totals.operations(measured_s)["append"]
    assert not append.errors, append.error_kinds
    return append.per_s


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


def judged_ratio(rates: Mapping[str, list[float]], what: str, of: str, mark: float) -> bool:
    """Print the median ratio of two rates of one round, and say whether it reaches its mark."""
    ratios = [ours / theirs for ours, theirs in zip(rates[what], rates[of], strict=True)]
    return judged(f"{what} / {of}", statistics.median(ratios), mark, ".2f")


def judged(what: str, median: float, mark: float, form: str) -> bool:
    """Print how a median compares with its mark, and say whether it reaches it; less is better of what is below 0."""
    is_reached = median >= mark
    print(f"{what} {abs(median):{form}} (mark {abs(mark):{form}}) {'reached' if is_reached else 'MISSED'}", flush=True)
    return is_reached


if __name__ == "__main__":
    sys.exit(main())
