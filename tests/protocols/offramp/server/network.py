"""Clients of the Offramp mock in memory: wsproto speaks for them, a network without sockets carries the bytes."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from wsproto import ConnectionType, WSConnection
from wsproto import events as ws
from wsproto.extensions import Extension, PerMessageDeflate

from wiretool.protocols.offramp.server import OfframpMock
from wiretool.protocols.offramp.server.feed import FeedMessage
from wiretool.server.mock import Action, Close, Send

START_NS = 1_700_000_000_000_000_000
SECOND_NS = 1_000_000_000
#: Bytes that wait to leave, above which a socket is full.
HIGH_WATER = 64 * 1024
#: As good as without end.
MAX = 2**63 - 1
Event = Mapping[str, Any]


class Network:
    """A mock and its connections, on a clock that tests move."""

    def __init__(self, mock: OfframpMock, *, drains: bool = True) -> None:
        self.mock = mock
        self.now_ns = START_NS
        #: Whether what is sent leaves at once, and otherwise how much has not.
        self.drains = drains
        self.unsent: Counter[int] = Counter()
        self.got: dict[int, bytearray] = {}
        #: Why the mock has closed a connection, and those that it has reset.
        self.closed: dict[int, str] = {}
        self.aborted: set[int] = set()

    def connect(self) -> int:
        """A new connection."""
        number = len(self.got)
        self.got[number] = bytearray()
        self.carry(self.mock.opened(number, "offramp", self.now_ns))
        return number

    def send(self, connection: int, data: bytes, chunk: int | None = None) -> None:
        """Bytes of a client, in pieces of `chunk`."""
        size = chunk or max(len(data), 1)
        for at in range(0, len(data), size):
            self.carry(self.mock.received(connection, data[at : at + size], self.now_ns))

    def end(self, connection: int) -> None:
        """The client has said its last."""
        self.carry(self.mock.ended(connection, self.now_ns))

    def lose(self, connection: int) -> None:
        """The connection breaks."""
        self.carry(self.mock.lost(connection, self.now_ns))

    def drain(self, connection: int) -> None:
        """What was sent has left."""
        self.unsent[connection] = 0
        self.carry(self.mock.drained(connection, self.now_ns))

    def operate(self, what: str, **arguments: Any) -> Mapping[str, Any]:
        """Something done from outside."""
        said, actions = self.mock.operate(what, arguments, self.now_ns)
        self.carry(actions)
        return said

    def publish(self, road: str, *payloads: Any, **members: Any) -> None:
        """Messages on a road."""
        for payload in payloads:
            self.operate("publish", road=road, payload=payload, **members)

    def wait(self, seconds: float) -> None:
        """Let time pass, with all that happens meanwhile."""
        end_ns = self.now_ns + int(seconds * SECOND_NS)
        while (wake_ns := self.mock.wake_ns) is not None and wake_ns <= end_ns:
            self.now_ns = max(self.now_ns, wake_ns)
            self.carry(self.mock.woken(self.now_ns))
        self.now_ns = end_ns

    def carry(self, actions: Sequence[Action]) -> None:
        """Do what the mock wants done, and what it wants done next at this time."""
        self.carry_later(actions)
        if self.mock.wake_ns is not None and self.mock.wake_ns <= self.now_ns:
            self.carry(self.mock.woken(self.now_ns))

    def carry_later(self, actions: Sequence[Action]) -> None:
        """Do what the mock wants done; what it wants done next waits, as more may happen at this time."""
        for action in actions:
            assert action.connection not in self.closed, "nothing follows a close"
            if isinstance(action, Send):
                assert action.data
                self.got[action.connection] += action.data
                self.unsent[action.connection] += len(action.data)
                if not self.drains and self.unsent[action.connection] > HIGH_WATER:
                    self.mock.full(action.connection, self.now_ns)
            else:
                assert isinstance(action, Close)
                self.closed[action.connection] = action.why
                if action.is_abort:
                    self.aborted.add(action.connection)


class Client:
    """A WebSocket client on a network."""

    def __init__(
        self,
        network: Network,
        *,
        road: str = "one",
        stream: str = "s",
        query: str = "?defaultOffset=EARLIEST",
        extensions: Sequence[Extension] = (),
        headers: Sequence[tuple[bytes, bytes]] = (),
        chunk: int | None = None,
    ) -> None:
        self.network = network
        self.chunk = chunk
        self.ws = WSConnection(ConnectionType.CLIENT)
        self.connection = network.connect()
        self._read = 0
        #: Everything received and not taken yet: events, and what else a server says.
        self._news: list[Any] = []
        self._parts: list[bytes] = []
        self.say(
            ws.Request(
                host="localhost",
                target=f"/offramp/v2/roads/{road}/streams/{stream}/messages{query}",
                extensions=list(extensions),
                extra_headers=list(headers),
            )
        )

    def say(self, event: ws.Event) -> None:
        """Anything that wsproto can say."""
        self.network.send(self.connection, self.ws.send(event), self.chunk)

    def send(self, event: Event | str) -> None:
        """An event, or any text."""
        self.say(ws.TextMessage(data=event if isinstance(event, str) else json.dumps(event)))

    def request(self, count: int) -> None:
        """Ask for messages."""
        self.send({"type": "REQUEST", "count": count})

    def commit(self, offsets: Mapping[int, int], correlation_id: str = "c") -> None:
        """Save offsets."""
        named = {str(partition): offset for partition, offset in offsets.items()}
        self.send({"type": "COMMIT", "correlationId": correlation_id, "offsets": named})

    def close(self, code: int = 1000) -> None:
        """Close politely."""
        self.say(ws.CloseConnection(code=code))

    def take(self) -> list[Any]:
        """What has come since: events as objects, pings, pongs, closes and refusals as wsproto has them."""
        data = bytes(self.network.got[self.connection][self._read :])
        self._read += len(data)
        if data:
            self.ws.receive_data(data)
        news = []
        for event in self.ws.events():
            if isinstance(event, ws.BytesMessage):
                self._parts.append(bytes(event.data))
                if event.message_finished:
                    news.append(json.loads(b"".join(self._parts)))
                    self._parts = []
            elif not isinstance(event, ws.AcceptConnection):
                news.append(event)
        return news

    def messages(self) -> list[tuple[int, int]]:
        """Partition and offset of the messages that have come since; nothing else may have."""
        return places(self.take())


def opened(network: Network, **options: Any) -> Client:
    """A client that was told CONNECTION."""
    client = Client(network, **options)
    (connection,) = client.take()
    assert connection["type"] == "CONNECTION"
    return client


def joined(network: Network, count: int, **options: Any) -> tuple[Client, list[int]]:
    """A client that has asked for messages when there were none, and its partitions."""
    client = opened(network, **options)
    client.request(count)
    (rebalance,) = client.take()
    assert rebalance["type"] == "REBALANCE"
    return client, rebalance["assignment"]


def places(news: Sequence[Any]) -> list[tuple[int, int]]:
    """Partition and offset of messages; there is nothing else among them."""
    assert all(event["type"] == "MESSAGE" for event in news), news
    return [(event["partition"], event["offset"]) for event in news]


def kinds(news: Sequence[Any]) -> list[str]:
    """The events by name, everything else by class."""
    return [event["type"] if isinstance(event, dict) else type(event).__name__ for event in news]


def deflate(**parameters: Any) -> list[Extension]:
    """An offer of compression."""
    return [PerMessageDeflate(**parameters)]


def served(count: int = 0, partitions: int = 1, **options: Any) -> Network:
    """A mock with so many messages on partition 0 of each road."""
    feed = [FeedMessage(payload={"n": n}, partition=0) for n in range(count)]
    return Network(OfframpMock(feed=feed, partitions=partitions, **options))
