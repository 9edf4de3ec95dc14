"""Batches stay small, whatever a table comes to: packed messages, frames read one by one, what waited behind a hole."""

from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from tests.bench.offramp_messages import Stream, make_capture
from tests.bench.segments import write_pcap
from tests.bench.talk import frame
from tests.dissect.columns.engines import assert_equal, by_columns, by_rows, small_batches, table_packets
from tests.dissect.columns.made import Spoken, files_of, packets_made
from tests.helpers.captures import Talk, packets_of, pcap_bytes
from tests.helpers.examples import needs_protocol
from wiretool import limits
from wiretool.batches.batch import Batch
from wiretool.batches.rows import records_of
from wiretool.capture.columns.segments import read_segment_tables
from wiretool.capture.files.tables_of_files import read_packet_tables
from wiretool.capture.tcp.stream_events import Connection, Data, End, Item
from wiretool.codec.message import SIDES
from wiretool.dissect.columns.pace import BYTES_PER_RECORD, Pace, in_parts
from wiretool.dissect.columns.read import read_batches
from wiretool.records import Record

BOMB_BYTES = 100_000


class Bombs(Stream):
    """Messages that are a thousand times as long as they are on the wire."""

    def message(self, offset: int) -> dict[str, Any]:
        return {**super().message(offset), "payload": "x" * BOMB_BYTES}


class Unagreed(Bombs):
    """The same, though the server agreed on nothing."""

    def response(self) -> bytes:
        return super().response().replace(b"Sec-WebSocket-Extensions: permessage-deflate\r\n", b"")


def payload_bytes(records: list[Record]) -> int:
    """Bytes of the payloads in records."""
    return sum(len(str(getattr(record.fields, "payload", ""))) for record in records)


@needs_protocol("offramp")
@pytest.mark.parametrize("others", [0, 400])
def test_packed_messages_come_to_little_in_a_batch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, others: int
) -> None:
    """Also where the table holds much else, and what is packed is agreed on in its midst."""
    most = 2_000_000
    monkeypatch.setattr(limits, "BATCH_BYTES_MAX", most)
    path = tmp_path / "bombs.pcap"
    write_pcap(path, Bombs("takeover").packets(200, 1))
    paths = [path]
    if others:
        (raw,) = files_of(packets_made([Spoken("pravega")], frozenset(), 1, others), "pcap", 1)
        paths.append(tmp_path / "others.pcap")
        paths[-1].write_bytes(raw)
    sizes = [payload_bytes(records_of(batch)) for batch in read_batches(paths)]
    assert sum(sizes) == 200 * BOMB_BYTES
    assert max(sizes) <= most
    assert_equal(by_columns(paths), by_rows(paths))


@needs_protocol("offramp")
@pytest.mark.parametrize("deflate", ["takeover", "resets"])
def test_packed_messages_of_many_connections_are_read_together(tmp_path: Path, deflate: str) -> None:
    """They might come to more than a batch may have, but do not."""
    path = tmp_path / "packed.pcap"
    make_capture(path, messages=1_500, deflate=deflate, connections=100)
    batches = list(read_batches(path))
    assert sum(bool(batch.count) for batch in batches) == 1
    single = {record.message for batch in batches for record in batch.records}
    assert single == {"HandshakeRequest", "HandshakeResponse", "CONNECTION", "Close"}
    assert_equal(by_columns(path), by_rows(path))


@needs_protocol("offramp")
@pytest.mark.parametrize("table", [60, 16_384])
def test_messages_packed_without_agreement_come_to_little(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, table: int
) -> None:
    monkeypatch.setattr(limits, "BATCH_BYTES_MAX", 1_000_000)
    path = tmp_path / "bombs.pcap"
    write_pcap(path, Unagreed("takeover").packets(200, 1))
    with table_packets(table):
        sizes = [payload_bytes(records_of(batch)) for batch in read_batches(path)]
        assert_equal(by_columns(path), by_rows(path))
    assert sum(sizes) == 200 * BOMB_BYTES
    assert max(sizes) <= 1_000_000


