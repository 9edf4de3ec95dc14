"""Cases of WebSocket frames: messages, fragments, control frames, limits and closes (protocols/offramp.md §1.4)."""

from wiretool.conformance.case import (
    MUST,
    SHOULD,
    Case,
    SendBytes,
    Steps,
    case,
    expect,
    expect_nothing,
    send,
)
from wiretool.protocols.offramp import framing
from wiretool.protocols.offramp.conformance.steps import (
    BINARY,
    CLOSE,
    CONTINUATION,
    MASK,
    PING,
    PONG,
    TEXT,
    barrier,
    broken,
    commit_text,
    committed,
    first_message,
    frame,
    message,
    open_stream,
    raw,
    request,
    text,
    undecodable,
)

_RULE = "protocols/offramp.md §1.4"
_REQUEST = b'{"type":"REQUEST","count":1}'
_CANCEL_ODD = b'{"type":"CANCEL","x":"\xc3\xa9"}'


def _ready() -> Steps:
    """Connect, and be a member of the stream, so that commits succeed."""
    return (open_stream(), first_message())


def _commit_of(size: int) -> bytes:
    """Return the text of a commit with so many bytes."""
    return commit_text("x" * (size - len(commit_text(""))))


def _long_form(payload: bytes, size: int) -> bytes:
    """Return a frame whose length is written in 2 or 8 bytes though a shorter form would do."""
    code = 126 if size == 2 else 127
    head = bytes((framing.FIN | TEXT, framing.MASKED | code)) + len(payload).to_bytes(size, "big")
    return head + MASK + framing.unmasked(payload, MASK)


def _violation(number: int, words: str, *frames: bytes, code: int = 1002) -> Case:
    return case(
        f"offramp/frame/{number}",
        MUST,
        f"{words} closes the connection with {code}.",
        _RULE,
        open_stream(),
        raw(*frames, words=words),
        broken(code),
    )


