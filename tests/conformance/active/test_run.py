"""Many cases at once: order, deadline, and connections that come and go."""

import pytest

from tests.conformance.scripted import ScriptedMock
from wiretool.conformance.active.in_memory import InMemory
from wiretool.conformance.active.reach_probe import CUT_CASES, ReachProbe
from wiretool.conformance.active.run import ConformanceCaller, base_36
from wiretool.conformance.case import MUST, Conformance, Verdict, case, expect, expect_nothing, send
from wiretool.conformance.results import CaseResult
from wiretool.net.calling.caller import Dial

CASES = tuple(
    case(f"pravega/x/{number}", MUST, "It does.", "§1", send("KeepAlive"), expect("KeepAlive")) for number in range(20)
)
PART = Conformance(protocol="pravega", server="pravega", cases=CASES)


def run(jobs: int, deadline_s: float | None = None, *, is_mute: bool = False) -> list[CaseResult]:
    told: list[CaseResult] = []
    caller = ConformanceCaller(
        CASES, PART, token="t", patience_s=1.0, jobs=jobs, deadline_s=deadline_s, on_result=told.append
    )
    InMemory(caller, ScriptedMock(lambda name, fields: [] if is_mute else [("KeepAlive", {})])).run()
    assert caller.progress == (20, 20)
    assert sorted(map(id, told)) == sorted(map(id, caller.results.values()))
    return [caller.results[index] for index in range(20)]


def test_every_case_gets_its_own_result() -> None:
    for jobs in (1, 7, 100):
        results = run(jobs)
        assert [result.case for result in results] == list(CASES)
        assert {result.verdict for result in results} == {Verdict.PASS}


def test_a_deadline_ends_the_run() -> None:
    results = run(2, 3.5, is_mute=True)
    assert [result.verdict for result in results] == [Verdict.FAIL] * 6 + [Verdict.ERROR] * 14
    assert results[-1].why == "the run reached its deadline of 3.5 s"


def test_a_silent_server_fails_each_case() -> None:
    assert {result.why for result in run(1, is_mute=True)} == {"no reply came in time; expected KeepAlive()"}


def test_silence_takes_the_counted_time() -> None:
    quiet = case("pravega/x/99", MUST, "It does.", "§1", send("KeepAlive"), expect_nothing(seconds=30))
    caller = ConformanceCaller([quiet], PART, token="t", patience_s=1.0)
    InMemory(caller, ScriptedMock(lambda name, fields: [])).run()
    assert caller.results[0].verdict is Verdict.PASS
    assert caller.results[0].seconds > 30


def test_tokens() -> None:
    assert [base_36(number) for number in (0, 35, 36, 1295, 1296)] == ["00", "0z", "10", "zz", "100"]


class Refusing(InMemory):
    """A network on which the mock cannot be reached for some time."""

    def __init__(self, caller: ConformanceCaller, mock: ScriptedMock, from_ns: int, until_ns: int) -> None:
        super().__init__(caller, mock)
        self._caller = caller
        self._since, self._until = self.now_ns + from_ns, self.now_ns + until_ns

    def _dial(self, act: Dial) -> None:
        if self._since <= self.now_ns < self._until:
            self._act(self._caller.lost(act.connection, "refused", self.now_ns))
        else:
            super()._dial(act)


def run_refused(jobs: int, until_s: float) -> ConformanceCaller:
    """Run the cases against a server that refuses connections from the start of the second case on."""
    caller = ConformanceCaller(
        CASES,
        PART,
        token="t",
        patience_s=1.0,
        jobs=jobs,
        probe_for=lambda numbers: ReachProbe("pravega", "", "here", numbers, 1.0),
    )
    mock = ScriptedMock(lambda name, fields: [("KeepAlive", {})])
    Refusing(caller, mock, 1, round(until_s * 1e9)).run()
    assert caller.progress == (20, 20)
    return caller


@pytest.mark.parametrize("jobs", [1, 4])
def test_a_target_that_stays_unreachable_ends_the_run(jobs: int) -> None:
    caller = run_refused(jobs, 100)
    whys = [caller.results[index].why for index in range(20)]
    assert whys[-1] == "the target became unreachable: refused"
    assert CUT_CASES <= sum(why == "connection a: (connection lost: refused)" for why in whys) < CUT_CASES + jobs
    assert caller.why_lost == "refused"


@pytest.mark.parametrize("jobs", [1, 4])
def test_a_target_that_comes_back_is_judged_further(jobs: int) -> None:
    caller = run_refused(jobs, 0.7)
    verdicts = [caller.results[index].verdict for index in range(20)]
    assert verdicts.count(Verdict.ERROR) < CUT_CASES + jobs
    assert verdicts[-1] is Verdict.PASS
    assert caller.why_lost == ""
