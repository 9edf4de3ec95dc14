"""What `wiretool bench` does: options become a plan, the plan a run, the run a report and an exit code."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from time import sleep
from typing import TYPE_CHECKING
from uuid import uuid4

from wiretool.commands.interrupts import handled_by
from wiretool.commands.options import tell
from wiretool.errors import PeerError, Stopped, UsageError

if TYPE_CHECKING:
    from wiretool.load.bench import Bench
    from wiretool.load.intervals import Orders
    from wiretool.load.plan import Plan
    from wiretool.load.planning import Load
    from wiretool.load.result import Result
    from wiretool.load.thresholds import Outcome
    from wiretool.load.totals import Totals
    from wiretool.sinks.output import Output

#: Exit codes: a finding, a server that was not there any more, and a defect of ours.
FOUND, UNREACHED, DEFECT = 1, 4, 70
HDR_LOG = "--hdr-log"
#: How long a worker waits for its master, and how often it looks.
MASTER_S, LOOK_S = 10.0, 0.1
#: Where a master of Locust listens.
LOCUST_PORT = 5557
#: And where its page is.
PAGE_PORT = 8089


@dataclass(frozen=True, slots=True)
class Spread:
    """How the load is spread: over processes here, or over workers that come to a master."""

    processes: int = 1
    is_master: bool = False
    expected: int = 1
    master: str = ""

    def address(self) -> tuple[str, int]:
        """Where the master listens."""
        from wiretool.net.addresses import address_from

        return address_from(self.master, option="--master-address", port=LOCUST_PORT)


@dataclass(frozen=True, slots=True)
class Wishes:
    """What was asked for, as it was written."""

    load: "Load"
    target: str
    allowed: Sequence[str]
    verify: bool | None
    faults: Sequence[str]
    sample_pid: int | None
    spread: Spread
    #: Where Locust's page is to be; empty for nowhere.
    web: str


@dataclass(frozen=True, slots=True)
class Reports:
    """Where what came of it is written, and what it is held against."""

    json: Path | None = None
    csv: Path | None = None
    html: Path | None = None
    junit: Path | None = None
    hdr_log: Path | None = None
    thresholds: Sequence[str] = ()

    @property
    def files(self) -> dict[str, Path]:
        """Where, by option; the reports are called as their options are."""
        named = {
            "--json": self.json,
            "--csv": self.csv,
            "--html": self.html,
            "--junit": self.junit,
            HDR_LOG: self.hdr_log,
        }
        return {option: path for option, path in named.items() if path is not None}


def run_bench(wishes: Wishes, reports: Reports) -> int:
    """Run it and report it; the exit code. Whatever is wrong with the wishes is said before there is any load."""
    from wiretool.load.children import load_process
    from wiretool.load.report import write_report
    from wiretool.load.thresholds import check_thresholds, threshold_from

    thresholds = [threshold_from(text) for text in reports.thresholds]
    check_wishes(wishes)
    with ExitStack() as stack:
        outputs = opened(reports, stack)
        with ExitStack() as running:
            plan, pid = planned(wishes, running)
            bench = bench_for(plan, pid, outputs.pop(HDR_LOG, None), running)
            with load_process() as load, handled_by(lambda number, _: _stop(bench, load.stop, number)):
                bench.run(load, orders_for(wishes, plan), on_listening=lambda port: workers_for(wishes, port, running))
            checked = bench.verify() if plan.is_verified else None
            result = bench.result(options_of(wishes, plan), checked)
        outcomes = check_thresholds(thresholds, result)
        for name, output in outputs.items():
            write_report(result, output, name.removeprefix("--"), outcomes=outcomes)
    return exit_code(bench, result, outcomes)


def _stop(bench: "Bench", stop: Callable[[], None], number: int) -> None:
    """End the run early, on a signal of that number; asked for a second time, at once."""
    if bench.stopped_by:
        raise Stopped(number)
    bench.stopped_by = number
    stop()


# -- wishes ------------------------------------------------------------------------------------------------------------


def opened(reports: Reports, stack: ExitStack) -> "dict[str, Output]":
    """The files that are written, by option, and standard output as `text`.

    UsageError where one cannot be written, or two would be one; nothing is lost before there is something to write.
    """
    from wiretool.sinks.output import open_output

    for (one, path), (other, other_path) in combinations(reports.files.items(), 2):
        if path.absolute() == other_path.absolute():
            raise UsageError(f"{one} and {other} would both be written to {path}: give one a file of its own")
    outputs = {
        option: stack.enter_context(open_output(path, at_once=option == HDR_LOG))
        for option, path in reports.files.items()
    }
    return {**outputs, "text": stack.enter_context(open_output(None))}


def check_wishes(wishes: Wishes) -> None:
    """UsageError where wishes contradict each other."""
    if wishes.target and wishes.faults:
        raise UsageError("--fault is for the mock; with --target, stand a tap before the server")
    if wishes.load.is_conditional and (wishes.spread.processes > 1 or wishes.spread.is_master):
        raise UsageError("--conditional: one load process has to know whose segment is whose; leave --processes at 1")
    if wishes.sample_pid is not None and not wishes.target:
        raise UsageError("--sample-pid goes with --target: the mock is watched in any case")
    if wishes.target and wishes.load.protocol == "offramp":
        if not wishes.load.road:
            raise UsageError("--target with offramp wants --road NAME, a road that it has")
        if wishes.load.rate:
            raise UsageError(f"--rate {wishes.load.rate}: what comes to the roads of a target is not ours to say")


def planned(wishes: Wishes, stack: ExitStack) -> "tuple[Plan, int | None]":
    """The plan, and the process that is loaded, where that is known: a mock is started where there is no target."""
    from wiretool.load.children import mock_server
    from wiretool.load.link import Link
    from wiretool.load.planning import plan_from

    is_verified = not wishes.target if wishes.verify is None else wishes.verify
    plan = plan_from(wishes.load, is_verified=is_verified, run=uuid4().hex[:8])
    if wishes.target:
        plan = plan.on(*address_for(wishes))
        Link(plan.host, plan.port).close()
        return plan, wishes.sample_pid
    mock = stack.enter_context(
        mock_server(plan.protocol, seed=plan.seed, faults=wishes.faults, run_s=plan.whole_s, feed_per_s=plan.feed_per_s)
    )
    return plan.on(*mock.address), mock.pid


def address_for(wishes: Wishes) -> tuple[str, int]:
    """Where the target is; UsageError where it is on another machine that was not allowed."""
    from wiretool.net.addresses import address_from, is_loopback

    address = address_from(wishes.target, option="--target")
    if not is_loopback(address.host) and address.host not in wishes.allowed:
        raise UsageError(f"--target {address} is another machine; if that is meant, --allow-remote {address.host}")
    return address.host, address.port


def options_of(wishes: Wishes, plan: "Plan") -> dict[str, object]:
    """All options with what they came to, for the report."""
    import msgspec

    told = {"target": wishes.target or "a mock", "fault": list(wishes.faults), **msgspec.to_builtins(plan)}
    return {name: value for name, value in told.items() if name not in ("host", "port", "run")}


# -- several processes -------------------------------------------------------------------------------------------------


def orders_for(wishes: Wishes, plan: "Plan") -> "Orders":
    """What the load process is told: to do it all, or to be the master of others."""
    from wiretool.load.intervals import Orders

    spread = wishes.spread
    page_host, page_port = page_for(wishes)
    orders = Orders(plan=plan, page_host=page_host, page_port=page_port)
    if spread.is_master:
        orders.host, orders.port = spread.address()
        orders.role, orders.workers = "master", spread.expected
    elif spread.processes > 1:
        orders.role, orders.workers = "master", spread.processes
    return orders


def page_for(wishes: Wishes) -> tuple[str, int]:
    """Where Locust's page is to be; port 0 for nowhere. UsageError where nothing can be served there."""
    from wiretool.load.link import check_free
    from wiretool.net.addresses import address_from

    if not wishes.web:
        return "", 0
    address = address_from(wishes.web, option="--web", port=PAGE_PORT)
    check_free(*address, option="--web")
    tell(f"Locust's page is at http://{address} while it runs")
    return address


