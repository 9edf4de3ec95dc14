"""Requests that make, change, merge and remove segments; the recorded conversations have the usual cases."""

import pytest

from tests.protocols.pravega.server.talk import OTHER, SEGMENT, WRITER, Client, Cluster, create
from wiretool.codec.message import Message
from wiretool.protocols.pravega.failures import (
    ErrorMessage,
    NoSuchSegment,
    SegmentAlreadyExists,
    SegmentIsSealed,
    SegmentIsTruncated,
)
from wiretool.protocols.pravega.segments import (
    CreateSegment,
    CreateTransientSegment,
    DeleteSegment,
    GetSegmentAttribute,
    GetStreamSegmentInfo,
    ListStorageChunks,
    LocateOffset,
    MergeSegments,
    MergeSegmentsBatch,
    OffsetLocated,
    SealSegment,
    SegmentAttribute,
    SegmentAttributeUpdated,
    SegmentCreated,
    SegmentDeleted,
    SegmentPolicyUpdated,
    SegmentsBatchMerged,
    SegmentTruncated,
    StorageChunksListed,
    StreamSegmentInfo,
    TruncateSegment,
    UpdateSegmentAttribute,
    UpdateSegmentPolicy,
)
from wiretool.protocols.pravega.server.index import is_indexed
from wiretool.protocols.pravega.server.life import ROLLOVER_SIZE, SCALE_POLICY_RATE, SCALE_POLICY_TYPE
from wiretool.protocols.pravega.server.mock import PravegaMock
from wiretool.protocols.pravega.server.segments import EVENT_COUNT
from wiretool.protocols.pravega.structures import ConditionalAttributeUpdate, MergedSegment

ID = "aaaaaaaa-bbbb-cccc-dddd-dddddddddddd"


@pytest.fixture
def client() -> Client:
    return filled(Cluster())


def filled(cluster: Cluster) -> Client:
    """A client beside two segments of ten bytes each."""
    client = cluster.client()
    client.create(SEGMENT, OTHER)
    for segment in (SEGMENT, OTHER):
        client.set_up(segment)
        client.write(1, b"0123456789")
    return client


def attribute(client: Client, name: str, segment: str = SEGMENT) -> int:
    (reply,) = client.say(GetSegmentAttribute(request_id=1, segment_name=segment, attribute_id=name))
    assert isinstance(reply, SegmentAttribute)
    return reply.value


def start_and_length(client: Client, segment: str = SEGMENT) -> tuple[int, int]:
    (reply,) = client.say(GetStreamSegmentInfo(request_id=1, segment_name=segment))
    assert isinstance(reply, StreamSegmentInfo)
    return reply.start_offset, reply.write_offset


def refused(client: Client, request: Message, kind: str) -> None:
    assert client.say(request) == []
    assert client.why_closed is not None
    assert client.why_closed.startswith(kind)


def test_what_a_segment_is_made_with(client: Client) -> None:
    name = "a/b/0"
    request = CreateSegment(request_id=7, segment=name, target_rate=-3, scale_type=2, rollover_size_bytes=-9)
    assert client.say(request) == [SegmentCreated(request_id=7, segment=name)]
    kept = [attribute(client, each, name) for each in (SCALE_POLICY_TYPE, SCALE_POLICY_RATE, ROLLOVER_SIZE)]
    assert kept == [2, -3, 0]
    refused(client, create(""), "empty-name")


def test_a_policy_is_changed_unless_sealed(client: Client) -> None:
    change = UpdateSegmentPolicy(request_id=7, segment=SEGMENT, target_rate=5, scale_type=1)
    assert client.say(change) == [SegmentPolicyUpdated(request_id=7, segment=SEGMENT)]
    assert [attribute(client, each) for each in (SCALE_POLICY_TYPE, SCALE_POLICY_RATE)] == [1, 5]
    client.say(SealSegment(request_id=1, segment=SEGMENT))
    assert client.say(change) == [SegmentIsSealed(request_id=7, segment=SEGMENT)]


