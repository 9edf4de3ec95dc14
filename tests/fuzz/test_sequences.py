"""Sequences: issued values are carried over, JSON keeps them, a run takes its steps in order."""

from itertools import count
from math import inf, nan

import pytest

from tests.fuzz.helpers import PROTOCOLS, session_of
from tests.helpers.examples import needs_protocol
from wiretool.errors import InputError
from wiretool.faults.adapter import fault_adapter_of
from wiretool.fuzz.sequences.json import sequence_form, sequence_from_form
from wiretool.fuzz.sequences.rewriting import Rewriter
from wiretool.fuzz.sequences.run import NS_PER_S, Patience, RunSetting, SequenceRun
from wiretool.fuzz.sequences.sequence import FuzzSequence, Sending
from wiretool.net.calling.caller import Send

#: The Hello of a client of Pravega.
HELLO = "ffffff81000000080000001100000005"


def issued_in(sequence: FuzzSequence) -> list[object]:
    """Return the issued values of a sequence, with what a replay takes from their roles."""
    return [
        (name, value.steps, value.role.kind, value.role.besides, value.scope, value.recorded)
        for step in sequence.sendings
        if step.depends or step.edits or step.issued
        for name, values in step.issued.items()
        for value in values
    ]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_json_form_keeps_a_sequence(protocol: str) -> None:
    session = session_of(protocol)
    for sequence in session.seeds:
        known = session.protocol_in(sequence.setup)
        form = sequence_form(sequence, fault_adapter_of(known))
        again = sequence_from_form(form, known, name="test")
        assert [step.data for step in again.sendings] == [step.data for step in sequence.sendings]
        assert [step.message for step in again.sendings] == [step.message for step in sequence.sendings]
        assert [step.edits for step in again.sendings] == [step.edits for step in sequence.sendings]
        assert issued_in(again) == issued_in(sequence)
        again_form = sequence_form(again, fault_adapter_of(known))
        assert [each.get("issued") for each in again_form["steps"]] == [each.get("issued") for each in form["steps"]]


def issued_form(**changed: object) -> dict[str, object]:
    """Return the form of a sequence with an issued value, of which some parts are changed."""
    value = {
        "at": ["offset"],
        "role": "position",
        "kind": "offset",
        "besides": [],
        "scope": "a",
        "recorded": 0,
        **changed,
    }
    step = {
        "send": 1,
        "message": "Hello",
        "data": "",
        "recorded": HELLO,
        "fields": {},
        "edits": [],
        "issued": {"": [value]},
    }
    return {"steps": [step], "origin": "", "changes": [], "setup": ""}


def test_a_form_with_an_issued_value_is_read() -> None:
    (step,) = sequence_from_form(issued_form(), session_of("pravega").protocol_in(""), name="test").sendings
    assert step.issued[""][0].role.besides == ()


@pytest.mark.parametrize(
    "form",
    [None, {}, {"steps": 3}, {"steps": [{}], "origin": "", "changes": [], "setup": ""},
     {"steps": [{"send": 1, "message": "", "data": "0"}], "origin": "", "changes": [], "setup": ""},
     *({"steps": [{"pause": each}], "origin": "", "changes": [], "setup": ""} for each in (inf, nan, -1)),
     issued_form(kind=[]), issued_form(scope={}), issued_form(besides=3)],
)  # fmt: skip
def test_a_damaged_form_is_refused(form: object) -> None:
    with pytest.raises(InputError, match="test: not a sequence of steps"):
        sequence_from_form(form, session_of("pravega").protocol_in(""), name="test")


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_seeds_run_without_a_problem(protocol: str) -> None:
    """On a fresh mock each seed gets replies; the oracles find nothing in them."""
    session = session_of(protocol)
    target = session.mock_target()
    answered = 0
    for sequence in session.seeds:
        (outcome,) = target.run_fresh([sequence])
        assert outcome.error is None
        assert session.oracles.judge(outcome) == []
        answered += bool(outcome.exchanged)
    assert answered > 0.7 * len(session.seeds)


