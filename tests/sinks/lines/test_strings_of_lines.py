import csv
import io
from collections.abc import Sequence

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from wiretool.codec.json_text import json_text, quoted
from wiretool.sinks.csv import without_formula
from wiretool.sinks.lines.strings import bytes_of, in_csv, in_json, in_terminal, joined, without_formulas
from wiretool.sinks.printable import printable

#: What is on the wire as text that columns have: ASCII, with all that JSON and CSV escape in it.
WIRE = st.text(st.characters(max_codepoint=127) | st.sampled_from("\"\\,\n\r\t\x00\x1b\x7f'{}"), max_size=12)


def strings(texts: Sequence[str | None]) -> pa.Array:
    return pa.array(texts, pa.string())


def cell(text: str) -> str:
    """A cell as the standard library writes it beside another one."""
    line = io.StringIO()
    csv.writer(line, lineterminator="\n").writerow([text, ""])
    return line.getvalue().removesuffix(",\n")


@given(st.lists(WIRE, max_size=8))
def test_json_is_escaped_as_it_is_one_by_one(texts: list[str]) -> None:
    escaped = [f'"{each}"' for each in in_json(strings(texts)).to_pylist()]
    assert escaped == [quoted(text) for text in texts] == [json_text(text) for text in texts]


@given(st.lists(WIRE, max_size=8))
def test_what_does_not_print_is_escaped(texts: list[str]) -> None:
    assert in_terminal(strings(texts)).to_pylist() == [printable(text) for text in texts]


@given(st.lists(WIRE | st.text(max_size=6), max_size=8))
def test_cells_are_quoted_as_the_standard_library_does(texts: list[str]) -> None:
    shown = [printable(text) for text in texts]
    assert in_csv(strings(shown)).to_pylist() == [cell(text) for text in shown]


def test_every_byte_alone() -> None:
    texts = [chr(byte) for byte in range(128)]
    assert [f'"{each}"' for each in in_json(strings(texts)).to_pylist()] == [quoted(text) for text in texts]
    assert in_terminal(strings(texts)).to_pylist() == [printable(text) for text in texts]


def test_what_is_not_there_stays_so() -> None:
    assert in_json(strings([None, '"'])).to_pylist() == [None, '\\"']
    assert in_csv(strings([None, ",", "a"])).to_pylist() == [None, '","', "a"]
    assert in_terminal(strings([None, "\t"])).to_pylist() == [None, "\\x09"]


def test_pieces_are_put_side_by_side() -> None:
    numbers = strings(["1", None, "3"])
    assert joined(["a", "b"], 3).to_pylist() == ["ab", "ab", "ab"]
    assert joined(["a", numbers, "b", "c", strings(["x", "y", ""])], 3).to_pylist() == ["a1bcx", None, "a3bc"]
    assert joined([numbers], 3) is numbers
    assert joined(["a"], 0).to_pylist() == []


def test_the_bytes_of_a_slice_are_its_own() -> None:
    every = strings(["ab", "c", "", "def"])
    assert bytes_of(every).tobytes() == b"abcdef"
    assert bytes_of(every.slice(1, 2)).tobytes() == b"c"
    assert bytes_of(every.slice(4)).tobytes() == b""
    assert bytes_of(strings([])).tobytes() == b""


@given(st.lists(st.text("=+-@'a1,\" ", max_size=4), min_size=1))
def test_formulas_are_marked_as_they_are_one_by_one(texts: list[str]) -> None:
    assert without_formulas(strings(texts)).to_pylist() == [without_formula(text) for text in texts]
