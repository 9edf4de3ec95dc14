"""A caller over real sockets."""

import asyncio

import pytest

from wiretool.net import sockets
from wiretool.net.addresses import Address
from wiretool.net.calling.caller import Abort, Act, Caller, Dial, Finish, Send
from wiretool.net.calling.dialler import Dialler

HERE = "127.0.0.1"


class Asker(Caller):
    """Says a line on each of its connections and listens until the server ends it."""

    def __init__(self, count: int, *, last: type[Finish] | type[Abort] = Finish) -> None:
        self._count = count
        self._last = last
        self.told: dict[int, list[str]] = {number: [] for number in range(count)}
        self.heard: dict[int, bytes] = dict.fromkeys(range(count), b"")
        self.rests = 0

    def start(self, now_ns: int) -> list[Act]:
        return [Dial(number, "pravega", "door") for number in range(self._count)]

    def opened(self, connection: int, now_ns: int) -> list[Act]:
        self.told[connection].append("opened")
        return [Send(connection, b"line %d\n" % connection), self._last(connection)]

    def received(self, connection: int, data: bytes, now_ns: int) -> list[Act]:
        self.heard[connection] += data
        return []

    def ended(self, connection: int, now_ns: int) -> list[Act]:
        self.told[connection].append("ended")
        return self._over(connection)

    def lost(self, connection: int, why: str, now_ns: int) -> list[Act]:
        self.told[connection].append(why or "lost")
        return self._over(connection)

    def woken(self, now_ns: int) -> list[Act]:
        self.is_over = True
        return []

    def rest(self) -> None:
        self.rests += 1

    def _over(self, connection: int) -> list[Act]:
        self.is_over = all(told and told[-1] != "opened" for told in self.told.values())
        return []


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        writer.write(await reader.read())
    finally:
        writer.close()


class Patient(Asker):
    """It sends nothing, and waits."""

    def opened(self, connection: int, now_ns: int) -> list[Act]:
        return []


def run(asker: Asker, *, port: int | None = None) -> tuple[bool, Dialler]:
    """Whether it came to its end; to an echo, or to a port."""

    async def go() -> tuple[bool, Dialler]:
        server = await asyncio.start_server(echo, HERE, 0)
        there = Address(HERE, port if port is not None else server.sockets[0].getsockname()[1])
        dialler = Dialler(asker, {("pravega", ""): there})
        async with server:
            return await asyncio.wait_for(dialler.run(), 20), dialler

    return asyncio.run(go())


def test_what_is_said_arrives_and_what_comes_is_told() -> None:
    asker = Asker(5)
    is_over, dialler = run(asker)
    assert is_over
    assert dialler.reached == 5
    assert asker.heard == {number: b"line %d\n" % number for number in range(5)}
    assert asker.rests > 0


def test_a_port_that_nobody_listens_on_is_told_with_its_name() -> None:
    asker = Asker(1)
    is_over, dialler = run(asker, port=1)
    assert is_over
    assert dialler.reached == 0
    assert asker.told == {0: ["cannot reach 127.0.0.1:1: Connection refused"]}
    assert dialler.why_unreached == asker.told[0][0]


def test_a_reset_ends_the_connection() -> None:
    asker = Asker(1, last=Abort)
    is_over, _ = run(asker)
    assert is_over
    assert asker.told[0][0] == "opened"
    assert asker.heard == {0: b""}


def test_a_reset_that_comes_before_the_socket_knows_its_peer_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """Such a socket has no peer name. A caller that never hears of it would wait for ever."""
    monkeypatch.setattr(sockets, "_address", lambda name: None)
    asker = Patient(1)
    is_over, dialler = run(asker)
    assert is_over
    assert dialler.reached == 0
    assert [text.partition(": ")[2] for text in asker.told[0]] == ["Connection reset by peer"]
    assert asker.told[0] == [dialler.why_unreached]


def test_it_can_be_stopped() -> None:
    async def go() -> bool:
        server = await asyncio.start_server(echo, HERE, 0)
        stopped = asyncio.Event()
        dialler = Dialler(Patient(1), {("pravega", ""): Address(HERE, server.sockets[0].getsockname()[1])})
        asyncio.get_running_loop().call_later(0.2, stopped.set)
        async with server:
            return await asyncio.wait_for(dialler.run(stopped), 20)

    assert asyncio.run(go()) is False


@pytest.mark.parametrize("when", ["start", "opened", "received", "ended", "woken"])
def test_a_defect_of_the_caller_ends_the_run_and_is_told(when: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever never hears of it would wait for ever."""
    # One that ends with its reply may be over before its alarm.
    asker = Patient(1) if when == "woken" else Asker(1)

    def fail(*told: object) -> list[Act]:
        raise AssertionError("a defect")

    if when == "woken":
        asker.wake_ns = 1
    monkeypatch.setattr(asker, when, fail)
    with pytest.raises(AssertionError, match="a defect"):
        run(asker)


@pytest.mark.parametrize("wake_s", [0.05])
def test_it_is_woken_in_time(wake_s: float) -> None:
    class Sleeper(Asker):
        def start(self, now_ns: int) -> list[Act]:
            self.wake_ns = now_ns + round(wake_s * 1e9)
            return []

    async def go() -> float:
        loop = asyncio.get_running_loop()
        start = loop.time()
        assert await asyncio.wait_for(Dialler(Sleeper(0), {}).run(), 20)
        return loop.time() - start

    assert wake_s * 0.9 <= asyncio.run(go()) < 10
