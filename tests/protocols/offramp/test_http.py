"""HTTP heads and bodies: where they end, and what they say."""

import h11
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.strategies import attempt
from wiretool import limits
from wiretool.codec.message import Side
from wiretool.errors import DecodeError, EncodeError, OverLimit
from wiretool.protocols.offramp import PROTOCOL
from wiretool.protocols.offramp.encoding import encode
from wiretool.protocols.offramp.handshake import read_handshake, request, response
from wiretool.protocols.offramp.http import body_content, http_extent, read_head
from wiretool.protocols.offramp.messages import HandshakeRequest, HandshakeResponse

tokens = st.from_regex(r"[A-Za-z][A-Za-z0-9-]{0,9}", fullmatch=True)
header_values = st.from_regex(r"([!-~]([ -~]{0,9}[!-~])?)?", fullmatch=True)
headers = st.lists(
    st.tuples(tokens.filter(lambda name: name.lower() not in ("content-length", "transfer-encoding")), header_values),
    max_size=4,
).map(tuple)


def extent(side: Side, data: bytes, *, answers_head: bool = False, is_over: bool = False) -> int:
    return http_extent(side, data, 0, len(data), answers_head=answers_head, is_over=is_over)


@given(tokens.map(str.upper), st.from_regex(r"/[!-~]{0,12}", fullmatch=True), headers, st.binary(max_size=30))
def test_requests_read_back(method: str, target: str, pairs: tuple[tuple[str, str], ...], body: bytes) -> None:
    lengths = (("Content-Length", str(len(body))),) if body else ()
    asked = request(target, (*pairs, *lengths), method=method, body=body)
    data = encode(asked, "client")
    assert extent("client", data) == len(data)
    assert read_handshake("client", data, 0, len(data)) == (asked, ())
    for cut in range(2, len(data)):
        assert extent("client", data[:cut]) in (0, len(data))


@given(st.sampled_from([101, 200, 400, 500]), headers, st.binary(max_size=30), st.booleans())
def test_responses_read_back(status: int, pairs: tuple[tuple[str, str], ...], body: bytes, chunked: bool) -> None:
    lengths = ("Transfer-Encoding", "chunked") if chunked else ("Content-Length", str(len(body)))
    body = b"" if status == 101 else body
    extra = () if status == 101 else (lengths,)
    answer = response(status, (*pairs, *extra), body=body, reason="")
    data = encode(answer, "server")
    assert extent("server", data) == len(data)
    assert read_handshake("server", data, 0, len(data)) == (answer, ())
    assert PROTOCOL.from_json("HandshakeResponse", "server", _form(answer)) == answer


def _form(answer: HandshakeResponse) -> dict[str, object]:
    body: object = {"hex": answer.body.hex()}
    return {"status": answer.status, "headers": [list(pair) for pair in answer.headers], "body": body}


def test_another_implementation_reads_the_same() -> None:
    data = b"GET /x?y=1 HTTP/1.1\r\nHost:a\r\nX-One:  two \r\nx-one: three\r\n\r\n"
    peer = h11.Connection(h11.SERVER)
    peer.receive_data(data)
    event = peer.next_event()
    assert isinstance(event, h11.Request)
    head = read_head("client", data, 0, len(data))
    assert head is not None
    assert (head.method, head.target) == (event.method.decode(), event.target.decode())
    assert [(name.encode(), value.encode()) for name, value in head.headers] == event.headers.raw_items()


def test_heads_as_they_are_met() -> None:
    data = b"HTTP/1.1 101 \r\nUpgrade:websocket\r\nno header\r\n : x\r\nX :y\r\n\r\n\x82\x05"
    head = read_head("server", data, 0, len(data))
    assert head is not None
    assert head.headers == (("Upgrade", "websocket"),)
    assert head.strange == ("no header", " : x", "X :y")
    assert extent("server", data) == len(data) - 2
    bare = b"GET / HTTP/1.0\nHost: x\n\n"
    assert extent("client", bare) == len(bare)
    assert extent("server", b"HTTP/1.1 204\r\n\r\n") == 16


@pytest.mark.parametrize(
    ("side", "data", "why"),
    [
        ("client", b"GET /\r\n\r\n", "is not a request line"),
        ("client", b"GET / HTTP/2.0\r\n", "begins no HTTP message"),
        ("client", b"PRI * HTTP/2.0\r\n\r\n", "is not a request line"),
        ("client", b"Gibberishgibberishgibberish without end", "begins no HTTP message"),
        ("client", b"GE\x00", "begins no HTTP message"),
        ("server", b"HTTP/2 200\r\n\r\n", "is not a status line"),
        ("server", b"HTML", "begins no HTTP message"),
        ("server", b"HTTP/1.1 99 x\r\n\r\n", "is not a status line"),
        ("server", b"HTTP/1.1 200 x\r\nContent-Length: -1\r\n\r\n", "a Content-Length of '-1'"),
        ("server", b"HTTP/1.1 200 x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", "a Content-Length of"),
    ],
)
def test_what_is_no_head_is_refused(side: Side, data: bytes, why: str) -> None:
    with pytest.raises(DecodeError, match="bad_http_head") as caught:
        extent(side, data)
    assert why in caught.value.why


