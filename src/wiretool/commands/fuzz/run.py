"""The implementation of `wiretool fuzz`."""

import shlex
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from typing import TYPE_CHECKING

from wiretool.commands.fuzz.options import (
    CORPUS,
    TIME_S,
    FuzzOptions,
    addresses_from,
    check_options,
    is_remote,
)
from wiretool.commands.fuzz.results import add_finding, note_stop, report_run, shortened
from wiretool.commands.fuzz.screen import FuzzScreen
from wiretool.commands.fuzz.writable import check_writable
from wiretool.commands.options import ports_from, sources_from, tell
from wiretool.commands.step_progress import with_progress
from wiretool.errors import PeerError, UsageError
from wiretool.processes import handled_by, held_interrupts

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager

    from wiretool.fuzz.campaign import Limits
    from wiretool.fuzz.client.mutations import ReplyMutation
    from wiretool.fuzz.findings import Finding
    from wiretool.fuzz.mutations.base import Mutation
    from wiretool.fuzz.oracles import Bucket
    from wiretool.fuzz.pacing import Pacer
    from wiretool.fuzz.reports import FuzzResult
    from wiretool.fuzz.sequence import FuzzSequence
    from wiretool.fuzz.session import FuzzSession
    from wiretool.fuzz.target import Target


def run_fuzz(options: FuzzOptions) -> None:
    """Run the mode that the options select. `typer.Exit` of 1 for a new finding."""
    if options.protocol == CORPUS:
        raise UsageError(f"{CORPUS}: expected right after fuzz; put options after the command")
    check_options(options)
    if options.replay:
        from wiretool.commands.fuzz.replaying import replay_findings

        selected(options)
        replay_findings(options)
    elif options.is_client:
        from wiretool.commands.fuzz.client import fuzz_client

        fuzz_client(options)
    elif options.only_lists:
        write_list(selected(options)[1])
    elif options.is_self:
        from wiretool.commands.fuzz.decoder import fuzz_decoder

        check_writable(options)
        report_run(
            lambda: empty_result(options), lambda result, stopped: fuzz_decoder(result, options, stopped), options
        )
    else:
        check_writable(options)
        report_run(
            lambda: empty_result(options), lambda result, stopped: fuzz_server(result, options, stopped), options
        )


def selected(options: FuzzOptions) -> "tuple[FuzzSession, Sequence[Mutation]]":
    """Return a session without seeds, and the mutations that the options select. UsageError for unknown names."""
    from wiretool.fuzz.mutations import select_mutations
    from wiretool.fuzz.session import FuzzSession, all_mutations

    session = FuzzSession(options.protocol, seed=options.seed)
    return session, select_mutations(options.case_globs, all_mutations(options.protocol))


def empty_result(options: FuzzOptions) -> "FuzzResult":
    """Return the result of a run that has not begun."""
    from wiretool.fuzz.decoder.findings import DECODER
    from wiretool.fuzz.reports import FuzzResult

    name = str(addresses_from(options)[""]) if options.targets else "built-in mock"
    if options.is_client:
        name = shlex.join(options.arguments)
    elif options.is_self:
        name = DECODER
    return FuzzResult(options.protocol, name, options.seed, is_client=options.is_client, is_self=options.is_self)


def write_list(mutations: "Sequence[Mutation | ReplyMutation]") -> None:
    """Write the mutations, a line each."""
    from wiretool.commands.conform.reports import write_text

    write_text("".join(f"{each.name}  {each.description}\n" for each in mutations))


# -- a run -------------------------------------------------------------------------------------------------------------


def fuzz_server(result: "FuzzResult", options: FuzzOptions, stopped: list[int]) -> int | None:
    """Fuzz the server that the options name. Return the stop signal that ended the run."""
    with held_interrupts():  # an exception of a signal may be lost in an import
        session, mutations = selected(options)
    known = known_buckets(options)
    result.gone = sorted(known)
    add_seeds(session, options)
    if options.compares_answers:
        session.compare_answers()
    with ExitStack() as stack:
        stack.enter_context(handled_by(lambda number, frame: note_stop(stopped, number)))
        stack.enter_context(watched_branches(session, options))
        target = stack.enter_context(target_for(session, options))
        screen = stack.enter_context(FuzzScreen(f"fuzz {options.protocol}, {target.name}"))
        result.target = target.name

        def note(finding: "Finding") -> None:
            folder = save(finding, result, session, target, options)
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
            on_novel=saver(session, result, options),
        )
        try:
            campaign.run()
        except PeerError as err:
            result.why_cut = f"{err}; {last_sent(target)}"
        finally:
            result.counts, result.phases = campaign.counted(), sorted(campaign.novelty.phases)
            result.known = sorted(campaign.shown & known)
            result.gone = sorted(known - campaign.shown)
    return stopped[0] if stopped else target.stopped_by


