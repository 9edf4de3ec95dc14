"""`/metrics` of the control API, over HTTP."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from prometheus_client.parser import text_string_to_metric_families as parse

from tests.helpers.runs import hosted, run
from tests.net.echo import EchoMock
from wiretool.faults import Interceptor, parse_rule
from wiretool.net.addresses import LOOPBACK, Address
from wiretool.net.serving.control import controlled
from wiretool.net.serving.host import Host
from wiretool.net.telemetry.metrics import RunMetrics
from wiretool.net.telemetry.observer import RunObserver
from wiretool.protocols.pravega.server.mock import PravegaMock

HELLO = bytes.fromhex("ffffff81000000080000001100000005")
DELAYED = "message == 'Hello' and side == 'server' nth=2: delay 1ms"
IDLE = "message == 'KeepAlive': drop"


def observed(rules: list[str], story: Callable[[Host, Address], Awaitable[None]]) -> None:
    """Run a story with a mock of Pravega that is observed."""

    async def all_of_it() -> None:
        observer = RunObserver()
        interceptor = Interceptor(
            [parse_rule(rule, protocols=["pravega"]) for rule in rules],
            seed=1,
            on_record=observer.note,
            on_hit=observer.note_hit,
        )
        async with hosted(PravegaMock(), interceptor=interceptor) as (host, address, _):
            host.observer = observer
            await story(host, address)

    run(all_of_it)


def samples(host: Host) -> dict[tuple[Any, ...], float]:
    text = RunMetrics(host).render("")[0].decode()
    return {
        (each.name, *each.labels.values()): each.value
        for family in parse(text)
        for each in family.samples
        if each.value
    }


def test_rules_and_open_connections_are_counted() -> None:
    async def story(host: Host, address: Address) -> None:
        reader, writer = await asyncio.open_connection(*address)
        for _ in range(2):
            writer.write(HELLO)
            await reader.readexactly(16)
        found = samples(host)
        assert found["wiretool_faults_applied_total", "delay", DELAYED] == 1
        assert found["wiretool_connections_open",] == 1
        assert found["wiretool_messages_total", "Hello", "pravega", "server"] == 2
        assert found["wiretool_bytes_total", "pravega", "client"] == 32
        assert ("wiretool_faults_applied_total", "drop", IDLE) not in found
        assert f'rule="{IDLE}"}} 0.0' in RunMetrics(host).render("")[0].decode()
        number = next(iter(host.faults.rules))
        host.faults.remove(number)
        assert samples(host)["wiretool_faults_applied_total", "delay", DELAYED] == 1  # a counter never goes back
        writer.close()

    observed([DELAYED, IDLE], story)


def test_a_rule_with_any_text_is_escaped() -> None:
    rule = "message == \"Hello\" and client != 'a\\nb': delay 1ms"

    async def story(host: Host, address: Address) -> None:
        text = RunMetrics(host).render("")[0].decode()
        (applied,) = [each for family in parse(text) for each in family.samples if each.name.endswith("applied_total")]
        assert applied.labels["rule"] == next(iter(host.faults.rules.values())).text

    observed([rule], story)


def test_each_metric_has_help_and_a_type_and_is_listed_once() -> None:
    async def story(host: Host, address: Address) -> None:
        lines = RunMetrics(host).render("")[0].decode().splitlines()
        families = [family.name for family in parse("\n".join(lines) + "\n")]
        assert len(families) == len(set(families)) > 10
        for word in ("# HELP ", "# TYPE "):
            assert sum(line.startswith(word) for line in lines) == len(families)

    observed([], story)


def test_the_format_is_that_of_the_accept_header() -> None:
    async def story() -> None:
        async with (
            hosted(EchoMock(), interceptor=Interceptor(seed=1)) as (host, _, told),
            controlled(host, Address(LOOPBACK, 0), say=told.append) as control,
        ):
            for accept, kind in (
                ("*/*", b"text/plain; version=0.0.4"),
                ("application/openmetrics-text", b"application/"),
            ):
                reader, writer = await asyncio.open_connection(*control)
                writer.write(f"GET /metrics HTTP/1.1\r\nHost: {control}\r\nAccept: {accept}\r\n".encode())
                writer.write(b"Connection: close\r\n\r\n")
                head, _, body = (await reader.read()).partition(b"\r\n\r\n")
                assert b"content-type: " + kind in head
                assert body.endswith(b"# EOF\n") == (accept != "*/*")
                writer.close()

    run(story)
