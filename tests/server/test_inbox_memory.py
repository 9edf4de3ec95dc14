"""A connection that ended keeps none of the bytes that its client sent."""

import pytest

from wiretool.codec.frames.buffer import Inbox
from wiretool.server.options import MockOptions
from wiretool.server.part import mock_for

#: The beginning of a frame of 16 MiB, by protocol; offramp's is that of a handshake.
BEGINNINGS = {
    "offramp": b"GET / HTTP/1.1\r\n",
    "pravega": bytes.fromhex("0000000500fffff7"),
    "pravega-draft": bytes.fromhex("0000000100fffff7"),
    "sbp": bytes.fromhex("00fffff7"),
    "sbp-0.1": bytes.fromhex("00fffff7"),
}


@pytest.mark.parametrize("protocol", BEGINNINGS)
def test_the_bytes_of_a_lost_connection_are_dropped(protocol: str) -> None:
    mock = mock_for(protocol, MockOptions())
    mock.opened(1, mock.doors[0].name, 0)
    mock.received(1, BEGINNINGS[protocol], 0)
    link = mock.links[1]
    assert link.held_bytes == len(BEGINNINGS[protocol])
    mock.lost(1, 1)
    assert link.held_bytes == 0


def test_a_cleared_inbox_takes_the_next_frame() -> None:
    inbox = Inbox(lambda data, at, end: 4)
    inbox.feed(b"ab")
    assert inbox.next() is None
    inbox.clear()
    inbox.feed(b"cdef")
    assert inbox.next() == b"cdef"
