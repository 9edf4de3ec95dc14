"""The three ways in which a lie may be found: `replay`, `replay --against` and `diff`."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from tests.bench.census.lie import Lie
from tests.bench.census.play import Played, play
from tests.bench.census.telling import teller
from wiretool.analysis.dialogues import Recording
from wiretool.protocols.base.registry import PROTOCOLS
from wiretool.replay.adapter import ReplayAdapter
from wiretool.replay.adapters import manners
from wiretool.replay.compare_servers import grid, key_of
from wiretool.replay.diff.comparing import compare
from wiretool.replay.judging.outcomes import Outcome

WAYS = ("replay", "against", "diff")
#: The honest server and the lying one do not make up the same values.
HONEST_SEED, LYING_SEED = 1, 2


@dataclass(slots=True)
class Result:
    """A lie that was told: its clause if it is allowed, and by way whether it was found, or why not."""

    capture: str
    lie: Lie
    clause: str
    found: dict[str, bool] = field(default_factory=dict)
    why: dict[str, str] = field(default_factory=dict)


class Judge:
    """Plays lies about one recording and compares them with an honest run."""

    def __init__(self, recording: Recording, *, prepare: bool = True) -> None:
        self._recording = recording
        self._prepare = prepare
        self.honest = play(recording, seed=HONEST_SEED, prepare=prepare)
        self._usual = _summary(self.honest.outcomes)
        self._usual_diff: Mapping[Hashable, str] = {}
        #: Findings of an honest run: such a recording is none to judge by.
        self.findings = sum(each.verdict.is_finding for each in self.honest.outcomes)

    def check(self) -> str:
        """Return why the recording cannot be judged by; empty where it can."""
        if self.findings:
            return f"{self.findings} findings of an honest replay"
        second = play(self._recording, seed=LYING_SEED, prepare=self._prepare)
        if any(True for _ in grid(self.honest.outcomes, second.outcomes)):
            return "two honest servers answer otherwise"
        compared = self._compare(second)
        self._usual_diff = _summary(compared)
        count = sum(each.verdict.is_finding for each in compared)
        return f"{count} findings between captures of two honest replays" if count else ""

    def judge(self, lie: Lie, result: Result) -> None:
        """Tell the lie and note what each way finds."""
        lying = play(self._recording, teller(lie), seed=LYING_SEED, prepare=self._prepare)
        if not lie.is_told:
            return
        rows = list(grid(self.honest.outcomes, lying.outcomes))
        compared = self._compare(lying)
        result.found = {
            "replay": any(each.verdict.is_finding for each in lying.outcomes),
            "against": bool(rows),
            "diff": any(each.verdict.is_finding for each in compared),
        }
        why = _news(self._usual, lying.outcomes, lie)
        result.why = {"replay": why, "against": why, "diff": _news(self._usual_diff, compared, lie)}

    def _compare(self, lying: Played) -> Sequence[Outcome]:
        every = {name: ReplayAdapter(protocol) for name, protocol in PROTOCOLS.items()} | dict(manners())
        return compare(self.honest.capture, lying.capture, every)


def _summary(outcomes: Iterable[Outcome]) -> dict[Hashable, str]:
    return {key_of(each): _text(each) for each in outcomes}


def _text(outcome: Outcome) -> str:
    reasons = "; ".join(outcome.reasons)
    return f"{outcome.verdict.name.lower()}: {reasons}" if reasons else outcome.verdict.name.lower()


def _news(usual: Mapping[Hashable, str], outcomes: Sequence[Outcome], lie: Lie) -> str:
    """What is said of exchanges otherwise than of the honest run; without any, what is said of the connection."""
    found = dict.fromkeys(_text(each) for each in outcomes if usual.get(key_of(each)) != _text(each))
    if found:
        return " | ".join(found)
    there = dict.fromkeys(_text(each) for each in outcomes if each.dialogue.number == lie.reply.dialogue)
    return f"nothing new; of the connection: {' | '.join(there)}"
