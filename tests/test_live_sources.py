"""Packets of a live source: after a tick, no message waits for more evidence of its protocol."""

from collections.abc import Iterator, Sequence

import pytest

from tests.bench.talk import sbp_frame
from tests.helpers.captures import Talk, packets_of, tcp_packets
from tests.helpers.examples import needs_protocol
from wiretool import limits
from wiretool.capture.packets import Packet, Tick
from wiretool.dissect.dissector import read_from
from wiretool.ledger import Ledger
from wiretool.records import Record

KEEP_ALIVE = bytes.fromhex("0000006400000000")
#: A client without a name for itself sends the same bytes in both versions of the protocol.
BEAT = sbp_frame("sbp", "client", "HEARTBEAT", 1, "HeartbeatRequest", {"client_id": "c", "client_role": 3}, b"").data
STORE, DRIVER = ("10.0.0.2", 12345), ("10.0.0.2", 12378)


def records_after_ticks(packets: Sequence[Packet], *ticks_ns: int) -> list[Record]:
    """The records that are emitted before the source goes on, ticks counted from the last packet."""
    ends: list[bool] = []

    def arrivals() -> Iterator[Packet | Tick]:
        yield from packets
        yield from (Tick(packets[-1].time_ns + each) for each in ticks_ns)
        ends.append(True)

    return [record for record in read_from(arrivals()) if not ends]


def messages(records: Sequence[Record]) -> list[tuple[str, str]]:
    return [(record.protocol, record.message) for record in records if record.kind == "frame"]


@needs_protocol("sbp-0.1")
def test_messages_wait_for_evidence_without_a_tick() -> None:
    assert records_after_ticks(tcp_packets([("client", BEAT)], server=DRIVER, acks=False, end="")) == []


@needs_protocol("sbp-0.1")
def test_a_protocol_that_two_fit_is_settled_by_a_tick() -> None:
    packets = tcp_packets([("client", BEAT)], server=DRIVER, acks=False, end="")
    assert messages(records_after_ticks(packets, limits.UNDECIDED_NS_MAX)) == [("sbp", "HEARTBEAT")]


@needs_protocol("sbp-0.1")
def test_a_tick_settles_only_what_has_waited_for_long_enough() -> None:
    packets = tcp_packets([("client", BEAT)], server=DRIVER, acks=False, end="")
    assert records_after_ticks(packets, limits.UNDECIDED_NS_MAX - 1) == []


@pytest.mark.parametrize("is_from_start", [True, False])
def test_a_connection_of_keep_alives_alone(is_from_start: bool) -> None:
    says = [("client", KEEP_ALIVE), ("server", KEEP_ALIVE)]
    packets = tcp_packets(says, server=STORE, begin=is_from_start, acks=False, end="")  # type: ignore[arg-type]
    assert messages(records_after_ticks(packets, limits.UNDECIDED_NS_MAX)) == [("pravega", "KeepAlive")] * 2


@pytest.mark.parametrize(
    ("wait_ns", "is_shown"), [(limits.UNDECIDED_NS_MAX, True), (limits.UNDECIDED_NS_MAX - 1, False)]
)
def test_one_side_from_its_middle_is_read_after_a_tick(wait_ns: int, is_shown: bool) -> None:
    """Without the other side's acknowledgements, earlier bytes could still follow."""
    packets = tcp_packets([("server", KEEP_ALIVE)], server=STORE, begin=False, acks=False, end="")
    shown = messages(records_after_ticks(packets, wait_ns))
    assert shown == ([("pravega", "KeepAlive")] if is_shown else [])


def test_bytes_before_those_that_a_tick_began_with_are_problems() -> None:
    packets = tcp_packets([("server", KEEP_ALIVE)] * 2, server=STORE, begin=False, acks=False, end="")
    ledger = Ledger()
    late = packets[0]._replace(time_ns=packets[1].time_ns + 1)
    arrivals: list[Packet | Tick] = [packets[1], Tick(packets[1].time_ns + limits.UNDECIDED_NS_MAX), late]
    records = list(read_from(arrivals, ledger=ledger))
    assert [(record.kind, len(record.raw)) for record in records] == [("frame", 8), ("problem", 8)]


def test_a_frame_that_is_not_whole_still_waits() -> None:
    packets = tcp_packets([("client", BEAT[:-1])], server=DRIVER, acks=False, end="")
    assert records_after_ticks(packets, limits.UNDECIDED_NS_MAX) == []


def test_bytes_of_an_unknown_protocol_still_wait() -> None:
    packets = tcp_packets([("client", b"a stranger says hello")], server=DRIVER, acks=False, end="")
    assert records_after_ticks(packets, limits.UNDECIDED_NS_MAX) == []


def test_a_settled_connection_reads_on() -> None:
    talk = Talk(("10.0.0.1", 40_000), DRIVER)
    talk.open()
    for _ in range(3):
        talk.say("client", BEAT, acks=False)
    packets = packets_of(talk.frames)
    tick = Tick(packets[-3].time_ns + limits.UNDECIDED_NS_MAX)
    ledger = Ledger()
    records = list(read_from([*packets[:-2], tick, *packets[-2:]], ledger=ledger))
    assert messages(records) == [("sbp", "HEARTBEAT")] * 3
    assert [record.n for record in records] == [1, 2, 3]
    assert ledger.connections[0].account.payload_bytes == 3 * len(BEAT)
