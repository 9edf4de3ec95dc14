"""Blocks: what is stored of them, what is acknowledged, and that nothing is lost or doubled, whatever breaks."""

from collections.abc import Sequence
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.protocols.pravega_draft.server.talk import (
    NOW,
    STORED,
    Client,
    ack,
    block,
    connected,
    got,
    messages_in,
    read,
    set_up,
    stored,
)
from tests.protocols.pravega_draft.talk import HELLO, ID, OTHER, SETUP, ack_level, begin, end, pieces
from wiretool.protocols.pravega.framing import HEADER_BYTES
from wiretool.protocols.pravega.server.segments import CREATION_TIME, EVENT_COUNT
from wiretool.protocols.pravega_draft.framing import encode
from wiretool.protocols.pravega_draft.messages import (
    AppendSetup,
    DataAppended,
    Event,
    KeepAlive,
    NoSuchSegment,
    Padding,
    SegmentIsSealed,
    SetupAppend,
)


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


def test_an_appender_is_not_bound_elsewhere_while_its_block_is_open() -> None:
    elsewhere = SetupAppend(connection_id=ID, segment="other")
    first, last = pieces(elsewhere, 20)
    inside = [begin(0, len(STORED) + len(encode(elsewhere))), HELLO, elsewhere, end(13, 13)]
    cut = [begin(0, len(STORED) + len(encode(first))), HELLO, first, end(13, 13), last]
    for messages in (inside, cut):
        client = set_up()
        assert client.send(*messages) == []
        assert client.closed is not None
        assert client.closed.startswith("block-not-ended")
        assert (stored(client.mock), stored(client.mock, "other")) == (b"", b"")


def test_another_appender_is_set_up_inside_a_block() -> None:
    client = set_up()
    other = SetupAppend(connection_id=OTHER, segment="seg")
    ready = AppendSetup(segment="seg", connection_id=OTHER, connection_offset_ack_level=0)
    assert client.send(begin(0, len(STORED) + len(encode(other))), HELLO, other, end(13, 13)) == [ready, ack(13)]


@pytest.mark.parametrize("name", [CREATION_TIME, EVENT_COUNT])
def test_an_appender_may_be_called_like_an_attribute_of_the_store(name: str) -> None:
    client = connected()
    ready = AppendSetup(segment="seg", connection_id=name, connection_offset_ack_level=0)
    assert client.send(SetupAppend(connection_id=name, segment="seg")) == [ready]
    assert client.send(*block(0, HELLO, connection_id=name)) == [ack(13, name)]


# -- whatever breaks --------------------------------------------------------------------------------------------------


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
