from struct import pack

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wiretool.codec.cursor import Span
from wiretool.codec.frames.template import Stencil, form_in, slot_at, span_called
from wiretool.protocols.sbp.records import RecordBatchMeta

PLACES = {2: ">I", 8: ">q"}


def frame(number: int, time: int, end: bytes = b"ef") -> bytes:
    return b"ab" + pack(">I", number) + b"cd" + pack(">q", time) + end


@given(st.lists(st.tuples(st.integers(0, 2**32 - 1), st.integers(-(2**63), 2**63 - 1)), max_size=5))
def test_the_numbers_of_frames_that_are_alike_are_read(numbers: list[tuple[int, int]]) -> None:
    stencil = Stencil(frame(1, 2), PLACES)
    assert stencil.read(b"".join(frame(*each) for each in numbers)) == numbers


@given(st.integers(0, 17), st.integers(1, 255))
def test_any_other_byte_outside_the_numbers_is_seen(at: int, change: int) -> None:
    data = bytearray(frame(1, 2))
    data[at] ^= change
    is_number = 2 <= at < 6 or 8 <= at < 16
    assert (Stencil(frame(1, 2), PLACES).read(bytes(data)) is not None) is is_number


@pytest.mark.parametrize("data", [frame(1, 2)[:-1], frame(1, 2) + b"x", frame(1, 2) + frame(1, 2, b"ee")])
def test_what_is_not_made_of_whole_frames_is_not_read(data: bytes) -> None:
    assert Stencil(frame(1, 2), PLACES).read(data) is None


def test_numbers_may_stand_first_and_last() -> None:
    assert Stencil(pack(">IbI", 1, 2, 3), {0: ">I", 5: ">I"}).read(pack(">IbI", 7, 2, 8)) == [(7, 8)]


def test_numbers_are_put_where_their_span_is() -> None:
    spans = [Span(0, 2, "a", "u16", 1), Span(2, 8, "b", "i64", -1)]
    put, at = slot_at(spans, "b", form_in(RecordBatchMeta, "base_offset"))
    data = bytearray(10)
    put(data, at, 5)
    assert data == b"\0\0\5\0\0\0\0\0\0\0"
    with pytest.raises(AssertionError, match="a has no fixed width"):
        slot_at(spans, "a", ">I")
    with pytest.raises(KeyError, match="c"):
        span_called(spans, "c")
