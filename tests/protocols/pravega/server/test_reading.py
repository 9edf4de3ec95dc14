"""Reads: what is there is sent at once, and who comes to the end waits for what becomes of the segment."""

from collections.abc import Sequence
from uuid import UUID

import pytest

from tests.protocols.pravega.server.talk import SEGMENT, Client, Cluster, append, read
from wiretool import limits
from wiretool.codec.message import Message
from wiretool.protocols.pravega.failures import NoSuchSegment, SegmentIsSealed, SegmentIsTruncated
from wiretool.protocols.pravega.messages import KeepAlive, SegmentRead
from wiretool.protocols.pravega.segments import (
    DeleteSegment,
    MergeSegments,
    SealSegment,
    SegmentDeleted,
    SegmentsMerged,
    SegmentTruncated,
    TruncateSegment,
)
from wiretool.protocols.pravega.server.mock import PravegaMock
from wiretool.protocols.pravega.server.reading import answer_parked

MIB = 1024 * 1024


@pytest.fixture
def cluster() -> Cluster:
    cluster = Cluster()
    writer = cluster.client()
    writer.create(SEGMENT)
    writer.set_up()
    writer.write(1, b"0123456789")
    return cluster


def writer_of(cluster: Cluster) -> Client:
    return cluster.clients[0]


def got(data: bytes, offset: int, number: int = 4, *, at_tail: bool = False, is_end: bool = False) -> SegmentRead:
    return SegmentRead(
        segment=SEGMENT, offset=offset, at_tail=at_tail, end_of_segment=is_end, data=data, request_id=number
    )


@pytest.mark.parametrize(
    ("offset", "size", "reply"),
    [
        (0, 100, got(b"0123456789", 0, at_tail=True)),
        (0, 10, got(b"0123456789", 0)),
        (0, 9, got(b"012345678", 0)),
        (1, 0, got(b"12345678", 1)),
        (1, -5, got(b"12345678", 1)),
        (2, 1, got(b"23456789", 2)),
        (9, 2**31 - 1, got(b"9", 9, at_tail=True)),
    ],
)
def test_what_is_there(offset: int, size: int, reply: SegmentRead, cluster: Cluster) -> None:
    assert cluster.client().say(read(offset, size)) == [reply]


def test_two_mebibytes_at_most(cluster: Cluster) -> None:
    writer_of(cluster).write(2, bytes(3 * MIB))
    (reply,) = cluster.client().say(read(0, 2**31 - 1))
    assert isinstance(reply, SegmentRead)
    assert (len(reply.data), reply.at_tail) == (2 * MIB, False)


def test_a_sealed_segment_ends(cluster: Cluster) -> None:
    client = cluster.client()
    writer_of(cluster).say(SealSegment(request_id=1, segment=SEGMENT))
    assert client.say(read(4)) == [got(b"456789", 4, is_end=True)]
    assert client.say(read(10)) == [got(b"", 10, is_end=True)]
    assert client.say(read(0, 10)) == [got(b"0123456789", 0)]
    assert client.say(read(11)) == []
    assert client.why_closed is not None
    assert client.why_closed.startswith("beyond-the-end")


def test_before_the_head_and_nowhere(cluster: Cluster) -> None:
    client = cluster.client()
    writer_of(cluster).say(TruncateSegment(request_id=1, segment=SEGMENT, truncation_offset=5))
    assert client.say(read(4)) == [SegmentIsTruncated(request_id=4, segment=SEGMENT, start_offset=5, offset=4)]
    assert client.say(read(5)) == [got(b"56789", 5, at_tail=True)]
    assert client.say(read(77, segment="a/b/0")) == [NoSuchSegment(request_id=4, segment="a/b/0", offset=77)]
    client.say(read(-1))
    assert client.why_closed is not None
    assert client.why_closed.startswith("negative-offset")


def test_an_append_answers_everyone_who_waits_for_it(cluster: Cluster) -> None:
    near, far = cluster.client(), cluster.client()
    assert near.say(read(10), read(10, 4, number=5)) == []
    assert far.say(read(12)) == []
    writer_of(cluster).write(2, b"ab")
    assert near.hear() == [got(b"ab", 10, at_tail=True), got(b"ab", 10, 5, at_tail=True)]
    assert far.hear() == []
    writer_of(cluster).write(3, b"cd")
    assert far.hear() == [got(b"cd", 12, at_tail=True)]


