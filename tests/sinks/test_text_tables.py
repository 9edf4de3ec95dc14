import pytest

from wiretool.sinks.printable import width_of
from wiretool.sinks.text.tables import GAP, Head, table_text

HEADS = (
    Head("", True),
    Head("client"),
    Head("protocol", is_spare=True),
    Head("frames", True),
    Head("→ bytes", True),
    Head("p99", True, is_spare=True),
    Head("problems", True),
    Head("reason", folds=True),
)
ROWS = [
    ("0", "127.0.0.1:46570", "pravega", "2,004", "71,068", "31.0 µs", "1", "the protocol allows the difference here"),
    ("1", "[2001:db8::1]:46570", "offramp", "37", "544", "178 ms", "12", "a delta has no entries"),
]


@pytest.mark.parametrize("width", [20, 30, 40, 50, 60, 70, 80, 100, 160])
def test_a_column_is_shown_whole_or_named_below_the_table(width: int) -> None:
    text = table_text("Connections", HEADS, ROWS, width=width)
    table, _, hidden = text.partition("(no")
    hidden = " ".join(hidden.split()).removeprefix("room for: ")
    heads = table.splitlines()[1].split("  ")
    shown = {head.strip() for head in heads if head.strip()}
    assert all(width_of(line) <= width for line in text.splitlines())
    named = {name.strip() for name in hidden.rstrip(")").split(",") if name.strip()}
    assert shown | named == {head.name for head in HEADS if head.name}
    assert not shown & named
    for index, head in enumerate(HEADS):
        if head.is_number and head.name not in named:
            assert all(row[index] in table for row in ROWS)


def test_a_wide_table_hides_nothing() -> None:
    text = table_text("", HEADS, ROWS, width=160)
    assert "no room" not in text
    assert all(cell in text for row in ROWS for cell in row)


def test_spare_columns_go_first_and_texts_are_cut_with_a_sign() -> None:
    text = table_text("", HEADS, ROWS, width=60)
    assert "(no room for: protocol" in text
    assert "…" in table_text("", HEADS[:2], ROWS, width=14)
    assert table_text("", HEADS[:2], ROWS, width=width_of("0") + GAP + 19).count("…") == 0
