"""Streams from creation to deletion, and what that does to the store."""

import pytest

from tests.protocols.pravega_controller.server.world import World, stream_config
from wiretool import limits
from wiretool.protocols.pravega_controller import controller_pb2 as pb
from wiretool.protocols.pravega_controller.server.refused import Refused
from wiretool.protocols.pravega_controller.server.streams import KeyRange

FIRST, SECOND, THIRD = 1 << 32, 2 << 32, 3 << 32


@pytest.fixture
def world() -> World:
    return World()


def ids(world: World, info: pb.StreamInfo) -> list[int]:
    return [segment.segmentId.segmentId for segment in world.call("getCurrentSegments", info).segmentRanges]


def truncate(world: World, info: pb.StreamInfo, cut: dict[int, int]) -> int:
    status: int = world.call("truncateStream", pb.StreamCut(streamInfo=info, cut=cut)).status
    return status


# -- creation ----------------------------------------------------------------------------------------------------------


def test_a_stream_brings_its_segments_and_the_one_of_its_watermarks(world: World) -> None:
    info = world.make_stream(segments=2)
    assert world.segments() == {"s/_MARKt/0.#epoch.0": False, "s/t/0.#epoch.0": False, "s/t/1.#epoch.0": False}
    ranges = world.call("getCurrentSegments", info).segmentRanges
    assert [(keys.minKey, keys.maxKey) for keys in ranges] == [(0.0, 0.5), (0.5, 1.0)]


@pytest.mark.parametrize(
    ("scope", "stream", "segments", "status"),
    [
        ("s", "t", 1, "STREAM_EXISTS"),
        ("s", "a_b", 1, "INVALID_STREAM_NAME"),
        ("other", "t", 1, "SCOPE_NOT_FOUND"),
        ("s", "new", 0, "FAILURE"),
        ("s", "new", 2**31 - 1, "FAILURE"),
    ],
)
def test_a_stream_that_cannot_be(world: World, scope: str, stream: str, segments: int, status: str) -> None:
    world.make_stream()
    before = world.segments()
    answer = world.call("createStream", stream_config(scope, stream, segments))
    assert pb.CreateStreamStatus.Status.Name(answer.status) == status
    assert world.segments() == before


def test_a_stream_of_a_name_that_was_goes_on_with_its_numbers(world: World) -> None:
    info = world.make_stream(segments=2)
    world.call("sealStream", info)
    assert world.call("deleteStream", info).status == pb.DeleteStreamStatus.SUCCESS
    assert world.segments() == {}
    world.make_stream()
    assert ids(world, info) == [2]
    assert world.segments() == {"s/_MARKt/1.#epoch.0": False, "s/t/2.#epoch.0": False}


# -- configuration -----------------------------------------------------------------------------------------------------


def test_a_configuration_is_told_as_it_was_given(world: World) -> None:
    world.make_stream()
    given = pb.StreamConfig(
        streamInfo=pb.StreamInfo(scope="s", stream="u", accessOperation=pb.StreamInfo.READ),
        scalingPolicy=pb.ScalingPolicy(
            scaleType=pb.ScalingPolicy.BY_RATE_IN_KBYTES_PER_SEC, targetRate=10, scaleFactor=2, minNumSegments=3
        ),
        retentionPolicy=pb.RetentionPolicy(retentionType=pb.RetentionPolicy.TIME, retentionParam=7, retentionMax=9),
    )
    world.call("createStream", given)
    told = world.call("getStreamConfiguration", given.streamInfo)
    assert told.HasField("tags")
    given.tags.SetInParent()
    given.streamInfo.ClearField("accessOperation")
    assert told == given


def test_new_tags_leave_the_segments_alone(world: World) -> None:
    info = world.make_stream()
    world.state.scale_to("s", "t", 3, world.now_ns)
    before = ids(world, info)
    assert world.call("updateStream", stream_config("s", "t", 1, "red")).status == pb.UpdateStreamStatus.SUCCESS
    assert ids(world, info) == before
    assert list(world.call("getStreamConfiguration", info).tags.tag) == ["red"]


def test_another_fixed_number_scales_the_stream(world: World) -> None:
    info = world.make_stream()
    world.call("updateStream", stream_config("s", "t", 2))
    assert ids(world, info) == [FIRST + 1, FIRST + 2]
    world.call("updateStream", stream_config("s", "t", 1))
    assert ids(world, info) == [SECOND + 3]


