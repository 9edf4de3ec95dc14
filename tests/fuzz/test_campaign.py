"""Runs of the fuzzer: planted bugs are found, clean servers show nothing, a seed repeats a run."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from tests.fuzz.helpers import PROTOCOLS, crash_on, plant, run_on, session_of
from wiretool.commands.fuzz.options import FuzzOptions
from wiretool.commands.fuzz.setup import limits_of
from wiretool.conformance.mutation.mutants import mutant_named
from wiretool.fuzz.campaign import REJECTED_MAX, Limits, spread
from wiretool.fuzz.oracles import DIED, SILENT, WRONG_ANSWER, Bucket, Suspicion
from wiretool.fuzz.sequences.run import Outcome
from wiretool.fuzz.sequences.sequence import FuzzSequence, Sending
from wiretool.fuzz.session import FuzzSession
from wiretool.fuzz.targets import memory as memory_target
from wiretool.fuzz.targets.socket import ServerDied
from wiretool.protocols.pravega.server.reading import Reads

#: Sequences with mutations, besides the seeds themselves, in a run on each clean mock.
MUTATED = 400


def test_a_crash_is_found_and_shrunk() -> None:
    """A frame of an unknown type crashes this server: one message is enough to show it."""
    counts, findings = run_on(crash_on(b"\xff\xff\xff\xff"), runs=1_500)
    died = [each for each in findings if each.bucket.oracle == DIED]
    assert len(died) == 1, [str(each.bucket) for each in findings]
    assert "IndexError" in died[0].bucket.reply
    assert died[0].messages == 1
    assert died[0].confirmed.shown == 3
    assert counts.runs <= 1_500


def test_a_stall_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """This server never returns from a read before the start of a segment."""
    monkeypatch.setattr(memory_target, "STALL_S", 0.1)

    def stalling(read: Callable[..., Any]) -> Callable[..., Any]:
        def reading(reads: Any, request: Any, now_ns: int) -> Any:
            while request.offset < 0:
                pass
            return read(reads, request, now_ns)

        return reading

    findings = run_on(plant(Reads, "read", stalling), runs=3_000)[1]
    stalled = [each for each in findings if each.bucket.reply == "stall"]
    assert {each.bucket.oracle for each in stalled} == {SILENT}
    assert stalled[0].bucket.message == "ReadSegment"
    assert stalled[0].messages <= 3


def test_conformance_cases_are_run_first() -> None:
    session = session_of("pravega")
    mutant = mutant_named(session.part, "attribute-absent-zero")
    target = session.mock_target(mutant)
    found: list[Any] = []
    investigation = session.investigation(target, is_reference=False)
    campaign = session.campaign(target, investigation, Limits(seconds=30, runs=1), on_finding=found.append)
    campaign.run()
    assert [each.bucket.oracle for each in found] == [WRONG_ANSWER] * len(found)
    assert found
    assert found[0].confirmed.case is not None
    assert found[0].cases[0] == found[0].confirmed.case.id
    assert found[0].bucket.reply.startswith("conformance case: ")


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_clean_mock_shows_nothing(protocol: str) -> None:
    """A bounded run with a fixed seed and otherwise default options, for each protocol."""
    session = FuzzSession(protocol, seed=0)
    session.add_built_in_seeds()
    runs = len(session.seeds) + MUTATED
    found: list[Any] = []
    with session.noting_branches():
        target = session.mock_target()
        investigation = session.investigation(target, is_reference=True)
        campaign = session.campaign(target, investigation, Limits(runs=runs), on_finding=found.append)
        counts = campaign.run()
    assert not found, [each.title for each in found]
    assert counts.runs >= runs
    assert counts.messages > 3 * counts.runs
    assert counts.cases >= len(session.cases)
    assert counts.phases >= 5


def test_a_seed_repeats_a_run() -> None:
    def traced(seed: int) -> list[bytes]:
        session = session_of("pravega-draft")
        target = session.mock_target()
        campaign = session.campaign(target, session.investigation(target, is_reference=True), Limits(runs=400))
        campaign.rng.seed(seed)
        sent: list[bytes] = []
        run = target.run

        def noting(sequences: Any) -> Any:
            for sequence in sequences:
                sent.extend(step.data for step in sequence.steps if isinstance(step, Sending))
            return run(sequences)

        target.run = noting  # type: ignore[method-assign]
        campaign.run()
        return sent

    first = traced(7)
    assert first == traced(7)
    assert first != traced(8)


@pytest.mark.parametrize(("oracle", "is_finding"), [(DIED, True), (WRONG_ANSWER, False)])
def test_a_server_that_goes_away_while_a_finding_is_confirmed(
    monkeypatch: pytest.MonkeyPatch, oracle: str, is_finding: bool
) -> None:
    """That it is not there says nothing of the sequence that was tried last: the finding keeps all of them."""
    session = session_of("pravega-draft")
    target = session.mock_target()
    run_fresh = target.run_fresh

    def leave(*arguments: Any, **options: Any) -> Any:
        outcomes = run_fresh(*arguments, **options)
        outcomes[0].error = ServerDied("the server accepts no more connections")
        target.why_gone = str(outcomes[0].error)
        return outcomes

    monkeypatch.setattr(target, "run_fresh", leave)
    first, second = [seed for seed in session.seeds if not seed.setup][:2]
    suspicion = Suspicion(Bucket(oracle, "", second.sendings[-1].message), "why", 0)
    confirmed = session.investigation(target, is_reference=False).confirm(suspicion, second, (first,))
    assert (confirmed is not None) == is_finding
    if confirmed is not None:
        assert len(confirmed.sequence.sendings) == len(first.sendings) + len(second.sendings)
        assert (confirmed.shown, confirmed.why_unconfirmed) == (0, "the server accepts no more connections")


def test_a_suspicion_after_other_messages_is_investigated_however_many_were_none() -> None:
    """A request that the reference leaves without a reply after some messages may need one after others."""
    session = session_of("pravega-draft")
    target = session.mock_target()
    investigated: list[FuzzSequence] = []
    campaign = session.campaign(target, session.investigation(target, is_reference=False), Limits())

    def note(suspicion: Suspicion, sequence: FuzzSequence, before: tuple[FuzzSequence, ...]) -> bool:
        investigated.append(sequence)
        return False

    campaign.investigate = note
    long = next(each for each in session.seeds if len({step.message for step in each.sendings[-4:]}) == 4)
    other = long.with_steps(tuple(reversed(long.steps)))
    suspicion = Suspicion(Bucket(SILENT, "", "AppendBlock"), "no reply", len(long.steps) - 1)
    for _ in range(200):
        campaign._suspect([suspicion], long, ())
    usual = len(investigated)
    assert REJECTED_MAX <= usual < 60
    campaign._suspect([suspicion], other, ())
    assert investigated[usual:] == [other]


def test_a_few_runs_have_mutations_too() -> None:
    """Unchanged seeds take half of the runs at most; those that run are spread over all of them."""
    session = FuzzSession("sbp")
    session.add_cases()
    session.cases = []
    target = session.mock_target()
    ran: list[FuzzSequence] = []
    run = target.run

    def noting(sequences: Sequence[FuzzSequence]) -> list[Outcome]:
        ran.extend(sequences)
        return run(sequences)

    vars(target)["run"] = noting
    limits = limits_of(FuzzOptions("sbp", runs=20))
    session.campaign(target, session.investigation(target, is_reference=True), limits).run()
    assert len(ran) == 20
    unchanged = [each for each in ran if each in session.seeds]
    assert 10 <= len(unchanged) < 15
    assert max(session.seeds.index(each) for each in unchanged) > len(session.seeds) / 2


def test_seeds_are_spread() -> None:
    seeds = [FuzzSequence((), str(at)) for at in range(5)]
    assert [each.origin for each in spread(seeds, 2)] == ["0", "2"]
    assert spread(seeds, 5) == seeds