def test_attributes_of_a_sealed_segment_are_read_only(client: Client) -> None:
    client.say(SealSegment(request_id=1, segment=SEGMENT))
    assert attribute(client, WRITER) == 1
    change = UpdateSegmentAttribute(
        request_id=7, segment_name=SEGMENT, attribute_id=ID, new_value=1, expected_value=-(2**63)
    )
    assert client.say(change) == [SegmentIsSealed(request_id=7, segment=SEGMENT)]


def test_an_attribute_is_compared_and_set(client: Client) -> None:
    change = UpdateSegmentAttribute(
        request_id=7, segment_name=SEGMENT, attribute_id=EVENT_COUNT, new_value=9, expected_value=1
    )
    assert client.say(change) == [SegmentAttributeUpdated(request_id=7, success=True)]
    assert client.say(change) == [SegmentAttributeUpdated(request_id=7, success=False)]


def test_truncation_outside_says_where_the_segment_begins(client: Client) -> None:
    client.say(TruncateSegment(request_id=1, segment=SEGMENT, truncation_offset=4))
    for offset in (3, 11):
        request = TruncateSegment(request_id=7, segment=SEGMENT, truncation_offset=offset)
        told = SegmentIsTruncated(request_id=7, segment=SEGMENT, start_offset=4, offset=offset)
        assert client.say(request) == [told]
    assert start_and_length(client) == (4, 10)


def test_a_name_that_is_gone_is_not_free_at_once(client: Client) -> None:
    assert client.say(DeleteSegment(request_id=1, segment=SEGMENT)) == [SegmentDeleted(request_id=1, segment=SEGMENT)]
    client.cluster.wait(8)
    assert client.say(create()) == [SegmentAlreadyExists(request_id=1, segment=SEGMENT)]
    client.cluster.wait(52)
    assert client.say(create()) == [SegmentCreated(request_id=1, segment=SEGMENT)]
    assert start_and_length(client) == (0, 0)


def test_a_transient_segment_has_a_name_of_its_own_and_stays(client: Client) -> None:
    request = CreateTransientSegment(request_id=7, writer_id=WRITER, parent_segment="no/such/parent")
    first, second = (client.say(request)[0] for _ in range(2))
    assert isinstance(first, SegmentCreated)
    assert isinstance(second, SegmentCreated)
    assert first.segment != second.segment
    assert first.segment.startswith("no/such/parent#transient.0123456789abcdeffedcba9876543210.")
    assert len(first.segment.rpartition(".")[2]) == 32
    client.drop()
    assert start_and_length(client.cluster.client(), first.segment) == (0, 0)


def test_the_same_seed_makes_the_same_names() -> None:
    request = CreateTransientSegment(request_id=7, writer_id=WRITER, parent_segment=SEGMENT)
    first, same, other = (Cluster(PravegaMock(seed=seed)).client().say(request) for seed in (1, 1, 2))
    assert first == same != other


def test_a_merge_with_attributes_of_any_kind(client: Client) -> None:
    update = ConditionalAttributeUpdate(attribute_id=ID, attribute_update_type=3, new_value=5, old_value=0)
    merge = MergeSegments(request_id=7, target=SEGMENT, source=OTHER, attribute_updates=(update,))
    client.say(merge)
    assert attribute(client, ID) == 5
    assert start_and_length(client) == (0, 20)


def test_a_merge_with_an_update_of_no_kind(client: Client) -> None:
    update = ConditionalAttributeUpdate(attribute_id=ID, attribute_update_type=5, new_value=5, old_value=0)
    merge = MergeSegments(request_id=7, target=SEGMENT, source=OTHER, attribute_updates=(update,))
    refused(client, merge, "bad-attribute-update")


def test_a_batch_into_a_missing_or_a_sealed_target(client: Client) -> None:
    batch = MergeSegmentsBatch(request_id=7, target_segment_id="a/b/0", source_segment_ids=(OTHER,))
    assert client.say(batch) == [NoSuchSegment(request_id=7, segment="a/b/0")]
    client.say(SealSegment(request_id=1, segment=SEGMENT))
    batch = MergeSegmentsBatch(request_id=7, target_segment_id=SEGMENT, source_segment_ids=("a/b/0", OTHER))
    assert client.say(batch) == [SegmentIsSealed(request_id=7, segment=SEGMENT)]


