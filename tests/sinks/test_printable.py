import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wiretool.sinks.printable import cut_to, printable, width_of

ANYTHING = st.text(st.characters(codec=None, exclude_categories=()))
#: Control, format (direction!), surrogates, private, unassigned, line and paragraph separators.
NEVER = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


@given(ANYTHING)
def test_nothing_that_moves_a_terminal_is_left(text: str) -> None:
    assert not {unicodedata.category(char) for char in printable(text)} & NEVER


@given(st.text(st.characters(categories=["L", "N", "P", "S"])))
def test_what_prints_is_left_as_it_is(text: str) -> None:
    assert printable(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31m", "\\x1b[31m"),
        ("a\nb\x00\x7f\x9b", "a\\x0ab\\x00\\x7f\\x9b"),
        ("\u202e\u2066", "\\u202e\\u2066"),
        ("\ud800", "\\ud800"),
        ("\U000e0001", "\\U000e0001"),
        ("Zürich 日本 [bold]", "Zürich 日本 [bold]"),
    ],
)
def test_escapes(text: str, shown: str) -> None:
    assert printable(text) == shown


@given(st.text(st.characters(categories=["L", "N", "M"])), st.integers(1, 30))
def test_a_cut_text_fits(text: str, columns: int) -> None:
    cut = cut_to(text, columns)
    assert width_of(cut) <= columns
    assert cut == text or cut.endswith("…")


def test_wide_characters_take_two_columns_and_marks_none() -> None:
    assert width_of("日本") == 4
    assert width_of("e\u0301") == 1
    assert cut_to("日本語", 4) == "日…"
