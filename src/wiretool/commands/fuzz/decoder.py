"""The implementation of `wiretool fuzz --self`."""

from contextlib import ExitStack
from typing import TYPE_CHECKING

from wiretool.commands.fuzz.options import FuzzOptions
from wiretool.commands.fuzz.results import add_finding, note_stop
from wiretool.commands.fuzz.setup import add_seeds, known_buckets, limits_of, selected
from wiretool.commands.options import tell
from wiretool.commands.step_progress import StepProgress
from wiretool.processes import handled_by, held_interrupts

if TYPE_CHECKING:
    from wiretool.fuzz.decoder.findings import DecoderFinding
    from wiretool.fuzz.decoder.run import ConfirmedCapture
    from wiretool.fuzz.findings.reports import FuzzResult


def fuzz_decoder(result: "FuzzResult", options: FuzzOptions, stopped: list[int]) -> int | None:
    """Read mutated sessions on both paths. Return the stop signal that ended the run."""
    import random

    from wiretool.fuzz.decoder.findings import DecoderFinding
    from wiretool.fuzz.decoder.inputs import CaptureMaker
    from wiretool.fuzz.decoder.run import DecoderCampaign
    from wiretool.fuzz.findings.folder import next_number
    from wiretool.fuzz.findings.reports import found_line

    with held_interrupts():  # an exception of a signal may be lost in an import
        session, mutations = selected(options)
    known = known_buckets(options)
    result.gone = sorted(known)
    result.damages = add_seeds(session, options)

    def note(confirmed: "ConfirmedCapture") -> None:
        finding = DecoderFinding(next_number(options.output), options.protocol, options.seed, confirmed)
        folder = save_decoder_finding(finding, result, options)
        tell(found_line(finding, folder))

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
        try:
            campaign.run()
        finally:
            result.counts = campaign.counted()
            result.phases = sorted({name for _, _, name, _, _ in campaign.features if name})
            result.known, result.gone = sorted(campaign.shown & known), sorted(known - campaign.shown)
    return stopped[0] if stopped else None


def save_decoder_finding(finding: "DecoderFinding", result: "FuzzResult", options: FuzzOptions) -> str:
    """Write the folder of a finding, and return its name as `add_finding` does."""
    from wiretool.fuzz.decoder.findings import decoder_page, write_decoder_finding

    return add_finding(
        result,
        finding,
        options,
        lambda: write_decoder_finding(finding, options.output),
        lambda: decoder_page(finding, options.output / finding.id),
    )
