"""A live reply held against a recorded one: what was changed is what is told, where it was changed."""

from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.records import a_record
from tests.replay.forms import PLAIN_MANNERS, changed, is_declared, leaves_of
from tests.replay.talks import PLAIN, SEGMENT, appending, reading, recorded, setting_up, talk
from wiretool.analysis.dialogues import Dialogue
from wiretool.capture.files.reading import read_packets
from wiretool.codec.message import Credential, Issued, Message, Position, Varies
from wiretool.faults.places import with_value
from wiretool.protocols.base.registry import PROTOCOLS
from wiretool.records import Record
from wiretool.replay.adapter import Difference, Excuse, ReplayAdapter, Verdict
from wiretool.replay.judging.judge import ABSENT, differences, judge, judge_number
from wiretool.replay.judging.outcomes import Outcome
from wiretool.replay.playing.id_map import Values
from wiretool.replay.recording import recording_of

HERE = Dialogue(0, "10.0.0.1:1", "10.0.0.2:2")
STORE = PLAIN["pravega"]
CAPTURES = Path(__file__).parents[3] / "captures"

_leaves = st.one_of(st.none(), st.booleans(), st.integers(-5, 5), st.text("ab", max_size=3), st.just("(absent)"))
_forms = st.recursive(
    _leaves,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text("xyz", max_size=2), inner, max_size=3)
    ),
    max_leaves=8,
)


def judged(
    recorded: Record,
    live: Record,
    *,
    manner: ReplayAdapter = STORE,
    values: Values | None = None,
    request: Record | None = None,
) -> Outcome:
    outcome = Outcome(HERE, request, [recorded], [live])
    judge(manner, values or Values(), outcome, recorded, live, 0)
    return outcome


# -- forms -----------------------------------------------------------------------------------------------------------


@given(_forms)
def test_a_form_does_not_differ_from_itself(form: Any) -> None:
    assert list(differences(form, form)) == []


@given(_forms, st.data())
def test_what_was_changed_is_the_one_difference(form: Any, data: st.DataObject) -> None:
    steps, value = data.draw(st.sampled_from(leaves_of(form)))
    other = data.draw(_leaves.filter(lambda each: (each, type(each)) != (value, type(value))))
    (difference,) = differences(form, with_value(form, steps, other))
    assert difference.steps == steps
    assert (repr(difference.expected), repr(difference.live)) == (repr(value), repr(other))


@given(_forms, _forms)
def test_what_differs_one_way_differs_the_other(one: Any, other: Any) -> None:
    there, back = list(differences(one, other)), list(differences(other, one))
    assert {each.steps for each in there} == {each.steps for each in back}
    assert bool(there) == (repr(ordered(one)) != repr(ordered(other)))


def ordered(form: Any) -> Any:
    """The form with the members of structures in the order of their names."""
    if isinstance(form, dict):
        return {name: ordered(form[name]) for name in sorted(form)}
    return [ordered(each) for each in form] if isinstance(form, list) else form


@pytest.mark.parametrize(
    ("one", "other", "told"),
    [
        ({"a": True}, {"a": 1}, [Difference(("a",), True, 1)]),
        ({"a": 0}, {"a": False}, [Difference(("a",), 0, False)]),
        ({"a": None}, {}, [Difference(("a",), None, ABSENT)]),
        ({}, {"a": None}, [Difference(("a",), ABSENT, None)]),
        ({}, {"a": "(absent) "[:-1]}, [Difference(("a",), ABSENT, "(absent)")]),
        ([1, 2], [1, 2, 3], [Difference((), [1, 2], [1, 2, 3])]),
        ({"a": [{"b": 1}]}, {"a": [{"b": 2}]}, [Difference(("a", 0, "b"), 1, 2)]),
        ({"a": {"b": 1}}, {"a": [1]}, [Difference(("a",), {"b": 1}, [1])]),
        ((1, 2), [1, 2], []),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, []),
        ({"a": 1}, {"a": 1.0}, []),
    ],
)
def test_differences_are_as_deep_as_the_shapes_are_alike(one: Any, other: Any, told: list[Difference]) -> None:
    assert list(differences(one, other)) == told


# -- replies of captures ---------------------------------------------------------------------------------------------


