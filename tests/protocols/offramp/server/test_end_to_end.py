"""The `websockets` library as consumer of a mock that is served on loopback."""

import asyncio
import json
from base64 import b64encode
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from wiretool.net.addresses import Address
from wiretool.net.serving.host import Host
from wiretool.net.sockets import Socket
from wiretool.protocols.offramp.server import OfframpMock
from wiretool.protocols.offramp.server.feed import FeedMessage
from wiretool.server.mock import Mock

DEADLINE_S = 30.0
PATH = "/offramp/v2/roads/one/streams/s/messages?defaultOffset=EARLIEST"
Place = tuple[int, int]


def run(main: Coroutine[Any, Any, None]) -> None:
    """Run a test on a loop of its own, in time."""
    asyncio.run(asyncio.wait_for(main, DEADLINE_S))


class Telling(Host):
    """Tells whoever waits for it when a client does not take what is sent."""

    def __init__(self, mock: Mock) -> None:
        super().__init__(mock, lambda line: None)
        self.was_full = asyncio.Event()

    def full(self, end: Socket) -> None:
        super().full(end)
        self.was_full.set()


@asynccontextmanager
async def served(**options: Any) -> AsyncIterator[tuple[Telling, str]]:
    """A mock at a port of its own, and where."""
    host = Telling(OfframpMock(**options))
    address = await host.listen("offramp", Address("127.0.0.1", 0), None)
    try:
        yield host, f"ws://{address}{PATH}"
    finally:
        await host.stop()


def feed(count: int, **members: Any) -> list[FeedMessage]:
    return [FeedMessage(payload={"n": n}, **members) for n in range(count)]


class Consumer:
    """A consumer that asks for more in time, commits as it goes, and sees to the server's manners."""

    WINDOW, COMMIT_EVERY = 100, 20

    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket
        self.seen: list[Place] = []
        #: For each partition, the next offset: what came, and what the server has taken.
        self.next: dict[int, int] = {}
        self.committed: dict[int, int] = {}
        self.assignments: list[set[int]] = []
        self._asked: dict[str, dict[int, int]] = {}
        self._left = 0

    async def start(self) -> None:
        """Ask for the first messages."""
        assert await self.receive() == {"type": "CONNECTION", "agentName": "unknown"}
        await self._request()

    async def receive(self) -> Any:
        """The next event."""
        data = await self.socket.recv()
        assert isinstance(data, bytes)
        return json.loads(data)

    async def send(self, **event: Any) -> None:
        """Send an event."""
        await self.socket.send(json.dumps(event))

    async def consume(self, is_done: Callable[["Consumer"], bool]) -> None:
        """Take events until it is done."""
        while not is_done(self):
            await self._take(await self.receive())

    async def _take(self, event: Any) -> None:
        if event["type"] == "REBALANCE":
            self.assignments.append(set(event["assignment"]))
            self.next = {}
        elif event["type"] == "COMMIT_RESPONSE":
            assert event["success"]
            self.committed.update(self._asked.pop(event["correlationId"]))
        else:
            await self._take_message(event["partition"], event["offset"])

    async def _take_message(self, partition: int, offset: int) -> None:
        assert partition in self.assignments[-1]
        assert offset == self.next.get(partition, offset)
        self.next[partition] = offset + 1
        self.seen.append((partition, offset))
        self._left -= 1
        assert self._left >= 0
        if len(self.seen) % self.COMMIT_EVERY == 0:
            await self.commit()
        if self._left < self.WINDOW // 2:
            await self._request()

    async def commit(self) -> None:
        """Save where it is."""
        name = f"c{len(self.seen)}"
        self._asked[name] = dict(self.next)
        await self.send(type="COMMIT", correlationId=name, offsets={str(p): n for p, n in self.next.items()})

    async def _request(self) -> None:
        self._left += self.WINDOW
        await self.send(type="REQUEST", count=self.WINDOW)


def test_a_road_is_consumed_with_credit() -> None:
    async def main() -> None:
        async with served(feed=feed(2_000), partitions=4) as (_, uri), connect(uri) as socket:
            consumer = Consumer(socket)
            await consumer.start()
            await consumer.consume(lambda it: len(it.seen) == 2_000)
            assert sorted(consumer.seen) == [(p, n) for p in range(4) for n in range(500)]

    run(main())


