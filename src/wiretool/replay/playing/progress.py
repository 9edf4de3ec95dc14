"""A caller whose progress is reported while it plays, also while it waits for a server."""

from collections.abc import Callable

from wiretool.net.calling.caller import Act, Caller
from wiretool.replay.playing.player_group import Chorus

#: How often progress is reported.
TICK_NS = 250_000_000


class WatchedCaller(Caller):
    """Passes everything on to players; `report` is given the steps that are done, and all of them."""

    def __init__(self, players: Chorus, report: Callable[[int, int], None]) -> None:
        self._players = players
        self._report = report
        self._next_ns = 0

    def start(self, now_ns: int) -> list[Act]:
        return self._passed_on(self._players.start(now_ns), now_ns)

    def opened(self, connection: int, now_ns: int) -> list[Act]:
        return self._passed_on(self._players.opened(connection, now_ns), now_ns)

    def received(self, connection: int, data: bytes, now_ns: int) -> list[Act]:
        return self._passed_on(self._players.received(connection, data, now_ns), now_ns)

    def ended(self, connection: int, now_ns: int) -> list[Act]:
        return self._passed_on(self._players.ended(connection, now_ns), now_ns)

    def lost(self, connection: int, why: str, now_ns: int) -> list[Act]:
        return self._passed_on(self._players.lost(connection, why, now_ns), now_ns)

    def woken(self, now_ns: int) -> list[Act]:
        return self._passed_on(self._players.woken(now_ns), now_ns)

    def stop(self) -> None:
        self._players.stop()

    def rest(self) -> None:
        self._players.rest()

    def _passed_on(self, acts: list[Act], now_ns: int) -> list[Act]:
        """Report progress if it is time to, and be woken for the next report while the players wait."""
        if now_ns >= self._next_ns:
            self._next_ns = now_ns + TICK_NS
            self._report(*self._players.progress)
        self.is_over = self._players.is_over
        wake_ns = self._players.wake_ns
        self.wake_ns = self._next_ns if wake_ns is None else min(wake_ns, self._next_ns)
        return acts
