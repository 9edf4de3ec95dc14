"""Plain segments of many connections are read together, with the same records as one by one."""

from collections.abc import Sequence
from io import BytesIO
from typing import Any

import pytest

from tests.dissect.columns.damaged import check_seed
from tests.dissect.columns.engines import assert_equal, by_columns, by_rows, table_packets
from tests.dissect.columns.made import Spoken, files_of, packets_made
from wiretool import limits
from wiretool.batches.batch import Batch
from wiretool.capture.tcp.stream_events import Connection
from wiretool.dissect.columns import read
from wiretool.dissect.columns.column_protocols import ColumnProtocols
from wiretool.dissect.columns.pace import BYTES_PER_RECORD, FRAME_BYTES
from wiretool.dissect.columns.plain_reading import ReadSegments, read_plain_segments
from wiretool.dissect.columns.read import read_batches


@pytest.mark.parametrize("seed", range(14))
def test_captures_of_many_connections(seed: int) -> None:
    check_seed(seed)


def raw_of(connections: Sequence[Spoken], frames: int) -> bytes:
    return files_of(packets_made(connections, frozenset(), 1, frames), "pcap", 1)[0]


def batches_of(raw: bytes, packets: int) -> list[Batch]:
    with table_packets(packets):
        return list(read_batches(BytesIO(raw)))


@pytest.mark.parametrize("protocol", ["pravega", "pravega-draft", "sbp", "sbp-0.1", "offramp"])
def test_frames_of_all_connections_are_one_run(protocol: str) -> None:
    """Each connection has fewer segments in a table than it takes for a run of its own."""
    raw = raw_of([Spoken(protocol, each=3)] * 100, 200)
    batches = batches_of(raw, 2_000)
    records = sum(len(batch.records) for batch in batches)
    assert records < 0.2 * sum(batch.count for batch in batches)
    assert max(len(run.connections) for batch in batches for run in batch.runs) == 100


@pytest.mark.parametrize(("protocol", "is_single"), [("pravega-controller", True), ("sbp", False), ("foreign", False)])
def test_new_connections_without_columns_are_fed_without_a_group(
    protocol: str, is_single: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[bool] = []
    ask = ColumnProtocols.is_single

    def note(each: ColumnProtocols, key: bytes, connection: Connection | None) -> bool:
        asked.append(ask(each, key, connection))
        return asked[-1]

    monkeypatch.setattr(ColumnProtocols, "is_single", note)
    packets = packets_made([Spoken(protocol)] * 3, frozenset(), 1, 60)
    batches_of(files_of(packets[9:], "pcap", 1)[0], 65_536)
    assert set(asked) == {is_single}


def test_one_lost_packet_concerns_its_connection_only() -> None:
    packets = packets_made([Spoken("pravega", each=3, acks=True)] * 60, frozenset(), 1, 200)
    raw = files_of([each for each in packets if each.number != len(packets) // 2], "pcap", 1)[0]
    assert_equal(by_columns(BytesIO(raw)), by_rows(BytesIO(raw)))
    batches = batches_of(raw, 2_000)
    assert max(len(run.connections) for batch in batches for run in batch.runs) >= 59


def test_runs_apart_have_the_frames_of_one_connection() -> None:
    batches = batches_of(raw_of([Spoken("pravega", each=3)] * 60, 200), 2_000)
    runs = [run for batch in batches for run in batch.runs if len(run.connections) > 1]
    assert runs
    for run in runs:
        parts = list(run.apart())
        assert [part.connections[0] for part in parts] == list(run.connections)
        numbers = sorted(number for part in parts for number in part.frames.numbers.tolist())
        assert numbers == run.frames.numbers.tolist()
        for part in parts:
            mine = {each.connection for each in part.connections}
            rows = run.frames.numbers.searchsorted(part.frames.numbers)
            assert set(run.numbers_of_connections(rows).tolist()) == mine
            assert part.offsets.tolist() == run.offsets[rows].tolist()


def test_tables_with_very_many_frames_are_read_together_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the first table is a surprise."""
    raw = raw_of([Spoken("pravega", each=3)] * 40, 400)
    are_divided: list[bool] = []

    def noted(*arguments: Any) -> ReadSegments:
        read = read_plain_segments(*arguments)
        are_divided.append(read.is_much)
        return read

    monkeypatch.setattr(limits, "BATCH_RECORDS_MAX", 100)
    monkeypatch.setattr(read, "read_plain_segments", noted)
    batches = batches_of(raw, 1_500)
    assert max(batch.count for batch in batches[len(batches) // 2 :]) <= 100 * BYTES_PER_RECORD / FRAME_BYTES
    assert not any(are_divided[len(are_divided) // 2 :])
    assert_equal(by_columns(BytesIO(raw)), by_rows(BytesIO(raw)))