def test_a_stream_that_scales_by_rate_has_at_least_so_many(world: World) -> None:
    info = world.make_stream(segments=3)
    config = stream_config("s", "t", 2)
    config.scalingPolicy.scaleType = pb.ScalingPolicy.BY_RATE_IN_EVENTS_PER_SEC
    world.call("updateStream", config)
    assert ids(world, info) == [0, 1, 2]
    config.scalingPolicy.minNumSegments = 4
    world.call("updateStream", config)
    assert len(ids(world, info)) == 4


# -- scaling -----------------------------------------------------------------------------------------------------------


def test_scaling_seals_the_old_segments_and_makes_new_ones(world: World) -> None:
    info = world.make_stream(segments=2)
    request = pb.ScaleRequest(streamInfo=info, sealedSegments=[1])
    request.newKeyRanges.add(start=0.5, end=0.6)
    request.newKeyRanges.add(start=0.6, end=1.0)
    answer = world.call("scale", request)
    assert answer.status == pb.ScaleResponse.STARTED
    assert answer.epoch == 0
    assert [segment.segmentId.segmentId for segment in answer.segments] == [FIRST + 2, FIRST + 3]
    assert ids(world, info) == [0, FIRST + 2, FIRST + 3]
    assert world.segments("s/t/") == {
        "s/t/0.#epoch.0": False,
        "s/t/1.#epoch.0": True,
        "s/t/2.#epoch.1": False,
        "s/t/3.#epoch.1": False,
    }
    check = pb.ScaleStatusRequest(streamInfo=info, epoch=answer.epoch)
    assert world.call("checkScale", check).status == pb.ScaleStatusResponse.SUCCESS


def test_the_new_segments_are_there_when_readers_of_the_old_ones_are_woken(world: World) -> None:
    world.make_stream()
    seen: list[bool] = []

    def look(*, is_idle: bool = False) -> bool:
        seen.append(world.store.segments.exists("s/t/1.#epoch.1"))
        return True

    world.store.segments.info("s/t/0.#epoch.0").waiters[look] = None
    world.state.scale_to("s", "t", 1 + 1, world.now_ns)
    assert seen == [True]


@pytest.mark.parametrize(
    ("stream", "sealed", "end", "status"),
    [("t", [5], 1.0, "PRECONDITION_FAILED"), ("t", [0], 0.5, "FAILURE"), ("none", [0], 1.0, "FAILURE")],
)
def test_a_scaling_that_cannot_be(world: World, stream: str, sealed: list[int], end: float, status: str) -> None:
    world.make_stream()
    request = pb.ScaleRequest(streamInfo=pb.StreamInfo(scope="s", stream=stream), sealedSegments=sealed)
    request.newKeyRanges.add(start=0.0, end=end)
    assert pb.ScaleResponse.ScaleStreamStatus.Name(world.call("scale", request).status) == status


def test_check_scale_knows_epochs(world: World) -> None:
    info = world.make_stream()
    world.state.scale_to("s", "t", 2, world.now_ns)
    status = pb.ScaleStatusResponse
    for epoch, expected in ((0, status.SUCCESS), (1, status.IN_PROGRESS), (2, status.INVALID_INPUT)):
        request = pb.ScaleStatusRequest(streamInfo=info, epoch=epoch)
        assert world.call("checkScale", request).status == expected
    info.stream = "none"
    assert world.call("checkScale", pb.ScaleStatusRequest(streamInfo=info)).status == status.INVALID_INPUT


def test_scaling_to_a_number_keeps_what_fits(world: World) -> None:
    info = world.make_stream(segments=4)
    world.state.scale("s", "t", [2, 3], [KeyRange(0.5, 1.0)], world.now_ns)
    assert ids(world, info) == [0, 1, FIRST + 4]
    assert [segment.id for segment in world.state.scale_to("s", "t", 2, world.now_ns)] == [SECOND + 5]
    assert ids(world, info) == [SECOND + 5, FIRST + 4]
    assert world.state.scale_to("s", "t", 2, world.now_ns) == []
    with pytest.raises(Refused, match="FAILURE: 0 segments"):
        world.state.scale_to("s", "t", 0, world.now_ns)


# -- truncation --------------------------------------------------------------------------------------------------------


def test_truncation_drops_what_lies_before_the_cut(world: World) -> None:
    info = world.make_stream()
    world.append("s/t/0.#epoch.0", b"x" * 10)
    world.state.scale_to("s", "t", 2, world.now_ns)
    world.append("s/t/1.#epoch.1", b"y" * 10)
    assert truncate(world, info, {0: 4}) == pb.UpdateStreamStatus.SUCCESS
    assert world.store.segments.info("s/t/0.#epoch.0").start == 4
    assert truncate(world, info, {FIRST + 1: 3, FIRST + 2: 0}) == pb.UpdateStreamStatus.SUCCESS
    assert list(world.segments("s/t/")) == ["s/t/1.#epoch.1", "s/t/2.#epoch.1"]
    head = world.call("getSegments", pb.GetSegmentsRequest(streamInfo=info)).segments
    assert {at.segmentId.segmentId: at.offset for at in head} == {FIRST + 1: 3, FIRST + 2: 0}


