"""A mock in memory, clients whose records go to a consistency model, and captures that do."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from wiretool.codec.frames.splitter import Piece, Splitter
from wiretool.codec.message import Message, Side
from wiretool.conformance.active.in_memory import START_NS
from wiretool.consistency.model import Anomaly, Consistency, Question
from wiretool.consistency.registry import consistency_of
from wiretool.dissect.dissector import Source, read
from wiretool.protocols.base.conversation import Reading, let_go
from wiretool.protocols.base.registry import PROTOCOLS
from wiretool.records import Record
from wiretool.server.mock import Action, Close, Mock, Send
from wiretool.server.options import MockOptions
from wiretool.server.part import mock_for


@dataclass
class World:
    """A mock, its clients, and a model that follows both sides of all connections."""

    protocol: str
    options: MockOptions = field(default_factory=MockOptions)
    is_new: bool = True
    anomalies: list[Anomaly] = field(default_factory=list)
    records: list[Record] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.mock: Mock = mock_for(self.protocol, self.options)
        self.model: Consistency = consistency_of(self.protocol, is_new=self.is_new)
        self.clients: dict[int, Client] = {}
        self.now_ns = START_NS

    def client(self, endpoint: str = "") -> "Client":
        door = next(each for each in self.mock.doors if endpoint in ("", each.name))
        client = self.clients[len(self.clients)] = Client(self, len(self.clients), f"10.0.0.2:{door.port}")
        self.carry_out(self.mock.opened(client.number, door.name, self.now_ns))
        return client

    def take(self, record: Record) -> None:
        self.records.append(record)
        self.anomalies += self.model.follow(record)

    def carry_out(self, actions: Iterable[Action]) -> None:
        for action in actions:
            client = self.clients[action.connection]
            if isinstance(action, Send):
                client.receive(action.data)
            elif isinstance(action, Close):
                client.is_open = False

    def wait(self) -> None:
        """Let the time pass in which the mock does something by itself."""
        if self.mock.wake_ns is not None:
            self.now_ns = max(self.now_ns, self.mock.wake_ns)
            self.carry_out(self.mock.woken(self.now_ns))

    def ask_all(self) -> int:
        """Ask all questions of the model, each on a connection of its own; return how many."""
        questions = list(self.model.questions())
        for question in questions:
            self.ask(question)
        self.end()
        return len(questions)

    def end(self) -> None:
        self.anomalies += self.model.end()

    def ask(self, question: Question, *, is_patient: bool = True) -> None:
        if is_patient:
            self.now_ns += int(question.after_s * 1_000_000_000)
        client = self.client(question.endpoint)
        try:
            messages = next(question.talk)
            while client.is_open:
                replies = client.send(*messages)
                messages = question.talk.send(replies)
        except StopIteration:
            pass


class Client:
    """One connection to the mock."""

    def __init__(self, world: World, number: int, server: str) -> None:
        self.world = world
        self.number = number
        self.server = server
        self.is_open = True
        self._conversation = PROTOCOLS[world.protocol].open(True)
        self._splitters = {side: Splitter(self._conversation, side) for side in ("client", "server")}
        self._replies: list[Record] = []

    def send(self, *messages: Message) -> list[Record]:
        """Send messages, each by itself, and return the records of all that the server sends then."""
        for message in messages:
            self.send_bytes(PROTOCOLS[self.world.protocol].encode(message, "client"))
        if not self._replies:
            self.world.wait()
        replies, self._replies = self._replies, []
        return replies

    def send_bytes(self, data: bytes) -> None:
        self._read("client", data)
        mock = self.world.mock
        self.world.carry_out(mock.received(self.number, data, self.world.now_ns))
        self.world.carry_out(mock.drained(self.number, self.world.now_ns))

    def receive(self, data: bytes) -> None:
        self._replies += self._read("server", data)

    def _read(self, side: Side, data: bytes) -> list[Record]:
        found = []
        for piece in self._splitters[side].feed(data):
            if piece.kind == "frame":
                found.append(self._take(side, piece))
            else:
                self.world.model.forget(self.number, side)
        return found

    def _take(self, side: Side, piece: Piece) -> Record:
        """Let the model follow a frame, and forget what is wrong in it."""
        n = len(self.world.records) + 1
        reading = self._conversation.read(side, piece.data, piece.at, piece.end, n)
        let_go(reading.defects)
        record = self._record(side, piece, reading, n)
        self.world.take(record)
        if reading.defects:
            self.world.model.forget(self.number, side)
        return record

    def _record(self, side: Side, piece: Piece, reading: Reading, n: int) -> Record:
        return Record(
            n=n,
            kind="frame",
            time_ns=self.world.now_ns,
            connection=self.number,
            client=f"10.0.0.1:{40_000 + self.number}",
            server=self.server,
            side=side,
            packets=(n, n),
            offset=piece.offset,
            length=piece.length,
            protocol=self.world.protocol,
            message=reading.message,
            fields=reading.fields,
            reply_to=reading.reply_to,
            append=reading.append,
            events=reading.events,
        )


def model_of_capture(protocol: str, captures: Source | Sequence[Source]) -> tuple[list[Anomaly], int]:
    """Return the anomalies in a capture, and how many events were judged."""
    return model_of_records(protocol, read(captures))


def model_of_records(protocol: str, records: Iterable[Record]) -> tuple[list[Anomaly], int]:
    """The same of records; what is missing or unreadable is forgotten."""
    model, anomalies = consistency_of(protocol), list[Anomaly]()
    for record in records:
        if record.kind in ("gap", "problem"):
            model.forget(record.connection, record.side)
        else:
            anomalies += model.follow(record)
    return [*anomalies, *model.end()], model.judged


def names(anomalies: Iterable[Anomaly]) -> list[str]:
    return [anomaly.name for anomaly in anomalies]
