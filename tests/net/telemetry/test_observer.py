"""The observer counts records, and bounds what it keeps."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.helpers.examples import needs_protocol
from wiretool import limits
from wiretool.analysis.exchanges import Exchanged
from wiretool.analysis.stats import OTHERS
from wiretool.dissect.dissector import read
from wiretool.net.telemetry.observer import RunObserver
from wiretool.records import Record

CAPTURES = Path(__file__).parents[3] / "captures"


def observed(records: list[Record]) -> RunObserver:
    observer = RunObserver()
    for record in records:
        observer.note(record)
    observer.end()
    return observer


@needs_protocol("offramp")
def test_problems_are_counted_by_kind() -> None:
    records = list(read(CAPTURES / "offramp" / "err_malformed.pcap"))
    kinds = {(record.protocol, record.error) for record in records if record.kind == "problem"}
    assert kinds
    assert set(observed(records).problems) == kinds


def test_exchanges_do_not_depend_on_the_buffer(monkeypatch: pytest.MonkeyPatch) -> None:
    records = list(read(CAPTURES / "sbp" / "pd_ranges.pcap"))
    whole = observed(records).responses
    assert whole.histograms
    monkeypatch.setattr(limits, "OBSERVED_RECORDS_MAX", 3)
    parts = observed(records).responses
    assert {key: each.counts.tolist() for key, each in parts.histograms.items()} == {
        key: each.counts.tolist() for key, each in whole.histograms.items()
    }
    assert (parts.failed, parts.unanswered) == (whole.failed, whole.unanswered)


def test_long_frames_do_not_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    records = [record for record in read(CAPTURES / "sbp" / "pd_ranges.pcap") if record.kind == "frame"]
    observer, batches = RunObserver(), list[int]()
    observer.listen(lambda exchanged, _: batches.append(len(exchanged)))
    monkeypatch.setattr(limits, "OBSERVED_BYTES_MAX", 1)
    for record in records:
        observer.note(record)
    assert len(batches) > 1


def test_too_many_names_share_one_label(monkeypatch: pytest.MonkeyPatch) -> None:
    """As of calls to many paths that no controller has."""
    records = list(read(CAPTURES / "pravega" / "java_conditional.pcap"))
    full = observed(records)
    monkeypatch.setattr(limits, "METRIC_SERIES_MAX", 5)
    bounded = observed(records)
    assert len(full.messages) > 10
    assert len(bounded.messages) <= 5 + 4
    assert bounded.messages.total() == full.messages.total()
    assert any(message == OTHERS for _, message, _ in bounded.messages)
    assert len(bounded.responses.histograms) <= 5 + 2


def test_requests_of_a_closed_connection_stay_unanswered() -> None:
    records = [
        record
        for record in read(CAPTURES / "pravega" / "java_conditional.pcap")
        if record.kind == "frame" and record.side == "client" and record.message == "GetStreamSegmentInfo"
    ]
    found: list[tuple[Exchanged, Mapping[int, int]]] = []
    observer = RunObserver()
    observer.listen(lambda exchanged, ended_ns: found.append((exchanged, ended_ns)))
    observer.note(records[0])
    observer.flush()
    assert found == []
    observer.note_closed(records[0].connection, 77)
    observer.flush()
    ((exchanged, ended_ns),) = found
    assert len(exchanged) == 1
    assert ended_ns == {records[0].connection: 77}
    assert observer.responses.unanswered == {(records[0].protocol, "GetStreamSegmentInfo"): 1}


def test_many_closed_connections_do_not_pile_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "OBSERVED_RECORDS_MAX", 10)
    observer = RunObserver()
    for number in range(95):
        observer.note_closed(number, number)
    assert len(observer._ended_ns) == 5