def test_truncation_at_the_same_cut_again_is_fine(world: World) -> None:
    info = world.make_stream()
    world.append("s/t/0.#epoch.0", b"x" * 10)
    assert truncate(world, info, {0: 4}) == truncate(world, info, {0: 4}) == pb.UpdateStreamStatus.SUCCESS


@pytest.mark.parametrize("cut", [{}, {0: 3}, {0: -1}, {9: 5}])
def test_a_cut_before_the_head_is_refused(world: World, cut: dict[int, int]) -> None:
    info = world.make_stream()
    world.append("s/t/0.#epoch.0", b"x" * 10)
    truncate(world, info, {0: 4})
    assert truncate(world, info, cut) == pb.UpdateStreamStatus.FAILURE
    assert world.store.segments.info("s/t/0.#epoch.0").start == 4


def test_a_cut_beyond_the_end_is_taken(world: World) -> None:
    info = world.make_stream()
    world.append("s/t/0.#epoch.0", b"x" * 10)
    assert truncate(world, info, {0: 1000}) == pb.UpdateStreamStatus.SUCCESS
    (head,) = world.call("getSegments", pb.GetSegmentsRequest(streamInfo=info)).segments
    assert head.offset == 1000
    assert truncate(world, info, {0: 11}) == pb.UpdateStreamStatus.FAILURE


@pytest.mark.parametrize("kind", [pb.RetentionPolicy.UNKNOWN, pb.RetentionPolicy.TIME, pb.RetentionPolicy.SIZE])
def test_a_retention_that_is_none_is_not_given_out(world: World, kind: pb.RetentionPolicy.RetentionPolicyType) -> None:
    world.call("createScope", pb.ScopeInfo(scope="s"))
    config = stream_config("s", "t")
    config.retentionPolicy.CopyFrom(pb.RetentionPolicy(retentionType=kind, retentionMax=2**63 - 1))
    world.call("createStream", config)
    found = world.call("getStreamConfiguration", config.streamInfo)
    assert found.HasField("retentionPolicy") == (kind != pb.RetentionPolicy.UNKNOWN)


# -- retention ---------------------------------------------------------------------------------------------------------


BLOCK = bytes(4096)  # a chunk of its own


def head(world: World, info: pb.StreamInfo) -> dict[int, int]:
    found = world.call("getSegments", pb.GetSegmentsRequest(streamInfo=info)).segments
    return {at.segmentId.segmentId: at.offset for at in found}


def between(world: World, info: pb.StreamInfo, to: dict[int, int]) -> list[int]:
    found = world.call("getSegmentsBetween", pb.StreamCutRange(streamInfo=info, to=to)).segments
    return [segment.segmentId for segment in found]


def test_a_stream_begins_where_the_store_still_has_it() -> None:
    world = World(retain_bytes=2 * len(BLOCK))
    info = world.make_stream()
    assert head(world, info) == {0: 0}
    for _ in range(5):
        world.append("s/t/0.#epoch.0", BLOCK)
    assert head(world, info) == {0: 3 * len(BLOCK)}
    assert truncate(world, info, {0: 0}) == pb.UpdateStreamStatus.FAILURE
    assert truncate(world, info, {0: 4 * len(BLOCK)}) == pb.UpdateStreamStatus.SUCCESS
    assert head(world, info) == {0: 4 * len(BLOCK)}


def test_a_segment_that_a_client_truncates_leaves_the_head_of_its_stream() -> None:
    world = World()
    info = world.make_stream()
    world.append("s/t/0.#epoch.0", BLOCK)
    world.store.segments.truncate("s/t/0.#epoch.0", 20, world.now_ns)
    assert head(world, info) == {0: 0}
    assert truncate(world, info, {0: 0}) == pb.UpdateStreamStatus.SUCCESS


def test_what_the_store_has_dropped_is_noticed_before_a_truncation() -> None:
    world = World(retain_bytes=2 * len(BLOCK))
    info = world.make_stream()
    for _ in range(5):
        world.append("s/t/0.#epoch.0", BLOCK)
    assert truncate(world, info, {0: len(BLOCK)}) == pb.UpdateStreamStatus.FAILURE


