"""The mock in memory as a target: what it keeps is measured, and connections may stay open."""

import gc
import select
from dataclasses import replace
from typing import Any

import pytest

from tests.fuzz.helpers import plant, session_of
from wiretool.conformance.levels import Verdict
from wiretool.conformance.mutation.mutants import Patcher
from wiretool.fuzz.oracles import GROWN_BYTES, MEMORY, PEAK_BYTES, Oracles
from wiretool.fuzz.sequences.sequence import Change, FuzzSequence
from wiretool.fuzz.targets.base import Target
from wiretool.fuzz.targets.memory import MockStalls, alarm
from wiretool.protocols.pravega.server.link import StoreLink
from wiretool.protocols.pravega.server.segments import Segments


def seed_with(message: str) -> FuzzSequence:
    """Return the first seed of the store that sends a message, and whose connections the store does not close."""
    session = session_of("pravega")
    seeds = [each for each in session.seeds if not each.setup and message in {step.message for step in each.sendings}]
    return next(each for each in seeds if _stays(session.reference(), replace(each, stays_open=True)))


def _stays(target: Target, sequence: FuzzSequence) -> bool:
    (outcome,) = target.run_fresh([sequence])
    return not any(connection.ended for connection in outcome.connections)


def taking(held: int, temporary: int) -> Any:
    """Return a mutant that keeps some bytes of each segment that is made, and takes others for the time of the call."""

    def wrap(create: Any) -> Any:
        def wasteful(self: Any, *arguments: Any) -> Any:
            vars(self).setdefault("waste", []).append(bytearray(held))
            bytearray(temporary)
            return create(self, *arguments)

        return wasteful

    return plant(Segments, "create_segment", wrap)


@pytest.mark.parametrize(
    ("held", "temporary", "kinds"),
    [(0, 0, []), (2 * GROWN_BYTES, 0, ["keeps"]), (0, 2 * PEAK_BYTES, ["takes"])],
    ids=["clean", "leak", "peak"],
)
def test_memory_is_judged(held: int, temporary: int, kinds: list[str]) -> None:
    session = session_of("pravega")
    seed = seed_with("CreateSegment")
    (outcome,) = session.mock_target(taking(held, temporary)).run_fresh([seed], is_measured=True)
    found = [each.bucket for each in Oracles().judge(outcome) if each.bucket.oracle == MEMORY]
    assert [each.reply for each in found] == kinds
    assert outcome.grown_bytes >= held
    assert outcome.peak_bytes >= temporary


def test_memory_is_not_measured_unless_asked_for() -> None:
    (outcome,) = session_of("pravega").mock_target(taking(10 * GROWN_BYTES, 0)).run_fresh([seed_with("CreateSegment")])
    assert (outcome.grown_bytes, outcome.peak_bytes) == (0, 0)


def test_connections_stay_open_beside_a_case() -> None:
    """This store serves no second connection while the first one is there."""

    def wrap(serve: Any) -> Any:
        def alone(self: Any, now_ns: int) -> None:
            first = vars(self._store).setdefault("first", self)
            if self is first:
                serve(self, now_ns)

        return alone

    def lost(forget: Any) -> Any:
        def gone(self: Any, now_ns: int) -> None:
            vars(self._store).pop("first", None)
            forget(self, now_ns)

        return gone

    session = session_of("pravega")
    seed = seed_with("CreateSegment")
    case = next(each for each in session.cases if each.id == seed.origin)
    open_seed = replace(seed, stays_open=True, changes=(Change("order/stay-open", ""),))
    mutant = plant(StoreLink, "_serve_frames", wrap)

    def apply(patcher: Patcher) -> None:
        mutant.apply(patcher)
        patcher.wrap(StoreLink, "lost", lost)

    target = session.mock_target(replace(mutant, apply=apply))

    def verdicts(sequence: FuzzSequence) -> set[Verdict]:
        return {result.verdict for result in target.run_cases([case], [sequence])}

    assert verdicts(seed) == {Verdict.PASS}
    assert verdicts(open_seed) == {Verdict.FAIL}
    target.run([open_seed])
    assert {result.verdict for result in target.probe(case, seed)} == {Verdict.FAIL}


def test_a_probe_needs_a_server_that_has_seen_something() -> None:
    session = session_of("pravega")
    case = next(each for each in session.cases if not each.variant)
    target = session.mock_target()
    assert target.probe(case, session.seeds[0]) == []
    target.run([seed_with("CreateSegment")])
    assert [result.verdict for result in target.probe(case, session.seeds[0])] == [Verdict.PASS]


def test_the_alarm_rings_in_the_shorter_time() -> None:
    def hang() -> None:
        while True:
            pass

    with alarm(0.05), pytest.raises(MockStalls, match=r"no return in 0\.05 s"):
        hang()


def test_no_garbage_is_collected_while_the_alarm_may_ring() -> None:
    """A callback of the collector swallows the exception, and the time of a collection is not that of the mock."""
    phases = []

    def fill() -> None:
        kept: list[list[int]] = []
        while True:
            kept.append([])

    def note(phase: str, info: dict[str, int]) -> None:
        phases.append(phase)

    gc.callbacks.append(note)
    try:
        gc.collect()
        assert phases == ["start", "stop"]
        with alarm(0.1):
            with pytest.raises(MockStalls):
                fill()
            assert phases == ["start", "stop"]
    finally:
        gc.callbacks.remove(note)
    assert gc.isenabled()


def test_time_in_which_the_process_does_not_run_is_not_that_of_the_mock() -> None:
    """A machine that is busy with other programs does not make the mock slow."""

    def waiting(create: Any) -> Any:
        def asleep(self: Any, *arguments: Any) -> Any:
            select.select([], [], [], 0.2)
            return create(self, *arguments)

        return asleep

    mutant = plant(Segments, "create_segment", waiting)
    (outcome,) = session_of("pravega").mock_target(mutant).run_fresh([seed_with("CreateSegment")])
    assert outcome.error is None
    assert outcome.slowest_s < 0.1
