"""Cases of HTTP/2 and gRPC under the calls (protocols/pravega-controller.md, introduction)."""

from typing import Any

from wiretool.conformance.case import (
    MUST,
    SHOULD,
    Case,
    Reply,
    Send,
    SendBytes,
    Steps,
    case,
    expect,
    expect_all,
    expect_any,
    expect_close,
    expect_nothing,
    reply,
    send,
)
from wiretool.conformance.values import ANY, one_of
from wiretool.protocols.pravega_controller.conformance.steps import (
    PATH,
    SCOPE,
    answer,
    ask,
    call,
    calls,
    failed,
    has_headers,
    headers,
    hello,
    info,
    make_scope,
    stream,
    talk,
)

_INTRODUCTION = "protocols/pravega-controller.md, introduction"
_EXISTS = "checkScopeExists"
_DATA, _HEADERS, _CONTINUATION, _UNKNOWN = 0, 1, 9, 0x42
_END_STREAM, _END_HEADERS = 1, 4
_HEADER_BYTES = 9
_OPAQUE = "0102030405060708"


def frame(kind: int, flags: int, stream_id: int, payload: bytes) -> bytes:
    """Return a frame of HTTP/2."""
    head = len(payload).to_bytes(3, "big") + bytes((kind, flags)) + stream_id.to_bytes(4, "big")
    return head + payload


def raw(*frames: bytes, words: str) -> SendBytes:
    """Send frames in one piece."""
    return SendBytes(b"".join(frames), words)


def _open(stream_id: int, method: str = _EXISTS) -> Send:
    """Send the headers of a call."""
    return send("Headers", stream_id=stream(stream_id), method=method, headers=headers(method))


def _body(message: bytes, *, flag: int = 0, length: int | None = None) -> bytes:
    """Return a message as gRPC frames it."""
    return bytes((flag,)) + (len(message) if length is None else length).to_bytes(4, "big") + message


#: A request for the scope `x`, which is not there.
_REQUEST = _body(b"\x0a\x01x")


def _to(path: str, *more: tuple[str, str], stream_id: int = 1) -> Steps:
    """Call a method that is not one of the controller."""
    return (
        send("Headers", stream_id=stream_id, headers=headers("", *more, path=path)),
        send("Data", stream_id=stream_id, end_stream=True, data=_body(b"").hex()),
    )


def _wrong(words: str, body: bytes) -> Steps:
    return (_open(1), raw(frame(_DATA, _END_STREAM, 1, body), words=words))


def _cut_headers(data: bytes) -> bytes:
    """Return HEADERS as HEADERS and CONTINUATION."""
    block, at = data[_HEADER_BYTES:], 20
    stream_id = int.from_bytes(data[5:_HEADER_BYTES], "big")
    return frame(_HEADERS, 0, stream_id, block[:at]) + frame(_CONTINUATION, _END_HEADERS, stream_id, block[at:])


def _breaks(code: Any) -> Steps:
    """Take GOAWAY, or the bare end of the connection."""
    return (expect_any(reply("GoAway", error_code=code), Reply("(connection closed)")), expect_close())


_ABSENT: dict[str, Any] = {"exists": False}

