"""Key ranges that follow each other."""

import pytest

from wiretool import limits
from wiretool.protocols.pravega_controller import controller_pb2 as pb
from wiretool.protocols.pravega_controller.server.refused import Refused, Why
from wiretool.protocols.pravega_controller.server.scaling import even_ranges, replaced
from wiretool.protocols.pravega_controller.server.streams import KeyRange, Stream


def stream(segments: int) -> Stream:
    return Stream("s", "t", pb.StreamConfig(), even_ranges(segments))


def test_even_ranges_tile_all_keys() -> None:
    assert even_ranges(1) == [(0.0, 1.0)]
    assert even_ranges(4) == [(0.0, 0.25), (0.25, 0.5), (0.5, 0.75), (0.75, 1.0)]
    for count in (3, 49, 1000):
        ranges = even_ranges(count)
        assert len(ranges) == count
        assert ranges[-1].high == 1.0
        assert stream(count).is_cut(dict.fromkeys(range(count), 0))


@pytest.mark.parametrize("count", [0, -1, limits.CONTROLLER_SEGMENTS_MAX + 1])
def test_a_stream_has_some_segments_but_not_too_many(count: int) -> None:
    with pytest.raises(Refused, match=f"FAILURE: {count} segments"):
        even_ranges(count)


def test_a_scaling_names_active_segments() -> None:
    with pytest.raises(Refused) as caught:
        replaced(stream(2), [0, 7], [KeyRange(0.0, 1.0)])
    assert caught.value.why is Why.PRECONDITION_FAILED


@pytest.mark.parametrize(
    "ranges",
    [
        [(0.0, 0.4)],
        [(0.0, 0.6)],
        [(0.0, 0.3), (0.2, 0.5)],
        [(0.0, 0.2), (0.3, 0.5)],
        [(0.0, 0.0), (0.0, 0.5)],
        [(0.5, 0.0)],
        [(0.0, float("nan"))],
        [(-0.1, 0.5)],
        [(0.5, 1.0)],
        [],
    ],
)
def test_new_ranges_have_just_the_old_keys(ranges: list[tuple[float, float]]) -> None:
    with pytest.raises(Refused, match="do not fit") as caught:
        replaced(stream(2), [0], [KeyRange(*keys) for keys in ranges])
    assert caught.value.why is Why.FAILURE


def test_nothing_cannot_be_replaced_by_nothing() -> None:
    with pytest.raises(Refused, match="do not fit"):
        replaced(stream(2), [], [])


def test_segments_that_are_apart_may_be_split_together() -> None:
    ranges = [KeyRange(0.0, 0.1), KeyRange(0.1, 0.25), KeyRange(0.5, 0.75)]
    old = replaced(stream(4), [2, 0], ranges)
    assert [segment.number for segment in old] == [0, 2]
