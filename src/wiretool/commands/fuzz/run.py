"""The implementation of `wiretool fuzz`."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

import typer

from wiretool.commands.fuzz.options import (
    CORPUS,
    REMOTE_RUNS_PER_S,
    REMOTE_TIME_S,
    TIME_S,
    FuzzOptions,
    addresses_from,
    check_options,
    is_remote,
)
from wiretool.commands.fuzz.screen import FuzzScreen
from wiretool.commands.options import ports_from, sources_from, tell
from wiretool.commands.step_progress import with_progress
from wiretool.errors import OutputError, PeerError, Stopped, UsageError, system_reason
from wiretool.processes import handled_by

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager

    from wiretool.fuzz.campaign import Limits
    from wiretool.fuzz.client.mutations import ReplyMutation
    from wiretool.fuzz.findings import Finding
    from wiretool.fuzz.mutations.base import Mutation
    from wiretool.fuzz.oracles import Bucket
    from wiretool.fuzz.reports import FuzzResult
    from wiretool.fuzz.sequence import FuzzSequence
    from wiretool.fuzz.session import FuzzSession
    from wiretool.fuzz.target import Target


def run_fuzz(options: FuzzOptions) -> None:
    """Run the mode that the options select. `typer.Exit` of 1 for a new finding."""
    from wiretool.fuzz.mutations import select_mutations
    from wiretool.fuzz.session import FuzzSession, all_mutations

    if options.protocol == CORPUS:
        raise UsageError(f"{CORPUS}: expected right after fuzz; put options after the command")
    check_options(options)
    if options.is_client and not options.replay:
        from wiretool.commands.fuzz.client import fuzz_client

        fuzz_client(options)
        return
    session = FuzzSession(options.protocol, seed=options.seed)
    mutations = select_mutations(options.case_globs, all_mutations(options.protocol))
    if options.only_lists:
        write_list(mutations)
    elif options.replay:
        replay_findings(options)
    elif options.is_self:
        from wiretool.commands.fuzz.decoder import fuzz_decoder

        fuzz_decoder(session, mutations, options)
    else:
        fuzz_server(session, mutations, options)


def write_list(mutations: "Sequence[Mutation | ReplyMutation]") -> None:
    """Write the mutations, a line each."""
    from wiretool.commands.conform.reports import write_text

    write_text("".join(f"{each.name}  {each.description}\n" for each in mutations))


# -- a run -------------------------------------------------------------------------------------------------------------


def fuzz_server(session: "FuzzSession", mutations: "Sequence[Mutation]", options: FuzzOptions) -> None:
    """Fuzz the server that the options name."""
    from wiretool.fuzz.baseline import read_baseline
    from wiretool.fuzz.branches import BranchCoverage, has_monitoring
    from wiretool.fuzz.reports import FuzzResult

    known: frozenset[Bucket] = frozenset()
    if options.baseline is not None:
        known = read_baseline(options.baseline, options.protocol)
    add_seeds(session, options)
    if options.compares_answers:
        session.compare_answers()
    stopped: list[int] = []
    with ExitStack() as stack:
        stack.enter_context(handled_by(lambda number, frame: note_stop(stopped, number)))
        if has_monitoring() and not options.targets and not options.uses_sockets:
            session.coverage = BranchCoverage()
            stack.enter_context(session.coverage.watching())
        target = stack.enter_context(target_for(session, options))
        screen = stack.enter_context(FuzzScreen(f"fuzz {options.protocol}, {target.name}"))
        result = FuzzResult(options.protocol, target.name, options.seed)

        def note(finding: "Finding") -> None:
            folder = save(finding, session, target, options)
            result.findings.append((finding, folder))
            screen.add_finding(f"{finding.id}: {shortened(finding.title)} ({finding.size}, {folder})")

        is_reference = not (options.targets or options.mutant)
        campaign = session.campaign(
            target,
            session.investigation(target, is_reference=is_reference, shrink_tries=shrink_tries(options)),
            limits_of(options),
            mutations=mutations,
            known=known,
            on_finding=note,
            on_progress=screen.update,
            is_stopped=lambda: bool(stopped or target.stopped_by),
            on_novel=saver(session, options),
        )
        try:
            campaign.run()
        except PeerError as err:
            result.why_cut = f"{err}; the last message sent was {campaign.last_message}"
        result.counts, result.phases = campaign.counted(), sorted(campaign.novelty.phases)
        result.known = sorted(campaign.shown & known)
        result.gone = sorted(known - campaign.shown)
    finish(result, options, stopped[0] if stopped else target.stopped_by)


def note_stop(stopped: list[int], number: int) -> None:
    """Note the first stop signal; the second one ends the run where it is."""
    if stopped:
        raise KeyboardInterrupt
    stopped.append(number)


def finish(result: "FuzzResult", options: FuzzOptions, stopped_by: int | None) -> None:
    """Write the reports and end with the exit code of the result."""
    write_reports(result, options)
    if stopped_by is not None:
        raise Stopped(stopped_by)
    if result.why_cut:
        raise PeerError(result.why_cut)
    if result.findings:
        raise typer.Exit(1)
    if not result.counts.runs:
        raise UsageError("no sequence was run within the limits; expected a longer --time")


def add_seeds(session: "FuzzSession", options: FuzzOptions) -> None:
    """Take the sessions of captures, and those of the conformance cases. CaptureError where no capture has one."""
    from wiretool.capture.files import read_packets

    session.add_cases()
    session.add_table()
    if options.seeds:
        ports = ports_from(options.ports)
        for path in options.seeds:
            packets = with_progress(read_packets(sources_from([path])), "reading", "packets")
            damage = session.add_capture(str(path), packets, ports=ports, notes=tell)
            if damage is not None:
                tell(f"{damage}; the sessions before the damage are seeds")
        session.check_captures([str(path) for path in options.seeds])
    if options.corpus is not None:
        from wiretool.fuzz.corpus import read_corpus

        session.add_sequences([entry.sequence for entry in read_corpus(options.corpus, session)])


def saver(session: "FuzzSession", options: FuzzOptions) -> "Callable[[FuzzSequence], None]":
    """Return a function that adds a sequence to the corpus, if there is one. OutputError where that fails."""
    from wiretool.fuzz.corpus import save_sequence

    folder = options.corpus
    if folder is None:
        return lambda sequence: None

    def save_one(sequence: "FuzzSequence") -> None:
        try:
            save_sequence(folder, sequence, session)
        except OSError as err:
            raise OutputError(f"--corpus {folder}: {system_reason(err)}") from err

    return save_one


def limits_of(options: FuzzOptions) -> "Limits":
    """Return when the run ends; runs against other machines have a limit of their own."""
    from wiretool.fuzz.campaign import Limits

    seconds = options.time_s if options.time_s is not None or options.runs is not None else TIME_S
    if is_remote(options):
        return Limits(min(seconds or REMOTE_TIME_S, REMOTE_TIME_S), options.runs, per_second=REMOTE_RUNS_PER_S)
    return Limits(seconds, options.runs)


def shrink_tries(options: FuzzOptions) -> int:
    """Return how often a finding is run to shrink it: in memory a run costs next to nothing."""
    return 60 if options.targets or options.uses_sockets else 400


@contextmanager
def target_for(session: "FuzzSession", options: FuzzOptions) -> "Iterator[Target]":
    """Yield the target that the options name. PeerError where it cannot be reached."""
    from wiretool.conformance.mutants import mutant_named

    if not options.targets and not options.uses_sockets:
        yield session.mock_target(mutant_named(session.part, options.mutant) if options.mutant else None)
        return
    from wiretool.fuzz.socket_target import open_target
    from wiretool.net.reach import check_reachable

    addresses = addresses_from(options) if options.targets else None
    if addresses and not options.command:
        check_reachable(addresses.values())
    with open_target(
        session,
        addresses,
        command=options.command,
        mutant=options.mutant,
        patience_s=options.timeout_s,
        jobs=options.jobs,
        on_left=tell,
    ) as target:
        session.seeds = [each for each in session.seeds if target.fits(each)]
        if not session.seeds:
            raise UsageError(
                "--target: no seed fits its endpoints; expected the address of each, as ENDPOINT=HOST:PORT"
            )
        yield target


# -- results -----------------------------------------------------------------------------------------------------------


def save(finding: "Finding", session: "FuzzSession", target: "Target", options: FuzzOptions) -> str:
    """Write the folder of a finding and return its name. OutputError where that fails."""
    from wiretool.fuzz.findings import write_finding

    setup = finding.confirmed.sequence.setup
    try:
        place = write_finding(finding, options.output, session.protocol_in(setup), options.target_words, target)
    except OSError as err:
        raise OutputError(f"{options.output}: {system_reason(err)}; the finding is {finding.title}") from err
    return str(place)


def write_reports(result: "FuzzResult", options: FuzzOptions) -> None:
    """Write the summary, and the files that were asked for."""
    from wiretool.commands.conform.reports import write_text
    from wiretool.fuzz.baseline import baseline_form
    from wiretool.fuzz.reports import json_report, junit_report, report_lines, sarif_report
    from wiretool.sinks.choose import width_of
    from wiretool.sinks.output import open_output
    from wiretool.sinks.text.wrapping import wrap_lines

    with open_output(None) as out:
        out.write(wrap_lines(report_lines(result), width_of(out)))
    buckets = {finding.bucket for finding, _ in result.findings} | set(result.known)
    makers = {
        "--junit": lambda: junit_report(result),
        "--json": lambda: json_report(result),
        "--sarif": lambda: sarif_report(result),
        "--write-baseline": lambda: baseline_form(result.protocol, buckets),
    }
    for option, path in options.reports.files():
        write_text(makers[option](), path)


def shortened(text: str, most: int = 200) -> str:
    """Return text for one line of a terminal."""
    from wiretool.sinks.printable import printable

    text = printable(text)
    return text if len(text) <= most else f"{text[: most - 1]}…"


# -- findings that run again -------------------------------------------------------------------------------------------


def replay_findings(options: FuzzOptions) -> None:
    """Run findings again and report each one. `typer.Exit` of 1 where one still fails, or fails otherwise."""
    from wiretool.commands.conform.reports import write_text
    from wiretool.fuzz.replaying import replay_finding
    from wiretool.sinks.printable import printable

    is_fine = True
    for folder in options.replay:
        replayed = replay_finding(folder, target_maker(options), options.arguments)
        write_text(f"{folder}: {replayed.standing}: {printable(replayed.text)}\n")
        is_fine = is_fine and replayed.is_fixed
    if not is_fine:
        raise typer.Exit(1)


def target_maker(options: FuzzOptions) -> "Callable[[FuzzSession], AbstractContextManager[Target]] | None":
    """Return a function that opens the target of the options; None for the one that the finding names."""
    if not options.target_words:
        return None
    return lambda session: target_for(session, options)
