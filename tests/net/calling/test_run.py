"""One run of a caller: to mocks of its own or to a server, to its end or until it is stopped."""

import gc
import os
import signal
import socket
from collections.abc import Iterator, Mapping
from io import BytesIO

import pytest

from tests.helpers.examples import needs_protocol
from tests.net.echo import EchoMock
from wiretool.dissect.dissector import read
from wiretool.errors import PeerError
from wiretool.faults import parse_rule
from wiretool.net.addresses import LOOPBACK, Address
from wiretool.net.calling.caller import Act, Caller, Dial, Finish, Send
from wiretool.net.calling.run import Called, call
from wiretool.net.calling.stage import Stage
from wiretool.net.serving import hosted_mocks
from wiretool.net.serving.host import Host
from wiretool.processes import STOP_SIGNALS
from wiretool.protocols.pravega.framing import encode
from wiretool.protocols.pravega.messages import Hello
from wiretool.protocols.pravega.server.mock import PravegaMock
from wiretool.server.mock import Door, Link, Mock
from wiretool.sinks.output import Output
from wiretool.sinks.pcapng import Recording as Pcapng

HELLO = encode(Hello(high_version=17, low_version=5), "client")
#: Whoever waits longer waits for nothing.
DEADLINE_S = 20


@pytest.fixture(autouse=True)
def as_it_was() -> Iterator[None]:
    """A run is a process of its own elsewhere: here, what it changes of the process is put back."""
    handlers = {number: signal.getsignal(number) for number in STOP_SIGNALS}
    threshold = gc.get_threshold()
    yield
    for number, handler in handlers.items():
        signal.signal(number, handler)
    gc.set_threshold(*threshold)
    gc.unfreeze()


class Saying(Caller):
    """Says a frame on each of its connections, takes as many bytes, and leaves."""

    def __init__(self, *dials: tuple[str, str], data: bytes = HELLO, stop: int = 0) -> None:
        """With `stop`, sends that signal to its own process in place of the frame."""
        self._dials = dials
        self._data = data
        self._stop = stop
        self.heard = dict.fromkeys(range(len(dials)), b"")
        self.lost_why: list[str] = []
        self.over: set[int] = set()

    def start(self, now_ns: int) -> list[Act]:
        self.wake_ns = now_ns + DEADLINE_S * 10**9
        return [Dial(number, protocol, door) for number, (protocol, door) in enumerate(self._dials)]

    def opened(self, connection: int, now_ns: int) -> list[Act]:
        if self._stop:
            os.kill(os.getpid(), self._stop)
            return []
        return [Send(connection, self._data)]

    def received(self, connection: int, data: bytes, now_ns: int) -> list[Act]:
        self.heard[connection] += data
        return [Finish(connection)] if len(self.heard[connection]) >= len(self._data) else []

    def ended(self, connection: int, now_ns: int) -> list[Act]:
        return self._end(connection)

    def lost(self, connection: int, why: str, now_ns: int) -> list[Act]:
        self.lost_why += [why] if why else []
        return self._end(connection)

    def woken(self, now_ns: int) -> list[Act]:
        raise AssertionError("waited in vain")

    def _end(self, connection: int) -> list[Act]:
        self.over.add(connection)
        self.is_over = len(self.over) == len(self._dials)
        return []


class Doors(EchoMock):
    """Two doors, and what was said at each, which is how many times it says it back."""

    def __init__(self, protocol: str = "pravega") -> None:
        super().__init__()
        self.doors = (Door("first", 0, protocol), Door("second", 0, protocol))
        self.bound_at: dict[str, int] = {}
        self.greeted: list[str] = []

    def bound(self, door: str, host: str, port: int) -> None:
        self.bound_at[door] = port

    def greet(self, connection: int, door: str, now_ns: int) -> Link:
        self.greeted.append(door)
        return super().greet(connection, door, now_ns)


def called(caller: Caller, mocks: Mapping[str, Mock], **stage: object) -> Called:
    return call(caller, Stage(mocks=mocks, **stage))  # type: ignore[arg-type]


