"""HTTP in front of the upgrade: what is refused with which words, and which connections go on afterwards."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest

from tests.protocols.offramp.server.network import START_NS, Network
from wiretool import limits
from wiretool.protocols.offramp import http
from wiretool.protocols.offramp.handshake import read_handshake
from wiretool.protocols.offramp.messages import HandshakeResponse
from wiretool.protocols.offramp.server import OfframpMock
from wiretool.protocols.offramp.server.upgrade import accept_of
from wiretool.protocols.offramp.server.upgrade_real import path_of

TARGET = "/offramp/v2/roads/one/streams/s/messages"
UPGRADE: Mapping[str, str | None] = {
    "Host": "localhost",
    "Upgrade": "websocket",
    "Connection": "Upgrade",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
}
DATE = ("Date", "Tue, 14 Nov 2023 22:13:20 GMT")
CLOSES = ("Connection", "close")


def asking(target: str = TARGET, method: str = "GET", version: str = "HTTP/1.1", **changes: str | None) -> bytes:
    """A request, with `_` for `-` in the names of the headers that are other than usual."""
    headers = {**UPGRADE, **{name.replace("_", "-"): value for name, value in changes.items()}}
    lines = [f"{name}: {value}" for name, value in headers.items() if value is not None]
    return "\r\n".join([f"{method} {target} {version}", *lines, "", ""]).encode()


def answers(network: Network, connection: int) -> Iterator[HandshakeResponse]:
    """Every HTTP response on a connection."""
    data, at = bytes(network.got[connection]), 0
    while at < len(data) and data[at : at + 4] == b"HTTP":
        size = http.http_extent("server", data, at, len(data), answers_head=False, is_over=False)
        message = read_handshake("server", data, at, at + size).message
        assert isinstance(message, HandshakeResponse)
        yield message
        at += size


def asked(*requests: bytes, **options: Any) -> tuple[Network, list[HandshakeResponse]]:
    """What comes of requests on one connection."""
    network = Network(OfframpMock(**options))
    connection = network.connect()
    for request in requests:
        network.send(connection, request)
    return network, list(answers(network, connection))


def test_the_upgrade() -> None:
    _, (answer,) = asked(asking(Connection="keep-alive, Upgrade"))
    assert answer.reason == ""
    assert answer.headers == (
        ("Upgrade", "websocket"),
        ("Connection", "upgrade, keep-alive"),
        ("Sec-WebSocket-Accept", "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="),
        DATE,
    )


def test_the_accept_is_that_of_the_rfc() -> None:
    assert accept_of("dGhlIHNhbXBsZSBub25jZQ==") == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="


def test_http_1_0_is_upgraded_too() -> None:
    network, (answer,) = asked(asking(version="HTTP/1.0", Host=None))
    assert answer.status == 101
    assert answer.headers[-1] == CLOSES
    assert not network.closed


REFUSALS: Sequence[tuple[bytes, int, tuple[tuple[str, str], ...], str]] = [
    (asking(Upgrade="h2c"), 400, (CLOSES,), 'Can "Upgrade" only to "WebSocket".'),
    (asking(Connection="keep-alive"), 400, (CLOSES,), '"Connection" must be "upgrade".'),
    (asking(Sec_WebSocket_Key=None), 400, (CLOSES,), ""),
    (asking(Host=None), 400, (CLOSES,), ""),
    (asking(TARGET + "?defaultOffset=NOW&grants=X"), 400, (CLOSES,), "defaultOffset and grants: no lawful value"),
    (asking(method="POST"), 405, (("Allow", "GET"),), ""),
    (asking(method="HEAD"), 405, (("Allow", "GET"),), ""),
    (asking(Sec_WebSocket_Version="8"), 426, (("Sec-WebSocket-Version", "13"),), ""),
    (asking("/elsewhere"), 404, (), "There is no such road, or no such path."),
    (asking(TARGET + "?grants=PII"), 401, (("WWW-Authenticate", 'Basic realm="Data Highway"'),), "Authentication is"),
    (asking("/elsewhere", Connection="close"), 404, (CLOSES,), "There is no such"),
]


@pytest.mark.parametrize(("request_bytes", "status", "headers", "text"), REFUSALS)
def test_refusals(request_bytes: bytes, status: int, headers: tuple[tuple[str, str], ...], text: str) -> None:
    network, (answer,) = asked(request_bytes)
    assert answer.status == status
    assert DATE in answer.headers
    assert set(headers) <= set(answer.headers)
    assert (CLOSES in answer.headers) == (CLOSES in headers) == (0 in network.closed)
    if answer.body.startswith(b"{"):
        body = json.loads(answer.body)
        assert (body["timestamp"], body["success"]) == (START_NS // 1_000_000, False)
        assert body["message"].startswith(text)
    else:
        assert answer.body.decode() == text


def test_a_refused_client_may_ask_again() -> None:
    network, statuses = asked(
        asking(method="POST", Content_Length="3") + b"abc",
        asking("/elsewhere"),
        asking(Sec_WebSocket_Version="8") + asking(),
    )
    assert [answer.status for answer in statuses] == [405, 404, 426, 101]
    assert not network.closed


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"\x16\x03\x01\x02\x00 not HTTP at all", 400),
        (b"GET /\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nno header\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nX: " + b"x" * limits.HTTP_HEAD_BYTES_MAX, 413),
        (asking(Content_Length=str(limits.OFFRAMP_REQUEST_BYTES_MAX)), 413),
    ],
)
def test_what_is_no_request_ends_the_connection(data: bytes, status: int) -> None:
    network, (answer,) = asked(data)
    assert answer.status == status
    assert network.closed[0]


@pytest.mark.parametrize("rest", [b"no header\r\n\r\n", b"Transfer-Encoding: chunked\r\n\r\nx\r\n"])
def test_a_broken_head_request_is_answered_without_a_body(rest: bytes) -> None:
    """A client reads what follows the answer to HEAD as the next answer (RFC 9110 §9.3.2)."""
    _, (answer,) = asked(b"HEAD / HTTP/1.1\r\n" + rest)
    assert (answer.status, answer.body) == (400, b"")
    assert ("Content-Length", "0") in answer.headers


def test_nothing_is_served_behind_the_end() -> None:
    network, statuses = asked(asking(Upgrade="h2c") + asking())
    assert [answer.status for answer in statuses] == [400]
    network.send(0, asking())
    assert len(list(answers(network, 0))) == 1


@pytest.mark.parametrize(
    ("request_bytes", "status", "is_closed"),
    [
        (asking(TARGET + "?defaultOffset=NOW", method="POST"), 500, True),
        (asking(TARGET + "?defaultOffset="), 500, True),
        (asking(TARGET + "?grants"), 500, True),
        (asking(method="POST"), 405, False),
        (asking("/offramp/v2/garbage"), 500, True),
        (asking("/offramp/v2/garbage", Upgrade="h2c"), 400, True),
        (asking("/elsewhere"), 404, False),
        (asking(Sec_WebSocket_Key="short"), 101, False),
        (asking(Sec_WebSocket_Extensions="permessage-deflate; foo=1"), 500, True),
        (asking(Authorization="Basic eDp5"), 401, False),
        (asking(Host=None), 400, True),
    ],
)
def test_the_original_refuses_in_its_own_order(request_bytes: bytes, status: int, is_closed: bool) -> None:
    network, (answer,) = asked(request_bytes, like_real=True)
    assert answer.status == status
    assert (0 in network.closed) == is_closed


def test_the_path_as_the_original_reads_it() -> None:
    path = path_of("/x/offramp/v2/roads/a%20b/streams//messages/more?defaultOffset&defaultOffset=EARLIEST&x&grants=")
    assert path is not None
    assert path == ("a b", "", "EARLIEST", (), ())
    assert path_of("/offramp/v2/roads/a/streams/messages") is None
