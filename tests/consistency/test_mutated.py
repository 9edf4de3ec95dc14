"""Clients that send what was recorded, with changes, to a sound mock: no anomaly, and no exception."""

import random
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.consistency.world import Client, World
from tests.helpers.examples import parts
from wiretool.dissect.dissector import read
from wiretool.records import Record
from wiretool.server.options import MockOptions

CAPTURES = Path(__file__).parents[2] / "captures"
#: Frames of a recording that are sent at most.
FRAMES_MAX = 250
RECORDINGS = (
    "pravega/java_conditional.pcap",
    "pravega/py_bytestream.pcap",
    "pravega/read.pcap",
    "pravega/txn.pcap",
    "pravega-draft/blocks.pcap",
    "sbp/rs_append.pcap",
    "sbp/rs_fetch.pcap",
    "sbp/sdk_main.pcap",
    "sbp-0.1/s1_streams.pcap",
    "sbp-0.1/pm_s2_batch.pcap",
    "offramp/plain_resume.pcap",
    "offramp/rebalance3.pcap",
)
#: What the mock of a protocol is asked beyond its defaults.
OPTIONS: Mapping[str, MockOptions] = parts("examples", "MOCK_OPTIONS")


def frames_of(name: str) -> list[Record]:
    """The frames of all clients, in the order of time."""
    protocol = name.partition("/")[0]
    return [
        record
        for record in read(CAPTURES / name)
        if record.kind == "frame" and record.side == "client" and record.protocol == protocol
    ][:FRAMES_MAX]


def changed(frame: bytes, rng: random.Random) -> Iterator[bytes]:
    """A frame, now and then with another byte, twice, or not at all."""
    chance = rng.random()
    if chance < 0.06 and len(frame) > 8:
        at = rng.randrange(8, len(frame))
        frame = frame[:at] + bytes([rng.randrange(256)]) + frame[at + 1 :]
    if chance > 0.03:
        yield frame
    if chance > 0.95:
        yield frame


@pytest.mark.parametrize("name", RECORDINGS)
def test_mutated_clients_of_a_sound_server_make_no_anomaly(name: str) -> None:
    frames = frames_of(name)
    assert frames
    for seed in range(10):
        rng, world = (
            random.Random(seed),
            World(name.partition("/")[0], OPTIONS.get(name.partition("/")[0], MockOptions())),
        )
        clients: dict[int, Client] = {}
        for record in frames:
            client = clients.get(record.connection)
            if client is None or not client.is_open:
                client = clients[record.connection] = world.client()
            for data in changed(record.raw, rng):
                client.send_bytes(data)
            world.now_ns += 1_000_000_000
        world.ask_all()
        assert world.anomalies == [], f"seed {seed}"
