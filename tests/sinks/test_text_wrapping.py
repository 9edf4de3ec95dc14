"""Lines of reports on narrow terminals: all of their text is there, and none is wider than the terminal."""

import re

from hypothesis import given
from hypothesis import strategies as st

from wiretool.sinks.printable import width_of
from wiretool.sinks.text.colour import Colour
from wiretool.sinks.text.wrapping import wrap_line, wrap_lines

WORDS = st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=60)
SGR = re.compile(r"\x1b\[[0-9;]*m")


@given(st.lists(WORDS, min_size=1, max_size=30), st.integers(1, 120), st.integers(0, 6), st.booleans())
def test_no_text_is_lost_and_no_line_is_too_wide(words: list[str], columns: int, begin: int, has_colour: bool) -> None:
    text = f"{Colour(has_colour).paint('31', words[0])} {' '.join(words[1:])}".rstrip()
    lines = wrap_line(" " * begin + text, columns)
    plain = [SGR.sub("", line) for line in lines]
    assert "".join(plain).replace(" ", "") == "".join(words)
    assert SGR.findall("".join(lines)) == SGR.findall(text)
    widest = max(width_of(line) for line in plain)
    assert widest <= columns or columns < begin + 2 or columns < 4


def test_lines_after_the_first_are_indented() -> None:
    assert wrap_lines(["  target: 12 % of a processor, 59 MB of memory", "short"], 30) == (
        "  target: 12 % of a processor,\n    59 MB of memory\nshort\n"
    )
    assert wrap_line("same  3  alike in all of their values", 34, indent=9) == [
        "same  3  alike in all of their",
        " " * 9 + "values",
    ]


def test_without_a_terminal_a_line_is_left_as_it_is() -> None:
    assert wrap_line("  " + "word " * 100, 0) == ["  " + "word " * 100]