def workers_for(wishes: Wishes, port: int, stack: ExitStack) -> None:
    """The master listens at that port: start the workers, or say where they are waited for."""
    from wiretool.load.children import load_process
    from wiretool.load.intervals import Orders

    spread = wishes.spread
    if spread.is_master:
        tell(f"waiting for {spread.expected} workers (wiretool bench --worker) at {spread.address()[0]}:{port}")
        return
    for _ in range(spread.processes):
        stack.enter_context(load_process(is_silent=True)).order(Orders(role="worker", port=port))


def run_worker(spread: "Spread", hdr_log: Path | None) -> int:
    """Be one of a master's load processes, and report what this one did; the exit code."""
    from wiretool.load.bench import Bench
    from wiretool.load.children import load_process
    from wiretool.load.hdr_log import HdrLog
    from wiretool.load.intervals import Listening, Orders, Ready
    from wiretool.load.report import write_report
    from wiretool.sinks.output import open_output

    host, port = spread.address()
    wait_for_master(host, port)
    bench: Bench | None = None
    with ExitStack() as stack:
        log = None if hdr_log is None else stack.enter_context(open_output(hdr_log, at_once=True))
        load = stack.enter_context(load_process())
        load.order(Orders(role="worker", host=host, port=port))
        while (said := load.next()) is not None:
            assert not isinstance(said, Listening)
            if isinstance(said, Ready):
                bench = Bench(said.plan, log=None if log is None else HdrLog(log.write, said.plan.duration_s))
            if bench is not None:
                bench.hear(said)
        if bench is None:
            raise PeerError(f"--worker: no load came from a master at {host}:{port}")
        with open_output(None) as output:
            write_report(bench.result({"worker of": f"{host}:{port}"}, None), output)
    return (DEFECT if bench.has_defect else UNREACHED) if bench.failure else 0


