"""What `wiretool bench` does: options become a plan, the plan a run, the run a report and an exit code."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import combinations
from pathlib import Path
from time import sleep
from typing import TYPE_CHECKING

from wiretool.commands.bench.fitting import fitted
from wiretool.commands.bench.options import HDR_LOG, KEEP_SLOW, BenchOptions, Reports, Spread, check_options
from wiretool.commands.bench.planning import options_of, orders_for, page_of, planned
from wiretool.commands.interrupts import stoppable
from wiretool.commands.options import tell
from wiretool.commands.progress import LiveDisplay, is_watched, report_waiting, tell_apart
from wiretool.errors import PeerError, Stopped, UsageError
from wiretool.processes import handled_by
from wiretool.sinks.printable import printable

if TYPE_CHECKING:
    from wiretool.load.measure.thresholds import Outcome, Threshold
    from wiretool.load.measure.totals import Totals
    from wiretool.load.part import RunStream
    from wiretool.load.planning.plan import Plan
    from wiretool.load.result import Result, Second
    from wiretool.load.run.whole_run import Bench
    from wiretool.load.verify.findings import Outcome as Checked
    from wiretool.sinks.output import Output

#: Exit codes: a finding, a server that was not there any more, and a defect of ours.
FOUND, UNREACHED, DEFECT = 1, 4, 70
#: How long a worker waits for its master, and how often it looks.
MASTER_S, LOOK_S = 10.0, 0.1
#: Work before and after the load, which has lines of its own.
SETTING_UP, READING_BACK = "setting up the load", "reading back the appended events"
#: Modules that a run imports while a stop signal must end its processes.
_NEEDED = (
    "wiretool.load.run.whole_run",
    "wiretool.load.run.children",
    "wiretool.load.planning.validate",
    "wiretool.load.report",
)


def run_bench(options: BenchOptions, reports: Reports) -> int:
    """Run it and report it; the exit code. Whatever is wrong with the options is said before there is any load."""
    from wiretool.load.measure.thresholds import check_thresholds, threshold_from
    from wiretool.load.report import write_report
    from wiretool.load.run.children import load_process

    thresholds = [threshold_from(text) for text in reports.thresholds]
    check_options(options)
    options = fitted(options)
    with stoppable(*_NEEDED), ExitStack() as stack:
        outputs = opened(reports, stack, inputs=[path for path in (options.from_capture, options.keylog) if path])
        with ExitStack() as running:
            is_set_up = running.enter_context(report_waiting(SETTING_UP))
            plan, pid, stream = planned(options, running)
            check_operations(thresholds, plan)
            bench = bench_for(plan, pid, outputs.pop(HDR_LOG, None), running)
            bench.on_ready = is_set_up
            orders = orders_for(options, plan)
            bench.on_page = lambda: tell_apart(f"Locust's page: http://{page_of(orders)} while it runs")
            with load_process() as load, handled_by(lambda number, _: _stop(bench, load.stop, number)):
                bench.run(load, orders, on_listening=lambda port: workers_for(options, port, running))
            is_set_up()
            with report_waiting(READING_BACK):
                checked = checked_and_cleared(bench, stream)
            result = bench.result(options_of(options, plan), checked)
        write_kept(bench, outputs.pop(KEEP_SLOW, None))
        outcomes = check_thresholds(thresholds, result)
        for name, output in outputs.items():
            write_report(result, output, name.removeprefix("--"), outcomes=outcomes)
    code = exit_code(bench, result, outcomes)
    if options.damage is not None and code in (0, FOUND):
        raise options.damage
    return code


def checked_and_cleared(bench: "Bench", stream: "RunStream | None") -> "Checked | None":
    """What is found in what was written, if it is to be checked; a stream that was made for it is taken away."""
    if stream is not None:
        bench.renew = stream.renewed
    checked = bench.verify() if bench.plan.is_verified else None
    if stream is not None and (left := stream.remove()):
        bench.remarks.append(left)
    return checked


def write_kept(bench: "Bench", output: "Output | None") -> None:
    """Write the slowest exchanges, if they are wanted, and say how slow they are."""
    from wiretool.load.report import line_on, write_slow

    if output is not None:
        write_slow(bench.slow, output, bench.plan.protocol)
        tell(f"{output.name}: {line_on(bench.slow)}")


def check_operations(thresholds: "Sequence[Threshold]", plan: "Plan") -> None:
    """UsageError for a threshold on what such a load never does."""
    from wiretool.codec.jsonform import nearest
    from wiretool.load.part import load_part

    done = load_part(plan.protocol).operations
    for threshold in thresholds:
        if threshold.operation not in done:
            name = printable(threshold.operation)
            raise UsageError(
                f"--threshold {threshold.text!r}: {plan.protocol} has no operation {name!r}"
                f"{nearest(threshold.operation, done)}; there are {', '.join(done)}"
            )


def _stop(bench: "Bench", stop: Callable[[], None], number: int) -> None:
    """End the run early, on a signal of that number; asked for a second time, at once."""
    if bench.stopped_by:
        raise Stopped(number)
    bench.stopped_by = number
    stop()


def opened(reports: Reports, stack: ExitStack, *, inputs: Sequence[Path] = ()) -> "dict[str, Output]":
    """The files that are written, by option, and standard output as `text`.

    UsageError where one cannot be written, or two would be one; nothing is lost before there is something to write.
    """
    from wiretool.sinks.output import open_output

    if str(reports.keep_slow) == "-":
        raise UsageError(f"{KEEP_SLOW} -: a capture cannot share standard output with the report; expected a file")
    for (one, path), (other, other_path) in combinations(reports.files.items(), 2):
        if path.absolute() == other_path.absolute():
            raise UsageError(f"{one} and {other} would both be written to {path}; expected different files")
    outputs = {
        option: stack.enter_context(open_output(path, at_once=option == HDR_LOG, inputs=inputs))
        for option, path in reports.files.items()
    }
    return {**outputs, "text": stack.enter_context(open_output(None))}


def workers_for(options: BenchOptions, port: int, stack: ExitStack) -> None:
    """The master listens at that port: start the workers, or say where they are waited for."""
    from wiretool.load.measure.intervals import Orders
    from wiretool.load.run.children import load_process

    spread = options.spread
    if spread.is_master:
        tell(f"waiting for {spread.expected} workers (wiretool bench --worker) at {spread.address()[0]}:{port}")
        return
    for _ in range(spread.processes):
        stack.enter_context(load_process(is_silent=True)).order(Orders(role="worker", port=port))


def run_worker(spread: "Spread", hdr_log: Path | None) -> int:
    """Be one of a master's load processes, and report what this one did; the exit code."""
    from wiretool.load.measure.hdr_log import HdrLog
    from wiretool.load.measure.intervals import Listening, Orders, PageOpen, Ready
    from wiretool.load.report import write_report
    from wiretool.load.run.children import load_process
    from wiretool.load.run.whole_run import Bench
    from wiretool.sinks.output import open_output

    host, port = spread.address()
    bench: Bench | None = None
    stopped_by: list[int] = []
    with stoppable(*_NEEDED), ExitStack() as stack:
        wait_for_master(host, port)
        log = None if hdr_log is None else stack.enter_context(open_output(hdr_log, at_once=True))
        load = stack.enter_context(load_process())
        load.order(Orders(role="worker", host=host, port=port))
        stack.enter_context(handled_by(lambda number, _: _leave(stopped_by, load.stop, number)))
        while (said := load.next()) is not None:
            assert not isinstance(said, Listening | PageOpen)
            if isinstance(said, Ready):
                bench = Bench(said.plan, log=None if log is None else HdrLog(log.write, said.plan.end_s), is_part=True)
            if bench is not None:
                bench.hear(said)
        if stopped_by and bench is None:
            raise Stopped(stopped_by[0])
        if bench is None:
            raise PeerError(f"--worker: no load came from a master at {host}:{port}")
        result = bench.result({"worker of": f"{host}:{port}"}, None)
        with open_output(None) as output:
            write_report(result, output)
    return Stopped(stopped_by[0]).exit_code if stopped_by else exit_code(bench, result, ())


