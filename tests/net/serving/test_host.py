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
from wiretool.net.serving.host import Host
from wiretool.protocols.pravega.framing import encode
from wiretool.protocols.pravega.messages import ReadSegment
from wiretool.protocols.pravega.segments import GetStreamSegmentInfo
from wiretool.protocols.pravega.server.mock import PravegaMock
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
            host.limit_remedy = "; see ulimit -n"
            _, first = await asyncio.open_connection(*address)
            await until(lambda: len(host.sockets) == 1)
            reader, second = await asyncio.open_connection(*address)
            with pytest.raises(ConnectionResetError):
                await reader.readexactly(1)
            assert told[0].endswith("refused: 1 are open already; see ulimit -n")
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


def test_delayed_frames_and_their_replies_keep_their_order() -> None:
    """Many frames due at nearly one time, with the clock going on between each: nothing overtakes."""

    async def story() -> None:
        rules = [parse_rule("side == 'client': delay 5ms", protocols=["pravega"])]
        async with hosted(PravegaMock(), interceptor=Interceptor(rules, seed=1)) as (_, address, _told):
            reader, writer = await asyncio.open_connection(*address)
            for number in range(200):
                request = GetStreamSegmentInfo(request_id=number, segment_name="s", delegation_token="")
                writer.write(encode(request, "client"))
                await asyncio.sleep(0)
            answered = []
            for _ in range(200):
                head = await reader.readexactly(8)
                body = await reader.readexactly(int.from_bytes(head[4:], "big"))
                answered.append(int.from_bytes(body[:8], "big"))
            assert answered == list(range(200))
            writer.close()

    run(story)


def test_what_waits_in_the_interceptor_holds_the_mock_back() -> None:
    """Replies of 200 MiB behind a delay: all arrive, and never is more held than is allowed."""

    async def story() -> None:
        mock = PravegaMock()
        mock.store.segments.append(mock.store.segments.create_segment("s", 1), bytes(8 << 20), 1)
        rules = [parse_rule("message == 'SegmentRead': delay 5ms", protocols=["pravega"])]
        notes: list[str] = []
        interceptor = Interceptor(rules, seed=1, on_note=notes.append)
        async with hosted(mock, interceptor=interceptor) as (_, address, _told):
            reader, writer = await asyncio.open_connection(*address, limit=1 << 22)
            request = ReadSegment(segment="s", offset=0, suggested_length=2 << 20, delegation_token="", request_id=1)
            writer.write(encode(request, "client") * 100)
            got = 0
            while got < 100 * (2 << 20):
                got += len(await reader.read(1 << 22))
            assert notes == []
            writer.close()

    run(story)


def test_who_resets_before_being_accepted_takes_no_place() -> None:
    async def story() -> None:
        recording = Recording(Output(BytesIO()))
        async with hosted(EchoMock(), recording=recording, connections_max=2) as (host, address, told):
            for _ in range(8):
                with socket.create_connection(address) as client:
                    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
            reader, writer = await asyncio.open_connection(*address)
            await until(lambda: host.traffic.opened + host.traffic.refused > 0)
            writer.write(b"\x02a")
            assert await reader.readexactly(2) == b"\x02a"
            writer.close()
            assert told == []

    run(story)


def test_nothing_is_recorded_behind_a_cut() -> None:
    async def story() -> None:
        file = BytesIO()
        mock = EchoMock()
        async with hosted(mock, recording=Recording(Output(file))) as (host, address, _):
            reader, writer = await asyncio.open_connection(*address)
            await until(lambda: len(host.sockets) == 1)
            assert host.cut(1, is_abort=False)
            host.operate("say", {"text": "never sent"})
            assert await reader.read() == b""
            assert host.traffic.sent_bytes == 0
            writer.close()
        assert b"never sent" not in file.getvalue()

    run(story)


class Full(BytesIO):
    """A disk with no room left for what comes after the beginning."""

    def write(self, data: object) -> int:
        if self.tell() > 100:
            raise OSError(28, "No space left on device")
        return super().write(data)  # type: ignore[arg-type]


def test_a_recording_that_cannot_be_written_ends_the_run() -> None:
    async def story() -> None:
        stopped = asyncio.Event()
        async with hosted(EchoMock(), recording=Recording(Output(Full(), name="said.pcapng"))) as (host, address, _):
            host.on_failure = stopped.set
            reader, writer = await asyncio.open_connection(*address)
            writer.write(b"\x02a" * 50)
            await stopped.wait()
            assert str(host.failure) == "cannot write said.pcapng: No space left on device"
            assert await reader.readexactly(100) == b"\x02a" * 50
            writer.close()

    run(story)


def test_an_address_that_is_none() -> None:
    async def story() -> None:
        with pytest.raises(PeerError, match=r"cannot listen on no\.such\.host\.invalid:1"):
            await Host(EchoMock(), print).listen("echo", Address("no.such.host.invalid", 1), None)

    run(story)
