"""Many segments: removed ones, and too many bytes."""

import pytest

from wiretool import limits
from wiretool.consistency.appended import AppendedBytes
from wiretool.consistency.segment_logs import SegmentLogs


def event_end(data: bytes | bytearray, at: int) -> int:
    return -1


def fill(logs: SegmentLogs, name: str, data: bytes) -> None:
    append = AppendedBytes(1, data, 1)
    logs.of(name).send(append)
    logs.of(name).place(append, 2, len(data))
    logs.bound_bytes(name)


def test_removed_segments_are_not_missed() -> None:
    logs = SegmentLogs("segment", event_end, is_new=True)
    fill(logs, "a", b"x")
    logs.leave(("a",), 2)
    assert list(logs.items()) == []
    assert logs.vanish("a", 3) == []
    logs.restore(("a",))
    assert [name for name, _ in logs.items()] == ["a"]
    assert [anomaly.name for anomaly in logs.vanish("a", 3)] == ["lost-event"]
    assert (logs.vanish("a", 4), logs.judged) == ([], 1)


def test_the_largest_segments_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "CONSISTENCY_BYTES_MAX", 100)
    logs = SegmentLogs("segment", event_end, is_new=True)
    fill(logs, "small", b"x" * 20)
    fill(logs, "large", b"x" * 70)
    fill(logs, "last", b"x" * 20)
    assert [name for name, _ in logs.items()] == ["small", "last"]
    logs.bound_bytes("large")
    assert logs.find("large") is None


def test_a_new_segment_is_whole_only_on_a_new_server() -> None:
    logs = SegmentLogs("segment", event_end, is_new=False)
    assert not logs.of("a").is_whole
    logs.create("a")
    assert logs.of("a").is_whole
    logs.doubt_copies()
    assert not logs.of("a").is_whole
    logs.doubt()
    assert logs.find("a") is None


def test_segments_may_come_while_they_are_listed() -> None:
    """Reading one segment back may add others."""
    logs = SegmentLogs("segment", event_end, is_new=True)
    fill(logs, "a", b"x")
    listed = []
    for item in logs.items():
        listed.append(item)
        fill(logs, "b", b"y")
    assert [name for name, _ in listed] == ["a"]


def test_a_segment_that_clients_asked_to_remove_before_its_creation_was_confirmed_may_be_gone() -> None:
    """Requests 1, 2 and 3 come together: to create it, to append to it, to merge it into another one."""
    logs = SegmentLogs("segment", event_end, is_new=True)
    logs.leave(("a",), 3)
    logs.create("a", asked=1)
    fill(logs, "a", b"x")
    assert logs.vanish("a", 5) == []
    logs.create("a", asked=6)
    fill(logs, "a", b"x")
    assert [anomaly.name for anomaly in logs.vanish("a", 7)] == ["lost-event"]
