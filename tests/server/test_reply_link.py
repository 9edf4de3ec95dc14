"""Links that answer frame by frame: order, broken bytes, replies without room, and ends."""

from unittest.mock import create_autospec

from wiretool import limits
from wiretool.errors import DecodeError
from wiretool.protocols.base.conversation import Conversation
from wiretool.server.mock import Close, Link, Mock, Send
from wiretool.server.reply_link import ReplyLink

BIG = limits.MOCK_REPLY_BYTES_MAX // 2


def extent(side: str, data: bytes, at: int, end: int) -> int:
    """Return the length of a line."""
    assert side == "client"
    if data[at : at + 1] == b"!":
        raise DecodeError("bad", "no line begins so")
    return max(data.find(b"\n", at, end) + 1 - at, 0)


class LineLink(ReplyLink):
    """Answers each line with itself; `big` with many bytes, `none` with nothing, and leaves after `bye`."""

    def answer(self, frame: bytes, now_ns: int) -> bytes:
        if frame == b"bye\n":
            self.leave()
        return {b"big\n": b"x" * BIG, b"none\n": b""}.get(frame, frame)

    def refusal(self, err: DecodeError) -> bytes:
        return f"no: {err.why}".encode()


class Lines(Mock):
    """A server of one link."""

    def greet(self, connection: int, door: str, now_ns: int) -> Link:
        conversation = create_autospec(Conversation, instance=True)
        conversation.extent.side_effect = extent
        return LineLink(connection, self, conversation)

    def forget(self) -> None:
        pass


def link() -> LineLink:
    served = Lines().greet(7, "", 0)
    assert isinstance(served, LineLink)
    return served


def test_frames_are_answered_in_order_wherever_they_are_cut() -> None:
    served = link()
    served.feed(b"a\nnone\nb", 0)
    assert (served.outbox.take(), served.held_bytes) == ([Send(7, b"a\n")], 1)
    served.feed(b"\n", 0)
    assert served.outbox.take() == [Send(7, b"b\n")]
    served.feed(b"none\n", 0)
    assert served.outbox.take() == []


def test_frames_before_broken_bytes_are_answered() -> None:
    served = link()
    served.feed(b"a\n!x", 0)
    assert served.outbox.take() == [Send(7, b"a\nno: no line begins so"), Close(7, "bad at byte 0: no line begins so")]
    served.feed(b"b\n", 0)
    assert served.outbox.take() == []


def test_nothing_is_answered_after_the_link_has_left() -> None:
    served = link()
    served.feed(b"bye\nb\n", 0)
    assert served.outbox.take() == [Send(7, b"bye\n"), Close(7)]


def test_frames_wait_for_room_and_the_end_for_frames() -> None:
    served = link()
    served.feed(b"big\n" * 3, 0)
    assert [type(action) for action in served.outbox.take()] == [Send]
    served.full(0)
    served.end(0)
    assert served.outbox.take() == []
    served.drained(0)
    assert served.outbox.take() == [Send(7, b"x" * BIG), Close(7)]


def test_a_lost_connection_keeps_nothing() -> None:
    served = link()
    served.feed(b"abc", 0)
    served.lost(0)
    served.end(0)
    assert (served.held_bytes, served.outbox.take()) == (0, [])
