"""The controller as grpcio finds it: another implementation of gRPC, over loopback."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import grpc.aio  # type: ignore[import-untyped]
import pytest
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from tests.protocols.pravega_controller.server.world import METHODS, NOW, World, stream_config
from wiretool.protocols.pravega_controller import controller_pb2 as pb
from wiretool.protocols.pravega_controller.server.link import ControllerLink
from wiretool.protocols.pravega_controller.server.service import PATH
from wiretool.server.mock import Close, Outbox, Send

DEADLINE_S = 20


async def serve(world: World, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """One connection, until either side ends it."""
    outbox = Outbox()
    link = ControllerLink(1, world.service, outbox)
    is_open = True
    try:
        while is_open:
            for action in outbox.take():
                match action:
                    case Send():
                        writer.write(action.data)
                    case Close():
                        is_open = False
            await writer.drain()
            link.drained(NOW)
            if is_open:
                data = await reader.read(65_536)
                if data:
                    link.feed(data, NOW)
                else:
                    link.end(NOW)
    finally:
        writer.close()


@asynccontextmanager
async def channel(world: World) -> AsyncIterator[grpc.aio.Channel]:
    """A channel to a server of this world; all is closed behind it."""
    serving: list[asyncio.Task[None]] = []

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        serving.append(asyncio.ensure_future(serve(world, reader, writer)))

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    async with server:
        host, port = server.sockets[0].getsockname()
        async with grpc.aio.insecure_channel(f"{host}:{port}") as opened:
            yield opened
        for task in serving:
            task.cancel()
        await asyncio.gather(*serving, return_exceptions=True)


async def call(through: grpc.aio.Channel, method: str, request: Message) -> Any:
    answer = GetMessageClass(METHODS[method].output_type)
    send = through.unary_unary(PATH + method, type(request).SerializeToString, answer.FromString)
    return await send(request, timeout=DEADLINE_S)


def run(test: Callable[[World, grpc.aio.Channel], Awaitable[None]], world: World | None = None) -> None:
    """Run a test against a new server, within a deadline."""

    async def within() -> None:
        served = world or World()
        async with asyncio.timeout(DEADLINE_S), channel(served) as opened:
            await test(served, opened)

    asyncio.run(within())


def test_streams_are_made_scaled_and_followed() -> None:
    async def test(world: World, through: grpc.aio.Channel) -> None:
        info = pb.StreamInfo(scope="s", stream="t")
        made = await call(through, "createScope", pb.ScopeInfo(scope="s"))
        assert made.status == pb.CreateScopeStatus.SUCCESS
        made = await call(through, "createStream", stream_config("s", "t"))
        assert made.status == pb.CreateStreamStatus.SUCCESS
        scale = pb.ScaleRequest(streamInfo=info, sealedSegments=[0])
        scale.newKeyRanges.add(start=0.0, end=0.5)
        scale.newKeyRanges.add(start=0.5, end=1.0)
        scaled = await call(through, "scale", scale)
        assert [segment.segmentId.segmentId for segment in scaled.segments] == [(1 << 32) + 1, (1 << 32) + 2]
        follow = await call(through, "getSegmentsImmediatelyFollowing", pb.SegmentId(streamInfo=info))
        assert [list(entry.value) for entry in follow.segments] == [[0], [0]]

    run(test)


def test_failures_have_their_code_and_text() -> None:
    async def test(world: World, through: grpc.aio.Channel) -> None:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await call(through, "getCurrentSegments", pb.StreamInfo(scope="100 % ä", stream="s"))
        assert caught.value.code() is grpc.StatusCode.NOT_FOUND
        assert caught.value.details() == "get entry: key: 100 % ä table: _system/_tables/scopes"
        nothing = through.unary_unary("/nobody.Knows/this")
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await nothing(b"", timeout=DEADLINE_S)
        assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED

    run(test)


def test_many_calls_share_a_connection() -> None:
    async def test(world: World, through: grpc.aio.Channel) -> None:
        await call(through, "createScope", pb.ScopeInfo(scope="s"))
        configs = [stream_config("s", f"t{number}") for number in range(300)]
        answers = await asyncio.gather(*(call(through, "createStream", config) for config in configs))
        assert {answer.status for answer in answers} == {pb.CreateStreamStatus.SUCCESS}

    run(test)


def test_answers_and_requests_larger_than_a_window() -> None:
    async def test(world: World, through: grpc.aio.Channel) -> None:
        tags = [f"{number:0200}" for number in range(5_000)]
        await call(through, "createScope", pb.ScopeInfo(scope="s"))
        await call(through, "createStream", stream_config("s", "t", 1, *tags))
        config = await call(through, "getStreamConfiguration", pb.StreamInfo(scope="s", stream="t"))
        assert sorted(config.tags.tag) == tags

    run(test)


def test_a_request_that_is_too_large_is_refused() -> None:
    async def test(world: World, through: grpc.aio.Channel) -> None:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await call(through, "createScope", pb.ScopeInfo(scope="s" * (5 << 20)))
        assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert (await call(through, "createScope", pb.ScopeInfo(scope="s"))).status == pb.CreateScopeStatus.SUCCESS

    run(test)
