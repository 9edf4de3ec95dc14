"""The table of events of record batches: out of columns the same as out of records."""

from pathlib import Path

import pytest

from tests.bench.sbp_requests import make_capture
from tests.helpers.examples import needs_protocol
from tests.helpers.records import a_record
from tests.sinks.arrow.test_tables import gathered, in_chunks
from wiretool.batches.rows import batch_of
from wiretool.dissect.columns.read import read_batches
from wiretool.dissect.dissector import Source, read
from wiretool.sinks.arrow.events import EventTables


def check(source: Source, again: Source, patch: pytest.MonkeyPatch) -> list[int | None]:
    """The numbers of the events in a capture, which both ways tell alike: that of columns without a record of any."""
    batches = list(read_batches(source))
    of_records, _ = gathered(in_chunks(list(read(again)), 700))
    patch.setattr("wiretool.sinks.arrow.events.records_of", None)
    of_columns, _ = gathered(batches)
    assert of_columns["events"].equals(of_records["events"])
    singly = {record.n for each in batches for record in each.records}
    told = of_columns["events"].select(["n", "event_number"]).to_pydict()
    assert len(set(told["n"]) - singly) > len(singly)
    return list(told["event_number"])


def test_events_in_batches_that_are_one_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "sbp.pcap"
    make_capture(path, packets=400)
    assert len(check(path, path, monkeypatch)) == 800


@needs_protocol("sbp-0.1")
def test_a_number_that_no_event_can_have_is_none() -> None:
    """Both parts of it are from the wire."""
    records = [{"offset_delta": delta, "body": "a"} for delta in (-1, 0, 1)]
    batches = [{"base_offset": base, "records": records} for base in (2**63 - 1, -(2**63))]
    fields = {"payload": {"hex": "00", "record_batches": batches}}
    table = EventTables().table(batch_of([a_record(protocol="sbp-0.1", message="APPEND", fields=fields)]))
    assert table is not None
    numbers = [2**63 - 2, 2**63 - 1, None, None, -(2**63), 1 - 2**63]
    assert table["event_number"].to_pylist() == numbers
