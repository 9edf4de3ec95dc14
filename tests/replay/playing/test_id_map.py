"""Recorded values and live ones."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wiretool.codec.message import Issued, Position
from wiretool.replay.playing.id_map import Values, form_conflict

ID = Issued("id", besides=(-1,))
PLACE = Position("offset")


@given(st.dictionaries(st.integers(0, 50), st.integers(), max_size=20), st.integers(0, 60))
def test_a_value_is_what_was_last_told_and_else_itself(told: dict[int, int], asked: int) -> None:
    values = Values()
    for recorded, live in told.items():
        values.learn(ID, "here", recorded, live)
    assert values.live_of(ID, "here", asked) == told.get(asked, asked)
    assert values.knows(ID, "here", asked) == (asked in told)
    assert values.live_of(ID, "there", asked) == asked


@given(st.integers(0, 1000), st.integers(0, 1000), st.integers(0, 1000))
def test_positions_are_shifted_together(recorded: int, live: int, other: int) -> None:
    values = Values()
    assert not values.knows(PLACE, "here", recorded)
    values.learn(PLACE, "here", recorded, live)
    assert values.knows(PLACE, "here", other)
    assert values.live_of(PLACE, "here", other) == other + live - recorded
    assert values.live_of(PLACE, "there", other) == other


def test_what_stands_for_nothing_stays() -> None:
    values = Values()
    values.learn(PLACE, "here", 0, 100)
    values.bind("id", "here", 1, 2)
    assert values.live_of(PLACE, "here", -1) == -1
    assert values.live_of(ID, "here", -1) == -1
    assert values.knows(ID, "here", -1)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=30))
def test_unique_values_never_stand_for_two_recorded_ones(told: list[tuple[int, int]]) -> None:
    """Whatever is learned: a conflict is reported for a live value that another recorded one has first."""
    values = Values()
    taken: dict[int, int] = {}
    for recorded, live in told:
        if values.knows(ID, "here", recorded):
            continue
        other = taken.get(live, recorded)
        assert bool(values.reuse_conflict(ID, "here", recorded, live)) == (other != recorded)
        assert not values.reuse_conflict(Issued("id", is_unique=False), "here", recorded, live)
        values.learn(ID, "here", recorded, live)
        taken.setdefault(live, recorded)


@pytest.mark.parametrize(
    ("recorded", "live", "is_fine"),
    [
        (5, 700, True),
        (5, -2, False),
        (5, -1, False),
        (5, True, False),
        (5, "5", False),
        (5, None, False),
        ("token", "other", True),
        ("token", "", False),
        ("6f9619ff-8b86-d011-b42d-00c04fc964ff", "00000000-0000-0000-0000-000000000001", True),
        ("6f9619ff-8b86-d011-b42d-00c04fc964ff", "writer-1", False),
        ("10.0.0.1:10911", "range-server-0.local:12", True),
        ("10.0.0.1:10911", "here", False),
    ],
)
def test_a_made_up_value_keeps_its_form(recorded: object, live: object, is_fine: bool) -> None:
    assert (form_conflict(ID, recorded, live) == "") is is_fine
    assert form_conflict(Issued("id", is_opaque=True), recorded, live) == ""


@pytest.mark.parametrize(
    ("live", "is_fine"),
    [
        ("sc/st/7.#epoch.2", True),
        ("sc/st/0.#epoch.0#transaction.00000000000000010000000000000002", False),
        ("foreign/stream/0.#epoch.0", False),
    ],
)
def test_of_a_name_only_numbers_and_ids_are_made_up(live: str, is_fine: bool) -> None:
    assert (form_conflict(ID, "sc/st/0.#epoch.0", live, is_name=True) == "") is is_fine
