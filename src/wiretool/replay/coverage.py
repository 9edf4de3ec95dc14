"""Share of the exchanges that could be judged: without it, no finding says nothing."""

from collections.abc import Iterable
from typing import NamedTuple

from wiretool.replay.outcomes import Outcome

#: A run in which less than this could be judged is no success, unless the user asks for another share.
MIN_JUDGED = 0.5


class Coverage(NamedTuple):
    """Number of exchanges, how many of them were judged, and the share that is required."""

    total: int
    judged: int
    required: float = MIN_JUDGED

    @property
    def share(self) -> float:
        """The share that was judged, from 0 to 1; 0 of none."""
        return self.judged / self.total if self.total else 0.0

    @property
    def is_enough(self) -> bool:
        """Whether anything was judged, and at least what is required."""
        return self.judged > 0 and self.share >= self.required

    @property
    def shortfall(self) -> str:
        """Why it is not enough; empty if it is."""
        if self.is_enough:
            return ""
        if not self.total:
            return "nothing was compared"
        return "too few judged" if self.judged else "nothing could be judged"


def coverage_of(outcomes: Iterable[Outcome], required: float = MIN_JUDGED) -> Coverage:
    """Return how many of the exchanges were judged."""
    judged = [outcome.is_judged for outcome in outcomes]
    return Coverage(len(judged), sum(judged), required)
