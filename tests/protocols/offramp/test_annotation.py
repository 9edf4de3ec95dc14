"""The spans of frames and heads: they tile, and name what they hold."""

from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.strategies import tiles
from tests.protocols.offramp.talk import FIN, TEXT, asking, every_event, frame, session, side_of
from wiretool.codec.message import Message
from wiretool.protocols.offramp import PROTOCOL
from wiretool.protocols.offramp.encoding import encode


def named(side: str, data: bytes) -> dict[str, object]:
    spans = PROTOCOL.open(False).annotate(side, data, 0, len(data))  # type: ignore[arg-type]
    assert tiles(spans, 0, len(data))
    return {span.path: span.value for span in spans}


@given(every_event, st.binary(min_size=4, max_size=4), st.integers(0, 5))
def test_members_of_an_event(event: Message, mask: bytes, behind: int) -> None:
    side = side_of(event)
    data = bytes(behind) + encode(event, side, mask=mask)
    spans = PROTOCOL.open(False).annotate(side, data, behind, len(data))
    assert tiles(spans, behind, len(data))
    name = event.declaration.name
    assert f"{name}.type" in [span.path for span in spans]


def test_where_each_member_is() -> None:
    data = frame("client", FIN | TEXT, ' {"type" : "REQUEST",\n"é":[{}, ":"],"count":7 }\n'.encode())
    spans = PROTOCOL.open(False).annotate("client", data, 0, len(data))
    assert tiles(spans, 0, len(data))
    assert [(span.offset, span.length, span.path, span.value) for span in spans] == [
        (0, 1, "WebSocket.opcode", "text FIN"),
        (1, 1, "WebSocket.length", 49),
        (2, 4, "WebSocket.mask", "37fa213d"),
        (6, 2, "JSON", " {"),
        (8, 18, "REQUEST.type", "REQUEST"),
        (26, 2, "JSON", ",\n"),
        (28, 14, "REQUEST.é", [{}, ":"]),
        (42, 1, "JSON", ","),
        (43, 9, "REQUEST.count", 7),
        (52, 3, "JSON", " }\n"),
    ]
    assert spans[8].type == "int64"
    assert spans[6].type == "not declared"


def test_every_frame_of_a_session() -> None:
    for side, data in session():
        named(side, data)


def test_heads() -> None:
    spans = named("client", asking())
    assert spans["HandshakeRequest.headers.Upgrade"] == "websocket"
    assert spans["HandshakeRequest.end"] == ""
    answer = b"HTTP/1.1 404 \r\nContent-Length: 2\r\n\r\nno"
    assert named("server", answer)["HandshakeResponse.body"] == b"no"


def test_other_payloads() -> None:
    assert named("client", frame("client", FIN | 8, b"\x03\xe8\xc3")) == {
        "WebSocket.opcode": "close FIN",
        "WebSocket.length": 3,
        "WebSocket.mask": "37fa213d",
        "Close.code": 1000,
        "Close.reason": "\\xc3",
    }
    assert named("client", frame("client", FIN | 8, b"x"))["close.payload"] == b"x"
    assert named("server", frame("server", 0x41, b"x"))["payload"] == b"x"
    assert named("server", frame("server", 0x62, b"x"))["WebSocket.opcode"] == "binary RSV1 (compressed) RSV2/3"
    assert named("server", frame("server", 0x01, b"xy"))["payload"] == "xy"
    assert named("server", frame("server", 0x81, b"\xff"))["payload"] == b"\xff"
    assert named("server", frame("server", 0x81, b'{"a":1,"a":1}'))["payload"] == '{"a":1,"a":1}'
    assert named("server", frame("server", 0x81, b'{"a":1}'))["event.a"] == 1
    assert named("server", frame("server", 0x81, b"{}"))["JSON"] == "{}"
    assert "payload" not in named("server", frame("server", 0x81, b""))
