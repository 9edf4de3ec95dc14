"""Pairs: each kind of message comes after each other one, on the same objects."""

import random

import pytest

from tests.fuzz.helpers import session_of
from wiretool.fuzz.pairs import MESSAGES_MAX, Pairs
from wiretool.fuzz.seed_places import SeedPlaces
from wiretool.fuzz.sequence import FuzzSequence
from wiretool.protocols.pravega.segments import DeleteSegment, GetSegmentAttribute


def paired(protocol: str, *, seed: int = 0) -> list[FuzzSequence]:
    """Return all pairs of a protocol."""
    session = session_of(protocol)
    pairs = Pairs(session.seeds, session.context, random.Random(seed), places_of(protocol))
    found = []
    while (sequence := pairs.next()) is not None:
        found.append(sequence)
    return found


def places_of(protocol: str) -> SeedPlaces:
    """Return the places of all seeds with the replies of the clean mock."""
    session = session_of(protocol)
    places = SeedPlaces(session.protocol_in("").exchanges)
    target = session.reference()
    for seed in session.seeds:
        for outcome in target.run_fresh([seed]):
            places.note(seed, outcome)
    return places


@pytest.mark.parametrize("protocol", ["pravega-draft", "sbp-0.1", "offramp"])
def test_each_kind_of_message_comes_after_each_other_one(protocol: str) -> None:
    session = session_of(protocol)
    kinds = {
        step.message
        for seed in session.seeds
        if not seed.setup and len(seed.sendings) <= 5
        for step in seed.sendings
        if step.message
    }
    found = paired(protocol)
    after = {
        (one.message, other.message)
        for sequence in found
        for at, one in enumerate(sequence.sendings)
        for other in sequence.sendings[at + 1 :]
    }
    assert {(one, other) for one in kinds for other in kinds} - after == set()
    assert all(len(sequence.sendings) <= MESSAGES_MAX for sequence in found)
    assert found == paired(protocol)


def test_both_sessions_act_on_the_same_objects() -> None:
    """An attribute of a segment that was deleted and made again needs two seeds with one name."""
    names: set[tuple[str, str]] = set()
    for sequence in paired("pravega"):
        records = [step.record for step in sequence.sendings if step.record is not None]
        deleted = [each.fields.segment for each in records if isinstance(each.fields, DeleteSegment)]
        asked = [each.fields.segment_name for each in records if isinstance(each.fields, GetSegmentAttribute)]
        names.update((one, other) for one in deleted for other in asked)
    assert any(one == other for one, other in names)
    assert len([one for one, other in names if one == other]) > len([one for one, other in names if one != other])


def test_sessions_that_were_accepted_come_first() -> None:
    places = places_of("pravega").by_kind(session_of("pravega").seeds)
    for found in places.values():
        assert [place.cost for place in found] == sorted(place.cost for place in found)
    assert not places["CreateSegment", 0][0].is_refused
    assert any(place.is_refused for place in places["CreateSegment", 0])
    assert {place.phase for place in places["ReadSegment", 0]} >= {"SegmentCreated", "DataAppended"}
    assert {place.phase for place in places["AppendBlock", 0]} >= {"AppendSetup", "DataAppended"}  # it has no reply
    assert any(place.is_late for place in places["ReadSegment", 0])
    assert not any(place.is_late for place in places["CreateSegment", 0])


def test_each_kind_of_message_comes_after_a_sequence_that_showed_something_new() -> None:
    session = session_of("pravega-draft")
    pairs = Pairs(session.seeds, session.context, random.Random(0), places_of("pravega-draft"))
    while pairs.next() is not None:
        pass
    novel = next(each for each in session.seeds if len(each.sendings) == 4 and not each.setup)
    pairs.note_novel(novel)
    continued = []
    while (sequence := pairs.next()) is not None:
        continued.append(sequence)
    assert len(continued) >= 6
    assert all(sequence.steps[: len(novel.steps)] == novel.steps for sequence in continued)
    added = [{step.message for step in sequence.sendings[4:]} for sequence in continued]
    assert set().union(*added) >= {"ReadSegment", "KeepAlive", "SetupAppend"}