def test_issued_values_are_carried_over() -> None:
    """Range servers number streams themselves: a second session uses the number that its own reply issued."""
    session = session_of("sbp")
    depending = [
        sequence
        for sequence in session.seeds
        if any(step.depends and at > 0 for at, step in enumerate(sequence.sendings)) and not sequence.setup
    ]
    assert len(depending) >= 10
    target = session.mock_target()
    changed = 0
    for sequence in depending:
        outcomes = target.run_fresh([sequence]), target.run_fresh([sequence, sequence])[1:]
        assert all(outcome.error is None for each in outcomes for outcome in each)
        changed += bool(outcomes[0][0].exchanged)
    assert changed == len(depending)


@needs_protocol("sbp-0.1")
def test_a_second_session_uses_the_streams_that_it_has_made() -> None:
    """Numbers of streams that a placement manager issues are carried over in the header of an APPEND."""
    session = session_of("sbp-0.1")
    failure = session.protocol_in("").exchanges.failure
    target, accepted = session.mock_target(), 0
    for sequence in [seed for seed in session.seeds if seed.origin.startswith("sbp-0.1/append/") and not seed.setup]:
        replies = []
        for outcome in target.run_fresh([sequence, sequence]):
            records = [each.received.record for each in outcome.exchanged]
            replies.append([(record.message, failure(record.message, record.fields)) for record in records])
        assert replies[0] == replies[1], sequence.origin
        accepted += ("APPEND", None) in replies[1]
    assert accepted >= 3


def test_a_name_is_replaced_on_servers_that_keep_their_state() -> None:
    session = session_of("pravega")
    sequence = next(each for each in session.seeds if any(b"zq7k" in step.data for step in each.sendings))
    protocol = session.protocol_in("")
    patience = Patience(NS_PER_S, NS_PER_S)
    setting = RunSetting(protocol, Rewriter(fault_adapter_of(protocol)), "pravega", patience)
    run = SequenceRun(sequence, setting, count(1), names=(b"zq7k", b"abcd"))
    sent = b""
    now_ns = 0
    acts = run.start(now_ns)
    for _ in range(200):
        if run.is_over:
            break
        sent += b"".join(act.data for act in acts if isinstance(act, Send))
        dialled = [act.connection for act in acts if type(act).__name__ == "Dial"]
        if dialled:
            acts = run.opened(dialled[0], now_ns)
            continue
        now_ns = run.wake_ns or now_ns + 1
        acts = run.woken(now_ns)
    assert run.is_over
    assert b"abcd" in sent
    assert b"zq7k" not in sent


def test_a_request_without_reply_is_noted() -> None:
    """Nothing answers here: the first request waits for its reply, then the connection is ended."""
    session = session_of("pravega")
    sequence = next(each for each in session.seeds if len(each.sendings) == 1 and each.sendings[0].message == "Hello")
    protocol = session.protocol_in("")
    setting = RunSetting(protocol, Rewriter(fault_adapter_of(protocol)), "pravega", Patience(NS_PER_S, NS_PER_S))
    run = SequenceRun(sequence, setting, count(1))
    dial = run.start(0)[0]
    run.opened(dial.connection, 0)
    assert run.wake_ns == NS_PER_S
    run.woken(NS_PER_S)
    run.woken(2 * NS_PER_S)
    run.woken(4 * NS_PER_S)
    assert run.is_over
    assert [each.request.message for each in run.outcome.unanswered] == ["Hello"]
    assert run.outcome.sent_messages == 1


def test_an_empty_sequence_ends_at_once() -> None:
    session = session_of("pravega")
    (outcome,) = session.mock_target().run_fresh([FuzzSequence((), "none")])
    assert outcome.sent_messages == 0
    assert isinstance(outcome.connections, list)
    assert not any(isinstance(step, Sending) for step in outcome.sequence.steps)
