"""Secrets that a program writes one after the other, while its connection is captured."""

from collections.abc import Callable, Iterator, Sequence

import pytest

from tests.capture.tls.test_connection import TLS_1_2, TLS_1_3, sent, size_of, streams, talk_1_3, version
from tests.helpers.tls import TlsTalk, talk_tls
from wiretool.capture.tcp.stream_events import Connection, Data, End, Finding, Gap, Item, Side
from wiretool.capture.tls.connection import TlsBytes, TlsConnection
from wiretool.capture.tls.keylog import KeyLog
from wiretool.limits import TLS_HELD_BYTES_MAX, TLS_SECRET_WAIT_NS_MAX

LABELS = (
    b"SERVER_HANDSHAKE_TRAFFIC_SECRET",
    b"CLIENT_HANDSHAKE_TRAFFIC_SECRET",
    b"SERVER_TRAFFIC_SECRET_0",
    b"CLIENT_TRAFFIC_SECRET_0",
)
CONNECTION = Connection(0, bytes(6), bytes(6), 0)
#: Each step of a conversation takes so long.
STEP_NS = 1_000_000


class GrowingLog:
    """A key log whose lines are written in an order of their own."""

    def __init__(self, talk: TlsTalk, labels: Sequence[bytes] = LABELS) -> None:
        lines = talk.keylog.splitlines(keepends=True)
        self._lines = [line for label in labels for line in lines if line.startswith(label + b" ")]
        assert len(self._lines) == len(labels)
        self._written = b""
        self.keys = KeyLog(more=self._take)

    def write(self, count: int = 1) -> None:
        """Write the next lines."""
        self._written += b"".join(self._lines[:count])
        del self._lines[:count]

    def _take(self) -> bytes:
        lines, self._written = self._written, b""
        return lines


def steps_of(talk: TlsTalk) -> Iterator[Data]:
    offsets: dict[Side, int] = {"client": 0, "server": 0}
    for number, (side, data) in enumerate(talk.says, 1):
        yield Data(CONNECTION, side, offsets[side], data, number * STEP_NS, number)
        offsets[side] += len(data)


def order_of(items: Sequence[Item | TlsBytes]) -> list[Side]:
    """Return who sends in turn."""
    turns: list[Side] = []
    for item in items:
        if isinstance(item, Data) and turns[-1:] != [item.side]:
            turns.append(item.side)
    return turns


@pytest.mark.parametrize("every", [1, 2, 3, 6])
def test_lines_that_are_written_one_by_one_decrypt_all(every: int) -> None:
    """The log gets a line at each so many steps of the conversation, from the hello of the server on."""
    talk, out = talk_1_3(), list[Item | TlsBytes]()
    log = GrowingLog(talk)
    tls = TlsConnection(CONNECTION, log.keys)
    for number, item in enumerate(steps_of(talk)):
        out += tls.take(item)
        if number % every == 0:
            log.write()
    log.write(len(LABELS))
    out += tls.settle(100 * STEP_NS)
    out += tls.take(End(CONNECTION, "", "fin", 100 * STEP_NS, 100))
    assert streams(out) == sent(talk.clear)
    assert order_of(out) == ["client", "server", "client", "server"]
    assert not [item for item in out if isinstance(item, Finding | Gap)]
    assert sum(size_of(item) for item in out) == sum(len(data) for _, data in talk.says)


@pytest.mark.parametrize("known", range(4))
def test_a_pause_is_enough_to_read_what_waits(known: int) -> None:
    talk = talk_1_3()
    log = GrowingLog(talk)
    log.write(known)
    tls = TlsConnection(CONNECTION, log.keys)
    out = [each for item in steps_of(talk) for each in tls.take(item)]
    assert tls.held_bytes
    assert not tls.settle(100 * STEP_NS)
    log.write(len(LABELS))
    out += tls.settle(100 * STEP_NS)
    assert streams(out) == sent(talk.clear)
    assert not tls.held_bytes


def test_a_gap_among_records_that_wait_for_a_secret_is_reported() -> None:
    """They are lost to the search for the next record, but not without a problem and a gap."""
    talk = talk_tls([("client", b"ask"), *(("server", b"%d" % n * 99) for n in range(8))])
    log = GrowingLog(talk)
    log.write(2)
    tls = TlsConnection(CONNECTION, log.keys)
    steps = list(steps_of(talk))
    cut = [step for step in steps if step.side == "server"][-4]
    out: list[Item | TlsBytes] = []
    for step in steps:
        gap = Gap(CONNECTION, "server", step.offset, len(step.data), step.time_ns, step.packet)
        out += tls.take(gap if step is cut else step)
    assert not streams(out)["server"]
    log.write(2)
    out += [*tls.settle(100 * STEP_NS), *tls.take(End(CONNECTION, "", "fin", 100 * STEP_NS, 100))]
    read = [item.data for item in out if isinstance(item, Data) and item.side == "server"]
    assert b"".join(read) == b"".join(b"%d" % n * 99 for n in range(5, 8))
    (problem,) = [item for item in out if isinstance(item, Finding)]
    assert "had not come when bytes after them were missing" in problem.why
    assert sum(size_of(item) for item in out if not isinstance(item, Gap)) == sum(
        len(step.data) for step in steps if step is not cut
    )