@cache
def replies(path: Path) -> list[Record]:
    """Of each kind of declared reply in a capture, the first."""
    found: dict[tuple[str, str], Record] = {}
    for dialogue in recording_of(read_packets([path])).dialogues:
        for record in dialogue.records:
            if record.side == "server" and is_declared(record):
                found.setdefault((record.protocol, record.message), record)
    return list(found.values())


def test_a_changed_field_of_any_reply_is_found_at_its_place(own_capture: tuple[Path, object]) -> None:
    """Unless its role says what else it may be."""
    for record in replies(own_capture[0]):
        manner = PLAIN_MANNERS[record.protocol]
        form = manner.form(record)
        assert judged(record, record, manner=manner).verdict is Verdict.SAME
        roles = {place.steps: place.role for place in manner.places(record, form)}
        found = 0
        for steps, value in leaves_of(form) if form else ():
            live = changed(record, steps, value)
            if live is None or value in getattr(roles.get(steps), "besides", ()):
                continue
            found += 1
            outcome = judged(record, live, manner=manner)
            told = [each for each in differences(form, manner.form(live)) if steps[: len(each.steps)] == each.steps]
            if isinstance(roles.get(steps), Varies | Credential):
                assert outcome.verdict is Verdict.NOISE
            elif isinstance(roles.get(steps), Issued | Position):
                # What stands for the same in other places should be the same there, and is not.
                assert all(isinstance(roles.get(each.steps), Issued | Position) for each in outcome.differences)
                assert outcome.verdict is (Verdict.DIFFERENT if outcome.differences else Verdict.MAPPED)
            else:
                assert outcome.verdict is Verdict.DIFFERENT
                assert told
                assert set(map(repr, told)) <= set(map(repr, outcome.differences))
        assert found or len(form) < 2


# -- roles -----------------------------------------------------------------------------------------------------------


def reply(says: list[Any], message: str) -> tuple[Record, Record]:
    """The reply of that name, and its request."""
    records = recorded(talk(*says)).dialogues[0].records
    found = next(each for each in records if each.message == message and each.side == "server")
    return found, next(each for each in records if each.n == found.reply_to)


def test_a_place_is_learnt_once_and_holds_then() -> None:
    first, asked = reply([setting_up(), appending(length=13)], "DataAppended")
    values, message = Values(), first.fields
    assert isinstance(message, Message)
    live = msgspec.structs.replace(first, fields=msgspec.structs.replace(message, current_segment_write_offset=113))
    assert judged(first, live, values=values, request=asked).verdict is Verdict.MAPPED
    again = judged(first, live, values=values, request=asked)
    assert (again.verdict, again.differences) == (Verdict.MAPPED, [])
    back = judged(first, first, values=values, request=asked)
    assert back.verdict is Verdict.DIFFERENT
    assert back.differences == [Difference(("current_segment_write_offset",), 113, 13, 0)]


def test_another_message_is_one_difference_and_teaches_nothing() -> None:
    ack, _ = reply([setting_up(), appending(length=13)], "DataAppended")
    read, asked = reply([reading()], "SegmentRead")
    values = Values()
    outcome = judged(ack, read, values=values, request=asked)
    assert outcome.verdict is Verdict.DIFFERENT
    assert outcome.differences == [Difference((), "DataAppended", "SegmentRead", 0)]
    assert not values.knows(Position("segment", "segment"), SEGMENT, 13)


class Clocked(ReplayAdapter):
    """Knows of one field, deep inside, that it is another in each run."""

    def roles(self, record: Record) -> Any:
        return [(("header", "time"), Varies())]


@pytest.mark.parametrize(
    ("header", "verdict"),
    [
        ({"time": 2, "host": "a"}, Verdict.NOISE),
        ({"time": {"s": 2}, "host": "a"}, Verdict.NOISE),
        ({"time": 1, "host": "b"}, Verdict.DIFFERENT),
        (None, Verdict.DIFFERENT),
    ],
)
def test_only_what_lies_in_a_place_that_varies_is_noise(header: Any, verdict: Verdict) -> None:
    made = a_record(side="server", message="Odd", fields={"header": {"time": 1, "host": "a"}}, raw=b"1")
    live = a_record(side="server", message="Odd", fields={"header": header}, raw=b"2")
    assert judged(made, live, manner=Clocked(PROTOCOLS["pravega"])).verdict is verdict


