"""Timers of a loop that was busy with something else."""

import asyncio
import time

import pytest

from tests.helpers.runs import hosted, run
from tests.net.echo import EchoMock
from wiretool.net.alarm import Alarm
from wiretool.net.clock import Clock
from wiretool.server.mock import Action, Link

PATIENCE_NS = 200_000_000
NS_PER_S = 1_000_000_000


class ImpatientMock(EchoMock):
    """Closes connections that have sent nothing in time."""

    def __init__(self) -> None:
        super().__init__()
        self.heard: set[int] = set()

    def greet(self, connection: int, door: str, now_ns: int) -> Link:
        self.timers.at(now_ns + PATIENCE_NS, lambda _: self._look(connection))
        return super().greet(connection, door, now_ns)

    def received(self, connection: int, data: bytes, now_ns: int) -> list[Action]:
        self.heard.add(connection)
        return super().received(connection, data, now_ns)

    def _look(self, connection: int) -> None:
        if connection not in self.heard:
            self.outbox.close(connection, "silent")


def test_a_client_whose_bytes_wait_in_a_busy_loop_is_not_silent() -> None:
    """A replay judges many replies at once while its mock waits in the same loop: the mock reads, then looks."""

    async def story() -> None:
        async with hosted(ImpatientMock()) as (_, address, told):
            reader, writer = await asyncio.open_connection(*address)
            await asyncio.sleep(0.05)
            writer.write(b"\x03ab")
            time.sleep(2 * PATIENCE_NS / NS_PER_S)
            assert await reader.readexactly(3) == b"\x03ab"
            assert told == []
            writer.close()

    run(story)


def test_a_client_that_sends_nothing_to_a_busy_loop_is_silent() -> None:
    async def story() -> None:
        async with hosted(ImpatientMock()) as (_, address, told):
            reader, writer = await asyncio.open_connection(*address)
            await asyncio.sleep(0.05)
            time.sleep(2 * PATIENCE_NS / NS_PER_S)
            assert await reader.read() == b""
            assert "silent" in told[0]
            writer.close()

    run(story)


@pytest.mark.parametrize("busy_s", [0.0, 0.1])
def test_an_alarm_rings_once_at_its_time_or_soon_after(busy_s: float) -> None:
    async def story() -> None:
        clock, rung = Clock(), list[int]()
        alarm = Alarm(clock, lambda: rung.append(clock.now_ns()))
        when_ns = clock.now_ns() + 20_000_000
        alarm.set(when_ns)
        time.sleep(busy_s)
        alarm.set(when_ns)
        await asyncio.sleep(0.2)
        assert len(rung) == 1
        assert rung[0] >= when_ns - 2_000_000  # loops count in milliseconds
        assert alarm.when_ns is None

    run(story)


def test_an_alarm_that_is_set_to_another_time_while_it_is_late_does_not_ring_before() -> None:
    async def story() -> None:
        clock, rung = Clock(), list[int]()
        alarm = Alarm(clock, lambda: rung.append(clock.now_ns()))
        alarm.set(clock.now_ns() - NS_PER_S)
        await asyncio.sleep(0)
        later_ns = clock.now_ns() + 100_000_000
        alarm.set(later_ns)
        await asyncio.sleep(0.3)
        assert len(rung) == 1
        assert rung[0] >= later_ns - 2_000_000

    run(story)
