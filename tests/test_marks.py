"""The marks of the benches in their quick form: no more lenient than they claim to be."""

import pytest

from tests.bench import decode, replay, serve

#: The share of a full mark that a quick run has to reach.
SHARE = 0.6


@pytest.mark.parametrize(
    ("quick", "full"),
    [
        (decode.MARK_QUICK, decode.MARK_MIN),
        (replay.MARK_QUICK, replay.MARK),
    ],
    ids=["decode", "replay"],
)
def test_a_quick_mark_is_most_of_the_full_one(quick: float, full: float) -> None:
    assert quick >= SHARE * full * 0.999


def test_a_server_is_compared_on_its_own_event_loop() -> None:
    assert serve.MARKED == "uvloop"


def test_the_quick_mark_of_serve_is_lower_as_its_ratio_depends_on_the_machine() -> None:
    """Between 0.24 and 0.36 for the same code: each reply wakes a client that sleeps."""
    assert serve.MARK_QUICK >= 0.4 * serve.MARK
