"""Appends by place, against a list that is searched from end to end."""

from hypothesis import given
from hypothesis import strategies as st

from wiretool.consistency.appended import AppendedBytes
from wiretool.consistency.placed_appends import PlacedAppends


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(1, 40))), st.integers(0, 100), st.integers(0, 100))
def test_it_finds_every_append_that_overlaps(spans: list[tuple[int, int]], start: int, end: int) -> None:
    placed, every = PlacedAppends(), []
    for start_of, length in spans:
        every.append(AppendedBytes(1, bytes(length), 1, start=start_of))
        placed.add(every[-1])
    assert bool(placed) == bool(every)
    assert [append.start for append in placed] == sorted(append.start for append in every)
    assert placed.end >= max((append.end for append in sorted(every, key=lambda each: each.start)[-1:]), default=0)
    inside = {id(append) for append in every if append.end > start and append.start < end}
    assert {id(append) for append in placed.overlapping(start, end)} == inside
    assert {id(append) for append in placed.overlapping(start)} == {id(each) for each in every if each.end > start}