def test_a_closed_segment_of_which_data_is_left_stays_in_the_head() -> None:
    world = World(retain_bytes=3 * len(BLOCK))
    info = world.make_stream()
    for _ in range(2):
        world.append("s/t/0.#epoch.0", BLOCK)
    world.state.scale_to("s", "t", 2, world.now_ns)
    for _ in range(2):
        world.append("s/t/1.#epoch.1", BLOCK)
    assert head(world, info) == {0: len(BLOCK)}
    assert between(world, info, {FIRST + 1: 0, FIRST + 2: 0}) == [0, FIRST + 1, FIRST + 2]


def test_a_stream_begins_with_later_segments_once_they_have_lost_data() -> None:
    world = World(retain_bytes=3 * len(BLOCK))
    info = world.make_stream()
    world.append("s/t/0.#epoch.0", BLOCK)
    world.state.scale_to("s", "t", 2, world.now_ns)
    world.state.scale_to("s", "t", 3, world.now_ns)
    for _ in range(4):
        world.append("s/t/3.#epoch.2", BLOCK)
    numbers = [SECOND + number for number in (3, 4, 5)]
    assert between(world, info, dict.fromkeys(numbers, 0)) == numbers
    assert head(world, info) == {SECOND + 3: len(BLOCK), SECOND + 4: 0, SECOND + 5: 0}
    assert list(world.segments("s/t/")) == ["s/t/3.#epoch.2", "s/t/4.#epoch.2", "s/t/5.#epoch.2"]


def test_a_head_that_lies_further_on_elsewhere_is_not_moved_back() -> None:
    world = World(retain_bytes=3 * len(BLOCK))
    info = world.make_stream(segments=2)
    halves = [KeyRange(0.0, 0.25), KeyRange(0.25, 0.5)], [KeyRange(0.5, 0.75), KeyRange(0.75, 1.0)]
    world.state.scale("s", "t", [0], halves[0], world.now_ns)
    world.state.scale("s", "t", [1], halves[1], world.now_ns)
    assert truncate(world, info, {0: 0, SECOND + 4: 0, SECOND + 5: 0}) == pb.UpdateStreamStatus.SUCCESS
    for _ in range(4):
        world.append("s/t/2.#epoch.1", BLOCK)
    assert head(world, info) == {FIRST + 2: len(BLOCK), FIRST + 3: 0, SECOND + 4: 0, SECOND + 5: 0}


# -- the end -----------------------------------------------------------------------------------------------------------


def test_a_sealed_stream_takes_nothing_and_changes_no_more(world: World) -> None:
    info = world.make_stream()
    status = pb.UpdateStreamStatus
    assert world.call("sealStream", info).status == world.call("sealStream", info).status == status.SUCCESS
    assert world.segments("s/t/") == {"s/t/0.#epoch.0": True}
    assert world.call("updateStream", stream_config("s", "t", 2)).status == status.STREAM_SEALED
    assert truncate(world, info, {0: 0}) == status.STREAM_SEALED
    assert ids(world, info) == []
    assert not world.call("isSegmentValid", pb.SegmentId(streamInfo=info, segmentId=0)).response
    successors = world.call("getSegmentsImmediatelyFollowing", pb.SegmentId(streamInfo=info, segmentId=0))
    assert len(successors.segments) == 0


def test_the_numbers_of_the_streams_deleted_last_are_remembered(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "CONTROLLER_DELETED_STREAMS_MAX", 4)
    names = [f"t{number}" for number in range(10)]
    for name in names:
        info = world.make_stream(stream=name)
        world.call("sealStream", info)
        world.call("deleteStream", info)
    assert len(world.state.streams._next_numbers) == 4
    for name, number in (("t9", 1), ("t0", 0)):
        world.make_stream(stream=name)
        assert world.state.scopes.stream("s", name).segments[0].number == number


def test_only_a_sealed_stream_is_deleted(world: World) -> None:
    info = world.make_stream()
    assert world.call("deleteStream", info).status == pb.DeleteStreamStatus.STREAM_NOT_SEALED
    info.stream = "none"
    assert world.call("deleteStream", info).status == pb.DeleteStreamStatus.STREAM_NOT_FOUND
    assert world.call("sealStream", info).status == pb.UpdateStreamStatus.STREAM_NOT_FOUND


def test_deletion_takes_segments_of_all_epochs(world: World) -> None:
    info = world.make_stream(segments=2)
    world.state.scale_to("s", "t", 3, world.now_ns)
    world.call("sealStream", info)
    world.call("deleteStream", info)
    assert not world.store.segments._segments
    assert not world.call("checkStreamExists", info).exists
