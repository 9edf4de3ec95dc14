"""When each exchange of an open loop is due, whatever became of those before it; and the options that say so."""

import math

from wiretool import limits
from wiretool.units import DURATION, RATE

#: The lowest rate, one exchange in three hours, and the shortest duration.
RATE_MIN, DURATION_MIN_S = 0.0001, 0.001


class Schedule:
    """Arrivals of one user at constant distance: all `users` together make `rate_per_s`, evenly.

    Times are seconds on the clock of `began`. They are all computed from it, so that nothing adds up to a drift. With
    a ramp users begin one after the other within it, each on the place that it keeps.
    """

    def __init__(self, began: float, *, user: int, users: int, rate_per_s: float, ramp_s: float = 0.0) -> None:
        assert 0 <= user < users
        assert rate_per_s > 0
        self._began = began
        self._user = user
        self._users = users
        self._rate_per_s = rate_per_s
        #: Rounds that the others make before this user begins.
        self._skipped = max(math.ceil((ramp_s * user / users * rate_per_s - user) / users), 0)

    def at(self, index: int) -> float:
        """When the arrival of that index is due."""
        return self._began + ((self._skipped + index) * self._users + self._user) / self._rate_per_s

    def due(self, now: float) -> int:
        """How many have been due by `now`: those with indices below that."""
        rounds = ((now - self._began) * self._rate_per_s - self._user) / self._users
        count = max(math.floor(rounds) + 1 - self._skipped, 0)
        # Rounding may put it beside the place that `at` gives.
        while count and self.at(count - 1) > now:
            count -= 1
        while self.at(count) <= now:
            count += 1
        return count


def rate_from(text: str, *, option: str) -> float:
    """Return exchanges a second in `5000`, `5k` or `300/m`; UsageError for anything else."""
    return RATE.parse(text, option, least=RATE_MIN, most=limits.BENCH_RATE_WRITTEN_MAX)


def duration_from(text: str, *, option: str, may_be_zero: bool = False) -> float:
    """Return seconds in `10`, `500ms` or `2m`, a week at most; UsageError for anything else."""
    return DURATION.parse(text, option, least=0.0 if may_be_zero else DURATION_MIN_S, most=limits.BENCH_TIME_S_MAX)