def test_waiting_ends_with_the_seal(cluster: Cluster) -> None:
    client = cluster.client()
    client.say(read(10), read(2**62, number=5))
    writer_of(cluster).say(SealSegment(request_id=1, segment=SEGMENT))
    sealed = [
        SegmentIsSealed(request_id=4, segment=SEGMENT, offset=10),
        SegmentIsSealed(request_id=5, segment=SEGMENT, offset=2**62),
    ]
    assert client.hear() == sealed


def test_waiting_ends_with_the_segment(cluster: Cluster) -> None:
    client = cluster.client()
    client.say(read(10))
    assert client.say(DeleteSegment(request_id=1, segment=SEGMENT)) == [
        got(b"", 10, at_tail=True),
        SegmentDeleted(request_id=1, segment=SEGMENT),
    ]
    assert client.say(read(10)) == [NoSuchSegment(request_id=4, segment=SEGMENT, offset=10)]


def test_truncation_wakes_nobody_but_shows_afterwards(cluster: Cluster) -> None:
    client = cluster.client()
    client.say(read(10))
    truncate = TruncateSegment(request_id=1, segment=SEGMENT, truncation_offset=10)
    assert writer_of(cluster).say(truncate) == [SegmentTruncated(request_id=1, segment=SEGMENT)]
    assert client.hear() == []
    truncated = SegmentIsTruncated(request_id=4, segment=SEGMENT, start_offset=10, offset=9)
    assert answer_parked(cluster.mock.store.segments.info(SEGMENT), read(9), 8) == truncated


def test_a_merge_is_an_append(cluster: Cluster) -> None:
    client, writer = cluster.client(), writer_of(cluster)
    name = SEGMENT + "#transaction." + "0" * 32
    writer.create(name)
    writer.set_up(name)
    writer.write(1, b"committed")
    client.say(read(10))
    merge = MergeSegments(request_id=1, target=SEGMENT, source=name)
    merged = SegmentsMerged(request_id=1, target=SEGMENT, source=name, new_target_write_offset=19)
    assert writer.say(merge) == [merged]
    assert client.hear() == [got(b"committed", 10, at_tail=True)]


@pytest.mark.parametrize("is_dropped", [True, False])
def test_who_is_gone_waits_no_longer(is_dropped: bool, cluster: Cluster) -> None:
    client = cluster.client()
    client.say(read(10))
    if is_dropped:
        client.drop()
    else:
        client.end()
    assert not cluster.mock.store.segments.info(SEGMENT).waiters
    writer_of(cluster).write(2, b"ab")
    assert client.hear() == []


def test_idle_segments_are_unloaded_by_the_real_store_only() -> None:
    for like_real in (False, True):
        cluster = Cluster(PravegaMock(like_real=like_real))
        client = cluster.client()
        client.create(SEGMENT)
        cluster.wait(10)
        client.say(read(0))
        cluster.wait(65)
        assert client.hear() == []
        cluster.wait(60)
        assert client.hear() == ([got(b"", 0, at_tail=True)] if like_real else [])
        assert client.say(read(0, number=5)) == []
        client.set_up()
        client.say(append(1, b"a"))
        assert client.say(KeepAlive()) == [KeepAlive()]


def test_waiting_reads_of_a_connection_are_bounded(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "PRAVEGA_PARKED_READS_MAX", 2)
    client = cluster.client()
    client.say(read(10), read(10), read(10))
    assert client.why_closed is not None
    assert "more than 2 reads wait on one connection" in client.why_closed
    assert not cluster.mock.store.segments.info(SEGMENT).waiters


def waiting(cluster: Cluster, count: int) -> Client:
    """A client that waits for data in so many segments; each has a writer, by its number."""
    client, writer = cluster.client(), writer_of(cluster)
    for number in range(count):
        name = f"scope/stream/{number + 1}.#epoch.0"
        writer.create(name)
        writer.set_up(name, str(UUID(int=number)))
        assert client.say(read(0, 2 * MIB, segment=name)) == []
    return client


def sizes_of(replies: Sequence[Message]) -> list[int]:
    return [len(reply.data) for reply in replies if isinstance(reply, SegmentRead)]


