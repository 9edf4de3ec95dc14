"""Segments of one stream over its epochs."""

import pytest

from wiretool.protocols.pravega_controller import controller_pb2 as pb
from wiretool.protocols.pravega_controller.server.refused import Refused
from wiretool.protocols.pravega_controller.server.scaling import even_ranges
from wiretool.protocols.pravega_controller.server.streams import KeyRange, Stream

EPOCH = 1 << 32
#: Ids by the epoch that made them: 0 -> 1, 2 -> (1) 3, 4 -> 5.
A, B, C, D, E, F = 0, EPOCH + 1, EPOCH + 2, 2 * EPOCH + 3, 2 * EPOCH + 4, 3 * EPOCH + 5


def replace(stream: Stream, ids: set[int], *ranges: tuple[float, float]) -> None:
    new = stream.new_segments(KeyRange(*keys) for keys in ranges)
    stream.begin_epoch([segment for segment in stream.active.segments if segment.id not in ids] + new)


@pytest.fixture
def scaled() -> Stream:
    """Split in two, the first half split again, then all joined."""
    stream = Stream("s", "t", pb.StreamConfig(), even_ranges(1))
    replace(stream, {A}, (0.0, 0.5), (0.5, 1.0))
    replace(stream, {B}, (0.0, 0.25), (0.25, 0.5))
    replace(stream, {C, D, E}, (0.0, 1.0))
    return stream


def successors(stream: Stream, segment: int) -> list[tuple[int, list[int]]]:
    return [(later.id, predecessors) for later, predecessors in stream.successors(segment)]


def test_ids_carry_the_epoch_and_numbers_go_on(scaled: Stream) -> None:
    assert [[segment.id for segment in epoch.segments] for epoch in scaled.epochs] == [[A], [B, C], [D, E, C], [F]]
    assert scaled.next_number == 6


def test_successors_name_all_their_predecessors(scaled: Stream) -> None:
    assert successors(scaled, A) == [(B, [A]), (C, [A])]
    assert successors(scaled, B) == [(D, [B]), (E, [B])]
    assert successors(scaled, C) == successors(scaled, D) == successors(scaled, E) == [(F, [D, E, C])]


def test_an_active_or_unknown_segment_has_no_successors(scaled: Stream) -> None:
    assert successors(scaled, F) == successors(scaled, 99) == []


def test_an_epoch_that_never_was_is_refused(scaled: Stream) -> None:
    assert scaled.epoch(3) is scaled.active
    for number in (-1, 4):
        with pytest.raises(Refused, match=f"EPOCH_NOT_FOUND: s/t epoch {number}"):
            scaled.epoch(number)


@pytest.mark.parametrize(
    ("cut", "is_cut"),
    [({A}, True), ({B, C}, True), ({D, E, C}, True), ({F}, True), (set(), False), ({B}, False), ({A, C}, False)],
)
def test_a_cut_tiles_the_keys(scaled: Stream, cut: set[int], is_cut: bool) -> None:
    assert scaled.is_cut(dict.fromkeys(cut, 0)) is is_cut


@pytest.mark.parametrize("cut", [{99}, {F, 99}, {D, C}, {D, E, B, C}])
def test_a_cut_has_known_segments_that_do_not_overlap(scaled: Stream, cut: set[int]) -> None:
    assert not scaled.is_cut(dict.fromkeys(cut, 0))


def test_cuts_are_ordered_by_segments_then_offsets(scaled: Stream) -> None:
    assert scaled.is_at_or_behind({F: 0}, {A: 9})
    assert not scaled.is_at_or_behind({A: 9}, {F: 0})
    assert scaled.is_at_or_behind({B: 5, C: 5}, {B: 5, C: 4})
    assert not scaled.is_at_or_behind({B: 5, C: 3}, {B: 4, C: 4})
    assert scaled.is_at_or_behind({D: 0, E: 0, C: 4}, {B: 9, C: 4})
    assert not scaled.is_at_or_behind({B: 9, C: 9}, {D: 0, E: 0, C: 4})


@pytest.mark.parametrize(
    ("begin", "end", "expected"),
    [
        ({A: 3}, {}, [A, B, C, D, E, F]),
        ({}, {B: 1, C: 1}, [A, B, C]),
        ({B: 0, C: 0}, {D: 0, E: 0, C: 7}, [B, C, D, E]),
        ({D: 0, E: 0, C: 0}, {F: 0}, [C, D, E, F]),
        ({F: 1}, {F: 2}, [F]),
    ],
)
def test_segments_between_cuts(scaled: Stream, begin: dict[int, int], end: dict[int, int], expected: list[int]) -> None:
    assert [segment.id for segment in scaled.between(begin, end)] == expected


def test_between_wants_cuts_in_their_order(scaled: Stream) -> None:
    with pytest.raises(Refused, match="no cut of s/t"):
        scaled.between({B: 0}, {})
    with pytest.raises(Refused, match="wrong order"):
        scaled.between({F: 0}, {A: 0})


def test_a_stream_begins_where_it_was_truncated(scaled: Stream) -> None:
    assert scaled.head() == {A: 0}
    scaled.truncated_at = {B: 4, C: 5}
    assert scaled.head() == {B: 4, C: 5}
    assert [segment.id for segment in scaled.between({}, {F: 0})] == [B, C, D, E, F]
