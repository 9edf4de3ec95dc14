"""The implementation of `wiretool fuzz --client`."""

from contextlib import ExitStack
from typing import TYPE_CHECKING

from wiretool.commands.fuzz.options import FuzzOptions
from wiretool.commands.fuzz.results import add_finding, note_stop, report_run
from wiretool.commands.fuzz.setup import empty_result, known_buckets, limits_of, write_list
from wiretool.commands.fuzz.writable import check_writable
from wiretool.commands.options import tell
from wiretool.commands.step_progress import StepProgress
from wiretool.processes import handled_by

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wiretool.fuzz.client.clean_runs import CleanRuns
    from wiretool.fuzz.client.findings import ClientFinding
    from wiretool.fuzz.client.investigation import ConfirmedFault
    from wiretool.fuzz.client.mutations import ReplyMutation
    from wiretool.fuzz.findings.reports import FuzzResult
    from wiretool.fuzz.oracles import Bucket


def fuzz_client(options: FuzzOptions) -> None:
    """Run the client without faults, then with mutated replies. `typer.Exit` of 1 for a new finding."""
    from wiretool.fuzz.client.mutations import reply_mutations
    from wiretool.fuzz.mutations import select_mutations

    mutations = select_mutations(options.case_globs, reply_mutations(options.protocol))
    if options.only_lists:
        write_list(mutations)
        return
    check_writable(options)
    report_run(
        lambda: empty_result(options),
        lambda result, stopped: fuzz_client_with(mutations, result, options, stopped),
        options,
    )


def fuzz_client_with(
    mutations: "Sequence[ReplyMutation]", result: "FuzzResult", options: FuzzOptions, stopped: list[int]
) -> int | None:
    """Learn what the client does without faults, and fuzz it. Return the stop signal that ended the run."""
    from wiretool.fuzz.client.clean_runs import learn, setup_for

    known = known_buckets(options)
    result.gone = sorted(known)
    setup = setup_for(options.protocol, options.arguments, timeout_s=options.timeout_s, seed=options.seed)
    with handled_by(lambda number, frame: note_stop(stopped, number)):
        clean = learn(setup, tell)
        return stopped[0] if stopped else run_campaign(clean, mutations, known, result, options, stopped)


def run_campaign(
    clean: "CleanRuns",
    mutations: "Sequence[ReplyMutation]",
    known: "frozenset[Bucket]",
    result: "FuzzResult",
    options: FuzzOptions,
    stopped: list[int],
) -> int | None:
    """Fuzz a client whose clean behaviour is known. Return the stop signal that ended the run."""
    import random

    from wiretool.conformance.registry import conformance_of
    from wiretool.fuzz.client.campaign import ClientCampaign, PlanSource, reply_context
    from wiretool.fuzz.client.findings import ClientFinding
    from wiretool.fuzz.client.investigation import ClientInvestigation
    from wiretool.fuzz.client.oracles import ClientOracles
    from wiretool.fuzz.client.pool import RunPool
    from wiretool.fuzz.findings.folder import next_number
    from wiretool.fuzz.findings.reports import found_line

    oracles = ClientOracles(clean)
    investigation = ClientInvestigation(clean.setup, oracles, is_stopped=lambda: bool(stopped))

    def note(confirmed: "ConfirmedFault") -> None:
        finding = ClientFinding(next_number(options.output), clean.setup, confirmed)
        folder = save_client_finding(finding, result, options)
        tell(found_line(finding, folder))

    with ExitStack() as stack:
        pool = stack.enter_context(RunPool(clean.setup, options.jobs))
        progress = stack.enter_context(StepProgress("fuzz", "runs", options.runs or 0))
        context = reply_context(conformance_of(options.protocol).protocol_in(""), clean.replies)
        campaign = ClientCampaign(
            pool,
            clean,
            PlanSource(clean.replies, mutations, context, random.Random(options.seed)),
            oracles,
            investigation,
            limits_of(options),
            note,
            lambda counts: progress.update(counts.runs),
            lambda: bool(stopped),
            tell,
            known=set(known),
        )
        try:
            campaign.run()
        finally:
            result.counts, result.phases = campaign.counted(), sorted(campaign.phases)
            result.known, result.gone = sorted(campaign.shown & known), sorted(known - campaign.shown)
    return stopped[0] if stopped else campaign.stopped_by


def save_client_finding(finding: "ClientFinding", result: "FuzzResult", options: FuzzOptions) -> str:
    """Write the folder of a finding, and return its name as `add_finding` does."""
    from wiretool.fuzz.client.findings import client_page, write_client_finding

    return add_finding(
        result,
        finding,
        options,
        lambda: write_client_finding(finding, options.output),
        lambda: client_page(finding, options.output / finding.id),
    )
