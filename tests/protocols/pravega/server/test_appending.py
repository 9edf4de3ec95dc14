"""Appends: numbers, conditions, and what a refusal leaves behind."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.protocols.pravega.server.talk import (
    OTHER,
    SECOND,
    SEGMENT,
    WRITER,
    Client,
    Cluster,
    acked,
    append,
    set_up,
)
from wiretool import limits
from wiretool.protocols.pravega.appends import event_frame
from wiretool.protocols.pravega.failures import InvalidEventNumber, NoSuchSegment, SegmentIsSealed
from wiretool.protocols.pravega.framing import encode
from wiretool.protocols.pravega.messages import (
    AppendBlock,
    AppendBlockEnd,
    ConditionalAppend,
    ConditionalBlockEnd,
    ConditionalCheckFailed,
    DataAppended,
    KeepAlive,
    PartialEvent,
)
from wiretool.protocols.pravega.segments import DeleteSegment, SealSegment
from wiretool.protocols.pravega.server.acks import ack, ack_head
from wiretool.protocols.pravega.server.mock import PravegaMock
from wiretool.protocols.pravega.server.segments import EVENT_COUNT
from wiretool.protocols.pravega.structures import NONE_I64, InnerEvent

I64 = st.integers(-(2**63), 2**63 - 1)


@pytest.fixture
def cluster() -> Cluster:
    cluster = Cluster()
    cluster.client().create(SEGMENT, OTHER)
    return cluster


@pytest.fixture
def client(cluster: Cluster) -> Client:
    client = cluster.client()
    client.set_up()
    return client


def stored(cluster: Cluster, segment: str = SEGMENT) -> bytes:
    return cluster.mock.store.segments.info(segment).read(0, 1_000_000)


@given(I64, I64, I64, st.integers(0, 2**63 - 1))
def test_an_ack_is_the_declared_message(number: int, previous: int, request_id: int, length: int) -> None:
    message = DataAppended(
        writer_id=WRITER,
        event_number=number,
        previous_event_number=previous,
        request_id=request_id,
        current_segment_write_offset=length,
    )
    assert ack(ack_head(WRITER), number, previous, request_id, length) == encode(message, "server")


def test_a_block_with_a_cut_event(cluster: Cluster, client: Client) -> None:
    whole, cut = event_frame(b"hello"), event_frame(b"world!")
    tail = encode(PartialEvent(data=cut[:5]), "client")
    end = AppendBlockEnd(
        writer_id=WRITER,
        size_of_whole_events=len(whole),
        data=cut[5:],
        num_events=2,
        last_event_number=2,
        request_id=3,
    )
    assert client.say(AppendBlock(writer_id=WRITER, data=whole + tail)) == []
    assert client.say(KeepAlive()) == [KeepAlive()]
    assert client.say(end) == [acked(2, 27)]
    assert stored(cluster) == whole + cut


def test_acks_chain(cluster: Cluster, client: Client) -> None:
    assert client.say(append(0, b"a")) == [acked(0, 1)]
    assert client.say(append(7, b"b", events=5), append(9, b"c")) == [acked(7, 2, 0), acked(9, 3, 7)]
    attributes = cluster.mock.store.segments.info(SEGMENT).attributes
    assert (attributes[WRITER], attributes[EVENT_COUNT]) == (9, 7)


def test_a_number_said_again_is_stored_but_not_acknowledged(cluster: Cluster, client: Client) -> None:
    client.write(5, b"a")
    assert client.say(append(5, b"a")) == []
    assert stored(cluster) == b"aa"
    assert client.say(append(6, b"b")) == [acked(6, 3, 5)]


def test_writers_of_one_connection_do_not_mix(cluster: Cluster, client: Client) -> None:
    client.set_up(OTHER, SECOND)
    replies = client.say(append(1, b"a"), append(1, b"b", SECOND), append(2, b"c"))
    assert replies == [acked(1, 1), acked(1, 1, writer=SECOND), acked(2, 2, 1)]
    assert (stored(cluster), stored(cluster, OTHER)) == (b"ac", b"b")


def test_a_writer_is_bound_to_the_segment_it_named_last(cluster: Cluster, client: Client) -> None:
    client.set_up(OTHER)
    client.write(1, b"a")
    assert (stored(cluster), stored(cluster, OTHER)) == (b"", b"a")


@pytest.mark.parametrize("expected", [-1, 5])
def test_conditions_that_hold(expected: int, cluster: Cluster, client: Client) -> None:
    client.write(1, b"hello")
    conditional = ConditionalBlockEnd(
        writer_id=WRITER, event_number=2, expected_offset=expected, data=b"raw", request_id=3
    )
    assert client.say(conditional) == [acked(2, 8, 1)]
    assert stored(cluster) == b"helloraw"


def test_a_condition_that_fails_leaves_the_writer_as_it_was(cluster: Cluster, client: Client) -> None:
    event = InnerEvent(data=b"hi")
    failing = ConditionalAppend(writer_id=WRITER, event_number=1, expected_offset=4, event=event, request_id=8)
    assert client.say(failing) == [ConditionalCheckFailed(writer_id=WRITER, event_number=1, request_id=8)]
    right = ConditionalAppend(writer_id=WRITER, event_number=1, expected_offset=0, event=event, request_id=3)
    assert client.say(right) == [acked(1, 10)]
    assert stored(cluster) == event_frame(b"hi")


def test_numbers_are_kept_across_connections(cluster: Cluster, client: Client) -> None:
    client.write(41, b"a")
    client.drop()
    again = cluster.client()
    assert again.set_up() == 41
    assert again.say(append(42, b"b")) == [acked(42, 2, 41)]


def test_who_was_overtaken_is_told_and_closed(cluster: Cluster, client: Client) -> None:
    other = cluster.client()
    other.set_up()
    other.write(1, b"a")
    refused = InvalidEventNumber(writer_id=WRITER, request_id=3, event_number=2)
    assert client.say(append(2, b"b"), KeepAlive()) == [refused]
    assert client.why_closed == f"the number of writer {WRITER} was moved on by another connection"
    assert stored(cluster) == b"a"
    other.write(2, b"c")


def test_an_older_server_tells_no_number() -> None:
    cluster = Cluster(PravegaMock(wire_version=15))
    first, second = cluster.client(), cluster.client()
    first.create(SEGMENT)
    first.set_up()
    second.set_up()
    second.write(1, b"a")
    (refused,) = first.say(append(1, b"a"))
    assert refused == InvalidEventNumber(writer_id=WRITER, request_id=3)


def test_a_sealed_segment_refuses_each_append(cluster: Cluster, client: Client) -> None:
    cluster.client().say(SealSegment(request_id=1, segment=SEGMENT))
    for number in (4, 5):
        refused = SegmentIsSealed(request_id=3, segment=SEGMENT, offset=number)
        assert client.say(append(number, b"a")) == [refused]
    assert client.why_closed is None


def test_like_the_real_one_it_refuses_once_then_the_connection_ends() -> None:
    cluster = Cluster(PravegaMock(like_real=True))
    client = cluster.client()
    client.create(SEGMENT)
    client.set_up()
    cluster.client().say(SealSegment(request_id=1, segment=SEGMENT))
    assert client.say(append(4, b"a")) == [SegmentIsSealed(request_id=3, segment=SEGMENT, offset=4)]
    assert client.say(append(5, b"a")) == []
    assert client.why_closed is not None
    assert client.why_closed.startswith("append-before-setup: AppendBlockEnd from the client")


def test_after_a_refusal_a_writer_may_be_set_up_anew(cluster: Cluster, client: Client) -> None:
    cluster.client().say(DeleteSegment(request_id=1, segment=SEGMENT))
    assert client.say(append(4, b"a")) == [NoSuchSegment(request_id=3, segment=SEGMENT)]
    assert client.set_up(OTHER) == NONE_I64
    client.write(4, b"a")


@pytest.mark.parametrize("number", [-1, 3])
def test_numbers_do_not_go_back(number: int, client: Client) -> None:
    client.write(4, b"a")
    assert client.say(append(number, b"a")) == []
    assert client.why_closed is not None
    assert client.why_closed.startswith("event-number-backwards")


def test_numbers_do_not_go_back_behind_a_new_set_up(cluster: Cluster, client: Client) -> None:
    client.write(4, b"a")
    assert client.set_up() == 4
    assert client.say(append(3, b"a")) == []
    assert client.why_closed is not None
    assert client.why_closed.startswith("event-number-backwards")


def test_an_append_waits_for_the_answer_to_its_set_up(cluster: Cluster) -> None:
    hasty = cluster.client()
    assert hasty.say(set_up(), append(1, b"a")) == []
    assert hasty.why_closed is not None
    assert hasty.why_closed.startswith("append-before-setup")
    assert stored(cluster) == b""


def test_a_set_up_that_failed_binds_nothing(cluster: Cluster) -> None:
    client = cluster.client()
    assert client.say(set_up("none/none/0")) == [NoSuchSegment(request_id=2, segment="none/none/0")]
    assert client.say(append(1, b"a")) == []
    assert client.why_closed is not None


def test_a_block_that_is_not_ended_stores_nothing(cluster: Cluster, client: Client) -> None:
    client.say(AppendBlock(writer_id=WRITER, data=b"hello"))
    client.end()
    assert client.why_closed == ""
    assert stored(cluster) == b""


def test_the_writers_of_a_connection_are_bounded(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "WRITERS_MAX", 1)
    client = cluster.client()
    client.set_up()
    client.set_up()
    assert client.say(set_up(writer=SECOND)) == []
    assert client.why_closed is not None
    assert "more than 1 writers on one connection" in client.why_closed


def test_an_event_count_that_a_client_set_does_not_break_the_next_append(cluster: Cluster, client: Client) -> None:
    attributes = cluster.mock.store.segments.info(SEGMENT).attributes
    attributes[EVENT_COUNT] = 2**63 - 1
    client.write(1, b"a")
    assert attributes[EVENT_COUNT] == -(2**63)
    del attributes[EVENT_COUNT]
    client.write(2, b"a")
    assert attributes[EVENT_COUNT] == 1


@pytest.mark.parametrize(
    ("how", "kept"),
    [
        ("nothing", b"one" + b"three"),
        ("twice", b"one" + b"two" * 2 + b"three"),
        ("late", b"one" + b"three" + b"two"),
    ],
)
def test_an_append_that_is_kept_otherwise_is_acknowledged_all_the_same(
    cluster: Cluster, client: Client, how: str, kept: bytes
) -> None:
    client.write(1, b"one")
    cluster.mock.keep(client.number, how)
    assert client.say(append(2, b"two")) == [acked(2, 6, previous=1)]
    client.write(3, b"three")
    assert stored(cluster) == kept
    # The one rule has acted; the writer goes on where it says it was.
    client.write(4, b"four")
    assert stored(cluster) == kept + b"four"


def test_what_is_late_waits_for_its_own_segment(cluster: Cluster, client: Client) -> None:
    client.set_up(OTHER, SECOND)
    cluster.mock.keep(client.number, "late")
    client.write(1, b"late")
    client.write(1, b"other", writer=SECOND)
    assert (stored(cluster), stored(cluster, OTHER)) == (b"", b"other")
    client.write(2, b"next")
    assert stored(cluster) == b"nextlate"


def test_a_connection_that_is_gone_keeps_nothing(cluster: Cluster, client: Client) -> None:
    client.drop()
    cluster.mock.keep(client.number, "twice")
    assert stored(cluster) == b""
