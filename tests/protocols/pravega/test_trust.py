"""How sure it is that bytes are a frame."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.protocols.pravega.talk import HELLO, SETUP, WRITER, Talk, ack, block, end
from wiretool.codec.message import Message, Side
from wiretool.protocols.base.conversation import Conversation
from wiretool.protocols.pravega import PROTOCOL
from wiretool.protocols.pravega.framing import encode, frame
from wiretool.protocols.pravega.messages import DataAppended, Event, Hello, KeepAlive, Padding
from wiretool.protocols.pravega.segments import SealSegment, SegmentAttributeUpdated, SegmentSealed

SEAL = SealSegment(request_id=5, segment="s")


def points(side: Side, message: Message, conversation: Conversation | None = None) -> int:
    return points_of(side, encode(message, side), conversation)


def points_of(side: Side, raw: bytes, conversation: Conversation | None = None) -> int:
    return (conversation or PROTOCOL.open(False)).trust(side, b".." + raw + b"..", 2, 2 + len(raw))


@pytest.mark.parametrize(
    ("side", "message", "want"),
    [
        ("client", KeepAlive(), 1),
        ("client", Hello(high_version=17, low_version=5), 4),
        ("client", SETUP, 4),
        ("client", SEAL, 2),
        ("client", block(HELLO), 1),
        ("client", end(1), 2),
        ("client", end(1, HELLO), 4),
        ("client", end(1, b"raw"), 2),
        ("client", end(1, HELLO, events=0), 0),
        ("client", end(-1, HELLO), 0),
        ("server", ack(7), 2),
        ("server", DataAppended(writer_id=WRITER, event_number=-1), 0),
        ("server", DataAppended(writer_id=WRITER, event_number=3, previous_event_number=3), 0),
        ("client", Padding(length=5), 1),
        ("client", Event(data=b"hello"), 0),
        ("server", SETUP, 0),
        ("client", ack(7), 0),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Message) else str(value),
)
def test_points(side: Side, message: Message, want: int) -> None:
    assert points(side, message) == want


def test_a_known_writer_segment_or_request_makes_it_sure() -> None:
    talk = Talk(("client", SETUP), ("client", SEAL))
    assert points("client", block(HELLO), talk.conversation) == 4
    assert points("server", ack(7), talk.conversation) == 4
    assert points("client", SEAL, talk.conversation) == 4
    assert points("server", SegmentSealed(request_id=5, segment="x"), talk.conversation) == 4
    assert points("server", SegmentAttributeUpdated(request_id=5, success=True), talk.conversation) == 4
    assert points("server", SegmentAttributeUpdated(request_id=6, success=True), talk.conversation) == 2


def test_a_frame_must_be_exact() -> None:
    raw = encode(SEAL, "client")
    assert points_of("client", frame(28, raw[8:] + b"\0", 100)) == 0
    assert points_of("client", frame(28, raw[8:-1], 100)) == 0
    assert points_of("client", frame(6, raw[8:], 100)) == 0
    assert points_of("server", frame(37, bytes(8) + b"\2", 100)) == 0
    assert points_of("client", frame(-1, b"\0\1", 100)) == 0


@given(st.binary(max_size=60), st.sampled_from(["client", "server"]))
def test_any_bytes_have_points(raw: bytes, side: Side) -> None:
    assert points_of(side, raw) in (0, 1, 2, 4)
