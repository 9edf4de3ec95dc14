"""The implementation of `wiretool conform`."""

import secrets
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from wiretool.commands.conform.options import COMPARE, ConformOptions, addresses_from, check_options, words_again
from wiretool.commands.conform.reports import write_list, write_mutants, write_reports
from wiretool.commands.options import (
    keys_from,
    lines_of,
    ports_from,
    report_keys,
    report_unread,
    sources_from,
    stdin,
    tell,
)
from wiretool.commands.step_progress import StepProgress, with_progress
from wiretool.errors import CaptureError, Stopped, UsageError
from wiretool.storage.url_path import path_or_url

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from wiretool.analysis.dialogues import Recording
    from wiretool.capture.tcp.origins import Origins
    from wiretool.conformance.case import Case, Conformance
    from wiretool.conformance.clients.case import ClientCase
    from wiretool.conformance.expectations import ExpectedFailures
    from wiretool.conformance.recorded.observed import ObservedConnection
    from wiretool.conformance.recorded.rules import Rule
    from wiretool.conformance.results import AnyCase, CaseResult, RunResult
    from wiretool.ledger import Ledger
    from wiretool.net.addresses import Address
    from wiretool.net.programs.server_process import ServerProcess
    from wiretool.sinks.pcapng import Recording as Pcapng

#: The deadline of a run against a target, where none is given: so many times what the mock takes, and at least so long.
DEADLINE_TIMES, DEADLINE_S_MIN = 10, 60.0
#: The time for one reply of a server, and for one run of a client, where none is given.
REPLY_S, CLIENT_S = 5.0, 30.0
#: The number of first cases after which a target that has sent nothing is reported.
MUTE_CASES = 3


def run_conform(options: ConformOptions) -> None:
    """Do what the options ask for. `typer.Exit` of 1 for a finding."""
    from wiretool.conformance.registry import conformance_of
    from wiretool.conformance.selection import check_setup, setup_named

    if options.protocol == COMPARE:
        raise UsageError(f"{COMPARE}: expected right after conform; put options after {COMPARE}")
    check_options(options)
    options = replace(options, setup=setup_named(options.setup))
    part = conformance_of(options.protocol)
    check_setup(part, options.setup)
    check_capability(part, options)
    if options.tests_mutants:
        test_mutants(part, options)
    elif options.is_client:
        judge_client(part, options)
    elif options.is_capture:
        judge_captures(part, options)
    else:
        judge_server(part, options)


def check_capability(part: "Conformance", options: ConformOptions) -> None:
    """UsageError where the protocol has nothing of what the options ask for."""
    from wiretool.conformance.registry import check_cases

    otherwise = "--capture judges recorded traffic without cases"
    if options.is_client:
        check_cases(part, part.client_cases, what="conformance cases for clients", otherwise=otherwise)
    elif not options.is_capture:
        check_cases(part, part.cases, what="conformance cases", otherwise=otherwise)
    if options.tests_mutants:
        check_cases(part, part.mutants, what="mutants of its mock", otherwise="mutants are declared beside cases")


def finish(run: "RunResult", options: ConformOptions, expected: "ExpectedFailures", *, code: int = 0) -> None:
    """Write the reports and end with the exit code of the verdicts; with `code` after bad input."""
    from wiretool.conformance.judged import JudgedRun

    run = replace(run, again=words_again(options), setup=options.setup)
    judged = JudgedRun(run, allows_lenient=options.allows_lenient, expected=expected)
    write_reports(judged, options)
    if run.stopped_by is not None:
        raise Stopped(run.stopped_by)
    if not judged.is_success:
        raise typer.Exit(code or 1)


def expected_failures(part: "Conformance", options: ConformOptions) -> "ExpectedFailures":
    """Return the known failures of the file that was given; none without one."""
    from wiretool.conformance.expectations import ExpectedFailures, expected_from

    if options.expect is None:
        return ExpectedFailures({})
    every: tuple[AnyCase, ...] = (*part.cases, *part.rules, *part.client_cases)
    known = [each.id for each in every]
    return expected_from("".join(lines_of(str(options.expect))), known, name=str(options.expect))


# -- servers -----------------------------------------------------------------------------------------------------------