def _leave(stopped_by: list[int], stop: Callable[[], None], number: int) -> None:
    """End this worker's part of the run early on a signal; asked for a second time, end at once."""
    if stopped_by:
        raise Stopped(number)
    stopped_by.append(number)
    stop()


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
    raise PeerError(f"--worker: no master at {host}:{port} in {MASTER_S:g} s; start one with --master")


# -- the run -----------------------------------------------------------------------------------------------------------


def bench_for(plan: "Plan", pid: int | None, log: "Output | None", stack: ExitStack) -> "Bench":
    """The run, watched on a terminal; its seconds go into an interval log if there is to be one."""
    from wiretool.load.measure.hdr_log import HdrLog
    from wiretool.load.measure.sampling import Sampler
    from wiretool.load.run.whole_run import Bench

    return Bench(
        plan,
        sampler=None if pid is None else Sampler(pid),
        log=None if log is None else HdrLog(log.write, plan.end_s),
        on_second=stack.enter_context(watching(plan)),
    )


def progress_line(second: "Second", duration_s: float) -> str:
    """Return how far the load is, and what each operation did in its last second."""
    from wiretool.sinks.text.figures import rate_text, time_text

    at_s = second.second + 1
    phase = "reading the backlog" if second.is_drain else f"{at_s} s of {duration_s:g} s"
    done = [
        f"{name} {rate_text(moment.count)}/s, p99 {time_text(moment.response_us.p99)}, {moment.errors:,} errors"
        for name, moment in second.operations.items()
    ]
    return f"{phase if at_s > 0 else 'warming up'}: {'; '.join(done) or 'nothing was answered'}"


@contextmanager
def watching(plan: "Plan") -> "Iterator[Callable[[Totals], None]]":
    """Draw a live table on a terminal, and print a line a second elsewhere."""
    if not is_watched():
        yield lambda totals: tell(progress_line(totals.seconds[-1], plan.duration_s))
        return
    from wiretool.load.report import live_table

    display = LiveDisplay()

    def draw(totals: "Totals") -> None:
        last = totals.seconds[-1]
        errors = {name: operation.errors for name, operation in totals.operations().items()}
        table = live_table(
            last,
            elapsed_s=last.second + 1,
            duration_s=plan.duration_s,
            users=plan.users,
            errors=errors,
            width=display.width,
        )
        display.show(table)

    try:
        yield draw
    finally:
        display.close()


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
    from wiretool.sinks.output import open_whole_output

    allowed = tolerance_from(tolerance)
    with ExitStack() as stack:
        text = stack.enter_context(open_whole_output(output, inputs=[a, b]))
        other = None if json is None else stack.enter_context(open_whole_output(json, inputs=[a, b]))
        comparison = compare(read_result(a), read_result(b), allowed, seed)
        if other is not None:
            other.write(comparison_json(comparison))
        text.write(comparison_text(comparison, colour=is_coloured(text), width=width_of(text)))
    return FOUND if comparison.worse or comparison.invalid or not comparison.has_judged else 0
