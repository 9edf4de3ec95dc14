"""The mock of the draft: whole conversations, what it refuses, and that nothing is lost or doubled."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.bench import talk as bench
from tests.helpers.vectors import Vector, vectors_below
from tests.protocols.pravega_draft.talk import HELLO, ID, OTHER, SETUP, ack_level, begin, end, pieces
from wiretool import limits
from wiretool.codec.message import Message
from wiretool.errors import UsageError
from wiretool.protocols.pravega.framing import HEADER_BYTES, frame
from wiretool.protocols.pravega_draft.framing import PAYLOAD_BYTES_MAX, encode
from wiretool.protocols.pravega_draft.messages import (
    MESSAGES,
    AppendSetup,
    DataAppended,
    Event,
    KeepAlive,
    NoSuchSegment,
    Padding,
    PartialMessage,
    ReadSegment,
    SegmentIsSealed,
    SegmentRead,
    SetupAppend,
    Unknown,
)
from wiretool.servers.mock import Action, Close, Send
from wiretool.servers.pravega_draft import DraftMock
from wiretool.servers.pravega_draft.appends import message_of

VECTORS = Path(__file__).parents[2] / "vectors"
NOW = 1_000_000_000
STORED = encode(HELLO)


class Client:
    """A connection to a mock, and what came of it."""

    def __init__(self, mock: DraftMock, number: int = 1) -> None:
        self.mock = mock
        self.number = number
        self.closed: str | None = None
        self.raw = b""
        self._elsewhere = mock.opened(number, "store", NOW)

    def send(self, *messages: Message) -> list[Message]:
        """What is answered to these, sent together."""
        return self.send_bytes(b"".join(map(encode, messages)))

    def send_bytes(self, data: bytes) -> list[Message]:
        return self.take(self.mock.received(self.number, data, NOW))

    def take(self, actions: Sequence[Action]) -> list[Message]:
        """What these actions say to this connection."""
        raw = b""
        for action in actions:
            if action.connection == self.number:
                if isinstance(action, Send):
                    raw += action.data
                else:
                    self.closed = action.why
        self.raw += raw
        return list(messages_in(raw))


def messages_in(data: bytes) -> Iterator[Message]:
    at = 0
    while at < len(data):
        length = HEADER_BYTES + int.from_bytes(data[at + 4 : at + 8], "big")
        yield message_of(data[at : at + length])
        at += length


def connected(*, segments: Sequence[str] | None = None) -> Client:
    return Client(DraftMock(segments=segments))


def set_up() -> Client:
    client = connected()
    assert client.send(SETUP) == [ack_level(0)]
    return client


def block(offset: int, *events: Event, connection_id: str = ID) -> list[Message]:
    """A block of whole events."""
    length = sum(len(encode(event)) for event in events)
    return [begin(offset, length, connection_id), *events, end(offset + length, length, connection_id)]


def ack(level: int, connection_id: str = ID) -> DataAppended:
    return DataAppended(connection_id=connection_id, connection_offset_ack_level=level)


def read(offset: int, length: int = 1_000) -> ReadSegment:
    return ReadSegment(segment="seg", offset=offset, suggested_length=length)


def got(offset: int, data: bytes, *, at_tail: bool = True, end_of_segment: bool = False) -> SegmentRead:
    return SegmentRead(segment="seg", offset=offset, at_tail=at_tail, end_of_segment=end_of_segment, data=data)


def stored(mock: DraftMock, segment: str = "seg") -> bytes:
    found = mock.segments.find(segment)
    return b"" if found is None else found.read(found.start, found.length)


# -- appending -------------------------------------------------------------------------------------------------------


def test_blocks_of_one_read_are_acknowledged_once() -> None:
    client = set_up()
    assert client.send(*block(0, HELLO), *block(13, HELLO, HELLO), *block(39)) == [ack(39)]
    assert client.send(*block(39, HELLO)) == [ack(52)]
    assert stored(client.mock) == STORED * 4
    assert client.closed is None


def test_appenders_that_share_a_connection_are_acknowledged_each() -> None:
    client = set_up()
    other = SetupAppend(connection_id=OTHER, segment="other")
    client.send(other)
    said = client.send(*block(0, HELLO), *block(0, HELLO, HELLO, connection_id=OTHER), *block(13, HELLO))
    assert said == [ack(26), ack(26, OTHER)]
    assert (stored(client.mock), stored(client.mock, "other")) == (STORED * 2, STORED * 2)


def test_acknowledgements_come_before_the_replies_behind_them() -> None:
    client = set_up()
    said = client.send(*block(0, HELLO), KeepAlive(data=b"still here"), *block(13, HELLO), read(0))
    assert said == [ack(13), KeepAlive(data=b""), ack(26), got(0, STORED * 2)]


def test_an_event_cut_by_the_end_of_its_block() -> None:
    client = set_up()
    first, middle, last = pieces(HELLO, 4, 9)
    opening = [begin(0, len(STORED) + HEADER_BYTES + 1 + 4), HELLO, first, end(26, 26)]
    assert client.send(*opening) == []
    assert client.send(KeepAlive(data=b""), middle) == [KeepAlive(data=b"")]
    assert client.send(last, *block(26, HELLO)) == [ack(39)]
    assert stored(client.mock) == STORED * 3


def test_padding_and_messages_in_pieces_inside_a_block() -> None:
    client = set_up()
    first, last = pieces(HELLO, 4)
    whole = pieces(KeepAlive(data=b"abc"), 2)
    inside = [Padding(length=3), first, KeepAlive(data=b""), last, *whole]
    length = sum(len(encode(message)) for message in inside)
    assert client.send(begin(0, length), *inside, end(13, 13)) == [KeepAlive(data=b""), KeepAlive(data=b""), ack(13)]
    assert stored(client.mock) == STORED


def test_a_request_cut_by_the_end_of_a_block_completes_it() -> None:
    client = set_up()
    first, last = pieces(read(0), 12)
    length = len(STORED) + len(encode(first))
    said = client.send(begin(0, length), HELLO, first, end(13, 13), last)
    assert said == [ack(13), got(0, STORED)]
    assert stored(client.mock) == STORED


def test_an_appender_goes_on_where_it_was_on_another_connection() -> None:
    client = set_up()
    client.send(*block(0, HELLO), begin(13, 13), HELLO)
    client.mock.lost(1, NOW)
    again = Client(client.mock, 2)
    assert again.send(SETUP, *block(13, HELLO)) == [ack_level(13), ack(26)]
    assert stored(client.mock) == STORED * 2


def test_of_two_connections_of_one_appender_the_slower_is_closed() -> None:
    first = set_up()
    first.send(begin(0, 13), HELLO)
    second = Client(first.mock, 2)
    assert second.send(SETUP, *block(0, HELLO)) == [ack_level(0), ack(13)]
    assert first.send(end(13, 13)) == []
    assert first.closed is not None
    assert first.closed.startswith("bad-connection-offset")
    assert stored(first.mock) == STORED


def test_a_sealed_segment_refuses_blocks_and_says_how_far_an_appender_came() -> None:
    client = set_up()
    client.send(*block(0, HELLO))
    client.mock.operate("seal", {"segment": "seg"}, NOW)
    sealed = SegmentIsSealed(segment="seg")
    assert client.send(*block(13, HELLO), *block(26, HELLO)) == [sealed, sealed]
    assert client.send(SETUP) == [ack_level(13)]
    assert stored(client.mock) == STORED


def test_a_deleted_segment_refuses_blocks() -> None:
    client = set_up()
    client.mock.operate("delete", {"segment": "seg"}, NOW)
    assert client.send(*block(0, HELLO)) == [NoSuchSegment(segment="seg")]
    assert client.closed is None


def test_only_segments_that_are_named_are_there() -> None:
    client = connected(segments=["seg", "seg"])
    other = SetupAppend(connection_id=OTHER, segment="other")
    assert client.send(SETUP, other) == [ack_level(0), NoSuchSegment(segment="other")]
    assert client.send(begin(0, 0, OTHER)) == []
    assert client.closed is not None
    assert client.closed.startswith("append-before-setup")


# -- reading ---------------------------------------------------------------------------------------------------------


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


# -- what it refuses -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("messages", "kind"),
    [
        ([HELLO], "out-of-order"),
        ([begin(0, 0, OTHER)], "append-before-setup"),
        ([end(0, 0)], "out-of-order"),
        ([begin(0, 0), begin(0, 0)], "out-of-order"),
        ([begin(1, 0)], "bad-connection-offset"),
        ([begin(0, -1)], "bad-block-length"),
        ([begin(0, 0), end(0, 0, OTHER)], "writer-mismatch"),
        ([begin(0, 0), end(1, 0)], "bad-connection-offset"),
        ([begin(0, 12), HELLO, end(13, 13)], "bad-block-length"),
        ([begin(0, 13), HELLO, end(12, 12)], "bad-block-length"),
        ([PartialMessage(part="END", data=b"")], "partial-not-open"),
        ([PartialMessage(part="BEGIN", data=b"")] * 2, "partial-already-open"),
        ([PartialMessage(part="BEGIN", data=b"xx"), PartialMessage(part="END", data=b"")], "partial-length-mismatch"),
        (pieces(PartialMessage(part="BEGIN", data=b""), 3), "partial-already-open"),
        ([AppendSetup(segment="seg", connection_id=ID, connection_offset_ack_level=0)], "out-of-order"),
        ([Unknown(type=77, data=b"")], "unknown-type"),
        ([read(-1)], "bad-read-offset"),
    ],
)
def test_a_rule_that_is_broken_closes_that_connection_only(messages: Sequence[Message], kind: str) -> None:
    client = set_up()
    client.send(*block(0))
    neighbour = Client(client.mock, 2)
    assert client.send(KeepAlive(data=b""), *messages, KeepAlive(data=b"")) == [KeepAlive(data=b"")]
    assert client.closed is not None
    assert client.closed.startswith(kind)
    assert client.send(KeepAlive(data=b"")) == []
    assert neighbour.send(SETUP, *block(0, HELLO)) == [ack_level(0), ack(13)]


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (encode(SETUP)[:-1] + b"\xff", "bad-"),
        (frame(1, b"", 10), "truncated"),
        (frame(100, b"", 10)[:4] + b"\1\0\0\0", "frame-too-large"),
        (frame(4, bytes(29), 100), "trailing-bytes"),
    ],
)
def test_a_malformed_frame_closes_the_connection_and_what_came_before_is_acknowledged(data: bytes, kind: str) -> None:
    client = set_up()
    raw = b"".join(map(encode, block(0, HELLO)))
    assert client.send_bytes(raw + data + raw) == [ack(13)]
    assert client.closed is not None
    assert client.closed.startswith(kind)
    assert stored(client.mock) == STORED


def test_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "DRAFT_BLOCK_BYTES_MAX", 20)
    monkeypatch.setattr(limits, "WRITERS_MAX", 1)
    monkeypatch.setattr(limits, "PRAVEGA_PARKED_READS_MAX", 2)
    for messages, kind in (
        (block(0, HELLO, HELLO), "block-too-large"),
        ([SetupAppend(connection_id=OTHER, segment="seg")], "too-many-writers"),
        ([read(0)] * 3, "too-many-reads"),
    ):
        client = set_up()
        assert client.send(*messages) == []
        assert client.closed is not None
        assert client.closed.startswith(kind)


# -- operations ------------------------------------------------------------------------------------------------------


def test_operations() -> None:
    mock = DraftMock()
    assert mock.operate("create", {"segment": "a"}, NOW)[0] == {"start": 0, "length": 0, "is_sealed": False}
    assert mock.operate("seal", {"segment": "a"}, NOW)[0]["is_sealed"]
    assert mock.operate("info", {"segment": "a"}, NOW)[0]["is_sealed"]
    assert mock.operate("delete", {"segment": "a"}, NOW)[0] == {}


@pytest.mark.parametrize(
    ("what", "arguments", "text"),
    [
        ("create", {"segment": "seg"}, "segment 'seg' is there already"),
        ("info", {"segment": "none"}, "segment 'none' is missing"),
        ("seal", {}, "seal wants the name of a segment"),
        ("seal", {"segment": "seg", "x": 1}, "seal wants the name of a segment"),
        ("scale", {}, "no operation 'scale'"),
    ],
)
def test_operations_that_make_no_sense(what: str, arguments: dict[str, Any], text: str) -> None:
    with pytest.raises(UsageError, match=text):
        DraftMock(segments=["seg"]).operate(what, arguments, NOW)


def test_a_restart_forgets_everything() -> None:
    client = set_up()
    client.send(*block(0, HELLO), read(13))
    actions = client.mock.restart(NOW)
    assert actions == [Close(1, "the server was restarted", True)]
    assert stored(client.mock) == b""
    assert Client(client.mock, 2).send(SETUP) == [ack_level(0)]


def test_messages_are_counted() -> None:
    client = set_up()
    client.send(*block(0, HELLO))
    assert client.mock.outbox.counts == {
        ("client", "SetupAppend"): 1,
        ("server", "AppendSetup"): 1,
        ("client", "BeginAppendBlock"): 1,
        ("client", "Event"): 1,
        ("client", "EndAppendBlock"): 1,
        ("server", "DataAppended"): 1,
    }


# -- conversations that are written elsewhere ------------------------------------------------------------------------


def test_a_conversation_of_a_thousand_frames() -> None:
    client = connected()
    awaited: list[bytes] = []
    answered: list[bytes] = []
    for sent in bench.pravega_draft(Random(7)):
        if sent.side == "server":
            awaited.append(sent.data)
        else:
            answered += map(encode, client.send_bytes(sent.data))
    assert answered == awaited
    assert client.closed is None


def test_the_same_bytes_in_any_pieces_store_the_same() -> None:
    data = b"".join(sent.data for sent in bench.pravega_draft(Random(8)) if sent.side == "client")
    whole = connected()
    whole.send_bytes(data)
    for size in (1, 7, 1_000):
        cut = connected()
        for at in range(0, len(data), size):
            cut.send_bytes(data[at : at + size])
        assert stored(cut.mock, "scope/stream/0") == stored(whole.mock, "scope/stream/0")
        assert list(messages_in(cut.raw))[-1] == list(messages_in(whole.raw))[-1]


def written_conversations() -> list[Vector]:
    """Vectors of the draft that are whole conversations of a client, or have something wrong in them."""
    records = [vector for vector in vectors_below([VECTORS]) if vector.record.get("version") == "pravega-draft"]
    return [vector for vector in records if vector.record["stage"] == "append" or "error_kind" in vector.record]


@pytest.mark.parametrize("written", written_conversations(), ids=lambda written: str(written.record["name"]))
def test_what_is_wrong_in_a_vector_closes_the_connection(written: Vector) -> None:
    client = connected()
    client.send_bytes(bytes.fromhex(written.record["hex"]))
    assert (client.closed is not None) == ("error_kind" in written.record)
    said = written.record.get("expect", {}).get("fields", {}).get("messages", [])
    blocks = b"".join(bytes.fromhex(each["fields"]["data"]) for each in said if each["type"] == "BLOCK")
    (segment,) = client.mock.segments.names() or [""]
    assert stored(client.mock, segment) == blocks


# -- whatever breaks -------------------------------------------------------------------------------------------------


def three_blocks() -> bytes:
    """The client's bytes, the last event of the second block cut by its end."""
    first, last = pieces(HELLO, 4)
    cut = [begin(13, 13 + len(encode(first))), HELLO, first, end(39, 26), last]
    return b"".join(map(encode, [SETUP, *block(0, HELLO), *cut, *block(39, HELLO)]))