def test_a_difference_is_told_with_the_number_of_its_reply() -> None:
    read, asked = reply([reading()], "SegmentRead")
    other, _ = reply([reading(at_tail=False)], "SegmentRead")
    outcome = Outcome(HERE, asked, [read] * 3, [read, other, read])
    for at, live in enumerate(outcome.live):
        judge(STORE, Values(), outcome, read, live, at)
    assert outcome.differences == [Difference(("at_tail",), True, False, 1)]


class Mild(ReplayAdapter):
    """Has an excuse for everything."""

    def excuse(self, *_: Any) -> Excuse | None:
        return Excuse(Verdict.EXPLAINED, "it is old")

    def excuse_missing(self, *_: Any) -> Excuse | None:
        return Excuse(Verdict.EXPLAINED, "it died")

    def excuse_extra(self, *_: Any) -> Excuse | None:
        return Excuse(Verdict.NOISE, "it talks")


def test_an_excused_difference_is_none() -> None:
    read, asked = reply([reading()], "SegmentRead")
    other, _ = reply([reading(at_tail=False, data=b"2")], "SegmentRead")
    outcome = judged(read, other, manner=Mild(PROTOCOLS["pravega"]), request=asked)
    assert (outcome.verdict, outcome.differences, outcome.reasons) == (Verdict.EXPLAINED, [], ["it is old"])


# -- how many came ---------------------------------------------------------------------------------------------------


def numbered(recorded: int, live: int, *, manner: ReplayAdapter = STORE, why: str = "", **told: Any) -> Outcome:
    read, asked = reply([reading()], "SegmentRead")
    outcome = Outcome(HERE, asked, [read] * recorded, [read] * live, **told)
    judge_number(manner, outcome, why)
    return outcome


@pytest.mark.parametrize(("recorded", "live"), [(0, 0), (2, 2), (3, 1), (1, 3)])
def test_each_reply_too_few_or_too_many_is_told_with_its_place(recorded: int, live: int) -> None:
    outcome = numbered(recorded, live, why="the server ended the connection")
    missing = [Difference((), "SegmentRead", ABSENT, at) for at in range(live, recorded)]
    extra = [Difference((), ABSENT, "SegmentRead", at) for at in range(recorded, live)]
    assert outcome.differences == missing + extra
    assert outcome.verdict is (Verdict.MISSING if missing else Verdict.EXTRA if extra else Verdict.SAME)
    assert outcome.reasons == (["the server ended the connection"] if missing else [])


@pytest.mark.parametrize(
    ("recorded", "live", "told"),
    [
        (2, 1, {"is_covered": True}),
        (2, 1, {"verdict": Verdict.UNKNOWN}),
        (1, 2, {"was_covered": True}),
    ],
)
def test_what_another_reply_covers_or_was_not_asked_is_not_missed(recorded: int, live: int, told: Any) -> None:
    assert numbered(recorded, live, **told).differences == []


@pytest.mark.parametrize(("recorded", "live", "told"), [(2, 1, {"was_covered": True}), (1, 2, {"is_covered": True})])
def test_what_was_covered_only_on_the_other_side_counts(recorded: int, live: int, told: Any) -> None:
    assert len(numbered(recorded, live, **told).differences) == 1


def test_a_broken_reply_beyond_those_recorded_is_none() -> None:
    read, asked = reply([reading()], "SegmentRead")
    broken = msgspec.structs.replace(read, kind="problem")
    outcome = Outcome(HERE, asked, [read], [read, broken])
    judge_number(STORE, outcome)
    assert outcome.verdict is Verdict.SAME


@pytest.mark.parametrize(
    ("recorded", "live", "verdict", "why"),
    [(2, 1, Verdict.EXPLAINED, "it died"), (1, 2, Verdict.EXPLAINED, "it talks")],
)
def test_excuses_for_their_number(recorded: int, live: int, verdict: Verdict, why: str) -> None:
    outcome = numbered(recorded, live, manner=Mild(PROTOCOLS["pravega"]), why="ended")
    assert (outcome.verdict, outcome.reasons, outcome.differences) == (verdict, [why], [])
