"""Fuzzing in memory is fast, and judges each run as before."""

import gc
import weakref
from contextlib import AbstractContextManager
from typing import Any

import pytest

from wiretool.codec.remembering import remembering
from wiretool.conformance.mutation.mutants import mutants_of
from wiretool.fuzz.campaign import Limits
from wiretool.fuzz.sequences.run import Outcome, SequenceRun
from wiretool.fuzz.sequences.sequence import FuzzSequence
from wiretool.fuzz.session import FuzzSession
from wiretool.fuzz.targets import base as target_module
from wiretool.fuzz.targets.base import InMemoryTarget
from wiretool.fuzz.targets.caller import FuzzCaller
from wiretool.fuzz.targets.memory import measured
from wiretool.net.calling.caller import Act, Dial

RUNS = 120


def judged(protocol: str, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Return what a run shows: each reply with the problems in it, requests without one, and suspicions."""
    session = FuzzSession(protocol, seed=3)
    session.add_cases()
    session.seeds = session.seeds[:60]
    target = session.mock_target()
    campaign = session.campaign(target, session.investigation(target, is_reference=True), Limits(runs=RUNS))
    campaign.cases = ()
    found: list[Any] = []
    note = campaign.novelty.note

    def noted(outcome: Outcome) -> int:
        replies = [
            (each.received.record.raw, each.received.record.fields, each.received.problems, each.received.violations)
            for each in outcome.exchanged
        ]
        found.append((replies, len(outcome.unanswered), repr(outcome.error), outcome.anomalies, outcome.judged_events))
        return note(outcome)

    with monkeypatch.context() as patch:
        patch.setattr(campaign.novelty, "note", noted)
        campaign.run()
    return found


@pytest.mark.parametrize("protocol", ["sbp", "sbp-0.1", "offramp", "pravega-controller"])
def test_remembered_readings_are_judged_as_fresh_ones(protocol: str, monkeypatch: pytest.MonkeyPatch) -> None:
    remembers = judged(protocol, monkeypatch)

    def never(*, is_on: bool) -> AbstractContextManager[None]:
        return remembering(is_on=False)

    monkeypatch.setattr(target_module, "remembering", never)
    assert judged(protocol, monkeypatch) == remembers
    assert len(remembers) == RUNS


def test_readings_of_a_mutant_are_not_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[bool] = []

    def noted(*, is_on: bool) -> AbstractContextManager[None]:
        asked.append(is_on)
        return remembering(is_on=is_on)

    monkeypatch.setattr(target_module, "remembering", noted)
    session = FuzzSession("sbp")
    mutant = next(iter(mutants_of(session.part).values()))
    for target in (session.mock_target(), session.mock_target(mutant)):
        assert isinstance(target, InMemoryTarget)
        target.run_fresh([FuzzSequence((), "")])
        target.run_fresh([FuzzSequence((), "")], is_measured=True)
    assert asked == [True, False, False, False]


def test_garbage_of_before_is_not_looked_through_when_memory_is_measured() -> None:
    outcome = Outcome(FuzzSequence((), ""))
    frozen = 0
    with measured(outcome):
        frozen = gc.get_freeze_count()
        kept = [[bytes(100)] for _ in range(5_000)]
    assert frozen > 10_000
    assert gc.get_freeze_count() == 0
    assert outcome.grown_bytes > 5_000 * 100
    assert len(kept) == 5_000


class Knot:
    """An object that refers to itself, so that only the garbage collector frees it."""

    def __init__(self) -> None:
        self.end = self


def test_garbage_of_earlier_runs_is_collected_at_times() -> None:
    target = FuzzSession("sbp").mock_target()
    gc.disable()
    try:
        knot = weakref.ref(Knot())
        for _ in range(target_module.BATCHES_PER_COLLECTION - 1):
            target.run([])
        assert knot() is not None
        target.run([])
        assert knot() is None
    finally:
        gc.enable()


class WaitingRun(SequenceRun):
    """A run that waits for a reply, ten nanoseconds from each event on."""

    def __init__(self, sequence: FuzzSequence) -> None:
        self.sequence = sequence
        self.outcome = Outcome(sequence)
        self.wake_ns = None
        self.is_over = False
        self.woken_ns: list[int] = []

    def start(self, now_ns: int) -> list[Act]:
        self.wake_ns = now_ns + 10
        return [Dial(int(self.sequence.origin), "mock", "")]

    def received(self, number: int, data: bytes, now_ns: int) -> list[Act]:
        self.wake_ns = now_ns + 10
        return []

    def woken(self, now_ns: int) -> list[Act]:
        self.woken_ns.append(now_ns)
        self.wake_ns = None
        return []


def test_each_reply_does_not_look_at_all_runs_and_none_is_woken_too_late() -> None:
    runs: list[WaitingRun] = []

    def begin(sequence: FuzzSequence) -> SequenceRun:
        runs.append(WaitingRun(sequence))
        return runs[-1]

    caller = FuzzCaller([FuzzSequence((), "1"), FuzzSequence((), "2")], begin, jobs=2)
    caller.start(0)
    caller.received(1, b"x", 3)
    caller.received(2, b"x", 5)
    assert caller.wake_ns == 10  # that of the start: nothing is due then, and the next one is found
    caller.woken(10)
    assert caller.wake_ns == 13
    caller.woken(13)
    assert [run.woken_ns for run in runs] == [[13], []]
    assert caller.wake_ns == 15