def judge_server(part: "Conformance", options: ConformOptions) -> None:
    """Run the cases against the built-in mock or the target."""
    from wiretool.conformance.evidence import is_answer
    from wiretool.conformance.selection import select_cases

    cases = select_cases(part.cases, options.case_globs, options.levels)
    if options.only_lists:
        write_list(cases, options.reports.form)
        return
    expected = expected_failures(part, options)
    with ExitStack() as stack:
        progress = stack.enter_context(StepProgress("conform", "cases", len(cases)))
        done: list[CaseResult] = []

        def note(result: "CaseResult") -> None:
            done.append(result)
            is_mute = len(done) == MUTE_CASES and not any(is_answer(event) for each in done for event in each.events)
            if options.targets and is_mute:
                tell("the target accepts connections, and has sent no reply so far")
            progress.update(len(done))

        run = run_on(part, cases, options, note, stack)
    finish(run, options, expected)


def run_on(
    part: "Conformance",
    cases: "Sequence[Case]",
    options: ConformOptions,
    note: "Callable[[CaseResult], None]",
    stack: ExitStack,
) -> "RunResult":
    """Run cases against the mock, or against the target."""
    if not options.targets:
        from wiretool.conformance.active.mock_run import run_on_mock
        from wiretool.conformance.mutation.mutants import applied, mutant_named

        recording = recording_for(options, stack)
        stack.enter_context(applied(mutant_named(part, options.mutant) if options.mutant else None))
        run = run_on_mock(part, cases, seed=options.seed, jobs=options.jobs, recording=recording, on_result=note)
        if recording is not None:
            recording.begin()
        return run
    return run_on_server(part, cases, options, note, stack)


def run_on_server(
    part: "Conformance",
    cases: "Sequence[Case]",
    options: ConformOptions,
    note: "Callable[[CaseResult], None]",
    stack: ExitStack,
) -> "RunResult":
    """Run cases against a target, which is started first where a command is given."""
    from wiretool.conformance.active.target_run import TargetOptions, run_on_target

    addresses = addresses_from(options, lambda: endpoints_of(part, options.setup))
    process = None
    if options.command:
        process = stack.enter_context(server_process(options.command, list(addresses.values()), options.deadline_s))
    return run_on_target(
        part,
        cases,
        TargetOptions(
            addresses,
            token=secrets.token_hex(3),
            setup=options.setup,
            patience_s=options.timeout_s or REPLY_S,
            deadline_s=lambda: options.deadline_s or usual_deadline(part, cases),
            jobs=options.jobs,
            recording=recording_for(options, stack),
            process=process,
            on_result=note,
        ),
    )


def server_process(command: str, addresses: "Sequence[Address]", deadline_s: float | None) -> "ServerProcess":
    """Return the server that the run starts; a deadline is also the time that it has to open its port."""
    from wiretool.net.programs.server_process import READY_S, READY_S_MAX, ServerProcess

    ready_s = min(deadline_s or READY_S, READY_S_MAX)
    more_time = f"; --deadline TIME gives it up to {READY_S_MAX:g} s" if ready_s < READY_S_MAX else ""
    return ServerProcess(command, addresses, ready_s=ready_s, more_time=more_time, on_left=tell)


def endpoints_of(part: "Conformance", setup: str) -> "Sequence[str]":
    """Return the names of the endpoints of a server in a setup, as the mock has them."""
    from wiretool.conformance.active.mock_run import mock_of

    return [door.name for door in mock_of(part, setup, 0).doors]


def usual_deadline(part: "Conformance", cases: "Sequence[Case]") -> float:
    """Return ten times the time that the cases need with the mock one after the other, by its counted clock."""
    from wiretool.conformance.active.mock_run import run_on_mock

    waited_s = sum(result.seconds for result in run_on_mock(part, cases).results)
    return max(DEADLINE_TIMES * waited_s, DEADLINE_S_MIN)


def recording_for(options: ConformOptions, stack: ExitStack) -> "Pcapng | None":
    """Return the pcapng file that was asked for."""
    from wiretool.sinks.pcapng import open_recording

    return None if options.record is None else stack.enter_context(open_recording(options.record))


# -- captures ----------------------------------------------------------------------------------------------------------


