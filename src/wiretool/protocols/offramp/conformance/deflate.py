"""Cases of permessage-deflate (protocols/offramp.md §1.4; captures/offramp, beyond the reference, points 1 and 2)."""

import zlib

from wiretool.conformance.case import (
    MUST,
    OBSERVED,
    SHOULD,
    Case,
    Expect,
    Steps,
    case,
    expect,
    expect_any,
    reply,
    unsupported,
)
from wiretool.conformance.values import Check, at_least, one_of
from wiretool.protocols.offramp import framing
from wiretool.protocols.offramp.conformance.steps import (
    BIG,
    STORED,
    answered,
    ask,
    assigned,
    barrier,
    commit_text,
    committed,
    connected,
    first_message,
    frame,
    message,
    raw,
    refused_or_served,
    request,
)

_RULE = "protocols/offramp.md §1.4"
_SEEN = "captures/offramp README, beyond the reference, point"
_EARLIEST = "defaultOffset=EARLIEST"
#: What a sender takes off the end of each message (RFC 7692 §7.2.1).
_TAIL = b"\x00\x00\xff\xff"
_DECLINED = "it declines permessage-deflate"


def _offer(value: str, road: str = STORED) -> Steps:
    return ask(road, _EARLIEST, ("Sec-WebSocket-Extensions", value))


def _agreed(*answers: str) -> Expect:
    """Take the upgrade with one of these agreements; a server may decline all of them."""
    wanted = Check(
        f"one of {', '.join(answers)}", lambda found, _: [each.replace(" ", "") for each in found] in _lists(answers)
    )
    return expect_any(
        reply("HandshakeResponse", status=101, extensions=wanted),
        unsupported("HandshakeResponse", _DECLINED, status=101, extensions=[]),
    )


def _lists(answers: tuple[str, ...]) -> list[list[str]]:
    return [[each] for each in answers]


def _deflated(*texts: bytes, resets: bool) -> bytes:
    """Return messages as compressed frames."""
    frames, running = b"", zlib.compressobj(wbits=-15)
    for each in texts:
        if resets:
            running = zlib.compressobj(wbits=-15)
        data = running.compress(each) + running.flush(zlib.Z_SYNC_FLUSH)
        frames += frame(data.removesuffix(_TAIL), rsv=framing.RSV1)
    return frames


CASES: tuple[Case, ...] = (
    case(
        "offramp/deflate/1",
        MUST,
        "A bare offer is answered with the bare extension or none, and the events that follow can be read.",
        _RULE,
        _offer("permessage-deflate"),
        _agreed("permessage-deflate"),
        connected(),
        first_message(),
    ),
    case(
        "offramp/deflate/2",
        SHOULD,
        "An offered window of the client comes back with its size, 15 where it has none.",
        f"{_SEEN} 2",
        _offer("permessage-deflate; client_max_window_bits"),
        _agreed("permessage-deflate;client_max_window_bits=15"),
        connected(),
        first_message(),
    ),
    case(
        "offramp/deflate/3",
        SHOULD,
        "A size that is offered for the client's window comes back.",
        f"{_SEEN} 2",
        _offer("permessage-deflate; client_max_window_bits=9"),
        _agreed("permessage-deflate;client_max_window_bits=9"),
        connected(),
    ),
    case(
        "offramp/deflate/4",
        MUST,
        "An offer that requires a smaller window of the server is declined.",
        _RULE,
        _offer("permessage-deflate; server_max_window_bits=10"),
        expect("HandshakeResponse", status=101, extensions=[]),
        connected(),
        first_message(),
    ),
    case(
        "offramp/deflate/5",
        SHOULD,
        "If the first offer cannot be accepted, the next one is.",
        f"{_SEEN} 2",
        _offer("permessage-deflate; server_max_window_bits=10, permessage-deflate"),
        _agreed("permessage-deflate"),
        connected(),
        first_message(),
    ),
    case(
        "offramp/deflate/6",
        SHOULD,
        "An offer with an unknown parameter is declined, or refused with 500 as in the original server.",
        f"{_SEEN} 2",
        _offer("permessage-deflate; foo=1"),
        refused_or_served(500, extensions=[]),
    ),
    case(
        "offramp/deflate/7",
        MUST,
        "An extension of another name is not agreed to.",
        _RULE,
        _offer("x-webkit-deflate-frame"),
        expect("HandshakeResponse", status=101, extensions=[]),
        connected(),
    ),
    case(
        "offramp/deflate/8",
        MUST,
        "With no context on either side both are agreed to, and each event can be read by itself.",
        _RULE,
        _offer("permessage-deflate; server_no_context_takeover; client_no_context_takeover"),
        _agreed("permessage-deflate;server_no_context_takeover;client_no_context_takeover"),
        connected(),
        raw(_deflated(commit_text("a"), commit_text("b"), resets=True), words="two compressed commits"),
        committed("a", success=one_of(True, False)),
        committed("b", success=one_of(True, False)),
        request(3),
        assigned(),
        message(),
        message(),
        message(),
    ),
    case(
        "offramp/deflate/9",
        MUST,
        "Where the context is kept, compressed events of the client go on from the ones before.",
        _RULE,
        _offer("permessage-deflate"),
        _agreed("permessage-deflate"),
        connected(),
        first_message(),
        raw(_deflated(*map(commit_text, "abc"), resets=False), words="three compressed commits"),
        committed("a"),
        committed("b"),
        committed("c"),
    ),
    case(
        "offramp/deflate/10",
        MUST,
        "Where compression is agreed, uncompressed events of the client are taken as well.",
        _RULE,
        _offer("permessage-deflate"),
        _agreed("permessage-deflate"),
        connected(),
        first_message(),
        barrier(),
    ),
    case(
        "offramp/deflate/11",
        OBSERVED,
        "An event whose compressed form is longer than 8192 bytes comes in fragments that make one message.",
        f"{_SEEN} 1",
        _offer("permessage-deflate; server_no_context_takeover", BIG),
        _agreed("permessage-deflate;server_no_context_takeover"),
        connected(),
        request(3),
        assigned(),
        message(),
        message(),
        message(payload=Check("20,000 characters or more", lambda found, _: len(str(found)) >= 20_000)),
        ignore=("Fragment",),
    ),
    case(
        "offramp/deflate/12",
        MUST,
        "Without an offer nothing is compressed.",
        _RULE,
        ask(STORED),
        answered(101),
        connected(),
        request(2),
        assigned(),
        message(offset=at_least(0)),
        message(),
    ),
)
