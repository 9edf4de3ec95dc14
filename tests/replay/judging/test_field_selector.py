"""Fields as users name them: whatever differs can be named by the text that a report gives of it."""

from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.replay.forms import PLAIN_MANNERS, is_declared, places_in, spots_in
from tests.replay.talks import reading, recorded, talk
from wiretool.capture.files.reading import read_packets
from wiretool.errors import UsageError
from wiretool.faults.places import with_value
from wiretool.filter.names import spelt
from wiretool.protocols.base.registry import PROTOCOLS
from wiretool.records import Record
from wiretool.replay.adapter import Difference, Steps
from wiretool.replay.judging.field_selector import Spot, field_of, named, spot_of
from wiretool.replay.judging.judge import ABSENT
from wiretool.replay.judging.outcomes import Outcome
from wiretool.replay.recording import recording_of
from wiretool.replay.report.data import differing

#: Of one message that are looked at; lists go on and on.
PLACES_MAX = 12
HERE = recorded(talk(reading())).dialogues[0]
ASKED, ANSWER = HERE.records[2:4]
_odd = st.lists(st.sampled_from(["a", "1", " ", ".", "[", "]", '"', "'", "\\", "é", "\n"]), min_size=1, max_size=5)
_names = st.one_of(_odd.map("".join), st.text(min_size=1, max_size=5))
_inner = st.lists(st.one_of(_names, st.integers(0, 99)), max_size=4)
_steps = st.builds(lambda first, rest: (first, *rest), st.sampled_from(["data", "header"]), _inner)


def differs(steps: Steps, at: int = 0, *, recorded: Any = 1, live: Any = 2) -> tuple[Outcome, Difference]:
    difference = Difference(steps, recorded, live, at)
    return Outcome(HERE, ASKED, [ANSWER], [ANSWER], differences=[difference]), difference


# -- names -----------------------------------------------------------------------------------------------------------


@given(_steps)
def test_a_field_is_what_it_is_spelt_as(steps: Steps) -> None:
    assert field_of(spelt(steps)) == steps


@pytest.mark.parametrize("text", ["", " ", "1a", "[0]", "a.", "a..b", "a[", "a[-1]", "a[x]", 'a["x]', "a b", "a.b = 1"])
def test_what_is_no_field_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="is not a field"):
        field_of(text)
    with pytest.raises(UsageError, match=r"not a field; expected MESSAGE\.FIELD, such as SegmentRead"):
        spot_of(f"{text} !", [])


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("SegmentReed.at_tail", r"no message is called 'SegmentReed' \(did you mean SegmentRead\?\)"),
        ("SegmentRead.at_tial", r"SegmentRead has no field 'at_tial' \(did you mean at_tail\?\)"),
        ("SegmentRead.at_tail.x", "SegmentRead has no field 'at_tail.x'"),
        ("SegmentRead[0]", r"SegmentRead has no field '\[0\]'"),
    ],
)
def test_what_no_message_has_is_refused_with_what_is_near(text: str, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        spot_of(text, [PROTOCOLS["pravega"], PROTOCOLS["sbp"]])


@cache
def spot_named(text: str, protocol: str) -> Spot:
    return spot_of(text, [PROTOCOLS[protocol]])


def kinds_of(path: Path) -> list[Record]:
    """Of each kind of declared message in a capture, the longest."""
    found: dict[tuple[str, str, str], Record] = {}
    for dialogue in recording_of(read_packets([path])).dialogues:
        for record in dialogue.records:
            key = record.protocol, record.side, record.message
            if is_declared(record):
                found[key] = max(found.get(key, record), record, key=lambda each: each.length)
    return list(found.values())


def test_every_place_of_every_message_can_be_named_and_put_back(own_capture: tuple[Path, object]) -> None:
    """A difference there is in the spot that its report names, and in no other; its value fits where it was found."""
    for record in kinds_of(own_capture[0]):
        manner = PLAIN_MANNERS[record.protocol]
        form: Any = manner.form(record)
        places = list(islice(places_in(form), PLACES_MAX))
        outcome = Outcome(HERE, None, [record])
        for steps, value in places:
            assert with_value(form, steps, value) == form
            difference = Difference(steps, value, "other")
            text = differing(outcome, difference).name
            spot = spot_named(text, record.protocol)
            assert spot == Spot(record.message, steps)
            assert spot.holds(outcome, difference)
            (found,) = spots_in([Outcome(HERE, None, [record], differences=[difference])])
            assert found == Spot(record.message, named(steps))
            assert found.holds(outcome, difference)
            for other, _ in places:
                is_inside = other[: len(steps)] == steps
                assert spot.holds(outcome, Difference(other, 1, 2)) == (
                    is_inside if any(type(step) is int for step in steps) else named(other)[: len(steps)] == steps
                )


# -- what is in them -------------------------------------------------------------------------------------------------


@given(_steps, _steps)
def test_a_spot_holds_what_is_in_it_and_nothing_else(steps: Steps, other: Steps) -> None:
    outcome, difference = differs(other)
    has_index = any(type(step) is int for step in steps)
    inside = other if has_index else named(other)
    assert Spot("SegmentRead", steps).holds(outcome, difference) == (inside[: len(steps)] == steps)
    assert Spot("SegmentRead", other).holds(outcome, difference)
    assert not Spot("ReadSegment", other).holds(outcome, difference)
    assert not Spot("SegmentRead", ()).holds(outcome, difference)


def test_a_list_without_an_index_is_all_of_its_elements() -> None:
    for at in (0, 7):
        outcome, difference = differs(("segments", at, "offset"))
        assert Spot("SegmentRead", ("segments", "offset")).holds(outcome, difference)
        assert Spot("SegmentRead", ("segments",)).holds(outcome, difference)
        assert Spot("SegmentRead", ("segments", 0, "offset")).holds(outcome, difference) == (at == 0)


@pytest.mark.parametrize(
    ("recorded_", "live", "message"),
    [
        ("SegmentRead", ABSENT, "SegmentRead"),
        (ABSENT, "SegmentRead", "SegmentRead"),
        ("SegmentRead", "NoSuchSegment", "SegmentRead"),
        (ABSENT, "NoSuchSegment", "NoSuchSegment"),
    ],
)
def test_a_message_alone_is_the_message_itself(recorded_: str, live: str, message: str) -> None:
    outcome, difference = differs((), recorded=recorded_, live=live)
    assert spots_in([outcome]) == {Spot(message, ())}
    assert Spot(message, ()).holds(outcome, difference)
    assert not Spot(message, ("data",)).holds(outcome, difference)


def test_a_field_of_a_request_is_one_of_its_message() -> None:
    outcome, difference = differs(("offset",), at=-1)
    assert Spot("ReadSegment", ("offset",)).holds(outcome, difference)
    assert not Spot("SegmentRead", ("offset",)).holds(outcome, difference)