def is_open(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(DEADLINE_S)
        return probe.connect_ex((LOOPBACK, port)) == 0


# -- mocks -----------------------------------------------------------------------------------------------------------


def test_each_door_of_each_mock_is_found_by_its_name_and_the_first_without_one() -> None:
    one, other = Doors(), Doors("sbp")
    caller = Saying(("pravega", ""), ("pravega", "second"), ("sbp", "second"), ("sbp", "first"), data=b"\x03ab")
    assert called(caller, {"pravega": one, "sbp": other}) == Called(None, 4, "")
    assert sorted(one.greeted) == ["first", "second"]
    assert sorted(other.greeted) == ["first", "second"]
    assert caller.heard == dict.fromkeys(range(4), b"\x03ab")
    assert len({*one.bound_at.values(), *other.bound_at.values()}) == 4


def test_mocks_are_gone_when_it_is_over() -> None:
    mock = Doors()
    called(Saying(("pravega", ""), data=b"\x03ab"), {"pravega": mock})
    assert not any(is_open(port) for port in mock.bound_at.values())


def test_a_mock_that_finds_no_port_is_told_and_others_are_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    mock, second = Doors(), Doors("sbp")
    real = Host.listen

    async def listen(self: Host, door: str, *rest: object) -> Address:
        monkeypatch.setattr(hosted_mocks, "LOOPBACK", "192.0.2.1" if mock.bound_at else LOOPBACK)
        return await real(self, door, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(Host, "listen", listen)
    with pytest.raises(PeerError, match=r"192\.0\.2\.1"):
        called(Saying(("pravega", "")), {"pravega": mock, "sbp": second})
    assert mock.bound_at
    assert not any(is_open(port) for port in mock.bound_at.values())


# -- servers ---------------------------------------------------------------------------------------------------------


def test_a_server_that_is_not_there_is_told() -> None:
    with socket.socket() as nobody:
        nobody.bind((LOOPBACK, 0))  # and does not listen
        there = Address(*nobody.getsockname())
        caller = Saying(("pravega", ""))
        found = call(caller, Stage({("pravega", ""): there}))
    assert found == Called(None, 0, f"cannot reach {there}: Connection refused")
    assert caller.lost_why == [found.why_unreached]


@needs_protocol("offramp")
def test_addresses_and_mocks_stand_beside_each_other() -> None:
    with socket.create_server((LOOPBACK, 0)) as server:
        caller = Saying(("offramp", ""), ("pravega", ""), stop=0, data=b"\x03ab")
        # The kernel takes the connection; nobody answers on it, which resets it when the server goes.
        caller.over.add(0)
        found = call(caller, Stage({("offramp", ""): Address(*server.getsockname())}, {"pravega": EchoMock()}))
    assert (found.stopped_by, found.reached) == (None, 2)
    assert caller.heard == {0: b"", 1: b"\x03ab"}


# -- signals ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", STOP_SIGNALS)
def test_a_signal_ends_it_before_its_end(number: signal.Signals) -> None:
    mock = Doors()
    assert called(Saying(("pravega", ""), stop=number), {"pravega": mock}) == Called(number, 1, "")
    assert not is_open(mock.bound_at["first"])


# -- on the way ------------------------------------------------------------------------------------------------------


def test_rules_act_on_the_mock_of_their_protocol_alone() -> None:
    rule = 'message == "Hello" and side == "server": set high_version=9'
    told: list[str] = []
    heard = {}
    for protocol in ("pravega", "sbp"):
        caller = Saying(("pravega", ""))
        rules = [parse_rule(rule if protocol == "pravega" else 'message == "PING": drop', protocols=[protocol])]
        assert (
            called(caller, {"pravega": PravegaMock(wire_version=17)}, rules=rules, tell=told.append).stopped_by is None
        )
        heard[protocol] = caller.heard[0]
    assert heard["sbp"] == encode(Hello(high_version=17, low_version=5), "server")
    assert heard["pravega"] == encode(Hello(high_version=9, low_version=5), "server")


def test_what_goes_over_the_wire_is_recorded_in_the_clear() -> None:
    file = BytesIO()
    with Output(file) as output:
        caller = Saying(("pravega", ""))
        assert called(caller, {"pravega": PravegaMock(wire_version=17)}, record=Pcapng(output)).stopped_by is None
    raw = BytesIO(file.getvalue())
    records = list(read(raw))
    assert [(record.side, record.message) for record in records] == [("client", "Hello"), ("server", "Hello")]
    assert [record.raw for record in records] == [HELLO, caller.heard[0]]


def test_a_recording_that_cannot_go_on_does_not_end_the_run() -> None:
    with open("/dev/full", "wb", buffering=0) as full:
        caller = Saying(("pravega", ""))
        found = called(caller, {"pravega": PravegaMock(wire_version=17)}, record=Pcapng(Output(full, name="it")))
    assert found.stopped_by is None
    assert str(found.unrecorded) == "cannot write it: No space left on device"
    assert len(caller.heard[0]) == len(HELLO)


def test_a_recording_that_nobody_reads_ends_the_run() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb", buffering=0) as pipe, pytest.raises(BrokenPipeError):
        called(Saying(("pravega", "")), {"pravega": PravegaMock(wire_version=17)}, record=Pcapng(Output(pipe)))