def padding(count: int, lost: int, before: bytes = b"") -> bytes:
    """A capture of a Pravega client that sends so many frames that are read one by one; one of its packets is late.

    `before` is what it sends in front of these.
    """
    talk = Talk(server=("10.0.0.2", 12345))
    talk.open()
    for side in SIDES:
        talk.say(side, frame("pravega", side, "Hello", {"high_version": 17, "low_version": 5}).data, acks=False)
    talk.say("client", before + (b"\xff\xff\xff\xff" + bytes(4)) * count, acks=False)
    packets = packets_of(talk.frames)
    if lost:
        packets.append(packets.pop(lost))
    return pcap_bytes([packet._replace(number=number) for number, packet in enumerate(packets, 1)])


def batches_of(raw: bytes) -> Iterator[Batch]:
    yield from read_batches(BytesIO(raw))


@pytest.mark.parametrize("lost", [0, 8])
def test_records_that_are_read_one_by_one_make_small_batches(monkeypatch: pytest.MonkeyPatch, lost: int) -> None:
    """A packet holds 182 of these frames; what came behind a hole is given out all at once.

    What nobody expects at first is bounded by the bytes that are read then.
    """
    monkeypatch.setattr(limits, "BATCH_RECORDS_MAX", 500)
    monkeypatch.setattr(limits, "BATCH_ITEMS_MAX", 4)
    raw = padding(20_000, lost)
    counts = [len(batch.records) for batch in batches_of(raw)]
    assert sum(counts) > 20_000
    assert counts[0] <= 500 * BYTES_PER_RECORD / 8
    assert max(counts[1:]) <= 500 + 5 * 183
    assert len(counts) > 15
    assert_equal(by_columns(BytesIO(raw)), by_rows(BytesIO(raw)))


@pytest.mark.parametrize("lost", [0, 150])
def test_records_that_are_read_one_by_one_right_behind_good_order_make_small_batches(
    monkeypatch: pytest.MonkeyPatch, lost: int
) -> None:
    """A table of them, where those before it gave columns only; with a hole in it, too."""
    monkeypatch.setattr(limits, "BATCH_RECORDS_MAX", 500)
    monkeypatch.setattr(limits, "BATCH_ITEMS_MAX", 16)
    segment = frame("pravega", "client", "KeepAlive", {}).data + bytes(4) + (1_444).to_bytes(4, "big") + bytes(1_444)
    raw = padding(16_000, lost, segment * 120)
    with table_packets(60):
        counts = [len(batch.records) for batch in batches_of(raw)]
        assert_equal(by_columns(BytesIO(raw)), by_rows(BytesIO(raw)))
    assert sum(counts) >= 16_000
    assert max(counts) <= 500 * BYTES_PER_RECORD / 8


@needs_protocol("offramp")
def test_small_batches_say_the_same_over_several_connections() -> None:
    spoken = [Spoken("offramp-deflate"), Spoken("sbp", each=9), Spoken("pravega", each=12), Spoken("foreign")] * 2
    raw = files_of(packets_made(spoken, frozenset(["noise"]), 3, 300), "pcap", 3)[0]
    rows = by_rows(BytesIO(raw))
    with small_batches():
        assert_equal(by_columns(BytesIO(raw)), rows)
        assert sum(1 for batch in batches_of(raw) if batch.count) > 15


def test_items_in_parts() -> None:
    connection = Connection(0, bytes(6), bytes(6), 0)
    items: list[Item] = [Data(connection, "client", at * 10, bytes(10), 0, 1) for at in range(2_100)]
    items.append(End(connection, "", "fin", 0, 1))
    assert [len(part) for part in in_parts(items, 1)] == [1_024, 1_024, 53]
    assert [len(part) for part in in_parts(items, limits.BATCH_BYTES_MAX // 30)][:2] == [3, 3]
    assert [item for part in in_parts(items, 10**9) for item in part] == items


def test_rows_without_payload_tell_nothing_of_good_order() -> None:
    """However many parts of a table have none, and whether records came of them: what is expected stays."""
    (table,) = read_segment_tables(read_packet_tables([BytesIO(padding(1, 0))]))
    assert not table.lengths[0]
    pace = Pace()
    for records in (0, 3) * 100:
        pace.note(table, 0, 1, records)
    assert vars(pace) == vars(Pace())


def test_good_order_is_believed_in_up_to_a_batch() -> None:
    (table,) = read_segment_tables(read_packet_tables([BytesIO(padding(1, 0))]))
    pace = Pace()
    for _ in range(100):
        pace.note(table, 0, len(table), 0)
    assert vars(pace)["_bytes_per_record"] == limits.BATCH_BYTES_MAX
