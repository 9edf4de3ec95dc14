"""The log of one segment, with events that are a length and as many letters."""

import pytest

from wiretool.consistency.appended import AppendedBytes
from wiretool.consistency.segment_log import SegmentLog, digest_of, split_events


def event_end(data: bytes | bytearray, at: int) -> int:
    """An event is a digit and as many letters."""
    if not 0x30 <= data[at] <= 0x39:
        return -1
    end = at + 1 + data[at] - 0x30
    return end if end <= len(data) else 0


def append(n: int, data: bytes) -> AppendedBytes:
    events = split_events(data, event_end)
    return AppendedBytes(n, data, len(events) or 1, [digest_of(event) for event in events])


def sent(log: SegmentLog, n: int, data: bytes) -> AppendedBytes:
    made = append(n, data)
    log.send(made)
    return made


@pytest.fixture
def log() -> SegmentLog:
    return SegmentLog("segment s", event_end, is_whole=True)


def test_bytes_that_are_not_events_are_not_split() -> None:
    assert split_events(b"1a2bc", event_end) == [b"1a", b"2bc"]
    assert split_events(b"1a2b", event_end) == []
    assert split_events(b"1axx", event_end) == []


def test_bytes_without_events_are_compared_too(log: SegmentLog) -> None:
    assert log.place(sent(log, 1, b"raw"), 2, 3) == []
    assert log.read(0, b"ra", 3) == []
    assert log.judged == 0
    assert log.read(2, b"w", 4) == []
    assert log.judged == 1
    (anomaly,) = log.read(0, b"rAw", 5)
    assert (anomaly.name, anomaly.evidence) == ("changed-event", (1, 2, 5))
    assert log.read(0, b"rBw", 6) == []  # reported once


def test_a_place_that_was_truncated_is_not_judged(log: SegmentLog) -> None:
    log.place(sent(log, 1, b"1a"), 2, 2)
    log.place(sent(log, 3, b"1b"), 4, 4)
    log.truncate(2)
    assert [each.n for each in log.acknowledged] == [3]
    assert log.read(0, b"9x1b", 5) == []
    assert log.judged == 1


def test_an_acknowledgement_before_the_first_byte_leaves_the_place_open(log: SegmentLog) -> None:
    assert log.place(sent(log, 1, b"3abc"), 2, 2) == []
    assert not log.placed
    assert log.known_length == -1


def test_the_known_length_needs_every_append(log: SegmentLog) -> None:
    assert log.known_length == 0
    log.place(sent(log, 1, b"1a"), 2, 2)
    assert log.known_length == 2
    pending = sent(log, 3, b"1b")
    assert log.known_length == -1
    log.place(pending, 4, 4)
    assert log.known_length == 4
    log.place(sent(log, 5, b"1b"), 6, 8)
    assert log.known_length == -1


def test_an_open_place_is_bounded_by_a_later_append(log: SegmentLog) -> None:
    log.note(sent(log, 1, b"1a"), 2)
    log.place(sent(log, 3, b"1b"), 4, 4)
    assert log.read(0, b"1a", 5) == []
    assert log.judged == 1


def test_an_event_that_is_not_counted_yet_is_not_missing(log: SegmentLog) -> None:
    """Two equal events, of which the second was not read."""
    log.note(sent(log, 1, b"1a"), 2, 2)
    log.place(sent(log, 3, b"1a"), 4, 4)
    assert log.read(0, b"1a", 5) == []
    assert log.read(2, b"1b", 6)[0].name == "changed-event"


def test_a_segment_without_its_first_events_is_not_counted(log: SegmentLog) -> None:
    log.note(sent(log, 1, b"1a"), 2, 4)
    assert log.read(2, b"1b", 3) == []
    log.truncate(2)
    assert log.read(0, b"1c1b", 4) == []
    assert log.judged == 0


def test_events_of_another_segment_may_be_there(log: SegmentLog) -> None:
    other = SegmentLog("segment t", event_end, is_whole=True)
    other.place(sent(other, 1, b"1a"), 2, 2)
    log.place(sent(log, 3, b"1a"), 4, 2)
    log.expect(other)
    assert log.read(0, b"1a1a", 5) == []
    assert log.read(4, b"1a", 6)[0].name == "doubled-event"


def test_a_segment_that_is_not_whole_may_have_any_event(log: SegmentLog) -> None:
    log.is_whole = False
    log.place(sent(log, 1, b"1a"), 2, 4)
    assert log.read(0, b"1a1a", 3) == []


def test_a_length_denies_only_what_was_acknowledged_before_it_was_asked_for(log: SegmentLog) -> None:
    log.place(sent(log, 1, b"1a"), 4, 2)
    assert log.end_at(0, 3, 5) == []
    (anomaly,) = log.end_at(0, 6, 7)
    assert (anomaly.name, anomaly.evidence) == ("lost-event", (1, 4, 7))
    assert log.end_at(0, 8, 9) == []


def test_a_segment_that_vanished_loses_its_events_once(log: SegmentLog) -> None:
    assert log.vanish(1) == []
    log.place(sent(log, 2, b"1a1b"), 3, 4)
    (anomaly,) = log.vanish(4)
    assert (anomaly.evidence, log.judged) == ((2, 3, 4), 2)