@pytest.mark.parametrize("piece", [1, 5, 1_000])
def test_no_cut_loses_or_doubles_an_acknowledged_event(piece: int) -> None:
    """The connection breaks behind every byte; the client connects again and goes on from where it is told."""
    data = three_blocks()
    for cut in range(len(data) + 1):
        client = connected()
        for at in range(0, cut, piece):
            client.send_bytes(data[at : min(at + piece, cut)])
        assert client.closed is None
        client.mock.lost(1, NOW)
        told = [each.connection_offset_ack_level for each in messages_in(client.raw) if isinstance(each, DataAppended)]
        again = Client(client.mock, 2)
        (ready,) = again.send(SETUP)
        assert isinstance(ready, AppendSetup)
        level = ready.connection_offset_ack_level
        assert level >= max(told, default=0)
        assert level % len(STORED) == 0
        rest = (52 - level) // len(STORED)
        assert again.send(*block(level, *[HELLO] * rest)) == [ack(52)]
        assert stored(client.mock) == STORED * 4


EVENTS = st.lists(st.binary(max_size=20), max_size=4)


@settings(deadline=None, max_examples=60)
@given(blocks=st.lists(EVENTS, max_size=6), seed=st.integers(0, 1_000))
def test_what_is_acknowledged_is_what_is_read(blocks: Sequence[Sequence[bytes]], seed: int) -> None:
    rng = Random(seed)
    client = set_up()
    offset = 0
    data = b""
    for bodies in blocks:
        events = [Event(data=body) for body in bodies]
        data += b"".join(map(encode, block(offset, *events)))
        offset += sum(len(encode(event)) for event in events)
    at = 0
    while at < len(data):
        size = rng.randrange(1, 60)
        client.send_bytes(data[at : at + size])
        at += size
    levels = [each.connection_offset_ack_level for each in messages_in(client.raw) if isinstance(each, DataAppended)]
    assert levels == sorted(levels)
    assert (levels[-1] if levels else 0) == offset
    everything = b"".join(encode(Event(data=body)) for bodies in blocks for body in bodies)
    assert stored(client.mock) == everything
    client.mock.operate("seal", {"segment": "seg"}, NOW)
    assert client.send(read(0, offset)) == [got(0, everything, end_of_segment=True)]


@settings(deadline=None, max_examples=200)
@given(data=st.binary(max_size=60), kind=st.sampled_from([cls.declaration.type_id for cls in MESSAGES]))
def test_any_bytes_are_taken_or_close_the_connection(data: bytes, kind: int) -> None:
    client = set_up()
    client.send_bytes(frame(kind, data, PAYLOAD_BYTES_MAX) + data)
    assert Client(client.mock, 2).send(KeepAlive(data=b"")) == [KeepAlive(data=b"")]
