"""The batches of one place."""

import pytest

from wiretool.consistency.batch_log import AppendedBatch, BatchLog, Fetch, FetchedBatch


def batch(base: int, n: int, content: bytes = b"x") -> AppendedBatch:
    return AppendedBatch(n, n + 1, base, 1, content)


def fetched(*bases: int) -> list[FetchedBatch]:
    return [FetchedBatch(base, b"x") for base in bases]


@pytest.fixture
def log() -> BatchLog:
    made = BatchLog("range r", is_strict=False)
    for base in (0, 10, 20):
        assert made.acknowledge(batch(base, base + 1)) == []
    return made


@pytest.mark.parametrize(
    ("offset", "bases", "lost"),
    [
        (0, [0, 10, 20], []),
        (0, [0, 20], ["10"]),
        (0, [10, 20], ["0"]),
        (5, [0, 10], []),
        (5, [0, 20], ["10"]),
        (10, [20], ["10"]),
        (10, [0], ["10"]),
        (15, [0], ["10"]),
        (15, [10], []),
        (11, [20], []),
        (0, [0], []),
    ],
)
def test_a_read_denies_the_batches_that_it_passes_over(
    log: BatchLog, offset: int, bases: list[int], lost: list[str]
) -> None:
    anomalies = log.read(Fetch(50, 51, offset, fetched(*bases), 0, 50))
    assert [anomaly.why.rpartition(" ")[2] for anomaly in anomalies] == lost
    assert all(anomaly.name == "lost-event" for anomaly in anomalies)


def test_a_batch_that_was_acknowledged_after_the_request_is_not_denied(log: BatchLog) -> None:
    assert log.read(Fetch(5, 51, 0, fetched(0, 20), 0, 5)) == []
    assert log.read(Fetch(5, 51, 10, [], 100, 5)) == []


def test_trimmed_batches_are_not_missed(log: BatchLog) -> None:
    log.trim(15)
    assert (log.first_offset, log.has_acknowledged) == (20, True)
    assert log.read(Fetch(50, 51, 0, fetched(20), 0, 50)) == []
    log.trim(21)
    assert not log.has_acknowledged


def test_each_batch_is_reported_once(log: BatchLog) -> None:
    first = log.read(Fetch(50, 51, 0, [FetchedBatch(0, b"y")], 0, 50))
    assert [anomaly.name for anomaly in first] == ["changed-event"]
    assert log.read(Fetch(52, 53, 0, [FetchedBatch(0, b"z")], 0, 52)) == []
    assert log.judged == 1
