"""Against real sockets on loopback: what a load process does under gevent, threads do here."""

import socket
from collections.abc import Iterator

import pytest

from wiretool.load.link import Failed, Link


@pytest.fixture
def server() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(10)
        yield listening


def linked(server: socket.socket) -> tuple[Link, socket.socket]:
    link = Link("127.0.0.1", server.getsockname()[1])
    return link, server.accept()[0]


def test_what_is_sent_arrives_and_what_comes_is_received(server: socket.socket) -> None:
    link, peer = linked(server)
    with peer:
        peer.settimeout(10)
        link.send(b"hello")
        assert peer.recv(5) == b"hello"
        said = bytes(range(256)) * 400
        peer.sendall(said)
        heard = b""
        while len(heard) < len(said):
            heard += link.receive()
        assert heard == said
    link.close()


def test_nobody_there() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
    with pytest.raises(Failed, match=rf"cannot reach 127\.0\.0\.1:{port}: Connection refused") as caught:
        Link("127.0.0.1", port)
    assert caught.value.kind == "cannot connect: Connection refused"
    assert caught.value.exit_code == 4


def test_a_name_that_is_none() -> None:
    with pytest.raises(Failed, match=r"cannot reach nobody\.invalid:1: "):
        Link("nobody.invalid", 1)


def test_the_server_closes(server: socket.socket) -> None:
    link, peer = linked(server)
    peer.close()
    with pytest.raises(Failed, match="closed the connection") as caught:
        link.receive()
    assert caught.value.kind == "connection closed by the server"
    link.close()


def test_a_reset_is_told_in_the_words_of_the_network(server: socket.socket) -> None:
    link, peer = linked(server)
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, (1).to_bytes(4, "little") + bytes(4))
    peer.close()
    with pytest.raises(Failed, match=r"lost 127.*: Connection reset by peer") as caught:
        link.receive()
    assert caught.value.kind == "connection lost: Connection reset by peer"
    link.close()


def test_no_answer_in_time(server: socket.socket) -> None:
    link, peer = linked(server)
    with peer:
        link.wait(0.01)
        with pytest.raises(Failed, match=r"no answer in 0\.01 s"):
            link.receive()
    link.close()


@pytest.mark.parametrize("seconds", [0.0, 0.02])
def test_what_comes_within_a_time(server: socket.socket, seconds: float) -> None:
    link, peer = linked(server)
    with peer:
        assert link.receive_within(seconds) == b""
        peer.sendall(b"late")
        peer.shutdown(socket.SHUT_WR)
        data = b""
        while not data:
            data = link.receive_within(seconds)
        assert data == b"late"
        with pytest.raises(Failed, match="closed the connection"):
            link.receive_within(5.0)
    link.close()
