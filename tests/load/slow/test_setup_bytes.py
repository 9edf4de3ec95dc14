"""How connections begin: what is kept of it, on real sockets and piece by piece."""

import socket
from itertools import count

from hypothesis import given
from hypothesis import strategies as st

from wiretool.codec.message import Side
from wiretool.load.slow.setup_bytes import OpenedLink, Opening

TALK = st.lists(st.tuples(st.sampled_from(("client", "server")), st.binary(min_size=1, max_size=20)), max_size=20)


def said(opening: Opening) -> list[tuple[Side, bytes]]:
    return [(side, data) for _, side, data in opening.pieces]


def test_what_was_said_until_it_is_over_is_kept() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        ticks = count()
        link = OpenedLink("127.0.0.1", listening.getsockname()[1], lambda: float(next(ticks)))
        peer, address = listening.accept()
        with peer:
            link.send(b"hello")
            peer.sendall(b"well")
            assert link.receive() == b"well"
            link.opened.opening.end()
            link.send(bytearray(b"more"))
            peer.sendall(b"yes")
            assert link.receive_within(5.0) == b"yes"
        assert link.opened.client == address
        assert link.opened.server == listening.getsockname()
        assert link.opened.opened_s == 0.0
        assert link.opened.opening.pieces == [(1.0, "client", b"hello"), (2.0, "server", b"well")]
        link.close()


def test_what_only_begins_at_the_end_is_no_part_of_it() -> None:
    opening = Opening()
    opening.said(0.0, "client", b"ask")
    opening.said(0.0, "server", b"answer, fra")
    opening.said(0.0, "server", b"me")
    opening.end(held=5)
    assert said(opening) == [("client", b"ask"), ("server", b"answer, ")]


def test_a_request_whose_answer_has_no_room_is_left_out_with_it() -> None:
    opening = Opening(20)
    opening.said(0.0, "client", b"one")
    opening.said(0.0, "server", b"eins")
    opening.said(0.0, "client", b"two")
    opening.said(0.0, "server", b"zw")
    opening.said(0.0, "server", b"e" * 9 + b"i")
    assert said(opening) == [("client", b"one"), ("server", b"eins")]
    assert not opening.is_open


@given(TALK, st.integers(0, 60))
def test_it_is_a_beginning_of_all_and_bounded(talk: list[tuple[Side, bytes]], room: int) -> None:
    opening = Opening(room)
    for side, data in talk:
        if opening.is_open:
            opening.said(0.0, side, data)
    kept = said(opening)
    assert kept == talk[: len(kept)]
    assert sum(len(data) for _, data in kept) <= room
    if len(kept) < len(talk):
        assert not kept or kept[-1][0] == "server" or talk[len(kept)][0] == "client"
    else:
        assert opening.is_open
