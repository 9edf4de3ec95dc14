"""Reads back everything that a server acknowledged, so that a consistency model can compare it."""

from collections.abc import Callable, Iterator, Sequence

from wiretool.codec.message import Message
from wiretool.consistency.model import Anomaly, Consistency, Question, ReadTalk
from wiretool.errors import EncodeError
from wiretool.fuzz.targets.connection import FuzzConnection, Received
from wiretool.net.calling import caller
from wiretool.protocols.base.protocol import Protocol
from wiretool.records import Record

NS_PER_S = 1_000_000_000
#: Questions of one run, and rounds of one conversation, at most.
QUESTIONS_MAX, ROUNDS_MAX = 16, 64

#: Opens a connection to an endpoint, and adds the act that does so.
Open = Callable[[str, list[caller.Act]], FuzzConnection]


class Follower:
    """Passes the records of a run to a model, and keeps the anomalies."""

    def __init__(self, model: Consistency) -> None:
        self.model = model
        self.anomalies: list[Anomaly] = []

    def note_sent(self, connection: FuzzConnection, records: Sequence[Record]) -> None:
        """Follow what a client sent; bytes that are not the protocol make the connection unknown."""
        for record in records:
            self.anomalies += self.model.follow(record)
        if connection.is_broken:
            self.model.forget(connection.number, "client")

    def note_received(self, connection: FuzzConnection, received: Received) -> None:
        """Follow a message of the server."""
        self.anomalies += self.model.follow(received.record)
        if received.problems or received.violations or received.record.kind != "frame":
            self.model.forget(connection.number, "server")

    def end(self) -> None:
        """Take the anomalies that the model held back."""
        self.anomalies += self.model.end()


class ReadBack:
    """Asks the questions of a model, one after the other, each on a connection of its own."""

    def __init__(self, follower: Follower, protocol: Protocol, open_connection: Open, patience_ns: int) -> None:
        self._follower = follower
        self._protocol = protocol
        self._open = open_connection
        self._patience_ns = patience_ns
        self._questions: Iterator[Question] | None = None
        self._asked = 0
        self._talk: ReadTalk | None = None
        self._connection: FuzzConnection | None = None
        self._pending: Sequence[Message] | None = None
        self._replies: list[Record] = []
        self._rounds = 0
        self._since_ns = 0
        self.wake_ns: int | None = None

    def received(self, received: Received) -> None:
        """Note a message of the server on the connection of the question."""
        if received.record.kind == "frame":
            self._replies.append(received.record)

    def advance(self, now_ns: int, acts: list[caller.Act]) -> bool:
        """Go on as far as possible; return whether all questions were asked."""
        self.wake_ns = None
        if self._questions is None:
            self._questions = iter(self._follower.model.questions())
        while self._talk is not None or self._begin(now_ns, acts):
            if not self._step(now_ns, acts):
                return False
        return True

    def _begin(self, now_ns: int, acts: list[caller.Act]) -> bool:
        assert self._questions is not None
        question = next(self._questions, None)
        if question is None or self._asked == QUESTIONS_MAX:
            return False
        self._asked += 1
        self._rounds = 0
        self._since_ns = now_ns + round(question.after_s * NS_PER_S)
        self._talk = question.talk
        self._connection = self._open(question.endpoint, acts)
        self._continue(None)
        return True

    def _step(self, now_ns: int, acts: list[caller.Act]) -> bool:
        """Send, or take the replies; return whether the conversation, or the next one, can go on at once."""
        connection = self._connection
        assert connection is not None
        if connection.ended or self._rounds > ROUNDS_MAX:
            self._leave(acts)
            return True
        if self._pending is not None:
            if not connection.is_open:
                return False
            if now_ns < self._since_ns:
                self.wake_ns = self._since_ns
                return False
            self._send(connection, acts, now_ns)
        has_replies = bool(self._replies) if not connection.open_requests else False
        if not has_replies and now_ns < self._since_ns + self._patience_ns:
            self.wake_ns = self._since_ns + self._patience_ns
            return False
        replies, self._replies = self._replies, []
        self._continue(replies)
        if self._talk is None:
            self._leave(acts)
        return True

    def _send(self, connection: FuzzConnection, acts: list[caller.Act], now_ns: int) -> None:
        for message in self._pending or ():
            try:
                data = self._protocol.encode(message, "client")
            except EncodeError:
                continue  # the name of the place came from a mutation
            acts.append(caller.Send(connection.number, data))
            records = connection.sent(data, now_ns)
            connection.expect(records, step=-1)
            self._follower.note_sent(connection, records)
        self._pending, self._since_ns = None, now_ns

    def _continue(self, replies: list[Record] | None) -> None:
        assert self._talk is not None
        self._rounds += 1
        try:
            self._pending = next(self._talk) if replies is None else self._talk.send(replies)
        except StopIteration:
            self._talk = None

    def _leave(self, acts: list[caller.Act]) -> None:
        connection, self._talk, self._pending = self._connection, None, None
        if connection is not None and not connection.ended:
            connection.ended = "left"
            acts.append(caller.Abort(connection.number))
        self._replies.clear()
