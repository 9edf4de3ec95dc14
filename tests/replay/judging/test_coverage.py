"""Share of the exchanges that could be judged."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wiretool.analysis.dialogues import Dialogue
from wiretool.records import Record
from wiretool.replay.adapter import Verdict
from wiretool.replay.compare_servers import coverage_of_both
from wiretool.replay.judging.coverage import Coverage, coverage_of
from wiretool.replay.judging.outcomes import End, Outcome

HERE = Dialogue(0, "10.0.0.1:1", "10.0.0.2:2")
_verdicts = st.lists(st.sampled_from(Verdict), max_size=30)


@given(_verdicts, st.floats(0, 1))
def test_success_needs_something_judged_and_the_share_that_is_required(verdicts: list[Verdict], least: float) -> None:
    coverage = coverage_of([Outcome(HERE, None, verdict=verdict) for verdict in verdicts], least)
    judged = [verdict for verdict in verdicts if verdict is not Verdict.UNKNOWN]
    assert (coverage.total, coverage.judged) == (len(verdicts), len(judged))
    assert coverage.is_enough == (bool(judged) and len(judged) / len(verdicts) >= least)
    assert coverage.is_enough == (not coverage.shortfall)


@pytest.mark.parametrize(
    ("coverage", "shortfall"),
    [
        (Coverage(0, 0, 0.0), "nothing was compared"),
        (Coverage(3, 0, 0.0), "nothing could be judged"),
        (Coverage(4, 1), "too few judged"),
        (Coverage(4, 2), ""),
        (Coverage(4, 3, 1.0), "too few judged"),
        (Coverage(4, 4, 1.0), ""),
    ],
)
def test_what_is_missing_is_named(coverage: Coverage, shortfall: str) -> None:
    assert coverage.shortfall == shortfall


def test_an_end_of_a_connection_is_no_exchange() -> None:
    """The number of exchanges is that of the recording, whatever the live server does."""
    end = Outcome(HERE, None, end=End("closed", "open"))
    coverage = coverage_of([end])
    assert (coverage.exchanges, coverage.further, coverage.total) == (0, 1, 1)


def test_of_exchanges_and_of_further_differences_no_more_are_judged_than_there_are() -> None:
    asked = Record(1, "frame", 0, 0, "a", "b", "client", (1, 1), 0, 1)
    found = [Outcome(HERE, asked), Outcome(HERE, asked, verdict=Verdict.UNKNOWN)]
    found += [Outcome(HERE, None, verdict=Verdict.DIFFERENT, end=End("closed", "open"))] * 3
    coverage = coverage_of(found)
    assert (coverage.exchanges_judged, coverage.exchanges) == (1, 2)
    assert (coverage.further_judged, coverage.further) == (3, 3)
    assert coverage.subject("1 connection") == (
        "1 of 2 exchanges and 3 of 3 further differences on 1 connection judged, 1 could not be"
    )
    assert coverage_of_both(found, found, 0.5)[:2] == (5, 4)
    assert coverage_of_both(found, found, 0.5).further_judged == 3
