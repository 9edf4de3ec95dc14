"""The end of a fuzz run: findings in folders, the summary, the reports, and the exit code."""

import signal
from collections.abc import Callable, Iterable
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

import typer

from wiretool.commands.fuzz.options import FuzzOptions
from wiretool.commands.options import tell
from wiretool.errors import InputError, OtherProtocol, OutputError, PeerError, Stopped, UsageError, system_reason
from wiretool.processes import handled_by, held_interrupts, signal_name

if TYPE_CHECKING:
    from wiretool.fuzz.campaign import Counts
    from wiretool.fuzz.findings.reported_finding import ReportedFinding
    from wiretool.fuzz.findings.reports import FuzzResult
    from wiretool.fuzz.oracles import Bucket


#: Begins the part of a page that only a folder has.
AGAIN = "## Run it again"


#: Fills the result of a run, and returns the stop signal that ended it. The list has the stop signals so far, whose
#: exceptions may have been lost.
Run: TypeAlias = "Callable[[FuzzResult, list[int]], int | None]"


def report_run(make_result: "Callable[[], FuzzResult]", run: Run, options: FuzzOptions) -> None:
    """Run and report, however the run ends. Until `run` has its own handler, a stop signal raises Stopped in it.

    `typer.Exit` of 1 for a new finding, Stopped after a stop signal, PeerError and OtherProtocol of the run. A second
    stop signal before there is a result ends the run without a report.
    """
    result: FuzzResult | None = None
    stopped: list[int] = []
    stopped_by: int | None = None
    error: PeerError | OtherProtocol | None = None
    try:
        with handled_by(lambda number, frame: stop_preparation(stopped, number)):
            with held_interrupts():  # there is a result for the report, whenever a signal comes
                result = make_result()
            stopped_by = run(result, stopped)
    except KeyboardInterrupt as err:
        stopped_by = err.number if isinstance(err, Stopped) else signal.SIGINT
    except (PeerError, OtherProtocol) as err:
        error = err
    if result is None:
        raise error or Stopped(stopped_by or signal.SIGINT)
    if error is not None:
        result.why_cut = str(error)
    with held_interrupts():
        finish(result, options, stopped_by, error)


def stop_preparation(stopped: list[int], number: int) -> NoReturn:
    """Note a stop signal, and raise it where the program is."""
    stopped.append(number)
    raise Stopped(number)


def note_stop(stopped: list[int], number: int) -> None:
    """Note the first stop signal; the second one ends the run where it is."""
    if stopped:
        raise KeyboardInterrupt
    stopped.append(number)


def finish(
    result: "FuzzResult",
    options: FuzzOptions,
    stopped_by: int | None,
    error: PeerError | OtherProtocol | None = None,
) -> None:
    """Write the reports and end with the exit code of the result; `error` is what cut the run, where it is known."""
    is_empty = note_cut(result, stopped_by)
    write_reports(result, options, has_summary=error is None or bool(result.counts.runs or result.findings))
    if result.unwritten:
        for each in result.unwritten[1:]:
            tell(each)
        raise OutputError(result.unwritten[0])
    if stopped_by is not None:
        raise Stopped(stopped_by)
    if is_empty and result.findings:
        tell(result.why_cut)
    elif is_empty and not result.counts.runs:
        raise UsageError(result.why_cut)
    elif result.why_cut:
        raise error or PeerError(result.why_cut)
    if result.damages:
        raise typer.Exit(result.damages[0].exit_code)
    if result.findings:
        raise typer.Exit(1)


def note_cut(result: "FuzzResult", stopped_by: int | None) -> bool:
    """Note why the run ended early, if it did. Return whether it came to its end and judged no sequence."""
    if stopped_by is not None:
        result.why_cut = result.why_cut or f"stopped by {signal_name(stopped_by)}"
    elif not (result.why_cut or result.counts.messages):
        result.why_cut = why_empty(result.counts)
        return True
    return False


