"""Placeholders and patterns: what they send, what they match, and what they bind."""

from typing import Any

import pytest

from wiretool.conformance.values import (
    ANY,
    AnyOrder,
    Bindings,
    Free,
    Saved,
    Subset,
    Text,
    Uuid,
    Value,
    Var,
    at_least,
    first_difference,
    one_of,
    other_than,
    resolved,
    text_matching,
)


def test_names_are_unique_to_the_run_and_the_same_within_it() -> None:
    segment = Text("{scope}/{stream}/0.#epoch.0")
    one, other = Bindings("a1"), Bindings("a2")
    assert segment.resolve(one) == "scopea1/streama1/0.#epoch.0" == segment.resolve(one)
    assert segment.resolve(other) != segment.resolve(one)


def test_a_capture_binds_names() -> None:
    bindings = Bindings(None)
    assert Text("{scope}/{stream}/0").matches("s/t/0", bindings)
    assert bindings.values == {"scope": "s", "stream": "t"}
    assert not Text("{scope}/other/0").matches("x/other/0", bindings)
    assert Text("{scope}/other/0").matches("s/other/0", bindings)


def test_a_name_that_stands_twice_is_one_name() -> None:
    assert Text("{a}/{a}").matches("x/x", Bindings(None))
    assert not Text("{a}/{a}").matches("x/y", Bindings(None))


@pytest.mark.parametrize(("value", "sent"), [(Var("id", 3), 3), (Free(4), 4), (Free([Var("id", 5)]), [5])])
def test_what_is_sent(value: Value, sent: Any) -> None:
    assert value.resolve(Bindings("t")) == sent


def test_a_uuid_is_the_same_for_a_key_and_another_in_another_run() -> None:
    assert Uuid("w").resolve(Bindings("a")) == Uuid("w").resolve(Bindings("a"))
    assert Uuid("w").resolve(Bindings("a")) != Uuid("w").resolve(Bindings("b"))


def test_a_saved_value_is_bound_by_the_first_reply() -> None:
    bindings = Bindings("t")
    assert first_difference({"offset": Saved("end")}, {"offset": 8}, bindings) is None
    assert Saved("end").resolve(bindings) == 8
    assert Saved("end", 5).resolve(bindings) == 13
    found = first_difference({"offset": Saved("end", 5)}, {"offset": 12}, bindings)
    assert str(found) == "offset: expected 13 (end plus 5), found 12"


@pytest.mark.parametrize(
    ("pattern", "good", "bad"),
    [
        (one_of(1, 2), 2, 3),
        (at_least(5), 5, 4),
        (text_matching("a.*"), "ab", "b"),
        (ANY, object(), None),
        (Subset(a=1), {"a": 1, "b": 2}, {"b": 2}),
        ([1, ANY], [1, 2], [1]),
        ({"a": 1}, {"a": 1}, {"a": 1, "b": 2}),
        (1, 1, True),
        (AnyOrder(1, Subset(a=2)), [{"a": 2, "b": 3}, 1], [1, 1]),
        (AnyOrder(), [], [1]),
    ],
)
def test_patterns(pattern: Any, good: Any, bad: Any) -> None:
    assert first_difference(pattern, good, Bindings("t")) is None
    if pattern is not ANY:
        assert first_difference(pattern, bad, Bindings("t")) is not None


def test_a_list_in_any_order_binds_what_its_items_bind() -> None:
    bindings = Bindings("t")
    pattern = AnyOrder({"name": "b", "id": Saved("b")}, {"name": "a", "id": Saved("a")})
    assert pattern.matches([{"name": "a", "id": 1}, {"name": "b", "id": 2}], bindings)
    assert (bindings.values["a"], bindings.values["b"]) == (1, 2)
    assert resolved(AnyOrder(1, Saved("a")), bindings) == [1, 1]
    assert not pattern.matches([{"name": "a", "id": 1}, {"name": "b", "id": 3}], bindings)
    assert pattern.describe(bindings).startswith("in any order [{name: 'b'")


def test_another_value_than_one_that_was_seen() -> None:
    bindings = Bindings("t")
    bindings.bind("version", 1)
    assert other_than("version").matches(2, bindings)
    assert not other_than("version").matches(1, bindings)


def test_the_path_of_a_difference() -> None:
    found = first_difference({"a": [{"b": 1}]}, {"a": [{"b": 2}]}, Bindings("t"))
    assert str(found) == "a[0].b: expected 1, found 2"


def test_a_pattern_cannot_be_sent() -> None:
    with pytest.raises(AssertionError, match="at least 1 cannot be sent"):
        resolved({"a": at_least(1)}, Bindings("t"))
