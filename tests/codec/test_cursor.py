"""The bounded reader."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wiretool.codec.cursor import Cursor, Span
from wiretool.errors import DecodeError, Truncated

U16 = struct.Struct(">H")


def test_reads_forwards() -> None:
    cursor = Cursor(b"\x00\x07abc")
    assert cursor.unpack(U16, "count") == 7
    assert cursor.take(2, "text") == b"ab"
    assert (cursor.at, cursor.left) == (4, 1)


def test_stays_inside_its_end() -> None:
    cursor = Cursor(b"abcdef", 1, 3)
    assert cursor.left == 2
    with pytest.raises(Truncated, match=r"truncated-field at byte 1 \(M\.f\): expected 3 bytes, 2 left"):
        cursor.take(3, "M.f")
    assert cursor.take(2, "M.f") == b"bc"


@given(st.binary(max_size=20), st.integers(0, 30))
def test_a_read_past_the_end_moves_nothing(data: bytes, count: int) -> None:
    cursor = Cursor(data)
    if count <= len(data):
        assert cursor.take(count, "f") == data[:count]
        return
    with pytest.raises(Truncated) as caught:
        cursor.take(count, "f", kind="bad-nested-length")
    assert (caught.value.kind, caught.value.offset, cursor.at) == ("bad-nested-length", 0, 0)


def test_a_negative_length_is_an_error() -> None:
    cursor = Cursor(b"abc", 1)
    with pytest.raises(DecodeError, match="a length of -1") as caught:
        cursor.take(-1, "f", kind="bad-nested-length")
    assert not isinstance(caught.value, Truncated)
    assert cursor.at == 1


def test_spans_are_noted_on_request() -> None:
    spans: list[Span] = []
    cursor = Cursor(b"\x00\x07", spans=spans)
    cursor.note(0, "count", "u16", cursor.unpack(U16, "count"))
    assert spans == [Span(0, 2, "count", "u16", 7)]
    Cursor(b"").note(0, "count", "u16", 7)
