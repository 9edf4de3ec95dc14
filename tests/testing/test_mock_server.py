"""Mock servers of the fixtures: in a thread, and in a process, with the same results."""

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.helpers.examples import needs_protocol
from tests.testing.hello import HELLO, exchange_hello
from wiretool.errors import OutputError, PeerError, Unmet, UsageError
from wiretool.net.programs.mock_process import MockProcess
from wiretool.testing import MockServer
from wiretool.testing.marks import ServerSettings, rules_from
from wiretool.testing.start import start_mock

pytestmark = needs_protocol("pravega")
#: The bound on what a server costs a test; the best of several runs counts.
COST_S, RUNS = 0.05, 5


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., MockServer]]:
    """Start mocks of Pravega, and stop them in the end."""
    servers: list[MockServer] = []

    def start_one(fault: str = "", *, process: bool = False, **options: object) -> MockServer:
        protocols = ["pravega", "pravega-controller"]
        settings = ServerSettings(rules_from(fault or [], protocols), options, process)
        server = start_mock("pravega", settings, tmp_path / f"{len(servers)}.pcapng")
        servers.append(server)
        return server

    yield start_one
    for server in servers:
        server.stop()


RULE = 'message == "Hello" and side == "server": set high_version=16'


def test_a_thread(start: Callable[..., MockServer]) -> None:
    check_conversation(start(RULE, wire_version=16))


def test_messages_that_do_not_come_are_an_error(start: Callable[..., MockServer]) -> None:
    server = start()
    with pytest.raises(Unmet, match=r'0 messages of the client where message == "Hello" within 0\.05 s; expected 1'):
        server.received('message == "Hello"', count=1, timeout_s=0.05)
    with pytest.raises(UsageError, match="fault None: expected the text of a rule"):
        server.fault(None)  # type: ignore[arg-type]


def test_a_process(tmp_path: Path) -> None:
    rules = rules_from(RULE, ["pravega"])
    server = start_mock("pravega", ServerSettings(rules, {"wire_version": 16}, process=True), tmp_path / "x.pcapng")
    check_conversation(server)
    with pytest.raises(UsageError, match="no protocol is called 'nonsense'"):
        MockProcess(["nonsense"], record=tmp_path / "y.pcapng")
    server._mock._process.kill()  # type: ignore[attr-defined]
    server._mock._process.wait()  # type: ignore[attr-defined]
    with pytest.raises(PeerError, match="wiretool serve was ended by SIGKILL"):
        server.stop()


def check_conversation(server: MockServer) -> None:
    """Check all that a test can do with a server of wire version 16, under RULE."""
    assert list(server.addresses) == ["store", "controller"]
    assert server.controller == server.addresses["controller"]
    assert exchange_hello(server)[-5] == 16
    (hello,) = server.received('message == "Hello"', count=1)
    assert (hello.side, hello.raw, hello.fields.low_version) == ("client", HELLO, 5)  # type: ignore[union-attr]
    assert [record.message for record in server.sent()] == ["Hello"]
    (rule,) = server.faults
    assert (rule.hits, rule.counts.matches, rule.counts.failures) == (1, 1, 0)
    added = server.fault('message == "Hello" and side == "client": reset')
    with pytest.raises(Unmet, match=r"acted 0 times within 0.01 s; expected 1"):
        added.wait(timeout_s=0.01)
    with pytest.raises(ConnectionResetError):
        exchange_hello(server)
    added.wait()
    added.remove()
    with pytest.raises(UsageError, match="not in force any more"):
        _ = added.hits
    assert exchange_hello(server)
    with pytest.raises(UsageError, match="'mend'"):
        server.operate("mend")
    server.restart()
    assert len(server.received(count=3)) == 3


def test_a_server_is_cheap(start: Callable[..., MockServer]) -> None:
    exchange_hello(start())  # loads the modules
    costs = []
    for _ in range(RUNS):
        begun_s = time.perf_counter()
        exchange_hello(start())
        costs.append(time.perf_counter() - begun_s)
    assert min(costs) < COST_S


