"""Places in messages, by their declarations, and values put there."""

from typing import Any

import pytest

from wiretool.errors import EncodeError
from wiretool.faults.places import changed_at, check_place, epochs_in, offsets_in, with_value
from wiretool.protocols.pravega.segments import SegmentsBatchMerged
from wiretool.protocols.pravega.tables import UpdateTableEntries
from wiretool.protocols.sbp.tables import FetchRequest, ListRangeResponse

FORM = {"a": 1, "list": [{"x": 1}, {"x": 2}], "none": None}


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        (("a",), FORM | {"a": 9}),
        (("new",), FORM | {"new": 9}),
        (("list", 1, "x"), FORM | {"list": [{"x": 1}, {"x": 9}]}),
        (("none", "deep", "er"), FORM | {"none": {"deep": {"er": 9}}}),
    ],
)
def test_a_value_is_put_into_a_copy(steps: tuple[str | int, ...], expected: Any) -> None:
    before = repr(FORM)
    assert with_value(FORM, steps, 9) == expected
    assert repr(FORM) == before


@pytest.mark.parametrize(
    ("steps", "why"),
    [
        (("a", "x"), "a: is not a structure"),
        (("a", 0), "a: has no elements"),
        (("list", 2), "list: has 2 elements"),
        (("list", "x"), "list: is not a structure"),
        (("none", 0), "none: has no elements"),
    ],
)
def test_a_place_that_is_not_there(steps: tuple[str | int, ...], why: str) -> None:
    with pytest.raises(EncodeError) as caught:
        with_value(FORM, steps, 9)
    assert str(caught.value) == why


def test_values_at_every_place_of_a_pattern() -> None:
    assert changed_at(FORM, ("list", None, "x"), lambda x: x * 10)["list"] == [{"x": 10}, {"x": 20}]
    assert changed_at({"o": {"0": 1, "7": 2}}, ("o", None), lambda x: x + 1) == {"o": {"0": 2, "7": 3}}
    for pattern in (("b",), ("a", None), ("none", "x"), ("list", None, "y"), ("list", "x")):
        assert changed_at(FORM, pattern, lambda x: x * 10) is FORM
    assert changed_at(FORM, ("a",), lambda x: x) is FORM


def test_places_of_one_meaning() -> None:
    assert list(offsets_in(SegmentsBatchMerged)) == [("merged", None, "new_target_write_offset")]
    assert list(offsets_in(FetchRequest)) == [("offset",)]
    assert ("range", "start") in offsets_in(FetchRequest, also={"start"})
    assert list(epochs_in(ListRangeResponse)) == [("ranges", None, "epoch"), ("ranges", None, "offload_owner", "epoch")]


@pytest.mark.parametrize(
    ("steps", "value"),
    [
        (("table_entries",), {"entries": []}),
        (("table_entries", "entries", 3, "value", "data"), "00"),
        (("table_segment_offset",), -1),
    ],
)
def test_a_value_that_fits(steps: tuple[str | int, ...], value: Any) -> None:
    check_place(UpdateTableEntries, steps, value)


def test_values_that_do_not_fit() -> None:
    with pytest.raises(
        EncodeError, match=r"UpdateTableEntries\.table_entries\.entries\[3\]\.value\.data: expected hex"
    ):
        check_place(UpdateTableEntries, ("table_entries", "entries", 3, "value", "data"), "x")
    with pytest.raises(EncodeError, match=r"table_entries: has no field 'entris' \(did you mean entries\?\)"):
        check_place(UpdateTableEntries, ("table_entries", "entris"), [])
