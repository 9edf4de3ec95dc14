"""Packets that are missing from a capture make no anomaly, whatever they contained."""

import random
from pathlib import Path

import pytest

from tests.consistency.world import model_of_records
from wiretool.capture.files.reading import read_packets
from wiretool.capture.packets import Packet
from wiretool.dissect.dissector import read_from

CAPTURES = Path(__file__).parents[2] / "captures"
NAMES = [
    "pravega/read.pcap",
    "pravega/reconnect.pcap",
    "pravega/java_conditional.pcap",
    "pravega/py_bytestream.pcap",
    "pravega-draft/blocks.pcap",
    "sbp/rs_fetch.pcap",
    "sbp/sdk_main.pcap",
    "offramp/plain_resume.pcap",
    "offramp/rebalance3.pcap",
]


def without_some(packets: list[Packet], rng: random.Random) -> list[Packet]:
    """Packets here and there, or many in a row, are missing."""
    count = rng.choice([1, 3, 10, max(len(packets) // 10, 1)])
    if rng.random() < 0.5:
        lost = set(rng.sample(range(len(packets)), min(count, len(packets))))
    else:
        first = rng.randrange(len(packets))
        lost = set(range(first, first + count))
    return [packet for at, packet in enumerate(packets) if at not in lost]


@pytest.mark.parametrize("name", NAMES)
def test_missing_packets_make_no_anomaly(name: str) -> None:
    packets, judged = list(read_packets([CAPTURES / name])), 0
    for seed in range(12):
        anomalies, count = model_of_records(
            name.partition("/")[0], read_from(without_some(packets, random.Random(seed)))
        )
        assert anomalies == [], f"seed {seed}"
        judged += count
    assert judged > 0


@pytest.mark.parametrize("name", NAMES)
def test_a_capture_that_begins_in_the_middle_makes_no_anomaly(name: str) -> None:
    packets = list(read_packets([CAPTURES / name]))
    for begin in range(0, len(packets), max(len(packets) // 12, 1)):
        assert model_of_records(name.partition("/")[0], read_from(packets[begin:]))[0] == [], f"packet {begin}"
