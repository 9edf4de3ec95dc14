"""The implementation of `wiretool fuzz`."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import typer

from wiretool.commands.fuzz.options import (
    CORPUS,
    TIME_S,
    FuzzOptions,
    addresses_from,
    check_options,
    is_remote,
)
from wiretool.commands.fuzz.screen import FuzzScreen
from wiretool.commands.options import ports_from, sources_from, tell
from wiretool.commands.step_progress import with_progress
from wiretool.errors import CaptureError, OutputError, PeerError, Stopped, UsageError, system_reason
from wiretool.processes import handled_by

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

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
        from wiretool.commands.fuzz.replaying import replay_findings

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
    from wiretool.fuzz.finding_folder import next_number
    from wiretool.fuzz.reports import FuzzResult, found_line

    known = known_buckets(options)
    damages = add_seeds(session, options)
    if options.compares_answers:
        session.compare_answers()
    stopped: list[int] = []
    with ExitStack() as stack:
        stack.enter_context(handled_by(lambda number, frame: note_stop(stopped, number)))
        if not options.targets and not options.uses_sockets:
            stack.enter_context(session.noting_branches())
        target = stack.enter_context(target_for(session, options))
        screen = stack.enter_context(FuzzScreen(f"fuzz {options.protocol}, {target.name}"))
        result = FuzzResult(options.protocol, target.name, options.seed, damages=damages)

        def note(finding: "Finding") -> None:
            finding = replace(finding, number=next_number(options.output))
            folder = save(finding, session, target, options)
            result.findings.append((finding, folder))
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
            on_novel=saver(session, options),
        )
        try:
            campaign.run()
        except PeerError as err:
            result.why_cut = f"{err}; {last_sent(target)}"
        result.counts, result.phases = campaign.counted(), sorted(campaign.novelty.phases)
        result.known = sorted(campaign.shown & known)
        result.gone = sorted(known - campaign.shown)
    finish(result, options, stopped[0] if stopped else target.stopped_by)


def known_buckets(options: FuzzOptions) -> "frozenset[Bucket]":
    """Return the findings of the baseline; none without one."""
    from wiretool.fuzz.baseline import read_baseline

    return frozenset() if options.baseline is None else read_baseline(options.baseline, options.protocol)


def last_sent(target: "Target") -> str:
    """Return which message was sent last, in words."""
    return f"the last message sent was {target.last_message}" if target.last_message else "no message was sent before"


def note_stop(stopped: list[int], number: int) -> None:
    """Note the first stop signal; the second one ends the run where it is."""
    if stopped:
        raise KeyboardInterrupt
    stopped.append(number)


def finish(result: "FuzzResult", options: FuzzOptions, stopped_by: int | None) -> None:
    """Write the reports and end with the exit code of the result."""
    is_empty = not (result.findings or result.why_cut or result.counts.messages) and stopped_by is None
    if is_empty:
        result.why_cut = why_empty(result.counts.runs)
    write_reports(result, options)
    if stopped_by is not None:
        raise Stopped(stopped_by)
    if result.why_cut:
        raise PeerError(result.why_cut) if result.counts.runs or not is_empty else UsageError(result.why_cut)
    if result.damages:
        raise typer.Exit(result.damages[0].exit_code)
    if result.findings:
        raise typer.Exit(1)


def why_empty(runs: int) -> str:
    """Return why a run without a message has no result, in words."""
    if not runs:
        return "no sequence was run within the limits; expected a longer --time"
    return f"the target took no message of {runs:,} sequences, so nothing was judged"


def add_seeds(session: "FuzzSession", options: FuzzOptions) -> "list[CaptureError]":
    """Take the seeds of every run, and those of files and of the corpus; return as `add_seed_files` does."""
    session.add_built_in_seeds()
    damages = add_seed_files(session, options)
    if options.corpus is not None:
        from wiretool.fuzz.corpus import read_corpus

        session.add_sequences([entry.sequence for entry in read_corpus(options.corpus, session)])
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
    from wiretool.fuzz.pacing import REMOTE_SEARCH_S

    seconds = options.time_s if options.time_s is not None or options.runs is not None else TIME_S
    if is_remote(options):
        seconds = min(seconds or REMOTE_SEARCH_S, REMOTE_SEARCH_S)
    return Limits(seconds, options.runs)


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
    from wiretool.fuzz.reports import json_report, junit_report, report_lines
    from wiretool.fuzz.sarif import sarif_report
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
