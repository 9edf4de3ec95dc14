"""The words of a rule: where its condition ends, and what its action is made of."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wiretool.errors import UsageError
from wiretool.faults.actions import duration_text
from wiretool.faults.words import Words, parts_of


@pytest.mark.parametrize(
    ("text", "expression", "count", "number", "action"),
    [
        ("a == 1: drop", "a == 1", "", "", " drop"),
        (': set x="a:b"', "", "", "", ' set x="a:b"'),
        ("a == \"x: y\" and b == 'c:' nth=3: drop", "a == \"x: y\" and b == 'c:'", "nth", "3", " drop"),
        (r'a == "\":": drop', r'a == "\":"', "", "", " drop"),
        ('fields["a:b"] == 1 every = 2 : drop', 'fields["a:b"] == 1', "every", "2", " drop"),
        ('a == "nth=3": drop', 'a == "nth=3"', "", "", " drop"),
        ("fields.nth == 3 probability=0.5: drop", "fields.nth == 3", "probability", "0.5", " drop"),
        ("nth == 3: drop", "nth == 3", "", "", " drop"),
        ("every=7: drop", "", "every", "7", " drop"),
    ],
)
def test_the_condition_ends_at_the_first_colon_outside_of_texts(
    text: str, expression: str, count: str, number: str, action: str
) -> None:
    parts = parts_of(text)
    assert (parts.expression, parts.count, parts.number, text[parts.action_at :]) == (expression, count, number, action)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a == 1", "column 7: no colon; expected CONDITION: ACTION"),
        ('a == "x: drop', "column 6: a text without its closing quote"),
        ("nth=3 a == 1: drop", "column 7: 'a' after nth=, which must be right before the colon"),
        ("nth=3 every=2: drop", "column 7: 'every=2' after nth="),
    ],
)
def test_what_has_no_parts_is_refused(text: str, why: str) -> None:
    with pytest.raises(UsageError) as caught:
        parts_of(text)
    assert why in str(caught.value)


@given(st.text(max_size=40))
def test_any_text_has_parts_or_is_refused(text: str) -> None:
    try:
        parts = parts_of(text)
    except UsageError:
        return
    assert text[parts.action_at - 1] == ":"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1),
        ("-7", -7),
        ("1.5", 1.5),
        ("true", True),
        ("null", None),
        ('"a\\nb"', "a\nb"),
        ("'it''s'"[:4], "it"),
        (r"'a\'b'", "a'b"),
        ("0xFF", 255),
        ('{"a": [1, {"b": null}]}', {"a": [1, {"b": None}]}),
    ],
)
def test_values_are_json_and_a_little_more(text: str, value: Any) -> None:
    words = Words(text)
    assert words.value() == value
    words.expect_end()


@pytest.mark.parametrize("text", ["", "scope", "NaN", "Infinity", "{", '"a', "'a", "[" * 100_000, "9" * 10_000, "0x"])
def test_what_is_no_value_is_refused(text: str) -> None:
    words = Words(text)

    def read() -> None:
        words.value()
        words.expect_end()

    with pytest.raises(UsageError, match=r"expected a JSON value|after the end of the action"):
        read()


@pytest.mark.parametrize(
    ("text", "duration_ns"),
    [
        ("200ms", 200_000_000),
        ("1.5s", 1_500_000_000),
        ("7us", 7_000),
        ("3ns", 3),
        ("2min", 120 * 10**9),
        ("1h", 36 * 10**11),
    ],
)
def test_durations(text: str, duration_ns: int) -> None:
    assert Words(text).duration_ns() == duration_ns
    assert Words(duration_text(duration_ns)).duration_ns() == duration_ns


@pytest.mark.parametrize("text", ["200", "ms", "-5ms", "5 ms", "5msec", "1e3ms", "9" * 50 + "s", ""])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="duration"):
        Words(text).duration_ns()


def test_paths_and_numbers_and_words() -> None:
    words = Words('  entries[0].key["a b"] = +12, after')
    assert words.path() == ("entries", 0, "key", "a b")
    assert words.takes_sign("=")
    assert words.integer() == 12
    assert not words.takes_sign("=")
    assert words.takes_sign(",")
    assert not words.takes("before")
    assert words.takes("after")
    assert words.is_over
    with pytest.raises(UsageError, match="the end; expected a field"):
        words.path()
    with pytest.raises(UsageError, match="the end; expected an action"):
        words.word("an action")
    with pytest.raises(UsageError, match=r"column 1: '1.5'; expected a whole number"):
        Words("1.5").integer()
