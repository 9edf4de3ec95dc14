"""The implementation of `wiretool fuzz`."""

import shlex
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
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
from wiretool.errors import CaptureError, PeerError, UsageError, system_reason
from wiretool.processes import handled_by, held_interrupts

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

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
    from wiretool.fuzz.finding_folder import next_number
    from wiretool.fuzz.reports import found_line

    with held_interrupts():  # an exception of a signal may be lost in an import
        session, mutations = selected(options)
    known = known_buckets(options)
    result.gone = sorted(known)
    result.damages = add_seeds(session, options)
    if options.compares_answers:
        session.compare_answers()
    with ExitStack() as stack:
        stack.enter_context(handled_by(lambda number, frame: note_stop(stopped, number)))
        if not options.targets and not options.uses_sockets:
            stack.enter_context(session.noting_branches())
        target = stack.enter_context(target_for(session, options))
        screen = stack.enter_context(FuzzScreen(f"fuzz {options.protocol}, {target.name}"))
        result.target = target.name

        def note(finding: "Finding") -> None:
            finding = replace(finding, number=next_number(options.output))
            folder = save(finding, result, session, target, options)
            screen.add_finding(
                f"{finding.id}: {shortened(finding.title)} ({finding.size})", found_line(finding, folder)
            )

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
            name_cases(campaign.failed_cases, result, session, options)
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


def name_cases(
    failed: "Mapping[Bucket, Sequence[str]]", result: "FuzzResult", session: "FuzzSession", options: FuzzOptions
) -> None:
    """Give each finding the names of all conformance cases that failed in its way, in its folder, too."""
    from wiretool.fuzz.findings import Finding, add_cases

    for at, (finding, folder) in enumerate(result.findings):
        cases = failed.get(finding.bucket, ())
        if not isinstance(finding, Finding) or len(cases) < 2:
            continue
        whole = replace(finding, failed_cases=tuple(cases))
        result.findings[at] = whole, folder
        if folder:
            try:
                protocol = session.protocol_in(whole.confirmed.sequence.setup)
                add_cases(whole, Path(folder), protocol, options.target_words)
            except OSError as err:
                why = f"--output {options.output}: {system_reason(err)}"
                result.unwritten.append(f"{why}; {finding.id} has only its first conformance case")


def known_buckets(options: FuzzOptions) -> "frozenset[Bucket]":
    """Return the findings of the baseline; none without one."""
    from wiretool.fuzz.baseline import read_baseline

    return frozenset() if options.baseline is None else read_baseline(options.baseline, options.protocol)


def last_sent(target: "Target") -> str:
    """Return which message was sent last, in words."""
    return f"the last message sent was {target.last_message}" if target.last_message else "no message was sent before"


def add_seeds(session: "FuzzSession", options: FuzzOptions) -> "list[CaptureError]":
    """Take the seeds of every run, and those of files and of the corpus; return as `add_seed_files` does.

    UsageError where there is none at all.
    """
    session.add_built_in_seeds()
    damages = add_seed_files(session, options)
    if options.corpus is not None:
        from wiretool.fuzz.corpus import read_corpus

        session.add_sequences([entry.sequence for entry in read_corpus(options.corpus, session)])
    if not session.seeds:
        why = "it has no conformance cases, so no sessions of its own; expected sessions of"
        raise UsageError(f"{options.protocol}: {why} --seeds or --corpus")
    return damages


def add_seed_files(session: "FuzzSession", options: FuzzOptions) -> "list[CaptureError]":
    """Take the seeds of captures and of files of vectors, if there are any; return the damage of those read in part.

    CaptureError where no file has a seed, or where a capture is empty.
    """
    from wiretool.fuzz.vector_seeds import is_vector_file

    damages: list[CaptureError] = []
    for path in options.seeds:
        if is_vector_file(path):
            add_vectors(session, path)
        else:
            damage = add_capture(session, path, options)
            damages += [] if damage is None else [damage]
    if options.seeds:
        session.check_seed_files([str(path) for path in options.seeds])
    return damages


def add_capture(session: "FuzzSession", path: "Path", options: FuzzOptions) -> "CaptureError | None":
    """Take the sessions of a capture; name its damage, and return it."""
    from wiretool.capture.files import read_packets

    if path.is_file() and not path.stat().st_size:
        raise CaptureError(str(path), "the file is empty; expected a capture with packets")
    packets = with_progress(read_packets(sources_from([path])), "reading", "packets")
    damage = session.add_capture(str(path), packets, ports=ports_from(options.ports), notes=tell)
    if damage is not None:
        tell(f"{damage}; the sessions before the damage are seeds")
    return damage


def add_vectors(session: "FuzzSession", path: "Path") -> None:
    """Take the messages of vectors; name the number of those that are skipped. InputError for a file of no vectors."""
    from wiretool.fuzz.vector_seeds import read_vectors

    vectors = read_vectors(path)
    added = session.add_vectors(vectors)
    if 0 < added < len(vectors):
        others = f"the others repeat one, or are not valid messages of a client of {session.protocol}"
        tell(f"{path}: {added:,} of {len(vectors):,} vectors are seeds; {others}")


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
            failures.append(f"--corpus {folder}: {system_reason(err)}")
            result.unwritten += failures
            tell(f"{failures[0]}; the run goes on without it")

    return save_one


def limits_of(options: FuzzOptions) -> "Limits":
    """Return when the run ends; runs against other machines have a limit of their own."""
    from wiretool.fuzz.campaign import CASES_SHARE, SEEDS_SHARE, Limits
    from wiretool.fuzz.pacing import REMOTE_SEARCH_S

    seconds = options.time_s if options.time_s is not None or options.runs is not None else TIME_S
    if is_remote(options):
        seconds = min(seconds or REMOTE_SEARCH_S, REMOTE_SEARCH_S)
    is_in_memory = not (options.targets or options.uses_sockets)
    cases_s = None if seconds is None and is_in_memory else (seconds or TIME_S) * CASES_SHARE
    seeds = None if options.runs is None else max(1, round(options.runs * SEEDS_SHARE))
    return Limits(seconds, options.runs, cases_s=cases_s, seeds=seeds)


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
        on_wait=tell,
    ) as target:
        session.seeds = [each for each in session.seeds if target.fits(each)]
        if not session.seeds:
            raise UsageError(
                "--target: no seed fits its endpoints; expected the address of each, as ENDPOINT=HOST:PORT"
            )
        yield target