def test_a_client_that_only_waits_has_whole_replies(cluster: Cluster) -> None:
    """Its socket takes all at once, so nobody ever says that anything has left."""
    client = waiting(cluster, 12)
    for number in range(12):
        writer_of(cluster).write(1, bytes(MIB), str(UUID(int=number)))
        cluster.wait(0)
    assert sizes_of(client.hear()) == [MIB] * 12
    assert cluster.mock.wake_ns is None


def test_a_client_that_takes_slowly_has_short_replies_until_it_has_taken_them(cluster: Cluster) -> None:
    client = waiting(cluster, 3)
    cluster.do(cluster.mock.full(client.number, cluster.now_ns))
    for number in range(2):
        writer_of(cluster).write(1, bytes(MIB), str(UUID(int=number)))
        cluster.wait(0)
    assert sizes_of(client.hear()) == [8, 8]
    cluster.do(cluster.mock.drained(client.number, cluster.now_ns))
    writer_of(cluster).write(1, bytes(MIB), str(UUID(int=2)))
    assert sizes_of(client.hear()) == [MIB]


def test_a_slow_reader_costs_little(cluster: Cluster) -> None:
    """However many reads wait, what one append sends to a connection is bounded."""
    client = cluster.client()
    client.say(*[read(10, 2 * MIB) for _ in range(100)])
    writer_of(cluster).write(2, bytes(4 * MIB))
    replies = client.hear()
    assert all(isinstance(reply, SegmentRead) and reply.data for reply in replies)
    sizes = sizes_of(replies)
    assert len(sizes) == 100
    assert sum(sizes) <= limits.MOCK_REPLY_BYTES_MAX + 2 * MIB


# -- the first reply at the tail ---------------------------------------------------------------------------------------


@pytest.fixture
def grouping() -> Cluster:
    """A mock that takes time as `wiretool serve` has it, with a writer."""
    cluster = Cluster(PravegaMock(is_paced=True))
    writer = cluster.client()
    writer.create(SEGMENT)
    writer.set_up()
    return cluster


def test_a_waiting_read_gets_what_is_written_back_to_back(grouping: Cluster) -> None:
    reader = grouping.client()
    reader.say(read(0, 100))
    writer_of(grouping).write(1, b"one")
    grouping.wait(0.01)
    writer_of(grouping).write(2, b"two")
    assert reader.hear() == []
    grouping.wait(0.1)
    assert reader.hear() == [got(b"onetwo", 0, at_tail=True)]


def test_a_read_behind_a_fresh_append_gets_the_next_one_too(grouping: Cluster) -> None:
    reader = grouping.client()
    writer_of(grouping).write(1, b"one")
    assert reader.say(read(0, 100)) == []
    grouping.wait(0.01)
    writer_of(grouping).write(2, b"two")
    grouping.wait(0.1)
    assert reader.hear() == [got(b"onetwo", 0, at_tail=True)]


def test_only_the_first_reply_waits(grouping: Cluster) -> None:
    reader = grouping.client()
    reader.say(read(0, 100))
    writer_of(grouping).write(1, b"one")
    grouping.wait(0.1)
    reader.say(read(3, 100))
    writer_of(grouping).write(2, b"two")
    assert reader.say()[-1] == got(b"two", 3, at_tail=True)


def test_what_was_written_before_is_read_at_once(grouping: Cluster) -> None:
    writer_of(grouping).write(1, b"one")
    grouping.wait(1)
    assert grouping.client().say(read(0, 100)) == [got(b"one", 0, at_tail=True)]


def test_the_end_of_a_segment_is_not_waited_for(grouping: Cluster) -> None:
    reader = grouping.client()
    reader.say(read(0, 100))
    writer_of(grouping).write(1, b"one")
    writer_of(grouping).say(SealSegment(request_id=7, segment=SEGMENT))
    assert reader.hear() == [got(b"one", 0, at_tail=True)]
    grouping.wait(1)
    assert reader.hear() == []


def test_a_reader_that_goes_while_it_waits_leaves_nothing(grouping: Cluster) -> None:
    reader = grouping.client()
    reader.say(read(0, 100))
    writer_of(grouping).write(1, b"one")
    reader.drop()
    assert grouping.mock.wake_ns is None
