"""Renaming: messages act on the objects of another session, and still follow the values of the live server."""

import pytest

from tests.fuzz.helpers import session_of
from wiretool.fuzz.sequences.sequence import Sending
from wiretool.protocols.pravega.messages import SetupAppend


@pytest.mark.parametrize(
    ("protocol", "kind"),
    [
        ("pravega", "segment name"),
        ("pravega-draft", "segment"),
        ("sbp", "stream"),
        ("pravega-controller", "scope"),
    ],
)
def test_a_session_takes_the_objects_of_another_one(protocol: str, kind: str) -> None:
    session = session_of(protocol)
    renamer = session.context("").renamer
    with_objects = [seed for seed in session.seeds if not seed.setup and kind in renamer.objects(seed.steps)]
    head, changed = with_objects[0], 0
    for other in with_objects[1:40]:
        made = renamer.onto(other.steps, head.steps)
        assert len(made) == len(other.steps)
        changed += renamer.objects(head.steps)[kind][0] in renamer.objects(made)[kind] and made != list(other.steps)
    assert changed > len(with_objects[1:40]) / 2


def test_a_renamed_message_decodes_and_keeps_all_else() -> None:
    session = session_of("pravega")
    renamer = session.context("").renamer
    head, other = [each for each in session.seeds if any(step.message == "SetupAppend" for step in each.sendings)][:2]
    made = renamer.onto(other.steps, head.steps)
    (before,) = [step for step in other.steps if isinstance(step, Sending) and step.message == "SetupAppend"][:1]
    (after,) = [step for step in made if isinstance(step, Sending) and step.message == "SetupAppend"][:1]
    assert before.record is not None
    assert after.record is not None
    assert isinstance(before.record.fields, SetupAppend)
    assert isinstance(after.record.fields, SetupAppend)
    assert after.data == after.record.raw
    assert after.record.fields.segment == renamer.objects(head.steps)["segment name"][0]
    assert after.record.fields.segment != before.record.fields.segment
    assert after.record.fields.request_id == before.record.fields.request_id
    assert [value.recorded for value in after.issued[""]] == [after.record.fields.segment]


def test_renaming_onto_itself_changes_nothing() -> None:
    session = session_of("sbp")
    renamer = session.context("").renamer
    for seed in session.seeds[:40]:
        assert renamer.onto(seed.steps, seed.steps) == list(seed.steps)
