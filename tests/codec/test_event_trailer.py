"""Marks of events: what stands where, and that the ways through arrays equal zlib."""

import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wiretool.codec.event_trailer import (
    MARK_BYTES,
    Mark,
    digest_from,
    digests_of,
    mark_of,
    read_mark,
    read_marks,
    rows_stamper,
    stamper,
    unmarked_digest,
)

NUMBERS = st.one_of(st.integers(1, 2**63), st.sampled_from([65_530, 65_536, 2**32 - 3, 2**48 - 2]))
U64 = st.integers(0, 2**64 - 1)


def plain(body: bytes, writer: int, number: int) -> bytes:
    """A whole event, in the most obvious way."""
    covered = body + writer.to_bytes(8, "big") + number.to_bytes(8, "big")
    return covered + zlib.crc32(covered).to_bytes(4, "big")


def test_mark_is_laid_out_as_it_is_said() -> None:
    # CRC-32 of "123456789" is its check value; the mark of nothing is that of sixteen bytes.
    assert zlib.crc32(b"123456789") == 0xCBF43926
    mark = mark_of(digest_from(zlib.crc32(b""), 0x3132333435363738), 0x3132333435363738, 9)
    assert mark[:16] == b"12345678" + bytes(7) + b"\x09"
    assert int.from_bytes(mark[16:], "big") == zlib.crc32(mark[:16])
    assert len(mark) == MARK_BYTES


@given(st.binary(max_size=40), U64, U64)
def test_mark_is_of_all_before_it(body: bytes, writer: int, number: int) -> None:
    event = plain(body, writer, number)
    assert body + mark_of(digest_from(zlib.crc32(body), writer), writer, number) == event
    assert read_mark(b"x" + event + b"y", 1 + len(event)) == Mark(writer, number, int.from_bytes(event[-4:], "big"))


@given(st.binary(max_size=40), U64, U64)
def test_one_event_is_stamped_in_place(body: bytes, writer: int, number: int) -> None:
    buffer = bytearray(b"before" + plain(body, writer, 1) + b"behind")
    stamper(buffer, len(buffer) - 6, digest_from(zlib.crc32(body), writer))(number)
    assert bytes(buffer) == b"before" + plain(body, writer, number) + b"behind"


@given(st.binary(max_size=20), U64, st.integers(1, 40), st.lists(NUMBERS, min_size=1, max_size=3))
def test_many_events_are_stamped_as_one_by_one(body: bytes, writer: int, count: int, firsts: list[int]) -> None:
    head = b"HEAD"
    buffer = bytearray(b"before" + (head + plain(body, writer, 1)) * count + b"behind")
    stride = len(head) + len(body) + MARK_BYTES
    stamp = rows_stamper(buffer, 6, count, stride, digest_from(zlib.crc32(body), writer))
    for first in firsts:
        stamp(first)
        wanted = b"".join(head + plain(body, writer, first + row) for row in range(count))
        assert bytes(buffer) == b"before" + wanted + b"behind"


def test_more_events_than_sixteen_bits_count_are_stamped() -> None:
    count = 2 * 65_536 + 5
    buffer = bytearray(count * MARK_BYTES)
    rows_stamper(buffer, 0, count, MARK_BYTES, digest_from(0, 0))(65_530)
    for row in (0, 5, 6, 7, 65_541, 65_542, count - 1):
        assert buffer[row * MARK_BYTES + 8 : (row + 1) * MARK_BYTES] == mark_of(digest_from(0, 0), 0, 65_530 + row)[8:]


def test_a_buffer_in_use_keeps_its_length() -> None:
    buffer = bytearray(20 * MARK_BYTES)
    stamp = rows_stamper(buffer, 0, 20, MARK_BYTES, 0)
    with pytest.raises(BufferError):
        buffer.append(0)
    stamp(1)


@given(st.binary(max_size=30), st.lists(st.tuples(U64, U64), min_size=1, max_size=20))
def test_arrays_of_marks_are_those_of_zlib(body: bytes, given_marks: list[tuple[int, int]]) -> None:
    events = [plain(body, writer, number) for writer, number in given_marks]
    rows = np.frombuffer(b"".join(events), np.uint8).reshape(len(events), -1)
    marks = read_marks(rows)
    assert list(zip(marks.writers.tolist(), marks.numbers.tolist(), strict=True)) == given_marks
    assert marks.digests.tolist() == [int.from_bytes(event[-4:], "big") for event in events]
    assert digests_of(marks, unmarked_digest(zlib.crc32(body))).tolist() == marks.digests.tolist()


@given(st.lists(st.tuples(st.binary(max_size=9), U64, U64), min_size=1, max_size=9))
def test_arrays_of_marks_may_have_bodies_of_their_own(given_events: list[tuple[bytes, int, int]]) -> None:
    ends = [plain(*event)[-MARK_BYTES:] for event in given_events]
    marks = read_marks(np.frombuffer(b"".join(ends), np.uint8).reshape(-1, MARK_BYTES))
    unmarked = [unmarked_digest(zlib.crc32(body)) for body, _, _ in given_events]
    assert digests_of(marks, unmarked).tolist() == marks.digests.tolist()


def test_a_digest_in_an_array_tells_any_change_of_the_mark() -> None:
    event = plain(b"body", 5, 6)
    changed = [event]
    for at in range(4, 4 + 16):
        for bit in range(8):
            other = bytearray(event)
            other[at] ^= 1 << bit
            changed.append(bytes(other))
    marks = read_marks(np.frombuffer(b"".join(changed), np.uint8).reshape(len(changed), -1))
    right = digests_of(marks, unmarked_digest(zlib.crc32(b"body"))) == marks.digests
    assert right.tolist() == [True] + [False] * 128
