"""The implementation of `wiretool fuzz --self`."""

from contextlib import ExitStack
from typing import TYPE_CHECKING

from wiretool.commands.fuzz.options import FuzzOptions
from wiretool.commands.fuzz.run import add_seeds, finish, limits_of, note_stop
from wiretool.commands.options import tell
from wiretool.commands.step_progress import StepProgress
from wiretool.errors import OutputError, system_reason
from wiretool.processes import handled_by

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wiretool.fuzz.decoder.findings import DecoderFinding
    from wiretool.fuzz.decoder.run import ConfirmedCapture
    from wiretool.fuzz.mutations.base import Mutation
    from wiretool.fuzz.oracles import Bucket
    from wiretool.fuzz.session import FuzzSession


def fuzz_decoder(session: "FuzzSession", mutations: "Sequence[Mutation]", options: FuzzOptions) -> None:
    """Read mutated sessions on both paths. `typer.Exit` of 1 for a new finding."""
    import random

    from wiretool.fuzz.baseline import read_baseline
    from wiretool.fuzz.decoder.findings import DECODER, DecoderFinding
    from wiretool.fuzz.decoder.inputs import CaptureMaker
    from wiretool.fuzz.decoder.run import DecoderCampaign
    from wiretool.fuzz.finding_folder import next_number
    from wiretool.fuzz.reports import FuzzResult, found_line

    known: frozenset[Bucket] = frozenset()
    if options.baseline is not None:
        known = read_baseline(options.baseline, options.protocol)
    damages = add_seeds(session, options)
    result = FuzzResult(options.protocol, DECODER, options.seed, is_self=True, damages=damages)

    def note(confirmed: "ConfirmedCapture") -> None:
        finding = DecoderFinding(next_number(options.output), options.protocol, options.seed, confirmed)
        folder = save_decoder_finding(finding, options)
        result.findings.append((finding, folder))
        tell(found_line(finding, folder))

    stopped: list[int] = []
    with ExitStack() as stack:
        stack.enter_context(handled_by(lambda number, frame: note_stop(stopped, number)))
        progress = stack.enter_context(StepProgress("fuzz", "captures", options.runs or 0))
        campaign = DecoderCampaign(
            CaptureMaker(session, mutations, random.Random(options.seed)),
            limits_of(options),
            note,
            on_progress=lambda counts: progress.update(counts.runs),
            is_stopped=lambda: bool(stopped),
            known=set(known),
        )
        result.counts = campaign.run()
    result.phases = sorted({name for _, _, name, _, _ in campaign.features if name})
    result.known, result.gone = sorted(campaign.shown & known), sorted(known - campaign.shown)
    finish(result, options, stopped[0] if stopped else None)


def save_decoder_finding(finding: "DecoderFinding", options: FuzzOptions) -> str:
    """Write the folder of a finding and return its name. OutputError where that fails."""
    from wiretool.fuzz.decoder.findings import write_decoder_finding

    try:
        return str(write_decoder_finding(finding, options.output))
    except OSError as err:
        raise OutputError(f"{options.output}: {system_reason(err)}; the finding is {finding.title}") from err
