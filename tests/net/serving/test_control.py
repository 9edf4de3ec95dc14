import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from tests.helpers.runs import hosted, run, until
from tests.net.echo import EchoMock
from wiretool.errors import PeerError, Unmet, UsageError
from wiretool.faults import Interceptor
from wiretool.net.addresses import LOOPBACK, Address
from wiretool.net.serving.control import controlled
from wiretool.net.serving.control_client import ControlClient
from wiretool.net.serving.host import Host

HELLO = bytes.fromhex("ffffff81000000080000001100000005")
Ask = Callable[..., Any]


def under_control(story: Callable[[Host, Address, Ask], Any]) -> list[str]:
    """Run a story with a host, its door and something to ask its control API with; what the host told meanwhile."""

    async def all_of_it() -> list[str]:
        from wiretool.protocols.pravega.server.mock import PravegaMock

        interceptor = Interceptor(seed=1, is_watching=True)
        async with hosted(PravegaMock(), interceptor=interceptor) as (host, address, told):
            async with controlled(host, Address(LOOPBACK, 0), say=told.append) as control:
                client = ControlClient(control)

                async def ask(method: str, path: str, body: object = None, **query: Any) -> Any:
                    return await asyncio.to_thread(client.ask, method, path, body, **query)

                await story(host, address, ask)
            return told

    return run(all_of_it)


def test_it_says_where_it_is() -> None:
    async def story(host: Host, address: Address, ask: Ask) -> None:
        assert await ask("GET", "/connections") == []

    (line,) = under_control(story)
    assert line.startswith("control API at http://127.0.0.1:")


def test_connections_and_messages() -> None:
    async def story(host: Host, address: Address, ask: Ask) -> None:
        reader, writer = await asyncio.open_connection(*address)
        writer.write(HELLO)
        await reader.readexactly(16)
        (row,) = await ask("GET", "/connections")
        assert row["endpoint"] == "store"
        assert row["server"] == str(address)
        assert await ask("GET", "/messages") == {"client": {"Hello": 1}, "server": {"Hello": 1}}
        assert await ask("DELETE", f"/connections/{row['connection']}") is None
        assert await reader.read() == b""
        with pytest.raises(UsageError, match=r"no connection 999 \(HTTP 404\)"):
            await ask("DELETE", "/connections/999")
        writer.close()

    under_control(story)


def test_rules_come_and_go_while_it_runs() -> None:
    async def story(host: Host, address: Address, ask: Ask) -> None:
        reader, writer = await asyncio.open_connection(*address)
        writer.write(HELLO)
        await reader.readexactly(16)
        rule = await ask("POST", "/rules", {"rule": "message == 'Hello' and side == 'server': set low_version=2"})
        assert rule["hits"] == 0
        assert await ask("GET", "/rules") == [rule]
        waiting = asyncio.ensure_future(ask("POST", f"/rules/{rule['id']}/wait", count=1, timeout_s=20))
        writer.write(HELLO)
        assert (await reader.readexactly(16))[-4:] == bytes.fromhex("00000002")
        assert (await waiting)["hits"] == 1
        assert await ask("DELETE", f"/rules/{rule['id']}") is None
        writer.write(HELLO)
        assert (await reader.readexactly(16))[-4:] == bytes.fromhex("00000005")
        writer.close()

    under_control(story)


def test_what_was_stalled_goes_on_without_its_rule() -> None:
    async def story(host: Host, address: Address, ask: Ask) -> None:
        rule = await ask("POST", "/rules", {"rule": "side == 'server': stall"})
        reader, writer = await asyncio.open_connection(*address)
        writer.write(HELLO)
        await ask("POST", f"/rules/{rule['id']}/wait", timeout_s=20)
        await ask("DELETE", f"/rules/{rule['id']}")
        assert len(await reader.readexactly(16)) == 16
        writer.close()

    under_control(story)


def test_refusals() -> None:
    async def story(host: Host, address: Address, ask: Ask) -> None:
        with pytest.raises(UsageError, match="HTTP 400"):
            await ask("POST", "/rules", {"rule": "mesage == 'Hello': drop"})
        with pytest.raises(UsageError, match="HTTP 404"):
            await ask("DELETE", "/rules/7")
        with pytest.raises(UsageError, match=r": rule: missing; expected a value \(HTTP 422\)$"):
            await ask("POST", "/rules", {"rul": ""})
        with pytest.raises(UsageError, match=r": count: expected 1 or more; timeout_s: expected a number \(HTTP"):
            await ask("POST", "/rules/1/wait", count=0, timeout_s="soon")
        with pytest.raises(UsageError, match="HTTP 404"):
            await ask("GET", "/nothing")
        with pytest.raises(UsageError, match="HTTP 400"):
            await ask("POST", "/operations/dance", {})
        rule = await ask("POST", "/rules", {"rule": "message == 'Hello': drop"})
        with pytest.raises(Unmet, match=r"was hit 0 times in 0\.01 s, not 1 \(HTTP 408\)"):
            await ask("POST", f"/rules/{rule['id']}/wait", timeout_s=0.01)

    under_control(story)


