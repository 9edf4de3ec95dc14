"""Several processes read what one does."""

import multiprocessing
from pathlib import Path

import pytest

from tests.bench.pravega_appends import make_capture
from wiretool.batches.rows import records_of
from wiretool.bulk.workers import read_batches_by
from wiretool.capture import tables
from wiretool.errors import CaptureError
from wiretool.ledger import Ledger
from wiretool.records import Record


def read_by(workers: int, capture: Path) -> tuple[list[Record], object, list[str]]:
    ledger, notes, records = Ledger(), list[str](), list[Record]()
    for batch in read_batches_by(workers, capture, ledger=ledger, notes=notes.append):
        records += records_of(batch)
    return records, ledger.as_json(), notes


@pytest.fixture
def appends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Some connections over several tables."""
    monkeypatch.setattr(tables, "TABLE_PACKETS", 100)
    path = tmp_path / "appends.pcap"
    make_capture(path, packets=600, frames_per_packet=3, connections=4)
    return path


def test_without_forks_one_process_reads(appends: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wiretool.bulk.workers.may_run_apart", lambda: False)
    alone = read_by(1, appends)
    assert read_by(2, appends) == read_by(3, appends) == alone


def test_two_processes_read_packets_apart_and_three_frames_as_well(appends: Path) -> None:
    for workers, others in ((1, 0), (2, 1), (3, 1)):
        batches = read_batches_by(workers, appends)
        next(batches)
        assert len(multiprocessing.active_children()) == others
        batches.close()
        assert not multiprocessing.active_children()


@pytest.mark.parametrize("workers", [2, 3, 8])
def test_any_number_of_processes_gives_the_same(appends: Path, workers: int) -> None:
    assert read_by(workers, appends) == read_by(1, appends)


@pytest.mark.parametrize("workers", [2, 3])
def test_a_damaged_capture_gives_what_is_good_of_it(appends: Path, workers: int) -> None:
    appends.write_bytes(appends.read_bytes()[:-5])
    ledger, counts = Ledger(), list[int]()
    batches = read_batches_by(workers, appends, ledger=ledger)
    with pytest.raises(CaptureError, match="ends early"):
        counts.extend(batch.count for batch in batches)
    assert sum(counts) == ledger.total.frames == 4 * 4 + 600 * 3


def test_the_ledger_is_that_of_the_batches_so_far(appends: Path) -> None:
    for workers in (2, 3):
        ledger = Ledger()
        batches = read_batches_by(workers, appends, ledger=ledger)
        assert next(batches).count == ledger.total.frames
        batches.close()