def test_heads_and_bodies_have_bounds() -> None:
    with pytest.raises(OverLimit, match="http_head_too_big"):
        extent("client", b"GET / HTTP/1.1\r\nX: " + b"x" * limits.HTTP_HEAD_BYTES_MAX)
    with pytest.raises(OverLimit, match="http_body_too_big at byte 43: a body of 99999999 bytes"):
        extent("server", b"HTTP/1.1 200 \r\nContent-Length: 99999999\r\n\r\n")
    chunked = b"HTTP/1.1 200 \r\nTransfer-Encoding: chunked\r\n\r\n"
    with pytest.raises(OverLimit, match="http_body_too_big"):
        extent("server", chunked + b"7fffffff\r\n")
    with pytest.raises(OverLimit, match="more than 4096 chunks"):
        extent("server", chunked + b"1\r\nx\r\n" * (limits.HTTP_CHUNKS_MAX + 1))
    with pytest.raises(OverLimit, match="trailers without end"):
        extent("server", chunked + b"0\r\n" + b"x" * (limits.HTTP_HEAD_BYTES_MAX + 1))
    endless = b"HTTP/1.1 200 \r\n\r\n" + bytes(limits.HTTP_BODY_BYTES_MAX + 1)
    with pytest.raises(OverLimit, match="http_body_too_big"):
        extent("server", endless)


CHUNKED = (
    b"HTTP/1.1 400 \r\nTransfer-Encoding: gzip, chunked\r\n\r\n5;x=y\r\nhello\r\nA\r\n0123456789\r\n0\r\nX: y\r\n\r\n"
)


def test_chunks_are_put_together() -> None:
    assert extent("server", CHUNKED + b"HTTP/") == len(CHUNKED)
    head = read_head("server", CHUNKED, 0, len(CHUNKED))
    assert head is not None
    assert body_content(head, CHUNKED, head.size, len(CHUNKED)) == b"hello0123456789"
    for cut in range(head.size, len(CHUNKED)):
        assert cut < extent("server", CHUNKED[:cut]) <= len(CHUNKED)


@pytest.mark.parametrize("body", [b"x\r\n", b"\r\n", b"123456789\r\n", b"5" * 1_200])
def test_what_is_no_chunk_is_refused(body: bytes) -> None:
    with pytest.raises(DecodeError, match="bad_http_body at byte 45: no chunk begins here"):
        extent("server", b"HTTP/1.1 400 \r\nTransfer-Encoding: chunked\r\n\r\n" + body)


def test_a_body_without_length_ends_with_the_stream() -> None:
    data = b"HTTP/1.0 200 OK\r\n\r\nhello"
    assert extent("server", data) == 2 * len(data)
    assert extent("server", data, is_over=True) == len(data)
    assert extent("server", data, answers_head=True) == len(data) - 5
    assert extent("client", b"GET / HTTP/1.1\r\n\r\nhello") == 18


@given(st.sampled_from(["client", "server"]), st.sampled_from([b"", b"GET / HTTP/1.1\r\n", CHUNKED[:52]]), st.binary())
def test_any_bytes_are_http_or_a_defect(side: Side, begun: bytes, rest: bytes) -> None:
    data = begun + rest
    size, defect = attempt(lambda: extent(side, data))
    if size and size <= len(data):
        read_handshake(side, data, 0, size)
    if defect is not None:
        assert defect.kind in ("bad_http_head", "bad_http_body", "http_body_too_big", "http_head_too_big")


@pytest.mark.parametrize(
    ("message", "why"),
    [
        (request("/a b"), "makes no HTTP message"),
        (request("/", method="get"), "makes no HTTP message"),
        (request("/", (("A\r\nB", "c"),)), "does not read back"),
        (request("/", (("A", "b\r\n\r\n"),)), "does not read back"),
        (request("/", (("A", "€"),)), "a head is Latin-1"),
        (request("/", body=b"x"), "does not read back"),
        (request("/", version="HTTP/2"), "makes no HTTP message"),
        (response(101, body=b"x"), "does not read back"),
        (response(99), "makes no HTTP message"),
        (response(200, (("Content-Length", "2"),), body=b"x"), "does not read back"),
    ],
)
def test_what_makes_no_http_is_refused(message: HandshakeRequest | HandshakeResponse, why: str) -> None:
    with pytest.raises(EncodeError, match=why):
        encode(message, "client" if isinstance(message, HandshakeRequest) else "server")
