import asyncio
import socket
from io import BytesIO

import pytest

from tests.helpers.runs import hosted, run, until
from tests.net.echo import EchoMock
from wiretool import limits
from wiretool.errors import PeerError
from wiretool.faults import Interceptor, parse_rule
from wiretool.net.addresses import Address
from wiretool.net.host import Host
from wiretool.sinks.output import Output
from wiretool.sinks.pcapng import Recording


def test_bytes_go_to_the_mock_and_back() -> None:
    async def story() -> None:
        mock = EchoMock()
        async with hosted(mock) as (host, address, told):
            reader, writer = await asyncio.open_connection(*address)
            writer.write(b"\x03ab\x02")
            assert await reader.readexactly(3) == b"\x03ab"
            writer.write(b"c")
            assert await reader.readexactly(2) == b"\x02c"
            writer.write_eof()
            assert await reader.read() == b""
            await until(lambda: not host.sockets)
            assert host.traffic.received_bytes == host.traffic.sent_bytes == 5
            assert told == []
            writer.close()

    run(story)


def test_what_is_wrong_ends_one_connection_and_is_told() -> None:
    async def story() -> None:
        async with hosted(EchoMock()) as (_, address, told):
            good, bad = await asyncio.open_connection(*address), await asyncio.open_connection(*address)
            bad[1].write(b"\x02a\x00")
            assert await bad[0].read() == b"\x02a"
            good[1].write(b"\x02b")
            assert await good[0].readexactly(2) == b"\x02b"
            (line,) = told
            assert "closed: bad-frame" in line
            for _, writer in (good, bad):
                writer.close()

    run(story)


def test_a_client_that_vanishes_is_forgotten() -> None:
    async def story() -> None:
        mock = EchoMock()
        async with hosted(mock) as (host, address, _):
            _, writer = await asyncio.open_connection(*address)
            await until(lambda: len(host.sockets) == 1)
            writer.transport.abort()
            await until(lambda: not host.sockets)
            assert mock.gone == [1]
            assert not mock.links

    run(story)


def test_one_too_many_is_refused() -> None:
    async def story() -> None:
        async with hosted(EchoMock(), connections_max=1) as (host, address, told):
            _, first = await asyncio.open_connection(*address)
            await until(lambda: len(host.sockets) == 1)
            reader, second = await asyncio.open_connection(*address)
            with pytest.raises(ConnectionResetError):
                await reader.readexactly(1)
            assert "refused: 1 are open already" in told[0]
            assert host.traffic.refused == 1
            for writer in (first, second):
                writer.close()

    run(story)


def test_a_slow_reader_costs_bounded_memory() -> None:
    """Nobody reads: however much is asked for, no more is made than what one turn may send, and a turn more."""

    async def story() -> None:
        mock = EchoMock(times=4096)
        async with hosted(mock) as (host, address, _):
            client = socket.create_connection(address)
            client.setblocking(False)
            asked = 0
            loop = asyncio.get_running_loop()
            for _ in range(200):
                try:
                    asked += client.send(b"\xff" + bytes(254))
                except BlockingIOError:
                    break
                await asyncio.sleep(0)
            end = next(iter(host.sockets.values()))
            await until(lambda: end.is_full)
            before = host.traffic.sent_bytes
            assert before < 3 * limits.MOCK_REPLY_BYTES_MAX
            got = 0
            while got < asked // 255 * 255 * 4096:
                got += len(await loop.sock_recv(client, 1 << 20))
            assert mock.outbox.counts["client", "Frame"] == asked // 255
            client.close()

    run(story)


def test_a_port_in_use_is_named() -> None:
    async def story() -> None:
        async with hosted(EchoMock()) as (_, address, _told):
            other = Host(EchoMock(), print)
            with pytest.raises(PeerError, match=rf"cannot listen on {address} \(echo\): .*in use"):
                await other.listen("echo", address, None)

    run(story)


def test_the_mock_says_goodbye() -> None:
    async def story() -> bytes:
        async with hosted(EchoMock()) as (host, address, _):
            reader, writer = await asyncio.open_connection(*address)
            await until(lambda: len(host.sockets) == 1)
        told = await reader.read()
        writer.close()
        return told

    assert run(story) == b"bye"


def test_a_restart_resets_everybody_and_forgets() -> None:
    async def story() -> None:
        mock = EchoMock()
        async with hosted(mock) as (host, address, _):
            reader, writer = await asyncio.open_connection(*address)
            await until(lambda: len(host.sockets) == 1)
            host.restart()
            with pytest.raises(ConnectionResetError):
                await reader.readexactly(1)
            assert mock.forgotten == 1
            writer.close()

    run(story)


def test_timers_of_the_mock_ring() -> None:
    async def story() -> None:
        mock = EchoMock()
        async with hosted(mock) as (host, address, _):
            reader, writer = await asyncio.open_connection(*address)
            await until(lambda: len(host.sockets) == 1)
            (number,) = host.sockets
            now_ns = host.clock.now_ns()
            mock.timers.at(now_ns + 20_000_000, lambda _: mock.outbox.send(number, b"late"))
            mock.timers.at(now_ns + 5_000_000, lambda _: mock.outbox.send(number, b"soon"))
            host.perform([])
            assert await reader.readexactly(8) == b"soonlate"
            assert host.clock.now_ns() - now_ns >= 20_000_000
            writer.close()

    run(story)


HELLO = bytes.fromhex("ffffff81000000080000001100000005")


def test_faults_stand_between() -> None:
    """A rule delays what the mock sends, another drops what the client does."""

    async def story() -> None:
        from wiretool.servers.pravega.mock import PravegaMock

        rules = [
            parse_rule('message == "Hello" and side == "server": set low_version=3', protocols=["pravega"]),
            parse_rule('message == "Hello" and side == "server": delay 30ms', protocols=["pravega"]),
            parse_rule('message == "KeepAlive" nth=1: drop', protocols=["pravega"]),
        ]
        file = BytesIO()
        recording, interceptor = Recording(Output(file)), Interceptor(rules, seed=1)
        async with hosted(PravegaMock(), recording=recording, interceptor=interceptor) as (host, address, _):
            reader, writer = await asyncio.open_connection(*address)
            began_ns = host.clock.now_ns()
            writer.write(HELLO + bytes.fromhex("0000006400000000") * 2)
            answer = await reader.readexactly(16 + 8)
            assert host.clock.now_ns() - began_ns >= 30_000_000
            assert answer == bytes.fromhex("ffffff810000000800000010 00000003 0000006400000000")
            writer.close()
        assert answer[:16] in file.getvalue()

    run(story)


def test_an_address_that_is_none() -> None:
    async def story() -> None:
        with pytest.raises(PeerError, match=r"cannot listen on no\.such\.host\.invalid:1"):
            await Host(EchoMock(), print).listen("echo", Address("no.such.host.invalid", 1), None)

    run(story)
