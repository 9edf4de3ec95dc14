"""The marks of the benches in their quick form: no more lenient than they claim to be."""

import pytest

from tests.bench import bulk, bulk_loss, decode, replay, serve
from tests.bench.bulk_memory import is_flat

#: The share of a full mark that a quick run has to reach.
SHARE = 0.6


@pytest.mark.parametrize(
    ("quick", "full"),
    [
        (decode.MARK_QUICK, decode.MARK_MIN),
        (replay.MARK_QUICK, replay.MARK),
        (bulk.QUICK_SHARE, 1.0),
        (1 / bulk_loss.MARK_QUICK, 1 / bulk_loss.MARK),
    ],
    ids=["decode", "replay", "bulk", "bulk_loss"],
)
def test_a_quick_mark_is_most_of_the_full_one(quick: float, full: float) -> None:
    assert quick >= SHARE * full * 0.999


def test_a_server_is_compared_on_its_own_event_loop() -> None:
    assert serve.MARKED == "uvloop"


@pytest.mark.parametrize(("held", "is_fine"), [(0.3, True), (1.0, False), (2.0, False)])
def test_a_reader_that_holds_the_file_is_found(held: float, is_fine: bool) -> None:
    smallest, more_bytes = 84_000_000, 40_000_000
    largest = smallest + round(held * more_bytes)
    assert list(is_flat({"stats": smallest}, {"stats": largest}, more_bytes)) == [is_fine]


def test_the_quick_mark_of_serve_is_lower_as_its_ratio_depends_on_the_machine() -> None:
    """Between 0.24 and 0.36 for the same code: each reply wakes a client that sleeps."""
    assert serve.MARK_QUICK >= 0.4 * serve.MARK