def test_a_batch_counts_what_is_gone_as_merged(client: Client) -> None:
    batch = MergeSegmentsBatch(request_id=7, target_segment_id=SEGMENT, source_segment_ids=(OTHER, OTHER))
    merged = tuple(MergedSegment(source=OTHER, new_target_write_offset=20) for _ in range(2))
    assert client.say(batch) == [SegmentsBatchMerged(request_id=7, target=SEGMENT, merged=merged)]


def test_chunks_of_what_lies_in_memory() -> None:
    admin = filled(Cluster(PravegaMock(has_admin=True))).cluster.client("admin")
    listed = ListStorageChunks(segment=SEGMENT, request_id=7)
    assert admin.say(listed) == [StorageChunksListed(request_id=7, chunks=())]
    refused(admin, ListStorageChunks(segment="a/b/0", request_id=7), "no-segment")


# -- indexes, from wire version 17 on ----------------------------------------------------------------------------------


@pytest.fixture
def newest() -> Client:
    return filled(Cluster(PravegaMock(wire_version=17)))


def locate(client: Client, offset: int, segment: str = SEGMENT) -> int:
    (reply,) = client.say(LocateOffset(request_id=7, segment=segment, target_offset=offset))
    assert isinstance(reply, OffsetLocated)
    return reply.offset


@pytest.mark.parametrize(
    ("name", "has_index"),
    [
        (SEGMENT, True),
        (SEGMENT + "#transaction." + "0" * 32, False),
        (SEGMENT + "#transient.x.y", False),
        (SEGMENT + "#index", False),
        ("_system/stream/0.#epoch.0", False),
        ("scope/_MARKstream/0.#epoch.0", False),
        ("plain", False),
    ],
)
def test_which_segments_have_an_index(name: str, has_index: bool) -> None:
    assert is_indexed(name) == has_index


def test_the_end_of_an_append_is_located(newest: Client) -> None:
    newest.write(2, b"abc", WRITER)  # to the segment that was set up last
    assert [locate(newest, offset, OTHER) for offset in (-5, 0, 10, 11, 13, 99)] == [10, 10, 10, 13, 13, 13]
    assert start_and_length(newest, OTHER + "#index") == (0, 48)
    newest.say(TruncateSegment(request_id=1, segment=OTHER, truncation_offset=11))
    assert start_and_length(newest, OTHER + "#index") == (24, 48)
    assert locate(newest, 0, OTHER) == 13


def test_a_merge_is_located_too(newest: Client) -> None:
    newest.say(MergeSegments(request_id=1, target=SEGMENT, source=OTHER))
    assert [locate(newest, offset) for offset in (1, 11)] == [10, 20]
    missing = GetStreamSegmentInfo(request_id=1, segment_name=OTHER + "#index")
    assert newest.say(missing) == [NoSuchSegment(request_id=1, segment=OTHER + "#index")]


def test_without_an_index_it_is_the_length(newest: Client) -> None:
    index = SEGMENT + "#index"
    (told,) = newest.say(DeleteSegment(request_id=7, segment=index))
    assert isinstance(told, ErrorMessage)
    assert (told.segment, told.error_code) == (index, 0)
    assert locate(newest, 0) == 10
    newest.set_up()
    newest.write(2, b"x")
    assert locate(newest, 0) == 11


def test_an_index_of_that_name_is_in_the_way(newest: Client) -> None:
    name = "scope/new/0.#epoch.0"
    newest.create(name + "#index")
    assert newest.say(create(name)) == [SegmentAlreadyExists(request_id=1, segment=name)]
    assert start_and_length(newest, name) == (0, 0)


def test_an_index_goes_with_its_segment(newest: Client) -> None:
    newest.say(DeleteSegment(request_id=1, segment=SEGMENT))
    segments = newest.cluster.mock.store.segments
    assert not segments.exists(SEGMENT)
    assert not segments.exists(SEGMENT + "#index")
    truncate = TruncateSegment(request_id=1, segment=OTHER, truncation_offset=10)
    assert newest.say(truncate) == [SegmentTruncated(request_id=1, segment=OTHER)]
