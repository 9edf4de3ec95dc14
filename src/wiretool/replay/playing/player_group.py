"""Several callers as one: copies of a recording played at once, or one after the other."""

from collections.abc import Callable, Iterable, Sequence

from wiretool.net.calling.caller import Act, Caller, Dial


class Chorus(Caller):
    """Players that share a server. Rounds follow each other; those of one round play at the same time.

    With one server it is over when the first connections could not be made, all of them: nothing can be played.
    """

    def __init__(self, rounds: Iterable[Sequence[Caller]], *, has_one_server: bool = False) -> None:
        self._rounds = list(rounds)
        self._has_one_server = has_one_server
        self._at = 0
        self._player_of: dict[int, Caller] = {}
        #: Connections that are being made, and whether one was made.
        self._dialled: set[int] = set()
        self._is_reached = False

    @property
    def progress(self) -> tuple[int, int]:
        """The steps that are done, and all of them."""
        every = [player.progress for players in self._rounds for player in players]
        return sum(done for done, _ in every), sum(total for _, total in every)

    def start(self, now_ns: int) -> list[Act]:
        return self._begin(now_ns)

    def opened(self, connection: int, now_ns: int) -> list[Act]:
        self._is_reached = True
        return self._tell(connection, lambda player: player.opened(connection, now_ns), now_ns)

    def received(self, connection: int, data: bytes, now_ns: int) -> list[Act]:
        return self._tell(connection, lambda player: player.received(connection, data, now_ns), now_ns)

    def ended(self, connection: int, now_ns: int) -> list[Act]:
        return self._tell(connection, lambda player: player.ended(connection, now_ns), now_ns)

    def lost(self, connection: int, why: str, now_ns: int) -> list[Act]:
        self._dialled.discard(connection)
        if self._has_one_server and not self._is_reached and not self._dialled:
            self.stop()
            self.is_over = True
            return []
        return self._tell(connection, lambda player: player.lost(connection, why, now_ns), now_ns)

    def woken(self, now_ns: int) -> list[Act]:
        acts: list[Act] = []
        for player in self._rounds[self._at]:
            if player.wake_ns is not None and player.wake_ns <= now_ns:
                acts += self._noted(player, player.woken(now_ns))
        return acts + self._go_on(now_ns)

    def stop(self) -> None:
        for player in self._rounds[self._at]:
            player.stop()

    def rest(self) -> None:
        for player in self._rounds[self._at]:
            player.rest()

    def _begin(self, now_ns: int) -> list[Act]:
        acts = [act for player in self._rounds[self._at] for act in self._noted(player, player.start(now_ns))]
        return acts + self._go_on(now_ns)

    def _tell(self, connection: int, what: Callable[[Caller], list[Act]], now_ns: int) -> list[Act]:
        player = self._player_of[connection]
        return self._noted(player, what(player)) + self._go_on(now_ns)

    def _noted(self, player: Caller, acts: list[Act]) -> list[Act]:
        for act in acts:
            if isinstance(act, Dial):
                self._player_of[act.connection] = player
                if not self._is_reached:
                    self._dialled.add(act.connection)
        return acts

    def _go_on(self, now_ns: int) -> list[Act]:
        """See when to be woken; when all of a round are over, the next one begins."""
        playing = self._rounds[self._at]
        self.wake_ns = min((each.wake_ns for each in playing if each.wake_ns is not None), default=None)
        if not all(player.is_over for player in playing):
            return []
        if self._at + 1 == len(self._rounds):
            self.is_over = True
            return []
        self._at += 1
        return self._begin(now_ns)
