"""Seeds from session tables: sessions that the table allows, with valid messages, on clean servers."""

import random

import pytest

from tests.fuzz.helpers import PROTOCOLS
from wiretool.fuzz.oracles import SILENT
from wiretool.fuzz.part import fuzz_part_of
from wiretool.fuzz.seeds.tables import table_sequences, units_of
from wiretool.fuzz.sequences.sequence import FuzzSequence
from wiretool.fuzz.session import FuzzSession
from wiretool.protocols.pravega_controller.calls import METHODS
from wiretool.protocols.pravega_controller.fuzz import stream_of


def session_with_table(protocol: str) -> tuple[FuzzSession, list[FuzzSequence]]:
    """Return a session, and the seeds that the session table gives it."""
    session = FuzzSession(protocol)
    session.add_cases()
    before = len(session.seeds)
    session.add_table()
    return session, session.seeds[before:]


def test_every_run_has_the_seeds_of_cases_and_of_the_table() -> None:
    session = FuzzSession("pravega-draft")
    session.add_built_in_seeds()
    both, _ = session_with_table("pravega-draft")
    assert [each.sendings for each in session.seeds] == [each.sendings for each in both.seeds]
    assert session.cases == both.cases


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_each_phase_and_message_is_reached(protocol: str) -> None:
    table = fuzz_part_of(protocol).table
    assert table is not None
    session, made = session_with_table(protocol)
    walked = set()
    for sequence in made:
        phase = table.start
        for unit, _ in units_of(sequence, table):
            message = unit[-1].message
            assert (phase, message) in table.following, sequence.origin
            walked.add((phase, message))
            phase = table.following[phase, message]
    known = {step.message for seed in session.seeds for step in seed.sendings if not seed.setup}
    reachable = {(phase, message) for phase, message in table.following if message in known}
    # The tail of a cut message has a phase of its own, to which no entry of the table leads.
    assert {phase for phase, _ in walked} == {phase for phase, _ in reachable} - {"tail"}
    assert len(walked) >= 0.7 * sum(phase != "tail" for phase, _ in reachable)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_sessions_run_on_a_clean_mock(protocol: str) -> None:
    """Nearly all messages decode, many have a reply, and the mock shows no problem; reads may wait for data."""
    session, made = session_with_table(protocol)
    assert len(made) >= 5
    target = session.mock_target()
    exchanged = sent = broken = 0
    for sequence in made:
        (outcome,) = target.run_fresh([sequence])
        assert outcome.error is None, sequence.origin
        suspicions = [each for each in session.oracles.judge(outcome) if each.bucket.oracle != SILENT]
        assert suspicions == [], sequence.origin
        # Whether a compressed message is valid depends on the reply to the upgrade.
        broken += any(each.client_problems for each in outcome.connections)
        exchanged += len(outcome.exchanged)
        sent += outcome.sent_messages
    assert broken <= 0.1 * len(made)
    assert exchanged > 0.4 * sent


def test_names_of_other_sessions_are_exchanged() -> None:
    """The messages of a session mostly name the same segment, though they come from several cases."""
    _, made = session_with_table("pravega")
    counts = [
        len({part[:2] for step in sequence.sendings for part in step.data.split(b"zq7k")[1:]}) for sequence in made
    ]
    assert sum(each <= 1 for each in counts) > 0.6 * len(counts)


def test_a_seed_repeats_the_sessions() -> None:
    session, made = session_with_table("pravega-draft")
    table = fuzz_part_of("pravega-draft").table
    assert table is not None
    seeds = session.seeds[: -len(made)]
    again = [list(table_sequences(table, seeds, session.protocol_in(""), random.Random(seed))) for seed in (0, 0, 1)]
    assert [each.sendings for each in again[0]] == [each.sendings for each in again[1]]
    assert [each.sendings for each in again[0]] != [each.sendings for each in again[2]]


def test_each_method_of_the_controller_is_called_on_a_stream_of_its_own() -> None:
    """Also methods that no case calls; the mock answers nearly all calls."""
    session, made = session_with_table("pravega-controller")
    called = {step.message for sequence in made for step in sequence.sendings}
    assert called >= METHODS
    for sequence in made:
        opened = [stream_of(step.data) for step in sequence.sendings if step.message == "Headers"]
        assert opened == sorted(set(opened)), sequence.origin
        for step in sequence.sendings:
            if step.message in METHODS:
                assert step.record is not None
                assert step.record.raw == step.data
    calls = answered = 0
    for outcome in session.reference().run_fresh(made):
        steps = {at for at, step in enumerate(outcome.sequence.steps) if getattr(step, "message", "") in METHODS}
        calls += len(steps)
        answered += len(steps & {each.step for each in outcome.exchanged})
    assert answered > 0.9 * calls
