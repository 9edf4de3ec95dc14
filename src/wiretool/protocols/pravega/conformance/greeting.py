"""Cases of Hello, versions and KeepAlive (protocols/pravega.md §4.1 and §4.2)."""

from typing import Any

from wiretool.conformance.case import (
    CLOSED,
    MUST,
    NOTHING,
    SHOULD,
    Case,
    Connect,
    Wait,
    case,
    expect,
    expect_any,
    expect_close,
    expect_nothing,
    given,
    reply,
    send,
    together,
)
from wiretool.conformance.values import Saved, at_least, below, one_of
from wiretool.protocols.pravega.conformance.raw_frames import framed, raw
from wiretool.protocols.pravega.conformance.steps import (
    LOWEST,
    MISSING,
    SERVER_VERSION,
    ack,
    block,
    end_block,
    event,
    hello,
    info,
    no_info,
    open_segment,
    rid,
    still_open,
)

_HELLO = "protocols/pravega.md §4.1"
_KEEP_ALIVE = "protocols/pravega.md §4.2"
#: Highest wire versions that servers with this protocol have named.
_VERSIONS = one_of(15, 16, 17)
_NEWEST = 17


def _greet(high: Any, low: Any) -> Any:
    return (
        send("Hello", high_version=high, low_version=low),
        expect("Hello", high_version=Saved(SERVER_VERSION), low_version=LOWEST),
    )


CASES: tuple[Case, ...] = (
    case(
        "pravega/hello/1",
        MUST,
        "The server answers Hello with its own versions, whatever the client names, and serves a newer client.",
        _HELLO,
        send("Hello", high_version=17, low_version=5),
        expect("Hello", high_version=_VERSIONS, low_version=LOWEST),
        still_open(),
    ),
    case(
        "pravega/hello/2",
        MUST,
        "An older client is answered with the server's own versions, and served.",
        _HELLO,
        send("Hello", high_version=15, low_version=5),
        expect("Hello", high_version=_VERSIONS, low_version=LOWEST),
        no_info(MISSING),
    ),
    case(
        "pravega/hello/3",
        MUST,
        "A client that is too old is answered with the server's versions, then the connection ends.",
        _HELLO,
        _greet(LOWEST - 1, 1),
        expect_close(),
    ),
    case(
        "pravega/hello/4",
        MUST,
        "A client that is too new is answered with the server's versions, then the connection ends.",
        _HELLO,
        _greet(20, 18),
        expect_close(),
    ),
    case(
        "pravega/hello/5",
        MUST,
        "The server's lowest version is enough.",
        _HELLO,
        _greet(LOWEST, 1),
        still_open(),
    ),
    case(
        "pravega/hello/6",
        MUST,
        "A client whose lowest version is the server's highest is served; one above it is not.",
        _HELLO,
        hello(),
        send("Hello", high_version=99, low_version=Saved(SERVER_VERSION)),
        expect("Hello", high_version=Saved(SERVER_VERSION), low_version=LOWEST),
        still_open(),
        send("Hello", high_version=99, low_version=Saved(SERVER_VERSION, plus=1)),
        expect("Hello", high_version=Saved(SERVER_VERSION), low_version=LOWEST),
        expect_close(),
    ),
    case(
        "pravega/hello/7",
        MUST,
        "A second Hello is answered like the first.",
        _HELLO,
        _greet(16, 5),
        _greet(16, 5),
        still_open(),
    ),
    case(
        "pravega/hello/8",
        MUST,
        "Hello is not required: a request before it, and without it, is served.",
        _HELLO,
        no_info(MISSING),
        _greet(16, 5),
        no_info(MISSING, request_id=32),
    ),
    case(
        "pravega/hello/9",
        MUST,
        "A client that names version 17 as its lowest is served by a server of that version, whatever its highest; "
        "an older server closes the connection.",
        _HELLO + "; captures/pravega-server hello_inverted",
        send("Hello", high_version=5, low_version=_NEWEST),
        expect("Hello", high_version=Saved(SERVER_VERSION), low_version=LOWEST),
        expect_any(
            given(SERVER_VERSION, below(_NEWEST), reply(CLOSED)),
            given(SERVER_VERSION, at_least(_NEWEST), reply(NOTHING)),
            within_s=0.5,
        ),
    ),
    case(
        "pravega/hello/10",
        MUST,
        "The server sends nothing before the client.",
        _HELLO,
        Connect(),
        expect_nothing(seconds=2.0),
    ),
    case(
        "pravega/hello/11",
        MUST,
        "A request that arrives with a Hello of versions that do not fit has no reply.",
        _HELLO + "; captures/pravega-server hello_too_old_with_request__server_0.11.0",
        together(
            send("Hello", high_version=4, low_version=1),
            send("GetStreamSegmentInfo", request_id=rid(5), segment_name=MISSING),
        ),
        expect("Hello", high_version=Saved(SERVER_VERSION), low_version=LOWEST),
        expect_close(),
    ),
    case(
        "pravega/hello/12",
        MUST,
        "Each version of Hello is compared by itself: a highest version below the lowest is not a separate error.",
        _HELLO,
        hello(),
        send("Hello", high_version=LOWEST, low_version=Saved(SERVER_VERSION)),
        expect("Hello", high_version=Saved(SERVER_VERSION), low_version=LOWEST),
        still_open(),
        send("Hello", high_version=LOWEST, low_version=Saved(SERVER_VERSION, plus=1)),
        expect("Hello", high_version=Saved(SERVER_VERSION), low_version=LOWEST),
        expect_close(),
    ),
    case(
        "pravega/keep-alive/1",
        MUST,
        "KeepAlive is answered with an empty KeepAlive, before a Hello too.",
        _KEEP_ALIVE,
        still_open(),
    ),
    case(
        "pravega/keep-alive/2",
        MUST,
        "The payload of a KeepAlive is not sent back.",
        _KEEP_ALIVE,
        raw(framed(100, b"hello"), "KeepAlive with 5 bytes"),
        expect("KeepAlive"),
        still_open(),
    ),
    case(
        "pravega/keep-alive/3",
        MUST,
        "Each KeepAlive has one answer.",
        _KEEP_ALIVE,
        hello(),
        together(send("KeepAlive"), send("KeepAlive"), send("KeepAlive")),
        expect("KeepAlive"),
        expect("KeepAlive"),
        expect("KeepAlive"),
    ),
    case(
        "pravega/keep-alive/4",
        MUST,
        "A KeepAlive while a block is open is answered, and does not end the block.",
        _KEEP_ALIVE + ", §3.4",
        open_segment(),
        together(block(event(b"hello")), send("KeepAlive"), end_block(13)),
        expect("KeepAlive"),
        expect_any(ack(13)),
    ),
    case(
        "pravega/keep-alive/5",
        SHOULD,
        "The server sends no KeepAlive by itself, and keeps a connection without traffic.",
        _KEEP_ALIVE,
        open_segment(),
        Wait(2.0),
        expect_nothing(seconds=1.0),
        info(0),
    ),
)
