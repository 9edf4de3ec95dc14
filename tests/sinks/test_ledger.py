"""What is told of a ledger."""

import json
from pathlib import Path

import pytest

from wiretool.ledger import Account, Ledger
from wiretool.sinks.ledger import kept, no_connection, pieces_of, totals


def book_of(connections: int) -> Ledger:
    book = Ledger()
    for number in range(connections):
        book.open(number, "c:1", "s:1").account.add(Account(payload_bytes=5, frame_bytes=5, frames=1))
    return book


@pytest.mark.parametrize(
    ("number", "connections", "why"),
    [
        (0, 1, ""),
        (5, 6, ""),
        (6, 6, "no connection 6: there are 0 to 5"),
        (999, 2, "no connection 999: there are 0 to 1"),
        (1, 1, "no connection 1: there is only 0"),
        (0, 0, "no connection 0: there is none"),
    ],
)
def test_a_connection_that_is_not_there_is_named(number: int, connections: int, why: str) -> None:
    assert no_connection(number, book_of(connections)) == why


def test_the_totals_in_one_line() -> None:
    assert totals(book_of(2)) == "2 frames in 2 connections; 10 bytes: 10 in frames"
    nothing_of_ours = Ledger()
    nothing_of_ours.open(0, "c:1", "s:1").account.add(Account(payload_bytes=269, other_bytes=269))
    assert totals(nothing_of_ours) == "no frames in 1 connection; 269 bytes: 269 in streams of other protocols"
    assert totals(Ledger()) == "no frames in 0 connections; 0 bytes"


@pytest.mark.parametrize("connections", [0, 1, 3])
def test_its_pieces_are_its_json(connections: int) -> None:
    book = book_of(connections)
    assert "".join(pieces_of(book)) == json.dumps(book.as_json(), indent=2) + "\n"


def test_a_ledger_is_kept_when_reading_breaks_off(tmp_path: Path) -> None:
    told: list[str] = []
    with pytest.raises(KeyboardInterrupt), kept(book_of(1), tmp_path / "ledger.json", told.append):
        raise KeyboardInterrupt
    assert told == ["1 frame in 1 connection; 5 bytes: 5 in frames"]
    assert json.loads((tmp_path / "ledger.json").read_text())["total"]["frames"] == 1
