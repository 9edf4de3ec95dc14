"""Watermarks: when the controller appends one, and its bytes as a real controller wrote them."""

from tests.protocols.pravega_controller.server.world import SECOND, World
from wiretool.protocols.pravega_controller import controller_pb2 as pb
from wiretool.protocols.pravega_controller.watermark import SegmentPosition, encode_watermark

#: Appended by a real controller 0.13.0 for two writers that had noted 10000 and 10001 at offset 262; its header is cut.
RECORDED = bytes.fromhex(
    "0000010000000039000000000000271000000000000027110100000100000000180000000000000000"
    "00000000000000003ff00000000000000000000000000106"
)
MARK_SEGMENT = "s/_MARKt/0.#epoch.0"
EVENT_HEADER_BYTES = 8


def note(world: World, info: pb.StreamInfo, writer: str, timestamp: int, cut: dict[int, int]) -> None:
    position = pb.StreamCut(streamInfo=info, cut=cut)
    request = pb.TimestampFromWriter(writer=writer, position=position, timestamp=timestamp)
    assert world.call("noteTimestampFromWriter", request).result == pb.TimestampResponse.SUCCESS


def times(world: World) -> list[tuple[int, int]]:
    """The bounds of every watermark, all of which are over one segment."""
    data = world.data(MARK_SEGMENT)
    size = EVENT_HEADER_BYTES + len(RECORDED)
    assert len(data) % size == 0
    events = [data[at + EVENT_HEADER_BYTES : at + size] for at in range(0, len(data), size)]
    return [(int.from_bytes(event[8:16], "big"), int.from_bytes(event[16:24], "big")) for event in events]


def test_a_watermark_has_the_bytes_of_a_real_one() -> None:
    assert encode_watermark(10_000, 10_001, [SegmentPosition(0, 0.0, 1.0, 262)]) == RECORDED


def test_many_segments_are_counted_in_two_bytes() -> None:
    position = [SegmentPosition(number, 0.0, 1.0, 0) for number in range(200)]
    assert encode_watermark(0, 0, position)[24:26] == bytes([0x80, 200])


def test_two_writers_make_a_watermark_after_ten_seconds() -> None:
    world = World()
    info = world.make_stream()
    note(world, info, "one", 10_000, {0: 249})
    note(world, info, "two", 10_001, {0: 262})
    world.advance(9 * SECOND)
    assert world.data(MARK_SEGMENT) == b""
    world.advance(SECOND)
    assert world.data(MARK_SEGMENT)[EVENT_HEADER_BYTES:] == RECORDED


def test_a_watermark_follows_where_all_writers_have_got_on() -> None:
    world = World()
    info = world.make_stream()
    note(world, info, "one", 1, {0: 0})
    note(world, info, "two", 2, {0: 0})
    world.advance(10 * SECOND)
    note(world, info, "two", 9, {0: 5})
    world.advance(10 * SECOND)
    assert times(world) == [(1, 2)]
    note(world, info, "one", 3, {0: 5})
    world.advance(10 * SECOND)
    assert times(world) == [(1, 2), (3, 9)]
    world.advance(10 * SECOND)
    assert world.timers.next_ns is None


def test_a_writer_that_has_gone_counts_once_more() -> None:
    world = World()
    info = world.make_stream()
    note(world, info, "one", 1, {0: 0})
    note(world, info, "two", 2, {0: 0})
    world.call("removeWriter", pb.RemoveWriterRequest(writer="one", stream=info))
    world.advance(10 * SECOND)
    note(world, info, "two", 7, {0: 5})
    world.advance(10 * SECOND)
    assert times(world) == [(1, 2), (7, 7)]


def test_the_position_is_a_cut_of_the_newest_segments() -> None:
    world = World()
    info = world.make_stream()
    note(world, info, "one", 1, {0: 4})
    world.state.scale_to("s", "t", 2, world.now_ns)
    left, right = (1 << 32) + 1, (1 << 32) + 2
    note(world, info, "two", 2, {left: 3, right: 0})
    world.advance(10 * SECOND)
    expected = [SegmentPosition(left, 0.0, 0.5, 3), SegmentPosition(right, 0.5, 1.0, 0)]
    assert world.data(MARK_SEGMENT)[EVENT_HEADER_BYTES:] == encode_watermark(1, 2, expected)


def test_nothing_is_appended_for_a_stream_that_is_gone() -> None:
    world = World()
    info = world.make_stream()
    note(world, info, "one", 1, {0: 0})
    world.state.delete_scope_recursively("s", world.now_ns)
    world.advance(10 * SECOND)
    assert world.segments("s/") == {}
    assert world.timers.next_ns is None
