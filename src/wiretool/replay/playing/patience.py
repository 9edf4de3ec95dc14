"""Bound on the time that a run waits for replies that do not come."""

from dataclasses import dataclass

#: The waits in vain of one run take no longer than this many times the timeout, all together.
TIMEOUTS_MAX = 6
#: Once that is spent, unsolicited messages and ends of connections are still waited for this long each.
LEAST_WAIT_NS = 20_000_000
#: Why such a message or end that did not come is not judged.
SHORTENED = (
    f"waited for less than --timeout, as the waits for unsolicited messages and ends of connections that did not come"
    f" took {TIMEOUTS_MAX} times --timeout"
)


@dataclass(slots=True)
class Patience:
    """The time that is left for replies that do not come."""

    timeout_ns: int
    spent_ns: int = 0

    def wait_ns(self, vain_waits: int) -> int:
        """Return how much longer than recorded to wait: half as long after each wait in vain, within what is left."""
        return min(self.timeout_ns >> vain_waits, max(TIMEOUTS_MAX * self.timeout_ns - self.spent_ns, 0))

    def is_short(self, vain_waits: int) -> bool:
        """Return whether the time that is left cuts such a wait short."""
        return self.wait_ns(vain_waits) < self.timeout_ns >> vain_waits

    def spend(self, span_ns: int) -> None:
        """Count a wait in vain."""
        self.spent_ns += span_ns

    @property
    def is_spent(self) -> bool:
        """Return whether no time is left; without a timeout there is nothing to bound."""
        return 0 < TIMEOUTS_MAX * self.timeout_ns <= self.spent_ns
