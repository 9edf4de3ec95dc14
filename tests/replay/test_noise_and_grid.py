"""Two runs of one recording: what is noise between them, and what two servers answer differently."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.replay.liars import Liar
from tests.replay.stage import replay
from wiretool.codec.message import Message
from wiretool.replay.adapter import Verdict
from wiretool.replay.compare_servers import coverage_of_both, grid, grid_lines, is_mute
from wiretool.replay.judging.coverage import Coverage
from wiretool.replay.judging.noise import LEARNT, without_noise
from wiretool.replay.judging.outcomes import End, Outcome

WRITE = Path(__file__).parents[2] / "captures" / "pravega" / "write.pcap"


def outcomes(**changes: Any) -> list[Outcome]:
    """Of a store that says its third ack otherwise."""

    def lie(message: Message) -> Message:
        return msgspec.structs.replace(message, **changes)

    return replay(WRITE, mocks={"pravega": Liar("DataAppended", lie, skip=2, wire_version=17)}).outcomes


def findings(found: list[Outcome]) -> list[Outcome]:
    return [each for each in found if each.verdict.is_finding]


def test_what_both_runs_say_is_a_finding() -> None:
    found = without_noise(outcomes(request_id=77), outcomes(request_id=77))
    (finding,) = findings(found)
    assert [each.steps for each in finding.differences] == [("request_id",)]


def test_what_is_another_in_each_run_is_noise() -> None:
    found = without_noise(outcomes(request_id=78), outcomes(request_id=77))
    assert not findings(found)
    (noise,) = [each for each in found if LEARNT in each.reasons]
    assert noise.verdict is Verdict.NOISE


def test_what_only_one_run_says_is_noise() -> None:
    assert not findings(without_noise(outcomes(), outcomes(request_id=77)))


def test_servers_that_answer_alike_have_an_empty_grid() -> None:
    assert list(grid(outcomes(request_id=77), outcomes(request_id=77))) == []
    assert list(grid_lines([], "one", "other", Coverage(3, 3))) == ["3 exchanges: one and other answer alike"]


def test_a_reply_that_neither_server_sends_is_no_row() -> None:
    """However each run judged its absence."""
    (answered, *_) = (each for each in outcomes() if each.live and each.request)
    missing = Outcome(answered.dialogue, answered.request, answered.recorded, verdict=Verdict.MISSING)
    unknown = Outcome(answered.dialogue, answered.request, answered.recorded, verdict=Verdict.UNKNOWN)
    assert list(grid([missing], [unknown])) == []
    assert coverage_of_both([missing], [missing], 0.5) == Coverage(1, 0)
    (row,) = grid([missing], [answered])
    assert (row.says_one, row.says_other) == ("nothing", "as recorded")


def test_servers_of_which_nothing_was_compared_do_not_answer_alike() -> None:
    first, second = grid_lines([], "one", "other", Coverage(5, 0))
    assert first == "0 of 5 exchanges judged, 5 could not be"
    assert second == "no success: nothing could be judged (--min-judged 50%)"
    unprepared = list(grid_lines([], "one", "other", Coverage(5, 5, is_prepared=False)))
    assert unprepared == ["5 exchanges", "no success: the server could not be prepared"]


def test_the_end_of_a_connection_is_not_an_exchange() -> None:
    found = outcomes()
    (answered, *_) = (each for each in found if each.live and each.request)
    ends = [*found, Outcome(answered.dialogue, None, verdict=Verdict.UNKNOWN)]
    without, coverage = coverage_of_both(found, found, 0.5), coverage_of_both(ends, ends, 0.5)
    assert coverage.exchanges == without.exchanges == len(found)
    assert (coverage.further, without.further) == (1, 0)
    first, *_ = grid_lines([], "one", "other", Coverage(6, 5, further=1))
    assert first == "5 of 5 exchanges and 0 of 1 further difference judged, 1 could not be: one and other answer alike"


CLOSED = (End("open", "closed"), "connection closed")
OPEN = (End("closed", "open"), "connection open")


@pytest.mark.parametrize(("end", "says"), [CLOSED, OPEN])
def test_an_end_that_only_one_of_two_servers_has_is_a_row_in_either_order(end: End, says: str) -> None:
    found = outcomes()
    ended = Outcome(found[0].dialogue, None, verdict=Verdict.DIFFERENT, end=end)
    (row,) = grid([*found, ended], found)
    (swapped,) = grid(found, [*found, ended])
    assert (row.says_one, row.says_other) == (says, "as recorded")
    assert (swapped.says_one, swapped.says_other) == ("as recorded", says)
    for each in (row, swapped):
        named, *_ = grid_lines([each], "one", "other", Coverage(3, 3))
        assert named == f"{ended.dialogue.name}: end of the connection"


@pytest.mark.parametrize("verdict", [Verdict.EXPLAINED, Verdict.UNKNOWN])
def test_an_end_that_is_no_finding_is_no_row_in_either_order(verdict: Verdict) -> None:
    found = outcomes()
    ended = Outcome(found[0].dialogue, None, verdict=verdict, end=End("open", "closed"))
    assert list(grid([*found, ended], found)) == list(grid(found, [*found, ended])) == []


def test_ends_of_two_servers_are_compared() -> None:
    """An exchange that is alike is not a row, even if one of the two could not be judged."""
    here = outcomes()[0].dialogue
    closed = Outcome(here, None, verdict=Verdict.DIFFERENT, end=End("open", "closed"))
    unknown = Outcome(here, None, verdict=Verdict.UNKNOWN, end=End("open", "closed"))
    kept = Outcome(here, None, verdict=Verdict.DIFFERENT, end=End("closed", "open"))
    assert list(grid([closed], [closed])) == list(grid([closed], [unknown])) == list(grid([unknown], [closed])) == []
    (row,) = grid([closed], [kept])
    assert (row.says_one, row.says_other) == (CLOSED[1], OPEN[1])


def test_a_server_is_mute_that_answers_nothing_it_is_asked() -> None:
    found = outcomes()
    assert not is_mute(found)
    (answered, *_) = (each for each in found if each.live and each.request)
    unasked = Outcome(answered.dialogue, None, [], answered.live)
    ended = Outcome(answered.dialogue, None)
    unanswered = Outcome(answered.dialogue, answered.request, answered.recorded)
    assert is_mute([unasked, ended, unanswered])
    assert not is_mute([unasked, answered])


def test_what_two_servers_say_differently_is_a_row() -> None:
    (row,) = grid(outcomes(), outcomes(request_id=77))
    assert (row.says_one, row.says_other) == ("as recorded", "DataAppended: request_id 77")
    lines = list(grid_lines([row], "one", "other", Coverage(3, 3)))
    assert lines[-1] == "3 exchanges; 1 answered differently"
    assert any("request_id 77" in line for line in lines)