def test_a_master_secret_that_comes_late() -> None:
    talk = talk_tls([("client", b"one"), ("server", b"two")], setup=version(TLS_1_2))
    log = GrowingLog(talk, [b"CLIENT_RANDOM"])
    tls = TlsConnection(CONNECTION, log.keys)
    out = [each for item in steps_of(talk) for each in tls.take(item)]
    assert not streams(out)["server"]
    log.write()
    assert streams([*out, *tls.settle(100 * STEP_NS)]) == {"client": b"one", "server": b"two"}


@pytest.mark.parametrize("first", ["client", "server"])
def test_the_end_of_one_side_waits_for_the_secrets(first: Side) -> None:
    talk = talk_1_3()
    log = GrowingLog(talk)
    log.write(2)
    tls = TlsConnection(CONNECTION, log.keys)
    out = [each for item in steps_of(talk) for each in tls.take(item)]
    out += tls.take(End(CONNECTION, first, "fin", 99 * STEP_NS, 99))
    assert not [item for item in out if isinstance(item, End)]
    log.write(2)
    out += tls.settle(100 * STEP_NS)
    assert streams(out) == sent(talk.clear)
    assert [item.side for item in out if isinstance(item, End)] == [first]


@pytest.mark.parametrize(
    "give_up",
    [
        pytest.param(lambda tls: tls.settle(TLS_SECRET_WAIT_NS_MAX + 99 * STEP_NS), id="time"),
        pytest.param(
            lambda tls: [
                *tls.take(End(CONNECTION, "server", "fin", 99 * STEP_NS, 99)),
                *tls.take(End(CONNECTION, "client", "fin", 99 * STEP_NS, 99)),
            ],
            id="both ends",
        ),
        pytest.param(lambda tls: tls.take(End(CONNECTION, "", "rst", 99 * STEP_NS, 99)), id="reset"),
    ],
)
def test_the_wait_ends_with_a_problem_of_each_side(give_up: Callable[[TlsConnection], list[Item | TlsBytes]]) -> None:
    talk = talk_1_3()
    log = GrowingLog(talk)
    log.write(2)
    tls = TlsConnection(CONNECTION, log.keys)
    out = [each for item in steps_of(talk) for each in tls.take(item)]
    assert not tls.settle(TLS_SECRET_WAIT_NS_MAX)  # since the hello, not since the record that waits
    out += give_up(tls)
    assert sorted(item.why for item in out if isinstance(item, Finding)) == [
        f"the key log lacks {label} of this connection; the rest of this side is not decrypted"
        for label in ("CLIENT_TRAFFIC_SECRET_0", "SERVER_TRAFFIC_SECRET_0")
    ]
    assert not tls.held_bytes
    assert sum(size_of(item) for item in out) == sum(len(data) for _, data in talk.says)


def test_too_many_bytes_end_the_wait() -> None:
    talk = talk_tls([("server", bytes(40_000))] * 40, setup=version(TLS_1_3))
    log = GrowingLog(talk)
    log.write(2)
    tls = TlsConnection(CONNECTION, log.keys)
    held, out = 0, list[Item | TlsBytes]()
    for item in steps_of(talk):
        out += tls.take(item)
        held = max(held, tls.held_bytes)
    assert TLS_HELD_BYTES_MAX / 2 < held <= TLS_HELD_BYTES_MAX + 50_000
    assert [item.side for item in out if isinstance(item, Finding)] == ["server"]


def test_a_key_log_that_does_not_grow_is_not_waited_for() -> None:
    talk = talk_1_3()
    keys = KeyLog.of(b"".join(line for line in talk.keylog.splitlines(keepends=True) if b"_HANDSHAKE_" in line))
    tls = TlsConnection(CONNECTION, keys)
    out = [each for item in steps_of(talk) for each in tls.take(item)]
    assert len([item for item in out if isinstance(item, Finding)]) == 2


def test_bytes_that_wait_for_the_hello_of_the_server_are_named_when_they_are_too_many() -> None:
    talk = talk_1_3()
    tls = TlsConnection(CONNECTION, KeyLog.of(talk.keylog))
    (hello, *_) = steps_of(talk)
    tls.take(hello)
    record = b"\x17\x03\x03\x40\x00" + bytes(0x4000)
    out: list[Item | TlsBytes] = []
    for number in range(70):
        out += tls.take(Data(CONNECTION, "client", len(hello.data) + number * len(record), record, 2, 2))
    (problem,) = [item for item in out if isinstance(item, Finding)]
    assert problem.why == "more than 1 MiB wait for the hello of the server; the rest of this side is not decrypted"