def judge_captures(part: "Conformance", options: ConformOptions) -> None:
    """Judge both sides of recorded traffic."""
    from wiretool.capture.tcp.origins import Origins
    from wiretool.conformance.recorded.judgement import judge_recording
    from wiretool.conformance.recorded.observed import observe
    from wiretool.conformance.results import RunResult
    from wiretool.conformance.selection import select_cases
    from wiretool.ledger import Ledger

    every: tuple[Case | Rule, ...] = (*part.cases, *part.rules)
    cases = select_cases(every, options.case_globs, options.levels)
    if options.only_lists:
        write_list(cases, options.reports.form)
        return
    expected = expected_failures(part, options)
    names = " ".join(options.arguments)
    book, captures = Ledger(), [path_or_url(name) for name in options.arguments]
    origins = Origins(len(captures))
    recording = recorded(captures, options, book, origins)
    damages = [] if recording.damage is None else [recording.damage, *recording.damage.others]
    for damage in damages:
        tell(str(damage))
    report_unread(book, captures)
    report_keys(options.keylog, book)
    connections = observe(recording, part.protocol)
    if not connections:
        found = sorted({each.protocol or "an unknown protocol" for each in recording.dialogues})
        there = f"; its connections are of {', '.join(found)}" if found else "; it has no TCP connection"
        raise CaptureError(names, f"no connection of {part.protocol} in it{there}")
    results = judge_recording(part, connections, cases, options.setup)
    remarks = [
        f"{path}: no connection of {part.protocol} in it; expected captures of {part.protocol}"
        for path in captures_without(connections, captures, origins, damages)
    ]
    for remark in remarks:
        tell(remark)
    code = CaptureError.exit_code if remarks else 0
    if damages:
        remarks[:0] = [f"{damage}; only the part before that is judged" for damage in damages]
        code = damages[0].exit_code
    run = RunResult(part.protocol, names, results, remarks=remarks, is_bad_input=bool(remarks))
    finish(run, options, expected, code=code)


def captures_without(
    connections: "Sequence[ObservedConnection]",
    captures: "Sequence[Path]",
    origins: "Origins",
    damages: "Sequence[CaptureError]",
) -> "Sequence[Path]":
    """Return the captures of several that have no part of these connections.

    One that `damages` name is reported with its damage where it has no TCP connection at all.
    """
    judged = {frozenset((each.client, each.server)) for each in connections}
    found = [(path, origins.hosts_of(at)) for at, path in enumerate(captures)] if len(captures) > 1 else []
    damaged = {damage.name for damage in damages}
    return [path for path, hosts in found if not hosts & judged and (hosts or source_name(path) not in damaged)]


def source_name(path: Path) -> str:
    """Return the name of a capture in errors about its bytes."""
    return str(stdin().name) if str(path) == "-" else str(path)


def recorded(
    captures: "Sequence[Path]",
    options: ConformOptions,
    book: "Ledger | None" = None,
    origins: "Origins | None" = None,
) -> "Recording":
    """Return the traffic of captures; the ledger counts the packets, `origins` notes the capture of each flow."""
    from wiretool.capture.files.reading import read_packets, read_with_origins
    from wiretool.replay.recording import recording_of

    sources = sources_from(captures)
    keys = keys_from(options.keylog)
    read = read_packets(sources, keys) if origins is None else read_with_origins(sources, origins, keys)
    packets = with_progress(read, "reading", "packets")
    ports = ports_from(options.ports)
    return recording_of(packets, ports=ports, ledger=book, notes=tell, origins=origins, keys=keys)


# -- clients -----------------------------------------------------------------------------------------------------------


def judge_client(part: "Conformance", options: ConformOptions) -> None:
    """Run a client in each scenario and judge what it sends."""
    from wiretool.conformance.clients.run import ClientOptions, run_client_cases
    from wiretool.conformance.selection import select_cases

    cases: list[ClientCase] = select_cases(part.client_cases, options.case_globs, options.levels)
    if options.only_lists:
        write_list(cases, options.reports.form)
        return
    expected = expected_failures(part, options)
    with StepProgress("conform", "scenarios") as progress:
        run = run_client_cases(
            part,
            cases,
            ClientOptions(
                options.arguments,
                timeout_s=options.timeout_s or CLIENT_S,
                deadline_s=options.deadline_s,
                seed=options.seed,
                on_left=tell,
                read=lambda path: recorded([path], options),
                on_scenario=lambda name, done, total: progress.update(done, total),
            ),
        )
    finish(run, options, expected)


# -- mutants -----------------------------------------------------------------------------------------------------------


def test_mutants(part: "Conformance", options: ConformOptions) -> None:
    """Run the cases against every mutant and write the table. `typer.Exit` of 1 where a mutant survives."""
    from wiretool.conformance.mutation.table import mutant_table
    from wiretool.conformance.selection import select_cases

    cases = select_cases(part.cases, options.case_globs, options.levels)
    with StepProgress("conform", "mutants") as progress:
        table = mutant_table(part, cases, seed=options.seed, on_mutant=progress.update)
    write_mutants(table, options.reports.form)
    if not table.is_complete:
        raise typer.Exit(1)
