"""What differs between two captures of the same: that is another in each run."""

from collections.abc import Sequence

from wiretool.replay.adapter import Difference, Verdict
from wiretool.replay.judging.accept import settle, verdict_of
from wiretool.replay.judging.field_selector import Spot, named
from wiretool.replay.judging.outcomes import Outcome
from wiretool.replay.report.data import message_of

WHY = "it varies between the captures of the same, too"


def without_varying(outcomes: Sequence[Outcome], between_same: Sequence[Outcome]) -> None:
    """Make noise of what differs in `between_same` as well, a comparison of the first recording with another like it.

    A field that differs there somewhere is noise everywhere, and a message that is too much there once is always.
    What is missing is noise where the same request, or conversation, is missing there.
    """
    fields: set[Spot] = set()
    extra: set[str] = set()
    for outcome in between_same:
        for difference in outcome.differences:
            message = message_of(outcome, difference)
            if difference.steps:
                fields.add(Spot(message, named(difference.steps)))
            elif verdict_of(difference) is Verdict.EXTRA:
                extra.add(message)
    lacking = {_place(outcome) for outcome in between_same if outcome.verdict.is_finding}

    def varies(outcome: Outcome, difference: Difference) -> str | None:
        if difference.steps:
            return WHY if any(spot.holds(outcome, difference) for spot in fields) else None
        is_extra = verdict_of(difference) is Verdict.EXTRA
        varied = message_of(outcome, difference) in extra if is_extra else _place(outcome) in lacking
        return WHY if varied else None

    settle(outcomes, varies, Verdict.NOISE)
    for outcome in outcomes:
        if outcome.verdict.is_finding and not outcome.differences and _place(outcome) in lacking:
            outcome.verdict = Verdict.NOISE
            outcome.reasons[:] = [WHY]


def _place(outcome: Outcome) -> tuple[int, int, Verdict]:
    """Where in the first recording it is."""
    record = outcome.request or next(iter(outcome.recorded), None)
    return outcome.dialogue.number, record.n if record is not None else -1, outcome.verdict
