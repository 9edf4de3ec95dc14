"""Connections that need care all the time: the records of rows, and no more work than they take."""

from io import BytesIO
from pathlib import Path

import pytest

from tests.bench.columns.careful import KINDS, make_capture
from tests.dissect.columns.damaged import check_seed
from tests.dissect.columns.engines import assert_equal, by_columns, by_rows, small_batches
from wiretool.capture.tcp.stream_events import Connection
from wiretool.dissect.columns import deferred
from wiretool.dissect.columns.read import BulkDissector, read_batches


@pytest.mark.parametrize("connections", [1, 7])
@pytest.mark.parametrize("kind", KINDS)
def test_columns_are_rows(kind: str, connections: int, tmp_path: Path) -> None:
    make_capture(tmp_path / "a.pcap", kind, 1_500, connections)
    raw = (tmp_path / "a.pcap").read_bytes()
    rows = by_rows(BytesIO(raw))
    assert any(record.kind != "frame" for record in rows.records)
    assert_equal(by_columns(BytesIO(raw)), rows)
    with small_batches():
        assert_equal(by_columns(BytesIO(raw)), rows)


@pytest.mark.parametrize("gaps", [2, 3])
def test_connections_may_be_left_at_any_gap(gaps: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deferred, "OTHERS_MIN", gaps)
    monkeypatch.setattr(deferred, "STRETCH_BYTES", 1 << 40)
    left: list[int] = []
    leave = BulkDissector._leave_ragged

    def noted(self: BulkDissector, connection: Connection) -> None:
        leave(self, connection)
        left.append(len(self._ragged))

    monkeypatch.setattr(BulkDissector, "_leave_ragged", noted)
    for seed in range(91_000, 91_012):
        check_seed(seed)
    assert any(left)


@pytest.fixture
def deferrals(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether each packet's items were deferred."""
    made: list[bool] = []
    may_defer = BulkDissector._may_defer

    def noted(self: BulkDissector, connection: Connection) -> bool:
        made.append(may_defer(self, connection))
        return made[-1]

    monkeypatch.setattr(BulkDissector, "_may_defer", noted)
    return made


def test_bytes_that_come_again_end_no_stretch(tmp_path: Path) -> None:
    make_capture(tmp_path / "a.pcap", "differs-pravega", 2_000, 1)
    batches = list(read_batches(tmp_path / "a.pcap"))
    findings = [record for batch in batches for record in batch.records if record.error == "overlap-differs"]
    frames = [record for batch in batches for record in batch.records if record.kind == "frame"]
    assert len(findings) > 150
    assert len(frames) < 20


def test_many_gaps_have_the_rest_of_a_connection_read_at_once(tmp_path: Path, deferrals: list[bool]) -> None:
    make_capture(tmp_path / "a.pcap", "lost-pravega", 4_000, 1)
    assert sum(batch.count for batch in read_batches(tmp_path / "a.pcap")) > 3_500
    assert sum(deferrals) < 0.2 * len(deferrals)


def test_gaps_in_many_connections_are_read_together(tmp_path: Path, deferrals: list[bool]) -> None:
    make_capture(tmp_path / "a.pcap", "lost-pravega", 40_000, 64)
    assert sum(batch.count for batch in read_batches(tmp_path / "a.pcap")) > 35_000
    assert sum(deferrals) > 0.9 * len(deferrals)
