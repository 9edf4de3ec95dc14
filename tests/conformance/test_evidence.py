"""Evidence that a server is alive: which passes another answer of the server must support."""

import pytest

from tests.conformance.results import RESULTS
from wiretool.conformance.case import Verdict
from wiretool.conformance.evidence import find_unproved
from wiretool.conformance.results import CaseResult, Event

SENT = Event(10, "a", "client", "KeepAlive", {})
CLOSED = Event(20, "a", "server", "(connection closed)")
CASE = RESULTS[0].case


def answer(time_ns: int, *problems: str) -> Event:
    return Event(time_ns, "a", "server", "KeepAlive", {}, problems)


@pytest.mark.parametrize("verdict", [Verdict.PASS, Verdict.LENIENT, Verdict.UNSUPPORTED])
def test_the_end_of_a_connection_proves_nothing(verdict: Verdict) -> None:
    bare = CaseResult(CASE, verdict, events=(SENT, CLOSED))
    assert find_unproved([bare]) == [bare]


def test_an_answer_in_the_case_or_later_proves_it() -> None:
    bare = CaseResult(CASE, Verdict.PASS, events=(SENT, CLOSED))
    assert not find_unproved([CaseResult(CASE, Verdict.PASS, events=(SENT, answer(15), CLOSED))])
    assert not find_unproved([bare, CaseResult(CASE, Verdict.FAIL, events=(answer(30),))])


@pytest.mark.parametrize("event", [answer(5), answer(30, "truncated")], ids=["earlier", "invalid"])
def test_other_answers_do_not(event: Event) -> None:
    bare = CaseResult(CASE, Verdict.PASS, events=(SENT, CLOSED))
    assert find_unproved([CaseResult(CASE, Verdict.PASS, events=(event, answer(1))), bare]) == [bare]


def test_failures_need_no_answer() -> None:
    assert not find_unproved([CaseResult(CASE, Verdict.FAIL, events=(SENT, CLOSED))])
