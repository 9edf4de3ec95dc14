"""What all clients of a mock hold of unfinished frames has one bound: the clients that hold the most are closed."""

from struct import pack

import pytest

from wiretool import limits
from wiretool.protocols.base.registry import PROTOCOLS
from wiretool.protocols.pravega.messages import AppendBlock, Hello, SetupAppend
from wiretool.server.mock import Close, Mock, Send
from wiretool.server.options import MockOptions
from wiretool.server.part import mock_for

HELLO = PROTOCOLS["pravega"].encode(Hello(high_version=17, low_version=5), "client")
#: The beginnings of frames of 60,000 bytes, by protocol.
BEGINNINGS = {
    "pravega": HELLO + pack(">ii", 12, 60_000),
    "pravega-draft": pack(">ii", 0, 60_000),
    "sbp-0.1": pack(">I", 60_000) + b"\x17",
    "sbp": pack(">I", 60_000) + b"\x17",
}
HELD_BYTES = 20_000


@pytest.fixture(autouse=True)
def small_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a bound that a few clients exceed."""
    monkeypatch.setattr(limits, "MOCK_UNFINISHED_BYTES_MAX", 5 * HELD_BYTES + 1_000)


def opened(name: str, count: int) -> Mock:
    mock = mock_for(name, MockOptions())
    for number in range(1, count + 1):
        mock.opened(number, mock.doors[0].name, 0)
    return mock


@pytest.mark.parametrize("name", BEGINNINGS)
def test_the_clients_that_hold_the_most_are_closed(name: str) -> None:
    mock = opened(name, 8)
    closed: list[Close] = []
    for number in range(1, 9):
        data = BEGINNINGS[name] + bytes(HELD_BYTES if number != 3 else 500)
        closed += [action for action in mock.received(number, data, 0) if isinstance(action, Close)]
    assert [action.connection for action in closed] == [1, 2, 4]
    assert closed[0].is_abort
    assert closed[0].why.startswith("unfinished frames of all clients take more than 101,000 bytes, 20,")
    assert 3 in mock.links
    assert len(mock.links) == 5


def test_blocks_that_are_not_ended_count() -> None:
    name = "00000000-0000-0000-0000-000000000001"
    encode = PROTOCOLS["pravega"].encode
    setup = SetupAppend(request_id=1, writer_id=name, segment="a/b/0.#epoch.0")
    data = HELLO + encode(setup, "client") + encode(AppendBlock(writer_id=name, data=bytes(HELD_BYTES)), "client")
    mock = opened("pravega", 6)
    closed = [
        action.connection
        for number in range(1, 7)
        for action in mock.received(number, data, 0)
        if isinstance(action, Close)
    ]
    assert closed == [1, 2, 3]


def test_who_is_gone_holds_nothing() -> None:
    mock = opened("sbp", 20)
    for number in range(1, 21):
        assert not mock.received(number, BEGINNINGS["sbp"] + bytes(HELD_BYTES), 0)
        mock.lost(number, 0)


def test_frames_that_became_whole_count_no_more() -> None:
    mock = opened("pravega", 1)
    keep_alive = pack(">ii", 100, 0)
    frame = pack(">ii", 100, HELD_BYTES) + bytes(HELD_BYTES)
    mock.received(1, HELLO, 0)
    for _ in range(20):
        actions = mock.received(1, frame[:-1], 0)
        actions += mock.received(1, frame[-1:] + keep_alive, 0)
        assert all(isinstance(action, Send) for action in actions)
