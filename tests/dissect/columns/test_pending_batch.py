"""Batches have no more records that were read by themselves than the limit says, in the order of their numbers."""

from collections.abc import Sequence
from io import BytesIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.dissect.columns.engines import assert_equal, by_columns, by_rows, table_packets
from tests.dissect.columns.made import Spoken, files_of, packets_made
from wiretool import limits
from wiretool.batches.batch import Batch
from wiretool.dissect.columns.numbering import PACKET_SHIFT, Numbers
from wiretool.dissect.columns.pending_batch import PendingBatch
from wiretool.dissect.columns.read import read_batches
from wiretool.records import Record


def record(number: int) -> Record:
    return Record(
        n=number, kind="gap", time_ns=0, connection=0, client="", server="", side="client", packets=(0, 0),
        offset=number, length=1,
    )  # fmt: skip


def taken(packets: Sequence[int], before: int, most: int) -> tuple[list[Batch], list[Batch], list[tuple[int, str]]]:
    """Return the batches before a packet and all others, and how many records were numbered when a note was given."""
    numbers, notes = Numbers(), list[tuple[int, str]]()
    pending = PendingBatch(numbers, lambda text: notes.append((numbers.count, text)))
    for packet in packets:
        numbers.at_packet(packet)
        pending.note(str(packet))
        pending.output.records.append(record(numbers.take()))
        numbers.leave(packet)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(limits, "BATCH_RECORDS_MAX", most)
        return list(pending.take(before << PACKET_SHIFT)), list(pending.take()), notes


@given(st.lists(st.integers(0, 40), max_size=60), st.integers(0, 41), st.integers(1, 8))
def test_no_batch_has_more_records_than_the_limit(packets: list[int], before: int, most: int) -> None:
    first, rest, notes = taken(packets, before, most)
    assert first
    assert rest
    assert max(len(batch.records) for batch in first + rest) <= most
    earlier = sum(packet < before for packet in packets)
    assert len(first) == max(-(-earlier // most), 1)
    every = [each for batch in first + rest for each in batch.records]
    assert [each.n for each in every] == list(range(1, len(packets) + 1))
    assert [each.offset >> PACKET_SHIFT for each in every] == sorted(packets)
    assert [text for _, text in notes] == [str(packet) for packet in sorted(packets)]
    assert all(at - most <= count < at for at, (count, _) in enumerate(notes, 1))


def test_many_records_of_one_number_stay_together() -> None:
    numbers = Numbers()
    pending = PendingBatch(numbers, print)
    pending.output.records.extend(record(number) for number in (1, 2, 2, 2, 2, 3))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(limits, "BATCH_RECORDS_MAX", 2)
        assert [len(batch.records) for batch in pending.take()] == [1, 4, 1]


@pytest.mark.parametrize("most", [40, 100])
def test_harmed_connections_give_no_larger_batches(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their rows are read by connection, so more records wait than one batch may have."""
    packets = packets_made([Spoken("pravega", each=3, acks=True)] * 40, frozenset(), 1, 200)
    raw = files_of([each for each in packets if each.number % 23], "pcap", 1)[0]
    monkeypatch.setattr(limits, "BATCH_RECORDS_MAX", most)
    with table_packets(2_000):
        sizes = [len(batch.records) for batch in read_batches(BytesIO(raw))]
        assert_equal(by_columns(BytesIO(raw)), by_rows(BytesIO(raw)))
    assert sum(sizes) > 10 * most
    assert max(sizes) <= most