def test_a_broken_connection_resumes_at_what_was_committed() -> None:
    async def main() -> None:
        async with served(feed=feed(1_000), partitions=2) as (host, uri):
            seen: list[Place] = []
            committed: dict[int, int] = {}
            for breaks_at in (130, 333, 1):
                async with connect(uri) as socket:
                    consumer = Consumer(socket)
                    await consumer.start()
                    await consumer.consume(lambda it, end=breaks_at: len(it.seen) >= end)  # type: ignore[misc]
                    first = {p: min(n for q, n in consumer.seen if q == p) for p in {p for p, _ in consumer.seen}}
                    assert all(committed.get(p, 0) <= n for p, n in first.items())
                    assert all(n <= max([m + 1 for q, m in seen if q == p], default=0) for p, n in first.items())
                    seen += consumer.seen
                    committed |= consumer.committed
                    socket.transport.abort()
            async with connect(uri) as socket:
                consumer = Consumer(socket)
                await consumer.start()
                await consumer.consume(lambda it: len({*seen, *it.seen}) == 1_000)
            assert host.traffic.opened == 4

    run(main())


def test_three_consumers_share_a_stream_and_one_dies() -> None:
    async def main() -> None:
        total = 3_000
        seen: set[Place] = set()
        consumers: list[Consumer] = []
        async with served(feed=feed(total), partitions=6) as (_, uri):

            async def consume(dies_at: int) -> None:
                async with connect(uri) as socket:
                    consumer = Consumer(socket)
                    consumers.append(consumer)
                    await consumer.start()

                    def is_done(it: Consumer) -> bool:
                        seen.update(it.seen[-1:])
                        return len(it.seen) >= dies_at or len(seen) == total

                    await consumer.consume(is_done)
                    if len(seen) < total:
                        socket.transport.abort()

            tasks = [asyncio.create_task(consume(dies_at)) for dies_at in (200, 10**9, 10**9)]
            done, waiting = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            while waiting and len(seen) < total:
                more, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
                done |= more
            for task in waiting:
                task.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)
            for task in done:
                task.result()
        assert seen == {(p, n) for p in range(6) for n in range(total // 6)}
        shares = [len(assignment) for consumer in consumers for assignment in consumer.assignments]
        assert {2, 3} <= set(shares)

    run(main())


def test_compressed_events() -> None:
    async def main() -> None:
        payload = {"text": "the same again " * 20_000, "numbers": list(range(5_000))}
        messages = [FeedMessage(payload=payload)] * 3
        async with served(feed=messages, partitions=1) as (host, uri), connect(uri, max_size=None) as socket:
            assert socket.response is not None
            assert socket.response.headers["Sec-WebSocket-Extensions"].startswith("permessage-deflate")
            consumer = Consumer(socket)
            await consumer.start()
            events = [await consumer.receive() for _ in range(4)]
            assert [event["payload"] for event in events[1:]] == [payload] * 3
            assert host.traffic.sent_bytes < 200_000

    run(main())


def test_a_slow_consumer_costs_bounded_memory() -> None:
    async def main() -> None:
        count, size = 3_000, 10_000
        messages = [FeedMessage(payload="x" * size)] * count
        async with served(feed=messages, partitions=1) as (host, uri), connect(uri, compression=None) as socket:
            await socket.send('{"type":"REQUEST","count":9223372036854775807}')
            await host.was_full.wait()
            for _ in range(200):  # turns of the loop, in which nothing more is to be sent
                await asyncio.sleep(0)
            assert host.traffic.sent_bytes < count * size // 2
            consumer = Consumer(socket)
            events = [await consumer.receive() for _ in range(count + 2)]
            assert [event["type"] for event in events] == ["CONNECTION", "REBALANCE"] + ["MESSAGE"] * count

    run(main())


@pytest.mark.parametrize(("credentials", "status"), [("user:wrong", 401), ("user:pass", 101)])
def test_credentials(credentials: str, status: int) -> None:
    async def main() -> None:
        headers = {"Authorization": "Basic " + b64encode(credentials.encode()).decode()}
        async with served() as (_, uri):
            try:
                async with connect(uri, additional_headers=headers) as socket:
                    await Consumer(socket).start()
                    answer = 101
            except InvalidStatus as err:
                answer = err.response.status_code
            assert answer == status

    run(main())


def test_pings_and_messages_at_a_rate() -> None:
    async def main() -> None:
        async with served(rate=500.0, partitions=3) as (_, uri), connect(uri) as socket:
            consumer = Consumer(socket)
            await consumer.start()
            await consumer.consume(lambda it: len(it.seen) >= 50)
            pong: Awaitable[float] = await socket.ping(b"there?")
            task = asyncio.ensure_future(pong)
            await consumer.consume(lambda it: task.done())

    run(main())


def test_a_server_that_stops_says_goodbye() -> None:
    async def main() -> None:
        async with served() as (host, uri), connect(uri) as socket:
            consumer = Consumer(socket)
            await consumer.start()
            assert (await consumer.receive())["type"] == "REBALANCE"
            await host.stop()
            with pytest.raises(ConnectionClosed) as caught:
                await consumer.receive()
            assert caught.value.rcvd is not None
            assert caught.value.rcvd.code == 1001

    run(main())
