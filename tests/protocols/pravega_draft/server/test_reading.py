"""Reads: what is there is sent at once, and who comes to the end waits; slow clients and patient ones."""

import tracemalloc
from uuid import UUID

from tests.protocols.pravega_draft.server.talk import NOW, STORED, Client, ack, block, connected, got, read, set_up
from tests.protocols.pravega_draft.talk import HELLO, ID, SETUP
from wiretool.protocols.pravega_draft.framing import encode
from wiretool.protocols.pravega_draft.messages import (
    Event,
    KeepAlive,
    NoSuchSegment,
    ReadSegment,
    SegmentRead,
    SetupAppend,
)
from wiretool.protocols.pravega_draft.server import DraftMock


def test_reads() -> None:
    client = set_up()
    client.send(*block(0, HELLO, HELLO))
    assert client.send(read(0), read(13), read(20, 1)) == [
        got(0, STORED * 2),
        got(13, STORED),
        got(20, (STORED * 2)[20:26]),
    ]
    assert client.send(read(0, 9)) == [got(0, STORED[:9], at_tail=False)]
    assert client.send(ReadSegment(segment="none", offset=0, suggested_length=1)) == [NoSuchSegment(segment="none")]


def test_a_read_at_the_tail_waits_for_data() -> None:
    writer = set_up()
    reader = Client(writer.mock, 2)
    assert reader.send(read(0), read(13), read(20)) == []
    actions = writer.mock.received(1, b"".join(map(encode, block(0, HELLO))), NOW)
    assert writer.take(actions) == [ack(13)]
    assert reader.take(actions) == [got(0, STORED)]
    actions = writer.mock.received(1, b"".join(map(encode, block(13, HELLO))), NOW)
    assert reader.take(actions) == [got(13, STORED), got(20, STORED[7:])]


def test_sealing_and_deleting_end_what_waits() -> None:
    client = connected(segments=["seg"])
    assert client.send(read(0)) == []
    _, actions = client.mock.operate("seal", {"segment": "seg"}, NOW)
    assert client.take(actions) == [got(0, b"", end_of_segment=True)]
    assert client.send(read(0)) == [got(0, b"", end_of_segment=True)]
    client = connected(segments=["seg"])
    client.send(read(5))
    _, actions = client.mock.operate("delete", {"segment": "seg"}, NOW)
    assert client.take(actions) == [NoSuchSegment(segment="seg")]


def test_a_connection_that_is_gone_waits_for_nothing() -> None:
    writer = set_up()
    reader = Client(writer.mock, 2)
    reader.send(read(0))
    writer.mock.lost(2, NOW)
    actions = writer.mock.received(1, b"".join(map(encode, block(0, HELLO))), NOW)
    assert all(action.connection == 1 for action in actions)


def test_the_oldest_data_goes_first_and_reads_say_where_they_begin() -> None:
    client = Client(DraftMock(retain_bytes=1_000_000))
    client.send(SETUP)
    event = Event(data=bytes(300_000))
    size = len(encode(event))
    for number in range(5):
        client.send(*block(number * size, event))
    (reply,) = client.send(read(0))
    assert isinstance(reply, SegmentRead)
    assert reply.offset == 2 * size
    assert client.send(*block(5 * size, HELLO)) == [ack(5 * size + 13)]


def test_replies_that_do_not_leave_hold_back_the_frames_behind_them() -> None:
    client = set_up()
    event = Event(data=bytes(3_000_000))
    client.send(*block(0, event))
    said = client.send(*[read(0, 2**31 - 1)] * 10, KeepAlive(data=b""))
    assert [type(each) for each in said] == [SegmentRead] * 2
    assert client.send(KeepAlive(data=b"")) == []
    client.take(client.mock.ended(1, NOW))
    assert client.closed is None
    seen = 2
    while client.closed is None:
        said = client.take(client.mock.drained(1, NOW))
        seen += len(said)
    assert seen == 12
    assert [type(each) for each in said] == [KeepAlive, KeepAlive]


def test_woken_reads_wait_for_room_too() -> None:
    writer = set_up()
    reader = Client(writer.mock, 2)
    reader.send(*[read(0, 2**31 - 1)] * 5)
    event = Event(data=bytes(3_000_000))
    actions = writer.mock.received(1, b"".join(map(encode, block(0, event))), NOW)
    assert len(reader.take(actions)) == 2
    assert [len(reader.take(writer.mock.drained(2, NOW))) for _ in range(3)] == [2, 1, 0]


def waiting(count: int, size: int) -> tuple[Client, Client, list[bytes]]:
    """A writer, a reader that waits for one event in each of so many segments, and the writer's blocks."""
    writer = connected()
    reader = Client(writer.mock, 2)
    appenders = [(str(UUID(int=number + 1)), f"seg-{number}") for number in range(count)]
    for appender, name in appenders:
        writer.send(SetupAppend(connection_id=appender, segment=name))
        assert reader.send(ReadSegment(segment=name, offset=0, suggested_length=2**31 - 1)) == []
    event = Event(data=bytes(size))
    return writer, reader, [b"".join(map(encode, block(0, event, connection_id=each))) for each, _ in appenders]


def test_a_client_that_only_waits_has_all_replies() -> None:
    """Its socket takes all at once, so nobody ever says that anything has left."""
    writer, reader, blocks = waiting(12, 1_000_000)
    heard = []
    for data in blocks:
        heard += reader.take(writer.mock.received(1, data, NOW))
        if writer.mock.wake_ns is not None:
            heard += reader.take(writer.mock.woken(NOW))
    assert [type(each) for each in heard] == [SegmentRead] * 12
    assert writer.mock.wake_ns is None


def test_who_takes_slowly_is_sent_nothing_that_it_did_not_just_ask_for() -> None:
    writer, reader, blocks = waiting(3, 10)
    assert len(reader.take(writer.mock.received(1, blocks[0], NOW))) == 1
    assert writer.mock.full(2, NOW) == []
    for data in blocks[1:]:
        assert reader.take(writer.mock.received(1, data, NOW)) == []
    assert writer.mock.wake_ns is None
    assert len(reader.take(writer.mock.drained(2, NOW))) == 2


def test_a_turn_waits_for_what_has_become_full_meanwhile() -> None:
    writer, reader, blocks = waiting(6, 1_000_000)
    for data in blocks:
        reader.take(writer.mock.received(1, data, NOW))
    assert writer.mock.wake_ns is not None
    writer.mock.full(2, NOW)
    assert writer.mock.woken(NOW) == []
    assert len(reader.take(writer.mock.drained(2, NOW))) == 1


def test_reads_that_wait_keep_no_name_of_their_own() -> None:
    client = connected()
    name = "n" * 60_000
    client.send(SetupAppend(connection_id=ID, segment=name))
    request = encode(ReadSegment(segment=name, offset=0, suggested_length=1))
    tracemalloc.start()
    try:
        for _ in range(50):
            client.send_bytes(request)
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept < 10 * len(name)
