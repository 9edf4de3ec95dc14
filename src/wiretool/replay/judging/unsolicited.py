"""One fault that shows twice is told once: what came unasked may be what lacks, and what is wrong stands in a frame."""

from collections import defaultdict, deque
from collections.abc import Iterable, Sequence
from itertools import islice

from wiretool.replay.adapter import ReplayAdapter, Verdict
from wiretool.replay.judging.judge import judge
from wiretool.replay.judging.outcomes import Outcome
from wiretool.replay.playing.id_map import Values

#: How many of the replies that lack one is held against.
_TRIED_MAX = 8


def take_in(
    manner: ReplayAdapter, values: Values, outcomes: Iterable[Outcome], strays: Sequence[Outcome]
) -> list[Outcome]:
    """Take each stray reply for one that lacks and differs from it in no more than one place; what is left of them."""
    lacking: dict[str, deque[Outcome]] = defaultdict(deque)
    for outcome in outcomes if strays else ():
        if _lacks(manner, outcome):
            lacking[outcome.recorded[len(outcome.live)].message].append(outcome)
    return [
        stray
        for stray in strays
        if not (lacking and _is_stray(manner, stray) and _take(manner, values, lacking, stray))
    ]


def without_double(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """The outcomes, with what is wrong in a frame told beside what differs in it, if anything does."""
    by_offset = {
        live.offset: outcome
        for outcome in outcomes
        if outcome.verdict.is_finding
        for live in outcome.live
        if live.kind == "frame"
    }
    left = []
    for outcome in outcomes:
        beside = by_offset.get(outcome.live[0].offset) if _is_beside_frame(outcome) else None
        if beside is None:
            left.append(outcome)
        else:
            beside.reasons += outcome.reasons
    return left


def _is_beside_frame(outcome: Outcome) -> bool:
    """Whether it is but what is wrong in a frame that is told by itself."""
    return bool(outcome.live) and outcome.live[0].kind == "problem" and outcome.live[0].length == 0


def _lacks(manner: ReplayAdapter, outcome: Outcome) -> bool:
    """Whether a reply did not come, for no reason that is known."""
    is_short = len(outcome.live) < len(outcome.recorded) and not outcome.is_covered
    if not is_short or outcome.verdict is Verdict.UNKNOWN:
        return False
    return manner.excuse_missing(outcome.recorded[len(outcome.live)], outcome.request, outcome.dialogue) is None


def _is_stray(manner: ReplayAdapter, stray: Outcome) -> bool:
    live = stray.live[0]
    return live.kind == "frame" and manner.excuse_extra(live, None, stray.dialogue) is None


def _take(manner: ReplayAdapter, values: Values, lacking: dict[str, deque[Outcome]], stray: Outcome) -> bool:
    live = stray.live[0]
    waiting = lacking[live.message]
    for outcome in islice(waiting, _TRIED_MAX):
        tried = Outcome(outcome.dialogue, outcome.request, outcome.recorded, [*outcome.live, live])
        judge(manner, values, tried, outcome.recorded[len(outcome.live)], live, len(tried.live) - 1)
        if len(tried.differences) == 1 and tried.differences[0].steps:
            waiting.remove(outcome)
            outcome.live.append(live)
            outcome.note(tried.verdict, differences=tried.differences)
            return True
    return False
