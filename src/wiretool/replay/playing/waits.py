"""Timeouts of the current step of a replay."""

from wiretool.replay.playing.patience import LEAST_WAIT_NS, SHORTENED, Patience


class Waits:
    """The timeouts of one replay. Callers pass the time; `wake_ns` is when to check again."""

    def __init__(self, timeout_ns: int) -> None:
        #: For replies that a server owes.
        self.patience = Patience(timeout_ns)
        #: For unsolicited messages and ends of connections, without which the replay goes on.
        self._unsolicited = Patience(timeout_ns)
        #: When the wait for the current step began; None before that.
        self.since_ns: int | None = None
        self.wake_ns: int | None = None
        #: Why the wait that was just given up was shorter; empty if it was not.
        self.why_short = ""

    def begin(self, now_ns: int) -> bool:
        """Start the wait for the current step; return whether it had not begun."""
        if self.since_ns is not None:
            return False
        self.since_ns = now_ns
        return True

    def until(self, time_ns: int, now_ns: int) -> bool:
        """Return whether it is that time."""
        if now_ns < time_ns:
            self.wake_ns = time_ns
        return now_ns >= time_ns

    def has_waited(self, span_ns: int, now_ns: int) -> bool:
        """Return whether the wait for the current step has taken that long."""
        assert self.since_ns is not None
        return self.until(self.since_ns + span_ns, now_ns)

    def is_given_up(self, vain_waits: int, recorded_ns: int, now_ns: int, *, is_owed: bool, is_optional: bool) -> bool:
        """Return whether the current step has timed out: after the recorded time and the timeout that is left.

        Each wait in vain halves the timeout of a server that sends nothing. The waits for replies that a server owes
        have one bound together, those for unsolicited messages and ends of connections (`is_optional`) another one; the
        latter are not judged after a shorter wait.
        """
        patience = self._unsolicited if is_optional else self.patience
        wait_ns, is_short = patience.wait_ns(vain_waits), is_optional and patience.is_short(vain_waits)
        if is_optional and patience.is_spent:
            recorded_ns, wait_ns = 0, LEAST_WAIT_NS
        if not self.has_waited(recorded_ns + wait_ns, now_ns):
            return False
        if is_owed or is_optional:
            patience.spend(wait_ns)
        self.why_short = SHORTENED if is_short else ""
        return True
