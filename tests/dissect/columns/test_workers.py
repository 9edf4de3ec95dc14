"""Several processes read what one does."""

import multiprocessing
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.bench.pravega_appends import make_capture
from wiretool.batches.batch import Batch
from wiretool.batches.rows import records_of
from wiretool.capture.files import tables
from wiretool.dissect.columns import apart
from wiretool.dissect.columns.workers import _Changes, read_batches_by
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
    monkeypatch.setattr("wiretool.dissect.columns.workers.may_run_apart", lambda: False)
    alone = read_by(1, appends)
    assert read_by(2, appends) == read_by(3, appends) == alone


def test_the_caller_reads_nothing_where_there_are_several(appends: Path) -> None:
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


@pytest.mark.parametrize("workers", [2, 3])
def test_batches_are_finished_beside_a_busy_caller(
    workers: int, appends: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for ahead, pids in ((0, {os.getpid()}), (apart.BLOCKS + 1, set[int]())):
        monkeypatch.setattr(apart, "BLOCKS_AHEAD", ahead)
        batches = list(read_batches_by(workers, appends, finish=_signed))
        signed = {int(text[0].tobytes()) for batch in batches if (text := batch.text) is not None}
        assert bool(signed) is bool(pids)
        assert not signed & pids
        assert sum(batch.count for batch in batches) == 4 * 4 + 600 * 3


def _signed(batch: Batch) -> Batch:
    """Return a batch with the process in which it was."""
    return replace(batch, text=[np.frombuffer(str(os.getpid()).encode(), np.uint8)])


def test_of_a_connection_only_what_changed_crosses() -> None:
    changes = _Changes()
    row = changes.ledger.open(3, "a:1", "b:2")
    assert changes.take() == ([(3, "a:1", "b:2")], [(3, "", "", False, *[0] * 9)])
    assert changes.take() == ([], [])
    row.protocol, row.tls, row.account.payload_bytes = "sbp", "TLS 1.3", 7
    assert changes.take() == ([], [(3, "sbp", "TLS 1.3", False, 7, *[0] * 8)])
    changes.ledger.open(4, "c:1", "b:2")
    assert changes.take() == ([(4, "c:1", "b:2")], [(4, "", "", False, *[0] * 9)])