def save(
    finding: "Finding", result: "FuzzResult", session: "FuzzSession", target: "Target", options: FuzzOptions
) -> str:
    """Write the folder of a finding, and return its name as `add_finding` does."""
    from wiretool.fuzz.findings import page, write_finding

    protocol = session.protocol_in(finding.confirmed.sequence.setup)
    return add_finding(
        result,
        finding,
        options,
        lambda: write_finding(finding, options.output, protocol, options.target_words, target),
        lambda: page(finding, options.output / finding.id, protocol),
    )


def known_buckets(options: FuzzOptions) -> "frozenset[Bucket]":
    """Return the findings of the baseline; none without one."""
    from wiretool.fuzz.baseline import read_baseline

    return frozenset() if options.baseline is None else read_baseline(options.baseline, options.protocol)


def watched_branches(session: "FuzzSession", options: FuzzOptions) -> "AbstractContextManager[None]":
    """Return a block in which the session notes branches of the mock in memory, if this Python reports them."""
    from wiretool.fuzz.branches import BranchCoverage, has_monitoring

    if options.targets or options.uses_sockets or not has_monitoring():
        return nullcontext()
    session.coverage = BranchCoverage()
    return session.coverage.watching()


def last_sent(target: "Target") -> str:
    """Return which message was sent last, in words."""
    return f"the last message sent was {target.last_message}" if target.last_message else "no message was sent before"


def add_seeds(session: "FuzzSession", options: FuzzOptions) -> None:
    """Take the sessions of the conformance cases, of captures and of the corpus. CaptureError as in `add_captures`."""
    session.add_cases()
    session.add_table()
    add_captures(session, options)
    if options.corpus is not None:
        from wiretool.fuzz.corpus import read_corpus

        session.add_sequences([entry.sequence for entry in read_corpus(options.corpus, session)])


def add_captures(session: "FuzzSession", options: FuzzOptions) -> None:
    """Take the sessions of captures, if there are any. CaptureError where none of them has one."""
    from wiretool.capture.files import read_packets

    if options.seeds:
        ports = ports_from(options.ports)
        for path in options.seeds:
            packets = with_progress(read_packets(sources_from([path])), "reading", "packets")
            damage = session.add_capture(str(path), packets, ports=ports, notes=tell)
            if damage is not None:
                tell(f"{damage}; the sessions before the damage are seeds")
        session.check_captures([str(path) for path in options.seeds])


def saver(session: "FuzzSession", result: "FuzzResult", options: FuzzOptions) -> "Callable[[FuzzSequence], None]":
    """Return a function that adds a sequence to the corpus, if there is one, until that fails for the first time."""
    from wiretool.fuzz.corpus import save_sequence

    folder = options.corpus
    if folder is None:
        return lambda sequence: None
    failures: list[str] = []

    def save_one(sequence: "FuzzSequence") -> None:
        if failures:
            return
        try:
            save_sequence(folder, sequence, session)
        except OSError as err:
            failures.append(f"--corpus {folder}: {err.strerror}")
            result.unwritten += failures
            tell(f"{failures[0]}; the run goes on without it")

    return save_one


def limits_of(options: FuzzOptions) -> "Limits":
    """Return when the run ends; runs against other machines have a limit of their own."""
    from wiretool.fuzz.campaign import CASES_SHARE, Limits
    from wiretool.fuzz.pacing import REMOTE_SEARCH_S

    seconds = options.time_s if options.time_s is not None or options.runs is not None else TIME_S
    if is_remote(options):
        seconds = min(seconds or REMOTE_SEARCH_S, REMOTE_SEARCH_S)
    is_in_memory = not (options.targets or options.uses_sockets)
    cases_s = None if seconds is None and is_in_memory else (seconds or TIME_S) * CASES_SHARE
    return Limits(seconds, options.runs, cases_s=cases_s)


def shrink_tries(options: FuzzOptions) -> int:
    """Return how often a finding is run to shrink it: in memory a run costs next to nothing."""
    return 60 if options.targets or options.uses_sockets else 400


@contextmanager
def target_for(session: "FuzzSession", options: FuzzOptions, pacer: "Pacer | None" = None) -> "Iterator[Target]":
    """Yield the target that the options name. PeerError where it cannot be reached."""
    from wiretool.conformance.mutants import mutant_named

    if not options.targets and not options.uses_sockets:
        yield session.mock_target(mutant_named(session.part, options.mutant) if options.mutant else None)
        return
    from wiretool.fuzz.socket_target import open_target

    with open_target(
        session,
        addresses_from(options) if options.targets else None,
        command=options.command,
        mutant=options.mutant,
        patience_s=options.timeout_s,
        jobs=options.jobs,
        pacer=pacer,
        on_left=tell,
    ) as target:
        session.seeds = [each for each in session.seeds if target.fits(each)]
        if not session.seeds:
            raise UsageError(
                "--target: no seed fits its endpoints; expected the address of each, as ENDPOINT=HOST:PORT"
            )
        yield target
