"""Share of the exchanges that could be judged: without it, no finding says nothing."""

from collections.abc import Iterable
from typing import NamedTuple

from wiretool.replay.judging.outcomes import Outcome
from wiretool.units import counted

#: A run in which less than this could be judged is no success, unless the user asks for another share.
MIN_JUDGED = 0.5


class Coverage(NamedTuple):
    """The evidence of a run: number of exchanges and further differences, of those judged, and the required share."""

    total: int
    judged: int
    required: float = MIN_JUDGED
    #: Whether the server was in the recorded state when the replay began, as far as wiretool prepared it.
    is_prepared: bool = True
    #: Of the total, those that are no exchange of the recording: additional messages, ends of connections.
    further: int = 0
    #: Of those judged, the ones that are no exchange of the recording.
    further_judged: int = 0

    @property
    def exchanges_judged(self) -> int:
        """The number of exchanges of the recording that were judged."""
        return self.judged - self.further_judged

    def subject(self, where: str = "") -> str:
        """Return the number of exchanges and further differences, and how many of each were judged if not all."""
        place = f" on {where}" if where else ""
        is_whole = self.judged == self.total
        parts = [_share(self.exchanges_judged, self.exchanges, "exchange", is_whole=is_whole)]
        if self.further:
            parts.append(_share(self.further_judged, self.further, "further difference", is_whole=is_whole))
        text = f"{' and '.join(parts)}{place}"
        return text if is_whole else f"{text} judged, {self.total - self.judged:,} could not be"

    @property
    def exchanges(self) -> int:
        """The number of exchanges of the recording, whatever the live side did."""
        return self.total - self.further

    @property
    def share(self) -> float:
        """The share that was judged, from 0 to 1; 0 of none."""
        return self.judged / self.total if self.total else 0.0

    @property
    def is_enough(self) -> bool:
        """Return whether the required share of exchanges was judged, and the server was prepared."""
        return self.is_prepared and self.judged > 0 and self.share >= self.required

    @property
    def shortfall(self) -> str:
        """Why it is not enough; empty if it is."""
        if self.is_enough:
            return ""
        if not self.total:
            return "nothing was compared"
        if not self.judged:
            return "nothing could be judged"
        return "too few judged" if self.share < self.required else "the server could not be prepared"


def _share(judged: int, total: int, name: str, *, is_whole: bool) -> str:
    return counted(total, name) if is_whole else f"{judged:,} of {counted(total, name)}"


def coverage_of(outcomes: Iterable[Outcome], required: float = MIN_JUDGED, *, is_prepared: bool = True) -> Coverage:
    """Return how many of the exchanges were judged."""
    found = list(outcomes)
    judged = sum(outcome.many for outcome in found if outcome.is_judged)
    further = sum(outcome.many for outcome in found if not outcome.is_exchange)
    further_judged = sum(outcome.many for outcome in found if outcome.is_judged and not outcome.is_exchange)
    return Coverage(sum(outcome.many for outcome in found), judged, required, is_prepared, further, further_judged)
