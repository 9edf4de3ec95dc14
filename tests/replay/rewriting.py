"""A stage that reads the frames of the servers as the player does, and lets a subclass rewrite them."""

import itertools
from collections.abc import Iterable, Mapping

from tests.replay.stage import Stage
from wiretool.faults.live import LiveWatch
from wiretool.net.calling.caller import Act, Send
from wiretool.records import Record
from wiretool.replay.playing.connection import Line
from wiretool.replay.playing.player import Player
from wiretool.server.mock import Action, Mock
from wiretool.server.mock import Send as MockSend


class RewritingStage(Stage):
    """Passes each record of a recorded connection's server through `rewrite`."""

    def __init__(self, player: Player, mocks: Mapping[str, Mock]) -> None:
        super().__init__(player, mocks)
        self._watches: dict[int, LiveWatch] = {}
        self._numbers = itertools.count(1)

    def rewrite(self, record: Record, line: Line) -> bytes:
        """Return the bytes to send in place of the record."""
        return record.raw

    def read_request(self, record: Record) -> None:
        """Take note of a record of the client."""

    def _carry_out(self, act: Act) -> None:
        if isinstance(act, Send):
            for record in self.watch(act.connection).feed("client", act.data, self.now_ns):
                self.read_request(record)
        super()._carry_out(act)

    def _answer(self, mock: Mock, actions: Iterable[Action]) -> None:
        super()._answer(mock, [self._rewritten(action) for action in actions])

    def watch(self, connection: int) -> LiveWatch:
        """Return the dissector of a connection."""
        if connection not in self._watches:
            protocol = self.line(connection).manner.protocol
            self._watches[connection] = LiveWatch(
                connection, protocol, "client", "server", self.now_ns, self._numbers.__next__
            )
        return self._watches[connection]

    def line(self, connection: int) -> Line:
        """Return the player's side of a connection."""
        return self.player._lines.by_number[connection]

    def _rewritten(self, action: Action) -> Action:
        if not isinstance(action, MockSend):
            return action
        records = self.watch(action.connection).feed("server", action.data, self.now_ns)
        line = self.line(action.connection)
        if line.dialogue.number < 0 or line.is_talking or b"".join(each.raw for each in records) != action.data:
            return action
        return MockSend(action.connection, b"".join(self.rewrite(each, line) for each in records))
