"""One connection in bulk: what is held back, what comes behind a hole, and how much takes the slow way."""

from io import BytesIO

import pytest

from tests.bench.talk import frame
from tests.dissect.columns.engines import assert_equal, by_columns, by_rows, table_packets
from tests.dissect.columns.made import Spoken, files_of, packets_made
from tests.helpers.captures import Talk, packets_of, pcap_bytes
from wiretool.codec.frames.splitter import Splitter
from wiretool.codec.message import SIDES
from wiretool.dissect.columns.read import read_batches

APPENDS = Spoken("pravega", each=12)


def slow_share(raw: bytes) -> float:
    """The share of the records that were read one by one."""
    batches = list(read_batches(BytesIO(raw)))
    return sum(len(batch.records) for batch in batches) / sum(batch.count for batch in batches)


def test_appends_in_good_order_are_columns() -> None:
    assert slow_share(files_of(packets_made([APPENDS], frozenset(), 1, 900), "pcap", 1)[0]) < 0.02


def test_what_waited_behind_a_hole_is_columns_too() -> None:
    frames = packets_made([Spoken("pravega", each=12, acks=True)], frozenset(), 1, 1000)
    raw = pcap_bytes([packet for packet in frames if packet.number not in (60, 61)])
    assert_equal(by_columns(BytesIO(raw)), by_rows(BytesIO(raw)))
    assert slow_share(raw) < 0.1


def test_a_long_frame_is_not_joined_again_with_each_run(monkeypatch: pytest.MonkeyPatch) -> None:
    talk = Talk(server=("10.0.0.2", 12345))
    talk.open()
    hello = {"high_version": 17, "low_version": 5}
    for side in SIDES:
        talk.say(side, frame("pravega", side, "Hello", hello).data, acks=False)
    held = frame("pravega", "client", "KeepAlive", {}).data
    data = b"\0\0\0\x01" + (400_000).to_bytes(4, "big") + bytes(400_000)
    talk.say("client", held + data + held, acks=False)
    raw = pcap_bytes(packets_of(talk.frames))
    joined = list[int]()
    holds = Splitter.holds

    def noted(splitter: Splitter) -> object:
        joined.append(splitter.held)
        return holds(splitter)

    monkeypatch.setattr(Splitter, "holds", noted)
    with table_packets(16):
        columns = by_columns(BytesIO(raw))
    assert_equal(columns, by_rows(BytesIO(raw)))
    assert sum(joined) < 3 * len(data)
