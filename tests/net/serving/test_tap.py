import asyncio
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from io import BytesIO

import pytest

from tests.helpers.runs import hosted, run, until
from tests.net.echo import EchoMock
from wiretool.dissect.dissector import read
from wiretool.faults import parse_rule
from wiretool.net.addresses import LOOPBACK, Address
from wiretool.net.serving.tap import Tap, Way
from wiretool.protocols.base.registry import protocol_named
from wiretool.protocols.pravega.server.mock import PravegaMock
from wiretool.records import Record
from wiretool.sinks.output import Output
from wiretool.sinks.pcapng import Recording

HELLO = bytes.fromhex("ffffff81000000080000001100000005")
KEEP_ALIVE = bytes.fromhex("0000006400000000")

#: Itself, where it listens, what it decodes and what it tells.
Tapped = tuple[Tap, Address, list[Record], list[str]]


@asynccontextmanager
async def tapped(
    upstream: Address, rules: Sequence[str] = ()
) -> AsyncIterator[tuple[Tap, Address, list[Record], list[str]]]:
    """A tap before an address: itself, where it listens, what it decodes and what it tells."""
    records: list[Record] = []
    told: list[str] = []
    parsed = [parse_rule(rule, protocols=["pravega"]) for rule in rules]
    tap = Tap({"pravega": Way(protocol_named("pravega"), upstream)}, parsed, 1, records.append, told.append)
    address = await tap.listen("pravega", Address(LOOPBACK, 0), None)
    try:
        yield tap, address, records, told
    finally:
        await tap.stop()


def test_bytes_pass_both_ways_and_are_decoded() -> None:
    async def story() -> None:
        file = BytesIO()
        async with hosted(PravegaMock()) as (_, server, _), tapped(server) as (tap, address, records, told):
            tap.recording = Recording(Output(file))
            reader, writer = await asyncio.open_connection(*address)
            writer.write(HELLO + KEEP_ALIVE)
            assert await reader.readexactly(24) == HELLO[:8] + bytes.fromhex("0000001000000005") + KEEP_ALIVE
            writer.write_eof()
            assert await reader.read() == b""
            writer.close()
            await until(lambda: not tap.pairs)
            assert tap.messages() == {"client": {"Hello": 1, "KeepAlive": 1}, "server": {"Hello": 1, "KeepAlive": 1}}
            assert told == []
            assert tap.traffic.received_bytes == tap.traffic.sent_bytes == 24
        again = list(read(BytesIO(file.getvalue())))
        assert [(each.side, each.message, each.reply_to) for each in again] == [
            (each.side, each.message, each.reply_to) for each in records
        ]
        assert len(again) == 4

    run(story)


def test_rules_act_on_either_side() -> None:
    async def story() -> None:
        rules = [
            'message == "Hello" and side == "server": set high_version=9',
            'message == "KeepAlive" and side == "client": drop',
        ]
        async with hosted(PravegaMock()) as (host, server, _), tapped(server, rules) as (tap, address, _, _):
            reader, writer = await asyncio.open_connection(*address)
            writer.write(KEEP_ALIVE + HELLO)
            assert await reader.readexactly(16) == bytes.fromhex("ffffff81000000080000000900000005")
            assert host.messages()["client"] == {"Hello": 1}
            assert [tap.faults.hits[number] for number in tap.faults.rules] == [1, 1]
            writer.close()

    run(story)


def test_bytes_that_are_no_frames_pass_unchanged() -> None:
    async def story() -> None:
        async with (
            hosted(EchoMock()) as (_, server, _),
            tapped(server, ["side == 'client' and message == 'Hello': drop"]) as (
                _,
                address,
                records,
                _,
            ),
        ):
            reader, writer = await asyncio.open_connection(*address)
            sent = b"\x7f" + bytes(range(1, 127))
            writer.write(sent)
            assert await reader.readexactly(len(sent)) == sent
            assert [(record.kind, record.side, record.raw) for record in records] == [
                ("problem", "client", sent),
                ("problem", "server", sent),
            ]
            writer.close()

    run(story)


