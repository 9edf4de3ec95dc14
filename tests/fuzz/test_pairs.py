"""Pairs: each kind of message comes after each other one, on the same objects."""

import random
from itertools import count

import pytest

from tests.fuzz.helpers import session_of
from wiretool.fuzz.pairs import MESSAGES_MAX, Pairs
from wiretool.fuzz.seeds.places import SeedPlaces
from wiretool.fuzz.sequences.sequence import FuzzSequence, Sending
from wiretool.fuzz.targets.connection import FuzzConnection
from wiretool.protocols.pravega.segments import DeleteSegment, GetSegmentAttribute
from wiretool.protocols.pravega_controller.calls import METHODS
from wiretool.protocols.pravega_controller.fuzz import stream_of


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


def test_joined_calls_have_streams_of_their_own() -> None:
    """Most joined sessions are valid, and answered: each seed of the controller begins with stream 1."""
    session = session_of("pravega-controller")
    pairs = Pairs(session.seeds, session.context, random.Random(0), places_of("pravega-controller"))
    made = [sequence for _ in range(240) if (sequence := pairs.next()) is not None]
    assert len(made) == 240
    broken = 0
    for sequence in made:
        connections: dict[int, FuzzConnection] = {}
        for step in sequence.sendings:
            connection = connections.setdefault(
                step.connection, FuzzConnection(session.protocol_in(sequence.setup), step.connection, count(1))
            )
            connection.sent(step.data, 0)
            if step.record is not None and step.record.message in METHODS:
                assert step.record.raw == step.data
        broken += any(each.is_broken for each in connections.values())
    assert broken < 0.15 * len(made)


def test_a_call_that_has_begun_goes_on_after_another_one() -> None:
    """Frames of HTTP/2: the later call of the session moves on, the one that is under way stays."""
    session = session_of("pravega-controller")
    streams = session.context("").streams
    assert streams is not None
    protocol = session.protocol_in("")
    seed = next(each for each in session.seeds if not each.setup and each.origin.endswith("scope/2"))
    first = next(at for at, step in enumerate(seed.steps) if isinstance(step, Sending) and step.message == "Headers")
    head, rest = seed.steps[: first + 1], seed.steps[first + 1 :]
    call = streams.call_up_to(seed.steps, first + 1)
    assert [step.message for step in call if isinstance(step, Sending)] == ["Headers", "createScope"]
    label = seed.sendings[0].connection
    moved = streams.appended(head, call, label, protocol)
    made = [*head, *moved, *streams.appended([*head, *moved], rest, label, protocol, begun=1)]
    numbers = [stream_of(step.data) for step in made if isinstance(step, Sending)]
    assert [number for number in numbers if number] == [1, 3, 3, 1, 5, 5]


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
