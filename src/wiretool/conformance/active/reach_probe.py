"""A probe of whether a target accepts a connection and keeps it: asked after cases that it refused or reset."""

from collections.abc import Iterator

from wiretool.net.calling.caller import Abort, Act, Caller, Dial

NS_PER_S = 1_000_000_000
#: How long a connection must stay open on which nothing is sent, and the pause before the next attempt.
HOLD_NS = RETRY_NS = NS_PER_S // 10
#: Consecutive cases whose connections were refused or reset, after which the target is probed.
CUT_CASES = 3


class ReachProbe(Caller):
    """Connects, sends nothing and looks whether the connection is reset; again and again until its patience ends."""

    def __init__(
        self, server: str, endpoint: str, target: str, numbers: Iterator[int], patience_s: float = 0.0
    ) -> None:
        self._server = server
        self._endpoint = endpoint
        self._target = target
        self._numbers = numbers
        self._patience_ns = round(patience_s * NS_PER_S)
        self._until_ns = 0
        self._connection: int | None = None
        self._is_open = False
        #: Why the target cannot be reached, in words; empty where it can.
        self.why = ""

    def has(self, connection: int) -> bool:
        """Return whether a connection is the present one of the probe."""
        return connection == self._connection

    def start(self, now_ns: int) -> list[Act]:
        self._until_ns = now_ns + self._patience_ns
        return self._dial()

    def opened(self, connection: int, now_ns: int) -> list[Act]:
        self._is_open = True
        self.wake_ns = now_ns + HOLD_NS
        return []

    def received(self, connection: int, data: bytes, now_ns: int) -> list[Act]:
        return self._end()

    def ended(self, connection: int, now_ns: int) -> list[Act]:
        return self._end()

    def lost(self, connection: int, why: str, now_ns: int) -> list[Act]:
        if not self.has(connection):
            return []
        if not why:
            return self._end()
        self._connection = None
        if now_ns >= self._until_ns:
            return self._end(f"cannot reach {self._target}: {why}" if self._is_open else why)
        self.wake_ns = now_ns + RETRY_NS
        return []

    def woken(self, now_ns: int) -> list[Act]:
        return self._dial() if self._connection is None else self._end()

    def _dial(self) -> list[Act]:
        self._connection, self._is_open, self.wake_ns = next(self._numbers), False, None
        return [Dial(self._connection, self._server, self._endpoint, is_aside=True)]

    def _end(self, why: str = "") -> list[Act]:
        self.why, self.is_over, self.wake_ns = why, True, None
        return [] if self._connection is None else [Abort(self._connection)]