def test_a_delayed_answer_reaches_a_client_that_has_ended() -> None:
    """The server has said it and gone, the client waits: it is told all the same."""

    async def story() -> None:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.read()
            writer.write(HELLO)
            await writer.drain()
            writer.close()

        server = await asyncio.start_server(serve, LOOPBACK, 0)
        upstream = Address(*server.sockets[0].getsockname()[:2])
        async with tapped(upstream, ["side == 'server': delay 30ms"]) as (tap, address, _, _):
            reader, writer = await asyncio.open_connection(*address)
            writer.write(HELLO)
            writer.write_eof()
            assert await reader.read() == HELLO
            writer.close()
            await until(lambda: not tap.pairs)
        server.close()
        await server.wait_closed()

    run(story)


def test_a_client_that_goes_while_the_server_is_dialled() -> None:
    async def story() -> None:
        with socket.create_server((LOOPBACK, 0), backlog=0) as listening:
            upstream = Address(*listening.getsockname()[:2])
            async with tapped(upstream) as (tap, address, _, told):
                _, writer = await asyncio.open_connection(*address)
                await until(lambda: tap.pairs != {})
                assert tap.cut(next(iter(tap.pairs)), is_abort=True)
                assert tap.traffic.opened == 1
                writer.close()
            assert told == []

    run(story)


def test_records_that_nobody_takes_end_the_run() -> None:
    async def story() -> None:
        def broken(record: Record) -> None:
            raise BrokenPipeError

        stopped = asyncio.Event()
        async with hosted(PravegaMock()) as (_, server, _):
            tap = Tap({"pravega": Way(protocol_named("pravega"), server)}, [], 1, broken, print)
            tap.on_failure = stopped.set
            address = await tap.listen("pravega", Address(LOOPBACK, 0), None)
            reader, writer = await asyncio.open_connection(*address)
            writer.write(HELLO)
            await stopped.wait()
            assert isinstance(tap.failure, BrokenPipeError)
            assert len(await reader.readexactly(16)) == 16
            writer.close()
            await tap.stop()

    run(story)


def test_nobody_upstream() -> None:
    async def story() -> None:
        async with hosted(EchoMock()) as (host, server, _):
            await host.stop()
        async with tapped(server) as (tap, address, _, told):
            reader, writer = await asyncio.open_connection(*address)
            with pytest.raises(ConnectionResetError):
                await reader.readexactly(1)
            await until(lambda: told != [])
            assert f"cannot reach {server}: " in told[0]
            assert not tap.pairs
            writer.close()

    run(story)


def test_the_end_of_the_server_reaches_the_client() -> None:
    async def story() -> None:
        async with hosted(EchoMock()) as (_, server, _), tapped(server) as (tap, address, _, _):
            reader, writer = await asyncio.open_connection(*address)
            writer.write(b"\x00")
            assert await reader.read() == b""
            writer.close()
            await until(lambda: not tap.pairs)

    run(story)


def test_a_reset_passes() -> None:
    async def story() -> None:
        mock = EchoMock()
        async with hosted(mock) as (host, server, _), tapped(server) as (tap, address, _, _):
            reader, writer = await asyncio.open_connection(*address)
            await until(lambda: len(host.sockets) == 1)
            host.restart()
            with pytest.raises(ConnectionResetError):
                await reader.readexactly(1)
            await until(lambda: not tap.pairs)
            writer.close()

    run(story)


def test_much_passes_a_slow_reader() -> None:
    """More than all buffers on the way hold: nothing is lost, and what waits in the tap is bounded."""

    async def story() -> None:
        async with hosted(EchoMock(times=4096)) as (_, server, _), tapped(server) as (tap, address, _, _):
            reader, writer = await asyncio.open_connection(*address, limit=4096)
            frames = 64
            writer.write((b"\xff" + b"\x01" * 254) * frames)
            wanted = 255 * 4096 * frames
            pair = None
            while pair is None or not pair.ends["client"].is_full:
                await asyncio.sleep(0)
                pair = next(iter(tap.pairs.values()), None)
            got = 0
            while got < wanted:
                got += len(await reader.read(1 << 16))
            assert got == wanted
            writer.close()

    run(story)