def wait_for_master(host: str, port: int) -> None:
    """Until a master listens there. PeerError where none does in time."""
    from wiretool.load.link import Link

    for _ in range(round(MASTER_S / LOOK_S)):
        try:
            Link(host, port).close()
        except PeerError:
            sleep(LOOK_S)
        else:
            return
    raise PeerError(f"--worker: no master came at {host}:{port} in {MASTER_S:g} s; start it with --master")


# -- the run -----------------------------------------------------------------------------------------------------------


def bench_for(plan: "Plan", pid: int | None, log: "Output | None", stack: ExitStack) -> "Bench":
    """The run, watched on a terminal; its seconds go into an interval log if there is to be one."""
    from wiretool.load.bench import Bench
    from wiretool.load.hdr_log import HdrLog
    from wiretool.load.sampling import Sampler

    return Bench(
        plan,
        sampler=None if pid is None else Sampler(pid),
        log=None if log is None else HdrLog(log.write, plan.duration_s),
        on_second=stack.enter_context(watching(plan)),
    )


@contextmanager
def watching(plan: "Plan") -> "Iterator[Callable[[Totals], None]]":
    """What draws a live table on a terminal; nothing elsewhere."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield lambda totals: None
        return
    from rich.console import Console
    from rich.live import Live

    from wiretool.load.report import live_table

    with Live(console=Console(file=sys.stderr, highlight=False), auto_refresh=False, transient=True) as live:

        def draw(totals: "Totals") -> None:
            last = totals.seconds[-1]
            errors = {name: operation.errors for name, operation in totals.operations().items()}
            live.update(
                live_table(
                    last, elapsed_s=last.second + 1, duration_s=plan.duration_s, users=plan.users, errors=errors
                ),
                refresh=True,
            )

        yield draw


# -- what came of it ---------------------------------------------------------------------------------------------------


def exit_code(bench: "Bench", result: "Result", outcomes: "Sequence[Outcome]") -> int:
    """What the shell is told."""
    if bench.stopped_by:
        return Stopped(bench.stopped_by).exit_code
    if bench.failure:
        return DEFECT if bench.has_defect else UNREACHED
    if bench.unread is not None:
        return bench.unread.exit_code
    is_fine = result.valid and not result.verification.found and all(outcome.is_kept for outcome in outcomes)
    return 0 if is_fine else FOUND


# -- two runs ----------------------------------------------------------------------------------------------------------


def run_compare(a: Path, b: Path, tolerance: str, seed: int, output: Path | None, json: Path | None) -> int:
    """Compare two reports; the exit code. CaptureError where one is none."""
    from wiretool.load.compare import compare, tolerance_from
    from wiretool.load.report import comparison_json, comparison_text, read_result
    from wiretool.sinks.choose import is_coloured, width_of
    from wiretool.sinks.output import open_output

    allowed = tolerance_from(tolerance)
    with ExitStack() as stack:
        text = stack.enter_context(open_output(output, inputs=[a, b]))
        other = None if json is None else stack.enter_context(open_output(json, inputs=[a, b]))
        comparison = compare(read_result(a), read_result(b), allowed, seed)
        if other is not None:
            other.write(comparison_json(comparison))
        text.write(comparison_text(comparison, colour=is_coloured(text), width=width_of(text)))
    return FOUND if comparison.worse or comparison.invalid else 0