def test_seal_and_restart() -> None:
    async def story(host: Host, address: Address, ask: Ask) -> None:
        reader, writer = await asyncio.open_connection(*address)
        writer.write(HELLO)
        await reader.readexactly(16)
        with pytest.raises(UsageError, match="no/such/segment"):
            await ask("POST", "/operations/seal", {"segment": "no/such/segment"})
        assert await ask("POST", "/restart") is None
        with pytest.raises(ConnectionResetError):
            await reader.readexactly(1)
        writer.close()

    under_control(story)


def test_it_is_described() -> None:
    async def story(host: Host, address: Address, ask: Ask) -> None:
        described = await ask("GET", "/openapi.json")
        assert described["openapi"].startswith("3.")
        assert set(described["paths"]) == {
            "/connections",
            "/connections/{number}",
            "/messages",
            "/metrics",
            "/rules",
            "/rules/{number}",
            "/rules/{number}/wait",
            "/operations/{name}",
            "/restart",
        }

    under_control(story)


def test_another_host_name_is_not_served() -> None:
    """A page in a browser that was led here under its own name gets nothing."""

    async def story() -> None:
        async with (
            hosted(EchoMock(), interceptor=Interceptor(seed=1)) as (host, _, told),
            controlled(host, Address(LOOPBACK, 0), say=told.append) as control,
        ):
            reader, writer = await asyncio.open_connection(*control)
            writer.write(b"GET /connections HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n")
            assert (await reader.read()).startswith(b"HTTP/1.1 400 ")
            writer.close()

    run(story)


@pytest.mark.parametrize(
    "header",
    [
        "Origin: http://evil.example",
        "Origin: null",
        "Referer: http://evil.example/x",
        "Sec-Fetch-Site: cross-site",
    ],
)
def test_no_page_of_a_browser_is_served(header: str) -> None:
    async def story() -> None:
        interceptor = Interceptor(seed=1)
        async with (
            hosted(EchoMock(), interceptor=interceptor) as (host, _, told),
            controlled(host, Address(LOOPBACK, 0), say=told.append) as control,
        ):
            reader, writer = await asyncio.open_connection(*control)
            request = f"POST /restart HTTP/1.1\r\nHost: {control}\r\n{header}\r\n"
            writer.write(f"{request}Content-Length: 0\r\nConnection: close\r\n\r\n".encode())
            assert (await reader.read()).startswith(b"HTTP/1.1 403 ")
            assert isinstance(host.mock, EchoMock)
            assert host.mock.forgotten == 0
            writer.close()

    run(story)


def test_who_waits_is_told_that_it_stops() -> None:
    async def story() -> None:
        async with hosted(EchoMock(), interceptor=Interceptor(seed=1)) as (host, _, told):
            async with controlled(host, Address(LOOPBACK, 0), say=told.append) as control:
                client = ControlClient(control)
                rule = await asyncio.to_thread(client.ask, "POST", "/rules", {"rule": "message == 'Hello': drop"})
                path = f"/rules/{rule['id']}/wait"
                waiting = asyncio.ensure_future(asyncio.to_thread(client.ask, "POST", path, timeout_s=20))
                await until(lambda: host.bell.is_awaited)
            with pytest.raises(PeerError, match=r"the server has stopped \(HTTP 503\)"):
                await waiting

    run(story)


def test_only_this_machine() -> None:
    with pytest.raises(UsageError, match=r"--control 0\.0\.0\.0:1: .*127\.0\.0\.1"):
        controlled(Host(EchoMock(), print), Address("0.0.0.0", 1), say=print)


def test_other_machines_that_are_allowed() -> None:
    """The header is that of a request to the host, whatever address it is at."""

    async def story() -> None:
        host = Host(EchoMock(), print)
        async with controlled(host, Address("0.0.0.0", 0), say=print, allowed_hosts=["box.example"]) as address:
            for name, status in (("box.example", 200), ("127.0.0.1", 200), ("other.example", 400)):
                head = f"GET /connections HTTP/1.1\r\nHost: {name}:{address.port}\r\nConnection: close\r\n\r\n"
                reader, writer = await asyncio.open_connection(LOOPBACK, address.port)
                writer.write(head.encode())
                assert (await reader.readline()).split()[1] == str(status).encode()
                writer.close()

    run(story)


def test_a_port_in_use() -> None:
    async def story() -> None:
        async with hosted(EchoMock(), interceptor=Interceptor(seed=1)) as (host, address, _):
            with pytest.raises(PeerError, match=f"cannot listen on {address} "):
                async with controlled(host, address, say=print):
                    pass

    run(story)


def test_nobody_there() -> None:
    async def story() -> Address:
        async with hosted(EchoMock()) as (_, address, _told):
            return address

    with pytest.raises(PeerError, match="no control API at 127"):
        ControlClient(run(story)).ask("GET", "/rules")


def test_somebody_else_is_there() -> None:
    async def story() -> None:
        async with hosted(EchoMock()) as (_, address, _told):
            with pytest.raises(PeerError, match="no control API at"):
                await asyncio.to_thread(ControlClient(address).ask, "GET", "/rules")

    run(story)
