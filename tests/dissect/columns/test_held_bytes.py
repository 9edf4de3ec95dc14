"""Bytes that are held of many flows, and when each part of them came."""

import numpy as np

from wiretool import limits
from wiretool.codec.frames.splitter import Mark
from wiretool.dissect.columns.held_bytes import HeldBytes, Marks

FLOWS = 6


def held() -> HeldBytes:
    """Return bytes of flows 1 and 4."""
    held = HeldBytes()
    held.add({1: b"abc"}, marks_of([(1, 2, 5, 50), (1, 3, 6, 60)]))
    held.add({4: b"x"}, marks_of([(4, 9, 7, 70)]))
    return held


def marks_of(rows: list[tuple[int, int, int, int]]) -> Marks:
    return Marks(*np.array(rows, np.int64).reshape(-1, 4).T)


def rows_of(marks: Marks) -> list[tuple[int, ...]]:
    return list(zip(*(column.tolist() for column in marks), strict=True))


def test_marks_are_those_of_the_flows_by_their_place() -> None:
    assert rows_of(held().marks(np.array([4, 0]), FLOWS)) == [(0, 9, 7, 70)]
    assert rows_of(held().marks(np.array([0, 1]), FLOWS)) == [(1, 2, 5, 50), (1, 3, 6, 60)]


def test_bytes_are_taken_once_with_their_marks() -> None:
    bytes_held = held()
    assert bytes_held.rest(4) == b"x"
    assert bytes_held.take(np.array([0, 1]), FLOWS) == {1: (b"abc", [Mark(2, 5, 50), Mark(3, 6, 60)])}
    assert bytes_held.take(np.array([0, 1]), FLOWS) == {}
    assert bytes_held.rest(4) == b"x"
    assert bytes_held.marks_cost == limits.UNFINISHED_SEGMENT_BYTES
