"""Recorded values and live ones."""

from hypothesis import given
from hypothesis import strategies as st

from wiretool.codec.message import Issued, Position
from wiretool.replay.values import Values

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
