"""Cases of the limits on messages, and of how connections are closed (protocols/offramp.md §1.4)."""

from wiretool.conformance.case import (
    MUST,
    OBSERVED,
    SHOULD,
    Case,
    Finish,
    Steps,
    case,
    expect,
    expect_any,
    expect_close,
    reply,
    send,
)
from wiretool.conformance.values import one_of
from wiretool.protocols.offramp.conformance.steps import (
    BINARY,
    CLOSE,
    CONTINUATION,
    broken,
    commit,
    commit_text,
    committed,
    first_message,
    frame,
    open_stream,
    raw,
    text,
)

_RULE = "protocols/offramp.md §1.4"
_REQUEST = b'{"type":"REQUEST","count":1}'
#: The longest message that the original server takes, and one that no server here takes (§6 row 22).
_LONGEST, _TOO_LONG = 8_192, 1024 * 1024 + 1


def _ready() -> Steps:
    """Connect, and be a member of the stream, so that commits succeed."""
    return (open_stream(), first_message())


def _commit_of(size: int) -> bytes:
    """Return the text of a commit with so many bytes."""
    return commit_text("x" * (size - len(commit_text(""))))


CASES: tuple[Case, ...] = (
    # -- limits --------------------------------------------------------------------------------------------------------
    case(
        "offramp/limit/1",
        MUST,
        "A message of 8192 bytes is taken, as TEXT, as BINARY and in fragments.",
        _RULE,
        _ready(),
        text(_commit_of(_LONGEST)),
        committed("x" * (_LONGEST - len(commit_text("")))),
        text(_commit_of(_LONGEST), BINARY),
        committed("x" * (_LONGEST - len(commit_text("")))),
        raw(
            frame(_commit_of(_LONGEST)[:5_000], is_final=False),
            frame(_commit_of(_LONGEST)[5_000:], CONTINUATION),
            words="a commit of 8192 bytes in two fragments",
        ),
        committed("x" * (_LONGEST - len(commit_text("")))),
    ),
    case(
        "offramp/limit/2",
        SHOULD,
        "A message of more than 1 MiB closes the connection with 1009.",
        f"{_RULE}, §6 row 22",
        open_stream(),
        text(_commit_of(_TOO_LONG)),
        broken(1009),
    ),
    case(
        "offramp/limit/3",
        SHOULD,
        "The limit is one on the message, not on its frames.",
        f"{_RULE}, §6 row 22; vectors/offramp.json, frame client_text_8193_in_two_fragments",
        open_stream(),
        raw(
            frame(_commit_of(_TOO_LONG)[:600_000], is_final=False),
            frame(_commit_of(_TOO_LONG)[600_000:], CONTINUATION),
            words="a commit of more than 1 MiB in two fragments",
        ),
        broken(1009),
    ),
    case(
        "offramp/limit/4",
        SHOULD,
        "A length in 64 bits is read; a server that takes 8192 bytes answers with 1009.",
        f"{_RULE}, §6 row 22",
        _ready(),
        text(_commit_of(70_000)),
        expect_any(
            reply("COMMIT_RESPONSE", correlationId="x" * (70_000 - len(commit_text(""))), success=True),
            reply("Close", code=1009),
        ),
    ),
    case(
        "offramp/limit/5",
        OBSERVED,
        "The original server takes no message of 8193 bytes.",
        f"{_RULE}; vectors/offramp.json, frames client_text_8193 and client_binary_8193",
        open_stream(),
        text(_commit_of(_LONGEST + 1)),
        broken(1009),
        variant="original",
    ),
    case(
        "offramp/limit/6",
        OBSERVED,
        "The original server measures TEXT in UTF-16 units: 8192 of them may be more bytes.",
        _RULE,
        open_stream(),
        first_message(),
        text(commit_text("é" * (_LONGEST - len(commit_text(""))))),
        committed("é" * (_LONGEST - len(commit_text("")))),
        variant="original",
    ),
    # -- closes --------------------------------------------------------------------------------------------------------
    *(
        case(
            f"offramp/close/{number}",
            MUST,
            f"A Close with {code} is echoed with its reason, and TCP ends.",
            _RULE,
            open_stream(),
            send("Close", code=code, reason=reason),
            expect("Close", code=code, reason=reason),
            expect_close(),
        )
        for number, code, reason in (
            (1, 1000, "done"),
            (2, 1001, ""),
            (3, 1011, "failed"),
            (4, 3000, "x"),
            (5, 4999, "näher"),
        )
    ),
    case(
        "offramp/close/6",
        MUST,
        "A Close without a code is answered with 1000.",
        _RULE,
        open_stream(),
        send("Close", code=None, reason=""),
        expect("Close", code=1000, reason=""),
        expect_close(),
    ),
    *(
        case(
            f"offramp/close/{number}",
            MUST,
            f"A Close with {code}, which no client may send, is answered with 1002.",
            _RULE,
            open_stream(),
            raw(frame(code.to_bytes(2, "big"), CLOSE), words=f"a Close with {code}"),
            broken(1002),
        )
        for number, code in ((7, 999), (8, 1005), (9, 1006), (10, 1004), (11, 1015), (12, 5000))
    ),
    case(
        "offramp/close/13",
        SHOULD,
        "The end of the client's TCP without a Close is answered with 1002.",
        f"{_RULE}; captures/offramp err_tcp_end, connection 2",
        _ready(),
        Finish(),
        expect_any(reply("Close", code=1002), reply("(connection closed)")),
        expect_close(),
    ),
    case(
        "offramp/close/14",
        MUST,
        "The server ignores events that a client sends after its Close.",
        _RULE,
        _ready(),
        raw(frame((1000).to_bytes(2, "big"), CLOSE), frame(_REQUEST), words="a Close and a REQUEST in one piece"),
        expect("Close", code=1000),
        expect_close(),
    ),
    case(
        "offramp/close/15",
        MUST,
        "Requests that were sent before a Close in one piece with it do not keep the connection open.",
        _RULE,
        _ready(),
        commit({}, "last"),
        send("Close", code=1000),
        committed("last", success=one_of(True, False)),
        expect("Close", code=1000),
        expect_close(),
    ),
)