CASES: tuple[Case, ...] = (
    case(
        "pravega-controller/http/1",
        MUST,
        "The server sends its settings, and acknowledges those of the client.",
        f"{_INTRODUCTION}: HTTP/2 with prior knowledge",
        hello(settings={"INITIAL_WINDOW_SIZE": 65_535}),
        expect("Settings", ack=False),
        expect("Settings", ack=True),
    ),
    case(
        "pravega-controller/http/2",
        MUST,
        "A ping is answered with its own data.",
        f"{_INTRODUCTION}: HTTP/2",
        hello(),
        expect("Settings", ack=False),
        send("Ping", opaque_data=_OPAQUE),
        expect("Ping", ack=True, opaque_data=_OPAQUE),
    ),
    case(
        "pravega-controller/http/3",
        MUST,
        "An unknown method of the controller is UNIMPLEMENTED.",
        f"{_INTRODUCTION}: unary calls",
        hello(),
        _to(PATH + "makeCoffee"),
        failed(1, "UNIMPLEMENTED", "Method not found: .*makeCoffee"),
        ignore=("RstStream",),
    ),
    case(
        "pravega-controller/http/4",
        MUST,
        "A method of another service is UNIMPLEMENTED.",
        f"{_INTRODUCTION}: full service name",
        hello(),
        _to("/io.pravega.Other/createScope"),
        failed(1, "UNIMPLEMENTED"),
        ignore=("RstStream",),
    ),
    case(
        "pravega-controller/http/5",
        MUST,
        "A message with the compressed flag, without a named encoding, fails.",
        f"{_INTRODUCTION}: gRPC",
        hello(),
        _wrong("a message with the compressed flag", _body(b"\x0a\x01x", flag=1)),
        failed(1, one_of("UNIMPLEMENTED", "INTERNAL")),
    ),
    case(
        "pravega-controller/http/6",
        MUST,
        "A message shorter than its length prefix fails.",
        f"{_INTRODUCTION}: gRPC",
        hello(),
        _wrong("a message that lacks 7 bytes", _body(b"\x0a\x01x", length=10)),
        failed(1, one_of("INTERNAL", "UNKNOWN", "CANCELLED")),
    ),
    case(
        "pravega-controller/http/7",
        MUST,
        "A message that is not protobuf fails, and the connection stays open.",
        f"{_INTRODUCTION}: Protobuf 3",
        hello(),
        _wrong("a message that is not protobuf", _body(b"\x0a\x7fx")),
        failed(1, one_of("INTERNAL", "UNKNOWN", "CANCELLED")),
        calls(call("checkStreamExists", info(), exists=False), first=3),
    ),
    case(
        "pravega-controller/http/8",
        MUST,
        "A request may come in several frames, the last one empty.",
        f"{_INTRODUCTION}: HTTP/2",
        hello(),
        _open(1),
        raw(
            frame(_DATA, 0, 1, _REQUEST[:3]),
            frame(_DATA, 0, 1, _REQUEST[3:]),
            frame(_DATA, _END_STREAM, 1, b""),
            words="a request in three frames",
        ),
        answer(_EXISTS, 1, _ABSENT),
    ),
    case(
        "pravega-controller/http/9",
        MUST,
        "Calls on several streams are served independently, in the order of their completion.",
        f"{_INTRODUCTION}: HTTP/2",
        hello(),
        _open(1),
        _open(3, "checkStreamExists"),
        raw(frame(_DATA, _END_STREAM, 3, _body(b"\x0a\x01x\x12\x01y")), words="the request of the second stream"),
        raw(frame(_DATA, _END_STREAM, 1, _REQUEST), words="the request of the first stream"),
        expect_all(
            *(
                each
                for stream_id, method in ((1, _EXISTS), (3, "checkStreamExists"))
                for each in (
                    reply("Headers", stream_id=stream(stream_id), end_stream=False),
                    reply(method, exists=False),
                    reply("Headers", stream_id=stream(stream_id), end_stream=True, grpc_status="OK"),
                )
            )
        ),
    ),
    case(
        "pravega-controller/http/10",
        MUST,
        "A call that the client resets gets no answer, and the connection stays open.",
        f"{_INTRODUCTION}: HTTP/2",
        hello(),
        _open(1),
        send("RstStream", stream_id=1, error_code="CANCEL"),
        expect_nothing(),
        calls(call("checkStreamExists", info(), exists=False), first=3),
    ),
    case(
        "pravega-controller/http/11",
        MUST,
        "Headers may continue in CONTINUATION.",
        f"{_INTRODUCTION}: HTTP/2",
        hello(),
        send("Headers", stream_id=1, method=_EXISTS, headers=headers(_EXISTS), change=_cut_headers),
        raw(frame(_DATA, _END_STREAM, 1, _REQUEST), words="the request"),
        answer(_EXISTS, 1, _ABSENT),
    ),
    case(
        "pravega-controller/http/12",
        MUST,
        "A frame of an unknown type is ignored.",
        f"{_INTRODUCTION}: HTTP/2",
        hello(),
        raw(frame(_UNKNOWN, 0xFF, 0, b"what is this"), words="a frame of type 0x42"),
        calls(call(_EXISTS, {"scope": SCOPE}, **_ABSENT)),
    ),
    case(
        "pravega-controller/http/13",
        MUST,
        "A frame that is longer than the server allows ends the connection.",
        f"{_INTRODUCTION}: HTTP/2",
        hello(),
        raw(b"\xff\xff\xff" + bytes(6), words="the header of a frame of 16 MiB less one"),
        _breaks("FRAME_SIZE_ERROR"),
    ),
    case(
        "pravega-controller/http/14",
        MUST,
        "A connection that does not begin with the HTTP/2 preface is closed.",
        f"{_INTRODUCTION}: HTTP/2 with prior knowledge",
        raw(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", words="a request in HTTP/1.1"),
        _breaks(ANY),
    ),
    case(
        "pravega-controller/http/15",
        MUST,
        "DATA on stream 0 ends the connection with PROTOCOL_ERROR.",
        f"{_INTRODUCTION}: HTTP/2",
        hello(),
        raw(frame(_DATA, 0, 0, b"x"), words="DATA on stream 0"),
        _breaks("PROTOCOL_ERROR"),
    ),
    case(
        "pravega-controller/http/16",
        MUST,
        "A client's stream with an even number ends the connection with PROTOCOL_ERROR.",
        f"{_INTRODUCTION}: HTTP/2",
        hello(),
        send("Headers", stream_id=2, method=_EXISTS, headers=headers(_EXISTS)),
        _breaks("PROTOCOL_ERROR"),
    ),
    case(
        "pravega-controller/http/17",
        MUST,
        "An answer waits until the client's window has room.",
        f"{_INTRODUCTION}: HTTP/2",
        hello(settings={"INITIAL_WINDOW_SIZE": 0}),
        ask(_EXISTS, 1, {"scope": SCOPE}),
        expect("Headers", stream_id=1, end_stream=False),
        expect_nothing(),
        send("WindowUpdate", stream_id=1, window_increment=1_000),
        expect(_EXISTS, exists=False),
        expect("Headers", stream_id=1, end_stream=True, grpc_status="OK"),
    ),
    case(
        "pravega-controller/http/18",
        MUST,
        "Unknown metadata is ignored.",
        f"{_INTRODUCTION}: metadata",
        hello(),
        ask(_EXISTS, 1, {"scope": SCOPE}, ("requestdescriptor", "createScope-x"), ("requestid", "17")),
        answer(_EXISTS, 1, _ABSENT),
    ),
    case(
        "pravega-controller/http/19",
        SHOULD,
        "A request that is not a gRPC call is refused with HTTP status 415.",
        f"{_INTRODUCTION}: unary calls",
        hello(),
        send(
            "Headers",
            stream_id=1,
            end_stream=True,
            headers=[
                each if each[0] != "content-type" else ["content-type", "text/plain"] for each in headers(_EXISTS)
            ],
        ),
        expect("Headers", stream_id=1, end_stream=True, headers=has_headers((":status", "415"))),
        ignore=("RstStream", "Data"),
    ),
    case(
        "pravega-controller/http/20",
        SHOULD,
        "After the client's GOAWAY, with every call answered, the server closes the connection.",
        f"{_INTRODUCTION}: HTTP/2",
        talk(call(_EXISTS, {"scope": SCOPE}, **_ABSENT)),
        send("GoAway", last_stream_id=0, error_code="NO_ERROR"),
        expect_close(),
        ignore=("GoAway",),
    ),
    case(
        "pravega-controller/http/21",
        MUST,
        "A connection serves any number of calls, one after the other.",
        f"{_INTRODUCTION}: HTTP/2",
        talk(*(call(_EXISTS, {"scope": SCOPE}, **_ABSENT) for _ in range(20))),
    ),
    case(
        "pravega-controller/http/22",
        MUST,
        "A stream created on one connection exists on another.",
        f"{_INTRODUCTION}: the state is the server's",
        talk(make_scope()),
        talk(call(_EXISTS, {"scope": SCOPE}, on="b", exists=True), on="b"),
    ),
)
