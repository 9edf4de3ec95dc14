"""When each exchange of an open loop is due, whatever became of those before it; and the options that say so."""

import math

from wiretool import limits
from wiretool.errors import UsageError

_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3_600}
_THOUSANDS = {"": 1, "k": 1_000, "K": 1_000, "M": 1_000_000}


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
    """Exchanges a second in `5000`, `5k` or `300/m`; UsageError for what is none. k and M are thousands here."""
    amount, slash, unit = text.partition("/")
    number, thousands = _split(amount, _THOUSANDS)
    per = _SECONDS.get(unit, 0) if bool(unit) == bool(slash) else 0
    rate = number * thousands / per if per else 0.0
    if not 0 < rate <= limits.BENCH_RATE_WRITTEN_MAX:
        raise UsageError(f"{option} {text!r}: wants exchanges a second, as 5000 or 5k, or 300/m for those of a minute")
    return rate


def duration_from(text: str, *, option: str, may_be_zero: bool = False) -> float:
    """Seconds in `10`, `10s`, `2m` or `1h`; UsageError for what is none, 0 too unless it may be, or beyond a week."""
    number, unit = _split(text, _SECONDS)
    seconds = number * unit
    if seconds > limits.BENCH_TIME_S_MAX:
        most = f"{limits.BENCH_TIME_S_MAX / 3_600:.0f}h"
        raise UsageError(f"{option} {text!r}: more than a week ({most}) is not measured at once")
    if seconds < 0 or (seconds == 0 and not may_be_zero):
        raise UsageError(f"{option} {text!r}: wants a time above 0, as 10 or 10s (seconds), 2m or 1h")
    return seconds


def _split(text: str, units: dict[str, int]) -> tuple[float, int]:
    """A number and what its unit stands for; -1 where there is none."""
    number, unit = (text[:-1], text[-1]) if text and text[-1] in units else (text, "")
    # No signs, exponents or names: of what float() takes, what people write.
    if not number.isascii() or not number.replace(".", "", 1).isdigit() or len(number) > 18:
        return -1.0, 1
    return float(number), units[unit]
