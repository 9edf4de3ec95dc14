"""What the mock of the draft refuses, by its rules and by its bounds."""

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.protocols.pravega_draft.server.talk import NOW, STORED, Client, ack, block, connected, read, set_up, stored
from tests.protocols.pravega_draft.talk import HELLO, ID, OTHER, SETUP, ack_level, begin, end, pieces
from wiretool import limits
from wiretool.codec.message import Message
from wiretool.protocols.pravega.framing import frame
from wiretool.protocols.pravega_draft.framing import PAYLOAD_BYTES_MAX, encode
from wiretool.protocols.pravega_draft.messages import (
    MESSAGES,
    AppendSetup,
    KeepAlive,
    NoSuchSegment,
    PartialMessage,
    SetupAppend,
    Unknown,
)


@pytest.mark.parametrize(
    ("messages", "kind"),
    [
        ([HELLO], "event-outside-block"),
        ([begin(0, 0, OTHER)], "append-before-setup"),
        ([end(0, 0)], "end-without-begin"),
        ([begin(0, 0), begin(0, 0)], "block-not-ended"),
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
        ([AppendSetup(segment="seg", connection_id=ID, connection_offset_ack_level=0)], "wrong-side"),
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


def test_clients_make_so_many_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "DRAFT_SEGMENTS_MAX", 2)
    client = connected()
    asked = [SetupAppend(connection_id=ID, segment=name) for name in "abca"]
    said = client.send(*asked)
    assert [type(each) for each in said] == [AppendSetup, AppendSetup, NoSuchSegment, AppendSetup]
    client.mock.operate("delete", {"segment": "b"}, NOW)
    assert [type(each) for each in client.send(asked[2])] == [AppendSetup]
    client.mock.restart(NOW)
    said = Client(client.mock, 2).send(*asked[:3])
    assert [type(each) for each in said] == [AppendSetup, AppendSetup, NoSuchSegment]


@settings(deadline=None, max_examples=200)
@given(data=st.binary(max_size=60), kind=st.sampled_from([cls.declaration.type_id for cls in MESSAGES]))
def test_any_bytes_are_taken_or_close_the_connection(data: bytes, kind: int) -> None:
    client = set_up()
    client.send_bytes(frame(kind, data, PAYLOAD_BYTES_MAX) + data)
    assert Client(client.mock, 2).send(KeepAlive(data=b"")) == [KeepAlive(data=b"")]
