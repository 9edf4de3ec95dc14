"""The implementation of `wiretool fuzz --client`."""

import shlex
from contextlib import ExitStack
from typing import TYPE_CHECKING

from wiretool.commands.fuzz.options import FuzzOptions
from wiretool.commands.fuzz.run import finish, limits_of, note_stop, write_list
from wiretool.commands.options import tell
from wiretool.commands.step_progress import StepProgress
from wiretool.errors import OutputError, PeerError, Stopped, system_reason
from wiretool.processes import handled_by

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wiretool.fuzz.client.clean_runs import CleanRuns
    from wiretool.fuzz.client.findings import ClientFinding
    from wiretool.fuzz.client.investigation import ConfirmedFault
    from wiretool.fuzz.client.mutations import ReplyMutation
    from wiretool.fuzz.oracles import Bucket


def fuzz_client(options: FuzzOptions) -> None:
    """Run the client without faults, then with mutated replies. `typer.Exit` of 1 for a new finding."""
    from wiretool.fuzz.client.clean_runs import learn, setup_for
    from wiretool.fuzz.client.mutations import reply_mutations
    from wiretool.fuzz.mutations import select_mutations

    mutations = select_mutations(options.case_globs, reply_mutations(options.protocol))
    if options.only_lists:
        write_list(mutations)
        return
    setup = setup_for(options.protocol, options.arguments, timeout_s=options.timeout_s, seed=options.seed)
    stopped: list[int] = []
    with handled_by(lambda number, frame: note_stop(stopped, number)):
        clean = learn(setup, tell)
        if stopped:
            raise Stopped(stopped[0])
        run_campaign(clean, mutations, options, stopped)


def run_campaign(
    clean: "CleanRuns", mutations: "Sequence[ReplyMutation]", options: FuzzOptions, stopped: list[int]
) -> None:
    """Fuzz a client whose clean behaviour is known, and report."""
    import random

    from wiretool.conformance.registry import conformance_of
    from wiretool.fuzz.baseline import read_baseline
    from wiretool.fuzz.client.campaign import ClientCampaign, PlanSource, reply_context
    from wiretool.fuzz.client.findings import ClientFinding
    from wiretool.fuzz.client.investigation import ClientInvestigation
    from wiretool.fuzz.client.oracles import ClientOracles
    from wiretool.fuzz.client.pool import RunPool
    from wiretool.fuzz.finding_folder import next_number
    from wiretool.fuzz.reports import FuzzResult, found_line

    known: frozenset[Bucket] = frozenset()
    if options.baseline is not None:
        known = read_baseline(options.baseline, options.protocol)
    result = FuzzResult(options.protocol, shlex.join(options.arguments), options.seed, is_client=True)
    oracles = ClientOracles(clean)
    investigation = ClientInvestigation(clean.setup, oracles, is_stopped=lambda: bool(stopped))

    def note(confirmed: "ConfirmedFault") -> None:
        finding = ClientFinding(next_number(options.output), clean.setup, confirmed)
        folder = save_client_finding(finding, options)
        result.findings.append((finding, folder))
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
            options.jobs,
            note,
            lambda counts: progress.update(counts.runs),
            lambda: bool(stopped),
            tell,
            known=set(known),
        )
        try:
            campaign.run()
        except PeerError as err:
            result.why_cut = str(err)
    result.counts, result.phases = campaign.counted(), sorted(campaign.phases)
    result.known, result.gone = sorted(campaign.shown & known), sorted(known - campaign.shown)
    finish(result, options, stopped[0] if stopped else campaign.stopped_by)


def save_client_finding(finding: "ClientFinding", options: FuzzOptions) -> str:
    """Write the folder of a finding and return its name. OutputError where that fails."""
    from wiretool.fuzz.client.findings import write_client_finding

    try:
        return str(write_client_finding(finding, options.output))
    except OSError as err:
        raise OutputError(f"{options.output}: {system_reason(err)}; the finding is {finding.title}") from err