def test_no_thread_is_left(tmp_path: Path) -> None:
    before = threading.enumerate()
    server = start_mock("pravega", ServerSettings(), tmp_path / "x.pcapng")
    assert len(threading.enumerate()) == len(before) + 1
    server.stop()
    assert threading.enumerate() == before


def test_a_client_that_blocks_threads_gets_a_process(monkeypatch: pytest.MonkeyPatch) -> None:
    from wiretool.testing.start import needs_process

    monkeypatch.delitem(sys.modules, "pravega_client", raising=False)
    assert not needs_process("pravega")
    monkeypatch.setitem(sys.modules, "pravega_client", pytest)
    assert needs_process("pravega")


def test_an_address_in_use(start: Callable[..., MockServer]) -> None:
    taken = start().address
    with pytest.raises(PeerError, match=rf"cannot listen on {taken} \(store\): "):
        start(listen=str(taken))


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"listen": "0.0.0.0:0"}, r"options: address 0\.0\.0\.0:0: not a loopback address; expected "),
        ({"road": ["a"]}, r"--road: not allowed with pravega; only with offramp"),
        ({"raod": ["a"]}, r"options: no option 'raod' \(did you mean road\?\); expected listen, "),
        ({"seed": "x"}, r"options: seed='x': expected a whole number"),
        ({"like_real": 1}, r"options: like_real=1: expected true or false"),
        ({"auth": "x"}, r"--auth: not credentials; expected USER:PASSWORD"),
    ],
)
def test_bad_options(start: Callable[..., MockServer], options: dict[str, object], why: str) -> None:
    with pytest.raises(UsageError, match=why):
        start(**options)


def test_a_bad_rule_and_a_bad_filter(start: Callable[..., MockServer]) -> None:
    server = start()
    with pytest.raises(UsageError, match=r"fault 'nonsense': column 9: no colon; expected CONDITION: ACTION"):
        server.fault("nonsense")
    with pytest.raises(UsageError, match=r"where 'messag == 1': column 1: no record has messag"):
        server.received("messag == 1")


@needs_protocol("sbp")
def test_a_server_without_controller(tmp_path: Path) -> None:
    server = start_mock("sbp", ServerSettings(), tmp_path / "x.pcapng")
    with pytest.raises(UsageError, match="sbp: no endpoint is a controller; expected sbp"):
        _ = server.controller
    server.stop()


def test_a_bug_of_a_mock_is_raised(start: Callable[..., MockServer], monkeypatch: pytest.MonkeyPatch) -> None:
    server = start_mock("pravega", ServerSettings(process=False), start().path.with_name("bug.pcapng"))

    def fail(*arguments: object) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr(server._mock._host.mock, "received", fail)  # type: ignore[attr-defined]
    assert exchange_hello(server) == b""
    with pytest.raises(RuntimeError, match="a bug"):
        server.stop()


@pytest.mark.skipif(not Path("/dev/full").exists() and "CI" not in os.environ, reason="/dev/full is not here")
def test_a_full_device() -> None:
    before = threading.enumerate()
    with pytest.raises(OutputError, match="cannot write /dev/full: No space left on device"):
        start_mock("pravega", ServerSettings(process=False), Path("/dev/full"))
    assert threading.enumerate() == before


@pytest.mark.parametrize("is_process", [False, True])
def test_a_server_may_be_stopped_before_the_end(is_process: bool, tmp_path: Path) -> None:
    rule, *_ = rules_from(['message == "Hello" nth=7: reset'], ["pravega"])
    server = start_mock("pravega", ServerSettings([rule], process=is_process), tmp_path / "r.pcapng")
    (fault,) = server.faults
    exchange_hello(server)
    server.stop()
    server.stop()
    assert server.unapplied == (rule.text,)
    assert [record.message for record in server.received()] == ["Hello"]
    assert isinstance(server.log, list)
    for act in (server.restart, lambda: server.fault('message == "Hello": reset'), lambda: fault.hits):
        with pytest.raises(UsageError, match="the mock server of pravega is stopped"):
            act()
