"""Links of replies to requests in captures with lost and cut packets: none is wrong."""

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path

import pytest

from tests.dissect.columns.engines import assert_equal, by_columns, by_rows
from tests.helpers.captures import pcap_bytes
from tests.helpers.examples import needs_protocol
from wiretool.capture.files.reading import read_packets
from wiretool.capture.packets import Packet
from wiretool.dissect.dissector import Dissector
from wiretool.records import Record

CAPTURES = Path(__file__).parents[2] / "captures"
#: A frame of a capture: connection, sender, time and bytes; and its place among equal ones.
Key = tuple[str, str, str, int, bytes, int]
#: A small capture of each protocol.
LOSSY = {
    "pravega": "pravega/txn.pcap",
    "pravega-draft": "pravega-draft/blocks.pcap",
    "sbp": "sbp/sdk_main.pcap",
    "sbp-0.1": "sbp-0.1/pm_s2_seal.pcap",
    "offramp": "offramp/plain_resume.pcap",
}


def packets_of(name: str) -> list[Packet]:
    return list(read_packets([CAPTURES / name]))


def frames_of(packets: Sequence[Packet], protocol: str = "pravega") -> list[Record]:
    return [record for record in Dissector().records(packets) if record.protocol == protocol and record.kind == "frame"]


def keys_of(frames: Sequence[Record]) -> dict[int, Key]:
    """The key of each frame, by its number."""
    counts = Counter[tuple[str, str, str, int, bytes]]()
    keys: dict[int, Key] = {}
    for frame in frames:
        same = frame.client, frame.server, frame.side, frame.time_ns, frame.raw
        keys[frame.n] = *same, counts[same]
        counts[same] += 1
    return keys


def links_of(frames: Sequence[Record]) -> dict[Key, Key]:
    """The request of each reply that has one; no reply was captured before its request."""
    keys, by_number = keys_of(frames), {frame.n: frame for frame in frames}
    links: dict[Key, Key] = {}
    for frame in frames:
        if frame.reply_to is not None:
            assert by_number[frame.reply_to].packets[0] <= frame.packets[1]
            links[keys[frame.n]] = keys[frame.reply_to]
    return links


def provable(clean: Mapping[Key, Key], frames: Sequence[Record]) -> dict[Key, Key]:
    """The links of the clean capture between frames that the other one has whole."""
    whole = set(keys_of(frames).values())
    return {reply: request for reply, request in clean.items() if reply in whole and request in whole}


def without(packets: Sequence[Packet], numbers: Sequence[int]) -> list[Packet]:
    return [packet for packet in packets if packet.number not in numbers]


@pytest.mark.parametrize(
    ("name", "lost", "found_min"),
    [("pravega/write.pcap", [30], 960), ("pravega/java_mtu1500.pcap.gz", [60, 120, 180], 90)],
)
def test_no_reply_answers_another_request_after_lost_packets(name: str, lost: Sequence[int], found_min: int) -> None:
    """Replies that are emitted before their requests, which wait for missing bytes, have no link."""
    packets = packets_of(name)
    frames = frames_of(without(packets, lost))
    found = links_of(frames)
    assert found.items() <= provable(links_of(frames_of(packets)), frames).items()
    assert len(found) > found_min


def test_no_reply_answers_a_request_that_was_sent_after_it_in_a_capture_of_cut_packets() -> None:
    packets = packets_of("pravega/java_large.pcap.gz")
    frames = frames_of([packet._replace(data=packet.data[:400]) for packet in packets])
    found = links_of(frames)
    assert found.items() <= provable(links_of(frames_of(packets)), frames).items()
    assert len(found) > 20


@pytest.mark.parametrize("protocol", [pytest.param(name, marks=needs_protocol(name)) for name in LOSSY])
def test_links_after_random_loss_are_links_of_the_whole_capture(protocol: str) -> None:
    packets = packets_of(LOSSY[protocol])
    clean = links_of(frames_of(packets, protocol))
    count = 0
    for seed in range(6):
        luck, share = random.Random(seed), (0.02, 0.05, 0.2)[seed % 3]
        frames = frames_of([packet for packet in packets if luck.random() >= share], protocol)
        found, expected = links_of(frames), provable(clean, frames)
        assert found.items() <= expected.items(), f"seed {seed}"
        count += len(found)
    assert count > 10


def test_columns_have_the_links_of_rows_after_loss() -> None:
    luck = random.Random(1)
    for name in ("pravega/txn.pcap", "pravega/write.pcap", "pravega-draft/blocks.pcap", "sbp/sdk_main.pcap"):
        packets = [packet for packet in packets_of(name) if luck.random() >= 0.05]
        raw = pcap_bytes(packets)
        assert_equal(by_columns(BytesIO(raw)), by_rows(BytesIO(raw)))
