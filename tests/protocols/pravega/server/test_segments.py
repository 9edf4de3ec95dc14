"""Segments by themselves: what is refused changes nothing, and what is kept is bounded."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wiretool.protocols.pravega.server.segments import (
    CREATION_TIME,
    EVENT_COUNT,
    NONE_I64,
    AttributeConflict,
    BadOffset,
    Kind,
    SegmentExists,
    SegmentMissing,
    Segments,
    SegmentSealed,
    Update,
    wrapped,
)

MS = 1_000_000
S = 1_000 * MS
ID = "aaaaaaaa-bbbb-cccc-dddd-dddddddddddd"


def with_data(*names: str) -> Segments:
    segments = Segments()
    for name in names:
        segments.append(segments.create_segment(name, 5 * MS), b"0123456789", 6 * MS)
    return segments


def read(segments: Segments, name: str) -> bytes:
    segment = segments.info(name)
    return segment.read(segment.start, segment.length)


def test_a_new_segment() -> None:
    segments = Segments()
    segment = segments.create_segment("a", 5 * MS, {ID: 3})
    assert (segment.start, segment.length, segment.is_sealed, segment.modified_ns) == (0, 0, False, 5 * MS)
    assert segment.attributes == {CREATION_TIME: 5, EVENT_COUNT: 0, ID: 3}
    assert segments.exists("a")
    assert segments.find("b") is None
    assert list(segments._segments) == ["a"]
    with pytest.raises(SegmentExists):
        segments.create_segment("a", 6 * MS)
    with pytest.raises(SegmentMissing):
        segments.info("b")


def test_sealing_twice() -> None:
    segments = with_data("a")
    segments.seal("a", 7 * MS)
    assert segments.info("a").modified_ns == 7 * MS
    with pytest.raises(SegmentSealed):
        segments.seal("a", 8 * MS)
    with pytest.raises(SegmentSealed):
        segments.open("a")


def test_a_name_is_free_again_after_a_while() -> None:
    segments = with_data("a", "b")
    assert not segments.is_name_free("a", 0)
    segments.delete("a", 10 * S)
    assert not segments.is_name_free("a", 18 * S)
    assert segments.is_name_free("a", 70 * S)
    segments.delete("b", 11 * S)
    segments.free_name("b")
    assert segments.is_name_free("b", 11 * S)
    segments.create_segment("a", 12 * S)
    segments.delete("a", 60 * S)
    assert not segments.is_name_free("a", 61 * S)


@pytest.mark.parametrize("offset", [-1, 2, 11])
def test_truncation_stays_within(offset: int) -> None:
    segments = with_data("a")
    segments.truncate("a", 3, 7 * MS)
    with pytest.raises(BadOffset) as caught:
        segments.truncate("a", offset, 8 * MS)
    assert (caught.value.expected, caught.value.offset) == (3, offset)
    assert read(segments, "a") == b"3456789"
    segments.truncate("a", 3, 8 * MS)
    segments.truncate("a", 10, 8 * MS)
    assert read(segments, "a") == b""


def test_merging() -> None:
    segments = with_data("a", "b", "empty")
    segments.truncate("b", 8, 7 * MS)
    assert segments.merge("a", "b", 8 * MS) == 12
    segments.truncate("empty", 10, 8 * MS)
    assert segments.merge("a", "empty", 8 * MS) == 12
    assert read(segments, "a") == b"012345678989"
    assert list(segments._segments) == ["a"]
    assert segments.held_bytes == 12


def test_merging_what_cannot_be_merged() -> None:
    segments = with_data("a", "b")
    for target, source, missing in (("a", "c", "c"), ("c", "b", "c")):
        with pytest.raises(SegmentMissing) as missed:
            segments.merge(target, source, 7 * MS)
        assert missed.value.segment == missing
    with pytest.raises(SegmentSealed):
        segments.merge("a", "a", 7 * MS)
    with pytest.raises(SegmentSealed):
        segments.merge("a", "b", 7 * MS)
    assert read(segments, "b") == b"0123456789"


def test_a_merge_with_a_condition() -> None:
    segments = with_data("a", "b")
    with pytest.raises(AttributeConflict):
        segments.merge("a", "b", 7 * MS, [Update(ID, 5, 4)])
    assert segments.info("a").length == 10
    assert segments.merge("a", "b", 7 * MS, [Update(ID, 5)]) == 20
    assert segments.attribute("a", ID) == 5


@pytest.mark.parametrize(
    ("before", "update", "after"),
    [
        (NONE_I64, Update(ID, 1), 1),
        (1, Update(ID, 2, 1), 2),
        (1, Update(ID, NONE_I64, 1), NONE_I64),
        (1, Update(ID, 2, 3), None),
        (1, Update(ID, 2), None),
        (1, Update(ID, 2, kind=Kind.REPLACE), 2),
        (NONE_I64, Update(ID, 2, kind=Kind.NONE), 2),
        (1, Update(ID, 2, kind=Kind.NONE), None),
        (1, Update(ID, 2, kind=Kind.REPLACE_IF_GREATER), 2),
        (NONE_I64, Update(ID, 2, kind=Kind.REPLACE_IF_GREATER), 2),
        (2, Update(ID, 2, kind=Kind.REPLACE_IF_GREATER), None),
        (2, Update(ID, 3, kind=Kind.ACCUMULATE), 5),
        (NONE_I64, Update(ID, 3, kind=Kind.ACCUMULATE), 3),
        (2**63 - 1, Update(ID, 1, kind=Kind.ACCUMULATE), -(2**63)),
    ],
)
def test_how_attributes_change(before: int, update: Update, after: int | None) -> None:
    segments = with_data("a")
    segments.update_attributes("a", [Update(ID, before)], 7 * MS)
    if after is None:
        with pytest.raises(AttributeConflict):
            segments.update_attributes("a", [Update("other", 1), update], 8 * MS)
        assert segments.attribute("a", ID) == before
        assert segments.attribute("a", "other") == NONE_I64
    else:
        segments.update_attributes("a", [update], 8 * MS)
        assert segments.attribute("a", ID) == after


def test_sums_wrap_as_64_bits_do() -> None:
    assert [wrapped(value) for value in (0, 2**63 - 1, 2**63, -(2**63) - 1)] == [0, 2**63 - 1, -(2**63), 2**63 - 1]


def test_the_oldest_data_goes_first() -> None:
    segments = Segments(retain_bytes=20_000)
    first, second = segments.create_segment("a", 0), segments.create_segment("b", 0)
    segments.append(first, bytes(8_000), 0)
    segments.append(second, b"x" * 8_000, 0)
    segments.append(first, b"y" * 8_000, 0)
    assert (first.start, second.start, segments.held_bytes) == (8_000, 0, 16_000)
    segments.append(first, bytes(30_000), 0)
    assert (first.start, first.length, second.start, segments.held_bytes) == (46_000, 46_000, 8_000, 0)


Step = tuple[str, str, int]


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["create", "append", "append", "append", "truncate", "delete", "merge"]),
            st.sampled_from("abc"),
            st.sampled_from([1, 700, 2_500, 6_000]),
        ),
        max_size=60,
    )
)
def test_what_is_kept_is_counted_and_bounded(steps: list[Step]) -> None:
    segments = Segments(retain_bytes=10_000)
    for what, name, size in steps:
        other = "abc"["abc".index(name) - 1]
        segment = segments.find(name)
        if what == "create" and segment is None:
            segments.create_segment(name, 0)
        elif what == "append" and segment is not None:
            segments.append(segment, bytes(size), 0)
        elif what == "truncate" and segment is not None:
            segments.truncate(name, min(segment.length, segment.start + size), 0)
        elif what == "delete" and segment is not None:
            segments.delete(name, 0)
        elif what == "merge" and segment is not None and segments.exists(other):
            segments.merge(name, other, 0)
        found = list(segments._segments.values())
        there = sum(len(read(segments, segment.name)) for segment in found)
        assert there <= segments.held_bytes <= 10_000
        assert all(segment.length - segment.start == len(read(segments, segment.name)) for segment in found)
    for name in list(segments._segments):
        segments.delete(name, 0)
    assert segments.held_bytes == 0


def test_segments_that_come_and_go_leave_nothing() -> None:
    segments = Segments()
    for number in range(5_000):
        segments.append(segments.create_segment(f"s{number}", number * S), b"data", number * S)
        segments.delete(f"s{number}", number * S)
    assert segments.held_bytes == 0
    assert len(segments._chunks) < 1_100
    assert len(segments._gone) < 100
