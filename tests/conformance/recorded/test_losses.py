"""No part of a recording accuses anyone whom the whole recording does not."""

import random
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from wiretool.capture.files.reading import read_packets
from wiretool.capture.packets import Packet
from wiretool.capture.tcp.segments_of_packets import read_segments
from wiretool.codec.message import Side
from wiretool.conformance.case import Conformance
from wiretool.conformance.levels import Level, Verdict
from wiretool.conformance.recorded.judgement import judge_recording
from wiretool.conformance.recorded.losses import complete_parts, is_before_losses
from wiretool.conformance.recorded.observed import UNDECODABLE, Missing, Observed, ObservedConnection, observe
from wiretool.conformance.recorded.rules import Observation, Rule
from wiretool.conformance.registry import conformance_of
from wiretool.replay.recording import recording_of

CAPTURES = Path(__file__).parents[3] / "captures"
#: Small captures of each protocol, in which no case and no rule fails.
GOOD = {
    "pravega": ("pravega/java_conditional.pcap", "pravega/py_bytestream.pcap", "pravega/read.pcap"),
    "pravega-controller": ("pravega/mgmt.pcap", "pravega/txn.pcap"),
    "pravega-draft": ("pravega-draft/blocks.pcap",),
    "sbp": ("sbp/mixed_noise.pcap", "sbp/rs_errors.pcap", "sbp/pd_malformed.pcap"),
    "sbp-0.1": ("sbp-0.1/pm_s2_batch.pcap", "sbp-0.1/s1_streams.pcap"),
    "offramp": ("offramp/plain.pcap", "offramp/framing.pcap"),
}
#: Packets of a capture that are left out, one at a time.
DROPS = 2
EVERY = [(protocol, name) for protocol, names in GOOD.items() for name in names]


def failures(part: Conformance, packets: Sequence[Packet]) -> set[str]:
    """Return the ids of the cases and rules that fail."""
    connections = observe(recording_of(iter(packets)), part.protocol)
    results = judge_recording(part, connections, (*part.cases, *part.rules))
    return {result.case.id for result in results if result.verdict is Verdict.FAIL}


def parts_of(packets: Sequence[Packet], seed: str) -> Iterator[Sequence[Packet]]:
    """Yield the packets without one that has payload, each of the directions, a beginning and an end."""
    chance = random.Random(seed)
    segments = [segment for segment in read_segments(packets) if segment.payload]
    for lost in chance.sample(segments, min(DROPS, len(segments))):
        yield [packet for packet in packets if packet.number != lost.number]
    server_ports = {min(segment.sport, segment.dport) for segment in segments}
    for is_to_server in (True, False):
        numbers = {
            each.number
            for each in read_segments(packets)
            if (each.dport if is_to_server else each.sport) in server_ports
        }
        yield [packet for packet in packets if packet.number in numbers]
    yield packets[chance.randrange(len(packets)) :]
    yield packets[: chance.randrange(1, len(packets))]


@pytest.mark.parametrize(("protocol", "name"), EVERY)
def test_a_part_of_a_good_recording_has_no_failure(protocol: str, name: str) -> None:
    part = conformance_of(protocol)
    packets = list(read_packets([CAPTURES / name]))
    known = failures(part, packets)
    assert [sorted(failures(part, each) - known) for each in parts_of(packets, name)] == [[]] * (DROPS + 4)


# -- what the parts of a connection prove ------------------------------------------------------------------------------


def said(n: int, side: Side, name: str = "A") -> Observed:
    return Observed(n, n, side, name, {}, (), None, b"")


def connection(*items: Observed | Missing) -> ObservedConnection:
    return ObservedConnection(1, "a", "b", "x", True, True, 0, list(items), 100)


def numbers(found: ObservedConnection) -> list[int]:
    return [message.n for message in found.messages]


def test_a_gap_may_be_as_old_as_what_its_side_sent_before() -> None:
    lossy = connection(
        said(1, "client"), said(2, "server"), said(3, "server"), Missing(4, "client", 9), said(5, "client")
    )
    first, second = complete_parts(lossy)
    assert (numbers(first), first.is_whole, first.recorded_until_ns) == ([1], True, 2)
    assert (numbers(second), second.is_whole, second.recorded_until_ns) == ([5], False, 100)
    assert is_before_losses(lossy, 1, 1)
    assert not is_before_losses(lossy, 2, 2)
    assert is_before_losses(lossy, 0, 1)
    assert not is_before_losses(lossy, 0, 2)


def test_what_cannot_be_decoded_beside_a_gap_is_in_doubt() -> None:
    lossy = connection(
        said(1, "client"), said(2, "client", UNDECODABLE), Missing(3, "client", 9), said(4, "client", UNDECODABLE)
    )
    assert [numbers(each) for each in complete_parts(lossy)] == [[1]]


def test_a_connection_without_a_loss_is_one_part() -> None:
    (whole,) = complete_parts(connection(said(1, "client"), said(2, "server")))
    assert (numbers(whole), whole.is_whole) == ([1, 2], True)


def test_one_direction_proves_nothing() -> None:
    heard = connection(said(1, "client"))
    heard.is_two_sided = False
    assert list(complete_parts(heard)) == []


@pytest.mark.parametrize(
    ("names", "fails"),
    [("AA", True), ("-AA", True), ("AA-", True), ("A-A", False), ("-A-A", False)],
    ids=["no gap", "after a gap", "before a gap", "across a gap", "between gaps"],
)
def test_a_failure_stands_in_a_complete_part(names: str, fails: bool) -> None:
    items = [Missing(n, "client", 1) if name == "-" else said(n, "client") for n, name in enumerate(names, 1)]
    (result,) = judge_recording(Conformance("x", "x"), [connection(*items)], [ONCE])
    assert (result.verdict is Verdict.FAIL) is fails


def only_once(found: ObservedConnection) -> Iterator[Observation]:
    for at, message in enumerate(found.messages):
        yield Observation(message.n, "again" if at else "")


ONCE = Rule("x/traffic/client/1", Level.MUST, "A is sent once.", "§1", "client", only_once)
