"""Events a second of Pravega's own client through `wiretool serve pravega`, against the leanest server there can be.

    python -m tests.bench.serve_pravega [--quick]

The PyPI client `pravega` writes events of 100 B with 1,000 in flight, in a process of its own, to each server in turn:
the mock, and tests/bench/lean_pravega.py, which answers a writer and nothing else. The exit code is 1 if the median
ratio is below its mark, or that of the mock's rates, which a quick run does not judge: a rate depends on what else the
machine does. `--controller HOST:PORT` measures the server there instead.
"""

import argparse
import json
import statistics
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from tests.interop.processes import report_of, server

EVENTS, EVENTS_QUICK = 1_000_000, 300_000
#: Written first, and not counted.
WARM_UP = 20_000
IN_FLIGHT = 1000
EVENT = "x" * 100
ROUNDS, ROUNDS_QUICK = 7, 3
MARK_PER_S, MARK_RATIO = 400_000, 0.6

SERVE = [sys.executable, "-m", "wiretool", "serve", "pravega", "--listen", "127.0.0.1:0", "--controller", "127.0.0.1:0"]
LEAN = [sys.executable, "-m", "tests.bench.lean_pravega"]


def main() -> int:
    """Measure, print, judge."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer and shorter rounds, for CI")
    parser.add_argument("--controller", metavar="HOST:PORT", help="measure that server alone, and judge nothing")
    parser.add_argument("--events", type=int, metavar="N", help="events of a round")
    parser.add_argument("--in-flight", type=int, default=IN_FLIGHT, metavar="N", help="events without an answer")
    parser.add_argument("--client", nargs=3, metavar=("CONTROLLER", "EVENTS", "STREAM"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    events, rounds = (EVENTS_QUICK, ROUNDS_QUICK) if options.quick else (EVENTS, ROUNDS)
    events = options.events or events
    if options.client:
        controller, count, stream = options.client
        return be_client(controller, int(count), stream, options.in_flight)
    if options.controller:
        return measure_one(options.controller, events, rounds, options.in_flight)
    ours, ratios = measure(events, rounds, options.in_flight)
    is_fast = judge("events/s", statistics.median(ours), MARK_PER_S, ".0f") or options.quick
    is_near = judge("ratio", statistics.median(ratios), MARK_RATIO, ".2f")
    return 0 if is_fast and is_near else 1


def measure(events: int, rounds: int, in_flight: int) -> tuple[list[float], list[float]]:
    """The mock's events a second and the ratio of each round, printed as they come."""
    ours, ratios = [], []
    with ExitStack() as stack:
        folders = [Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-"))) for _ in range(2)]
        controllers = [
            stack.enter_context(server(command, folder))[0]["controller"]
            for command, folder in zip((SERVE, LEAN), folders, strict=True)
        ]
        for number in range(1, rounds + 1):
            mock, lean = (rate(controller, events, f"stream{number}", in_flight) for controller in controllers)
            ours.append(mock)
            ratios.append(mock / lean)
            print(f"round {number}: wiretool {mock:,.0f}/s, lean {lean:,.0f}/s, ratio {ratios[-1]:.2f}", flush=True)
    return ours, ratios


def measure_one(controller: str, events: int, rounds: int, in_flight: int) -> int:
    """The events a second of a server that is there already."""
    run = time.time_ns() // 10**6
    rates = [rate(controller, events, f"stream{run}x{number}", in_flight) for number in range(rounds)]
    print(", ".join(f"{each:,.0f}" for each in rates), f"events/s; median {statistics.median(rates):,.0f}")
    return 0


def judge(what: str, median: float, mark: float, form: str) -> bool:
    """Print how a median compares with its mark, and say whether it reaches it."""
    is_reached = median >= mark
    print(f"{what} {median:,{form}} (median): mark {mark:,{form}} {'reached' if is_reached else 'MISSED'}")
    return is_reached


def rate(controller: str, events: int, stream: str, in_flight: int) -> float:
    """The events a second of one writer on a stream of its own."""
    client = [sys.executable, "-m", "tests.bench.serve_pravega", "--in-flight", str(in_flight)]
    report = report_of([*client, "--client", controller, str(events), stream])
    return float(report["events_per_s"])


def be_client(controller: str, events: int, stream: str, in_flight: int) -> int:
    """The process of the client: write, and print how fast."""
    import pravega_client  # type: ignore[import-not-found,import-untyped,unused-ignore]

    manager = pravega_client.StreamManager(f"tcp://{controller}")
    manager.create_scope("bench")
    manager.create_stream("bench", stream, 1)
    writer = manager.create_writer("bench", stream, in_flight)
    for _ in range(min(events, WARM_UP)):
        writer.write_event(EVENT)
    writer.flush()
    begin = time.perf_counter()
    for _ in range(events):
        writer.write_event(EVENT)
    writer.flush()
    print(json.dumps({"events_per_s": events / (time.perf_counter() - begin)}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