def why_empty(counts: "Counts") -> str:
    """Return why a run without a message has no result, in words."""
    if counts.runs:
        return f"the target took no message of {counts.runs:,} sequences, so nothing was judged"
    if not counts.planned_cases:
        return "no sequence was run within the limits; expected a longer --time"
    return (
        f"no sequence was run: {counts.start_cases:,} of {counts.planned_cases:,} conformance cases took"
        f" {counts.cases_s:.1f} s; expected --time {enough_s(counts.cases_s)}s or longer"
    )


def enough_s(cases_s: float) -> int:
    """Return the seconds of a run in which conformance cases may take this time."""
    from wiretool.fuzz.campaign import CASES_SHARE

    return max(1, ceil(cases_s / CASES_SHARE))


# -- findings ----------------------------------------------------------------------------------------------------------


def add_finding(
    result: "FuzzResult",
    finding: "ReportedFinding[Any]",
    options: FuzzOptions,
    write: Callable[[], Path],
    page: Callable[[], str],
) -> str:
    """Write the folder of a finding, add both to the result, and return the name of the folder.

    Where it cannot be written, the report shows its page, and the run goes on.
    """
    try:
        folder = str(write())
    except (OSError, UsageError) as err:
        why = system_reason(err) if isinstance(err, OSError) else str(err)
        result.unwritten.append(f"--output {options.output}: {why}; not saved: {finding.id}")
        result.pages[finding.id] = page().partition(AGAIN)[0]
        folder = ""
    result.findings.append((finding, folder))
    return folder or "not saved"


def shortened(text: str, most: int = 200) -> str:
    """Return text for one line of a terminal."""
    from wiretool.sinks.printable import printable

    text = printable(text)
    return text if len(text) <= most else f"{text[: most - 1]}…"


# -- reports -----------------------------------------------------------------------------------------------------------


def write_reports(result: "FuzzResult", options: FuzzOptions, *, has_summary: bool) -> None:
    """Write the summary, and the files that were asked for; errors are noted in the result."""
    from wiretool.commands.conform.reports import write_text
    from wiretool.fuzz.findings.baseline import baseline_form
    from wiretool.fuzz.findings.reports import json_report, junit_report
    from wiretool.fuzz.findings.sarif import sarif_report

    buckets = baseline_buckets(result, options)
    makers = {
        "--junit": lambda: junit_report(result),
        "--json": lambda: json_report(result),
        "--sarif": lambda: sarif_report(result),
        "--write-baseline": lambda: baseline_form(result.protocol, buckets),
    }
    if has_summary:
        note_unwritten(result, "", lambda: write_summary(result))
    for option, path in options.reports.files():
        note_unwritten(result, f"{option}: ", lambda: write_text(makers[option](), path))  # noqa: B023 (called at once)


def write_summary(result: "FuzzResult") -> None:
    """Write the lines of the report to stdout."""
    from wiretool.fuzz.findings.reports import report_lines
    from wiretool.sinks.choose import width_of
    from wiretool.sinks.output import open_output
    from wiretool.sinks.text.wrapping import wrap_lines

    with open_output(None) as out:
        out.write(wrap_lines(report_lines(result), width_of(out)))


def note_unwritten(result: "FuzzResult", name: str, write: Callable[[], None]) -> None:
    """Write, and note the error where that fails: one report that is lost costs no other."""
    try:
        write()
    except BrokenPipeError:
        raise
    except (OSError, UsageError) as err:
        result.unwritten.append(f"{name}{err}")


def baseline_buckets(result: "FuzzResult", options: FuzzOptions) -> "Iterable[Bucket]":
    """Return the buckets of the new baseline; a run that was cut keeps those of the old one, and notes how many."""
    buckets = {finding.bucket for finding, _ in result.findings} | set(result.known)
    if not result.why_cut or options.reports.write_baseline is None:
        return buckets
    kept = (set(result.gone) | old_buckets(options.reports.write_baseline, result.protocol)) - buckets
    result.kept = len(kept)
    return buckets | kept


def old_buckets(path: Path, protocol: str) -> "frozenset[Bucket]":
    """Return the buckets of a baseline that is about to be written again; none where it is not one."""
    from wiretool.fuzz.findings.baseline import read_baseline

    try:
        return read_baseline(path, protocol) if path.is_file() else frozenset()
    except (InputError, UsageError):
        return frozenset()