CASES: tuple[Case, ...] = (
    case(
        "offramp/frame/1",
        MUST,
        "Events are taken as TEXT and as BINARY alike.",
        _RULE,
        _ready(),
        text(_REQUEST, TEXT),
        message(),
        text(_REQUEST, BINARY),
        message(),
    ),
    case(
        "offramp/frame/2",
        MUST,
        "An event in two fragments is one event.",
        _RULE,
        _ready(),
        raw(
            frame(_REQUEST[:9], is_final=False),
            frame(_REQUEST[9:], CONTINUATION),
            words="a REQUEST in two fragments",
        ),
        message(),
    ),
    case(
        "offramp/frame/3",
        MUST,
        "Pings between the fragments of an event are answered at once, and the event is whole all the same.",
        _RULE,
        _ready(),
        raw(
            frame(_REQUEST[:5], BINARY, is_final=False),
            frame(b"between", PING),
            words="a fragment and a ping",
        ),
        expect("Pong", payload=b"between".hex()),
        raw(
            frame(_REQUEST[5:11], CONTINUATION, is_final=False),
            frame(b"", PONG),
            frame(_REQUEST[11:], CONTINUATION),
            words="the other fragments with a pong between them",
        ),
        message(),
    ),
    case(
        "offramp/frame/4",
        MUST,
        "Fragments may be empty.",
        _RULE,
        _ready(),
        raw(
            frame(b"", is_final=False),
            frame(_REQUEST, CONTINUATION, is_final=False),
            frame(b"", CONTINUATION),
            words="a REQUEST between two empty fragments",
        ),
        message(),
    ),
    case(
        "offramp/frame/5",
        MUST,
        "The end of a fragment may cut a character.",
        _RULE,
        _ready(),
        raw(
            frame(_CANCEL_ODD[:-3], is_final=False),
            frame(_CANCEL_ODD[-3:], CONTINUATION),
            words="a CANCEL whose fragments cut a character",
        ),
        barrier(),
    ),
    case(
        "offramp/frame/6",
        MUST,
        "Empty messages are ignored.",
        f"{_RULE}; vectors/offramp.json, empty_text_ignored",
        _ready(),
        raw(frame(b"", TEXT), frame(b"", BINARY), words="an empty TEXT and an empty BINARY message"),
        expect_nothing(),
        request(1),
        message(),
    ),
    case(
        "offramp/frame/7",
        MUST,
        "A length in 16 bits is read.",
        _RULE,
        _ready(),
        text(_commit_of(200)),
        committed("x" * (200 - len(commit_text("")))),
    ),
    case(
        "offramp/frame/8",
        SHOULD,
        "Lengths in a longer form than needed are taken.",
        "captures/offramp README, beyond the reference, point 5",
        _ready(),
        raw(_long_form(_REQUEST, 2), words="a REQUEST with its length in 16 bits"),
        message(),
        raw(_long_form(_REQUEST, 8), words="a REQUEST with its length in 64 bits"),
        message(),
    ),
    case(
        "offramp/frame/9",
        MUST,
        "A frame may arrive in pieces of any size.",
        "captures/offramp framing, connection 4",
        _ready(),
        [SendBytes(frame(_REQUEST)[at : at + 1], "one byte of a REQUEST") for at in range(len(frame(_REQUEST)))],
        message(),
    ),
    case(
        "offramp/frame/10",
        MUST,
        "Many frames in one piece are all served, in order.",
        "captures/offramp framing, connection 4",
        _ready(),
        raw(*(frame(commit_text(f"c{n}")) for n in range(20)), words="20 commits"),
        [committed(f"c{n}") for n in range(20)],
    ),
    case(
        "offramp/frame/11",
        MUST,
        "A mask of zeros is a mask.",
        "captures/offramp framing, connection 5",
        _ready(),
        raw(framing.frame_bytes(framing.FIN | TEXT, _REQUEST, bytes(4)), words="a REQUEST with a mask of zeros"),
        message(),
    ),
    # -- control frames ------------------------------------------------------------------------------------------------
    case(
        "offramp/ping/1",
        MUST,
        "A ping is answered with its payload.",
        _RULE,
        open_stream(),
        send("Ping", payload=b"keep".hex()),
        expect("Pong", payload=b"keep".hex()),
    ),
    case(
        "offramp/ping/2",
        MUST,
        "An empty ping is answered with an empty pong.",
        _RULE,
        open_stream(),
        send("Ping", payload=""),
        expect("Pong", payload=""),
    ),
    case(
        "offramp/ping/3",
        MUST,
        "A ping may have 125 bytes, and pings are answered in their order.",
        _RULE,
        open_stream(),
        raw(frame(b"p" * 125, PING), frame(b"last", PING), words="a ping of 125 bytes and another"),
        expect("Pong", payload=(b"p" * 125).hex()),
        expect("Pong", payload=b"last".hex()),
    ),
    case(
        "offramp/ping/4",
        MUST,
        "An unsolicited Pong is ignored.",
        _RULE,
        open_stream(),
        send("Pong", payload=""),
        send("Pong", payload=b"alive".hex()),
        expect_nothing(),
        first_message(),
    ),
    # Costs 40 s on a server over sockets: the timer is the protocol's own.
    case(
        "offramp/ping/5",
        SHOULD,
        "A client that answers pings stays connected when idle; a server that sends no pings has no idle timeout.",
        f"{_RULE}, §6 row 23",
        open_stream(),
        expect_nothing(seconds=40.0),
        first_message(),
        ignore=("Ping",),
    ),
    # -- what breaks the rules -----------------------------------------------------------------------------------------
    _violation(12, "A frame without a mask", framing.frame_bytes(framing.FIN | TEXT, _REQUEST, None)),
    _violation(13, "A reserved opcode of data", frame(_REQUEST, 3)),
    _violation(14, "A reserved opcode of control", frame(b"", 11)),
    _violation(15, "A reserved bit without its extension", frame(_REQUEST, rsv=framing.RSV1)),
    _violation(16, "A second reserved bit", frame(_REQUEST, rsv=0x20)),
    _violation(17, "A continuation of nothing", frame(_REQUEST, CONTINUATION)),
    _violation(18, "A new message inside a fragmented one", frame(_REQUEST[:9], is_final=False), frame(_REQUEST)),
    _violation(19, "A fragmented ping", frame(b"", PING, is_final=False)),
    _violation(20, "A ping of 126 bytes", frame(b"p" * 126, PING)),
    _violation(21, "A Close with half a code", frame(b"\x03", CLOSE)),
    _violation(22, "A Close whose reason is not UTF-8", frame(b"\x03\xe8\xff", CLOSE)),
    _violation(23, "A TEXT message that is not UTF-8", frame(b'{"type":"\xff"}'), code=1007),
    case(
        "offramp/frame/24",
        SHOULD,
        "A BINARY message that is not UTF-8 cannot be decoded.",
        f"{_RULE}; captures/offramp err_malformed 16",
        open_stream(),
        text(b'{"type":"REQ\xff\xfe"}', BINARY),
        undecodable(),
        ignore=("Close", "ERROR"),
    ),
)
