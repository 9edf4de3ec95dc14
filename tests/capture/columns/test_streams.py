"""Runs and fed segments give the items of `Streams`, in the order of each connection."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from io import BytesIO
from itertools import cycle, repeat

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.dissect.columns.engines import table_packets
from tests.dissect.columns.made import HARMS, TROUBLES, Spoken, packets_made
from tests.helpers.captures import pcap_bytes
from tests.helpers.plain_segments import ends_of
from wiretool import limits
from wiretool.capture.columns import streams as bulk_streams
from wiretool.capture.columns.connection_rows import ConnectionRows, connection_rows
from wiretool.capture.columns.new_connections import NewConnections
from wiretool.capture.columns.plain_runs import PlainSegments
from wiretool.capture.columns.runs import Run
from wiretool.capture.columns.segments import SegmentTable, read_segment_tables
from wiretool.capture.columns.streams import NEVER, BulkStreams, Fed, Pause
from wiretool.capture.files.reading import read_packets
from wiretool.capture.files.tables_of_files import read_packet_tables
from wiretool.capture.tcp import reassembler as capture_streams
from wiretool.capture.tcp.lent_streams import LentStreams
from wiretool.capture.tcp.retransmit_history import RecentRuns
from wiretool.capture.tcp.segments_of_packets import read_segments
from wiretool.capture.tcp.stream_events import End, Item
from wiretool.codec.columns import Integers

Told = dict[int, list[tuple[object, ...]]]


def by_connection(items: Sequence[Item]) -> Told:
    told: Told = defaultdict(list)
    for item in items:
        told[item.connection.id].append((type(item), *item[1:]))
    return told


def items_of_runs(raw: bytes, pauses: Iterator[int]) -> list[Item]:
    """Of all tables, read with a pause after so many rows each; at a pause, no row behind it was given out."""
    recent = RecentRuns()
    streams = BulkStreams(LentStreams((12345,), recent), recent, lambda *_: True, lambda key: True)
    out: list[Item] = []
    for table in read_segment_tables(read_packet_tables([BytesIO(raw)])):
        streams.pause = next(pauses, NEVER)
        for part in streams.read(table):
            if isinstance(part, Pause):
                assert all(item.packet < table.numbers[part.row] for item in out)
                streams.pause = part.row + next(pauses, NEVER)
            elif isinstance(part, NewConnections | Run | PlainSegments):
                if isinstance(part, NewConnections):
                    part = part.segments(np.ones(len(part.plain.connections), np.bool_))
                runs = part.runs() if isinstance(part, PlainSegments) else [part]
                out += [item for run in runs for _, item in run.told_items()]
                out += ends_of(part) if isinstance(part, PlainSegments) else ()
            else:
                for item in part.items:
                    item.connection.is_understood = True
                out += part.items
    return out + streams.end()


def items_one_by_one(raw: bytes) -> list[Item]:
    streams = LentStreams((12345,))
    out = [item for segment in read_segments(read_packets([BytesIO(raw)])) for item in streams.feed(segment)]
    return out + streams.end()


@given(
    st.frozensets(st.sampled_from(TROUBLES), max_size=4),
    st.frozensets(st.sampled_from(HARMS), max_size=2),
    st.integers(0, 1000),
    st.sampled_from([29, 65_536]),
)
def test_items_of_any_segments(troubles: frozenset[str], harms: frozenset[str], seed: int, count: int) -> None:
    spoken = [Spoken("pravega", troubles=troubles), Spoken("foreign", acks=True, troubles=troubles, wraps=True)]
    raw = pcap_bytes(packets_made(spoken, harms, seed))
    with table_packets(count):
        told = by_connection(items_of_runs(raw, repeat(NEVER)))
        assert told == by_connection(items_one_by_one(raw))
        assert told == by_connection(items_of_runs(raw, cycle([1, 40, 7])))


@settings(max_examples=15)
@given(st.integers(0, 200), st.integers(0, 1000), st.sampled_from([13, 29, 65_536]), st.booleans())
def test_items_of_connections_in_mid_stream(first: int, seed: int, count: int, acks: bool) -> None:
    spoken = [Spoken("pravega", each=each, acks=acks, mtu=mtu) for each in (1, 3) for mtu in (60, 1460)]
    raw = pcap_bytes(packets_made(spoken, frozenset(), seed)[first:])
    with table_packets(count):
        told = by_connection(items_of_runs(raw, repeat(NEVER)))
        assert told == by_connection(items_one_by_one(raw))
        assert told == by_connection(items_of_runs(raw, cycle([1, 40, 7])))


def test_there_is_a_pause_in_front_of_very_many_items_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "BATCH_ITEMS_MAX", 10)
    packets = packets_made([Spoken("pravega", each=3)], frozenset(), 1, 3_000)
    recent = RecentRuns()
    streams = BulkStreams(LentStreams((12345,), recent), recent, lambda *_: True)
    last: object = None
    large = 0
    for table in read_segment_tables(read_packet_tables([BytesIO(pcap_bytes(packets[:40] + packets[41:]))])):
        for part in streams.read(table):
            if isinstance(part, Fed) and len(part.items) > 10:
                assert last == Pause(part.row)
                large += 1
            last = part
    assert large == 1


def test_segments_between_those_that_come_again_are_fed() -> None:
    """Runs of a few segments would cost more."""
    raw = pcap_bytes(packets_made([Spoken("pravega")], frozenset(), 1))
    recent = RecentRuns()
    streams, runs = BulkStreams(LentStreams((12345,), recent), recent, lambda *_: True), []
    for table in read_segment_tables(read_packet_tables([BytesIO(raw), BytesIO(raw)])):
        for part in streams.read(table):
            if isinstance(part, Run):
                runs.append(part)
            elif isinstance(part, Fed):
                for item in part.items:
                    item.connection.is_understood = True
    assert len(runs) <= 2


@pytest.mark.parametrize("is_single", [False, True])
def test_segments_of_connections_without_columns_are_fed_without_a_group(
    monkeypatch: pytest.MonkeyPatch, is_single: bool
) -> None:
    groups = list[Integers]()

    def note_rows(table: SegmentTable, rows: Integers, stop: int = 0) -> ConnectionRows:
        groups.append(rows)
        return connection_rows(table, rows, stop)

    monkeypatch.setattr(bulk_streams, "connection_rows", note_rows)
    raw = pcap_bytes(packets_made([Spoken("pravega")], frozenset(), 1))
    recent = RecentRuns()
    streams = BulkStreams(
        LentStreams((12345,), recent), recent, is_single=lambda _, each: is_single and each is not None
    )
    with table_packets(40):
        tables = read_segment_tables(read_packet_tables([BytesIO(raw)]))
        counts = [sum(isinstance(part, Fed) for part in streams.read(table)) for table in tables]
    assert counts[:2] == [40, 40]
    in_groups = [len(rows) for rows in groups]
    assert in_groups[:2] == ([40] if is_single else [40, 40])


def test_segments_are_plain_while_there_is_no_room_for_more_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = pcap_bytes(packets_made([Spoken("pravega", end="")] * 4, frozenset(), 1))
    monkeypatch.setattr(capture_streams, "CONNECTIONS_MAX", 4)
    recent = RecentRuns()
    streams = BulkStreams(LentStreams((12345,), recent), recent)
    fed = []
    with table_packets(100):
        for table in read_segment_tables(read_packet_tables([BytesIO(raw)])):
            parts = list(streams.read(table))
            for part in parts:
                for item in part.items if isinstance(part, Fed) else ():
                    item.connection.is_understood = True
            fed.append(sum(isinstance(part, Fed) for part in parts))
    assert len(fed) > 2
    assert fed[0] > 0
    assert not any(fed[1:])


@pytest.mark.parametrize("most", [4, 6, 9])
def test_connections_that_must_be_closed_have_the_same_items(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    """Some are closed for others that begin."""
    packets = []
    for begin in range(0, 24, 3):
        spoken = [Spoken("pravega", each=3, end=("", "fin")[begin % 2])] * (begin + 3)
        packets += packets_made(spoken, frozenset(), begin, 20)[-200:]
    raw = pcap_bytes([packet._replace(number=number) for number, packet in enumerate(packets, 1)])
    monkeypatch.setattr(capture_streams, "CONNECTIONS_MAX", most)
    expected = items_one_by_one(raw)
    assert any(isinstance(item, End) and item.how == "evicted" for item in expected)
    for count in (5, 40):
        with table_packets(count):
            assert by_connection(items_of_runs(raw, repeat(NEVER))) == by_connection(expected)
