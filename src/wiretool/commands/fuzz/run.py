"""The implementation of `wiretool fuzz`."""

from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from wiretool.commands.fuzz.options import (
    CORPUS,
    FuzzOptions,
    check_options,
)
from wiretool.commands.fuzz.results import add_finding, note_stop, report_run, shortened
from wiretool.commands.fuzz.screen import FuzzScreen
from wiretool.commands.fuzz.setup import (
    add_seeds,
    empty_result,
    known_buckets,
    limits_of,
    selected,
    target_for,
    write_list,
)
from wiretool.commands.fuzz.writable import check_writable
from wiretool.commands.options import tell
from wiretool.errors import PeerError, UsageError, system_reason
from wiretool.processes import handled_by, held_interrupts

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from wiretool.fuzz.findings.finding import Finding
    from wiretool.fuzz.findings.reports import FuzzResult
    from wiretool.fuzz.oracles import Bucket
    from wiretool.fuzz.sequences.sequence import FuzzSequence
    from wiretool.fuzz.session import FuzzSession
    from wiretool.fuzz.targets.base import Target


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


# -- a run -------------------------------------------------------------------------------------------------------------


def fuzz_server(result: "FuzzResult", options: FuzzOptions, stopped: list[int]) -> int | None:
    """Fuzz the server that the options name. Return the stop signal that ended the run."""
    from wiretool.fuzz.findings.folder import next_number
    from wiretool.fuzz.findings.reports import found_line

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
            keylog = "" if options.keylog is None else str(options.keylog)
            finding = replace(finding, number=next_number(options.output), keylog=keylog)
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
    from wiretool.fuzz.findings.finding import page, write_finding

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
    from wiretool.fuzz.findings.finding import Finding, add_cases

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


def last_sent(target: "Target") -> str:
    """Return which message was sent last, in words."""
    return f"the last message sent was {target.last_message}" if target.last_message else "no message was sent before"


def saver(session: "FuzzSession", result: "FuzzResult", options: FuzzOptions) -> "Callable[[FuzzSequence], None]":
    """Return a function that adds a sequence to the corpus, if there is one, until that fails for the first time."""
    from wiretool.fuzz.seeds.corpus import save_sequence

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


def shrink_tries(options: FuzzOptions) -> int:
    """Return how often a finding is run to shrink it: in memory a run costs next to nothing."""
    return 60 if options.targets or options.uses_sockets else 400
