"""Cases of frames and connections, whatever the schema (spec 003; protocols/sbp.md §1, §4.2, §5)."""

from wiretool.conformance.case import (
    CLOSED,
    MUST,
    SHOULD,
    Case,
    Connect,
    Finish,
    Steps,
    Wait,
    case,
    expect_all,
    expect_any,
    expect_nothing,
    reply,
)
from wiretool.conformance.values import Subset
from wiretool.protocols.sbp.conformance.frames import (
    Change,
    after,
    first,
    header,
    little_endian_checksum,
    little_endian_length,
    longer_by,
    longer_header,
    with_header_length,
    with_length,
    with_magic,
    wrong_checksum,
)
from wiretool.protocols.sbp.conformance.steps import (
    GOAWAY,
    WHOLE,
    alive,
    frame,
    identifier,
    leaves,
    ping,
    pong,
)
from wiretool.protocols.sbp_0_1.conformance.steps import SEED, SPEC

LENGTH_MAX = 16 * 1024 * 1024
IDLE_S, IDLE_MAX_S = 14.8, 16.0
MANAGER_ENDPOINT = "placement-manager"
_ANSWERED = reply("GOAWAY", flags=WHOLE, stream_id=identifier(2, "a"), header=None, payload=None)


def invalid(change: Change) -> Steps:
    """Send an invalid PING between two valid ones: the first is answered, and the connection ends after a GOAWAY."""
    return (
        ping(1, "first"),
        ping(2, "bad", change=change),
        ping(3, "last"),
        expect_any(pong(1, "first")),
        expect_any(GOAWAY),
        leaves(),
    )


def invalid_empty(change: Change) -> Steps:
    """Send a PING without payload that is invalid, after a valid one."""
    return (ping(1), expect_any(pong(1)), ping(2, change=change), ping(3), expect_any(GOAWAY), leaves())


_FRAMES = (
    case(
        "sbp-0.1/frame/1",
        MUST,
        "The Frame Length of a response counts all bytes after itself, and its checksum is the CRC-32 of its payload.",
        f"{SPEC} §1.1, §5 (1, 2)",
        ping(1, "abc", change=header(b"head")),
        expect_any(
            pong(1, "abc", frame_length=23, total_bytes=27, checksum="352441c2", header={"raw_hex": b"head".hex()})
        ),
    ),
    case(
        "sbp-0.1/frame/2",
        MUST,
        "The shortest frame is valid; the checksum of its empty payload is not looked at, and is sent as 0.",
        f"{SPEC} §1.2, §5 (2)",
        ping(1, change=wrong_checksum),
        expect_any(pong(1, frame_length=16, checksum="00000000")),
    ),
    case(
        "sbp-0.1/frame/3",
        MUST,
        "A frame with another magic code than 23 is discarded: GOAWAY, and the end of the connection.",
        f"{SEED}, Magic Code; {SPEC} §5 (4)",
        invalid(with_magic(1)),
    ),
    case(
        "sbp-0.1/frame/4",
        MUST,
        "A Frame Length below 16 ends the connection.",
        f"{SPEC} §5 (1)",
        invalid(with_length(15)),
    ),
    case(
        "sbp-0.1/frame/5",
        MUST,
        "A Frame Length of 0 ends the connection.",
        f"{SPEC} §5 (1)",
        invalid(with_length(0)),
    ),
    case(
        "sbp-0.1/frame/6",
        MUST,
        "A Frame Length without the four bytes of the checksum is too small if header and payload are empty.",
        f"{SPEC} §1.1, §5 (1)",
        invalid_empty(longer_by(-4)),
    ),
    case(
        "sbp-0.1/frame/7",
        MUST,
        "A Frame Length above 16,777,216 ends the connection.",
        f"{SPEC} §5 (1)",
        invalid(with_length(LENGTH_MAX + 1)),
    ),
    case(
        "sbp-0.1/frame/8",
        MUST,
        "A Frame Length in little-endian order is too large.",
        f"{SEED}, Overview; {SPEC} §1.1",
        invalid_empty(little_endian_length),
    ),
    case(
        "sbp-0.1/frame/9",
        MUST,
        "A Frame Length with the highest bit set is too large.",
        f"{SPEC} §5 (1)",
        invalid(with_length(0xFFFF_FFFF)),
    ),
    case(
        "sbp-0.1/frame/10",
        MUST,
        "A Header Length that is one byte longer than the frame has room for ends the connection.",
        f"{SPEC} §1.7",
        invalid_empty(longer_header),
    ),
    case(
        "sbp-0.1/frame/11",
        MUST,
        "The largest Header Length in a short frame ends the connection.",
        f"{SPEC} §1.7",
        invalid_empty(with_header_length(0xFF_FFFF)),
    ),
    case(
        "sbp-0.1/frame/12",
        MUST,
        "A checksum that differs from the CRC-32 of the payload ends the connection, on a response too.",
        f"{SPEC} §1.6, §5 (2)",
        frame(
            "LIST_RANGES",
            flags=WHOLE,
            header={"raw_hex": b"head".hex()},
            payload=Subset(hex=b"body".hex()),
            change=little_endian_checksum,
        ),
        ping(2),
        expect_any(GOAWAY),
        leaves(),
    ),
    case(
        "sbp-0.1/frame/13",
        MUST,
        "A server waits for the rest of a frame that is cut inside its fixed part.",
        f"{SPEC} §1.1",
        ping(1, "cut", change=first(12)),
        expect_nothing(),
        ping(1, "cut", change=after(12)),
        expect_any(pong(1, "cut")),
    ),
    case(
        "sbp-0.1/frame/14",
        MUST,
        "A server waits for the rest of a frame that is cut inside its payload.",
        f"{SPEC} §1.1",
        ping(1, "payload", change=first(-6)),
        expect_nothing(),
        ping(1, "payload", change=after(-6)),
        expect_any(pong(1, "payload")),
    ),
    case(
        "sbp-0.1/frame/15",
        MUST,
        "A Frame Length that counts itself makes the server wait for four more bytes.",
        f"{SPEC} §1.1",
        ping(1),
        expect_any(pong(1)),
        ping(2, change=longer_by(4)),
        expect_nothing(),
    ),
    case(
        "sbp-0.1/frame/16",
        MUST,
        "A connection is closed when the client has sent its last byte.",
        f"{SPEC} §4.2",
        alive(1),
        Finish(),
        expect_any(reply(CLOSED), within_s=1.0),
    ),
)

_FLAGS = (
    case(
        "sbp-0.1/flags/1",
        MUST,
        "A response has the flags 0x01 and 0x02, and the stream identifier of its request.",
        f"{SEED}, Flags and Stream Identifier",
        ping(7),
        expect_any(pong(7, is_response=True, response_end=True, system_error=False)),
    ),
    case(
        "sbp-0.1/flags/2",
        MUST,
        "Other flags are ignored.",
        f"{SEED}, Flags",
        ping(1, "flags", flags=0xFC),
        expect_any(pong(1, "flags")),
    ),
    case(
        "sbp-0.1/flags/3",
        MUST,
        "A frame with the response flag is not a request, and is not answered.",
        f"{SEED}, Flags; {SPEC} §5 (18)",
        ping(1, flags=WHOLE),
        expect_nothing(),
        alive(2),
    ),
    case(
        "sbp-0.1/id/1",
        MUST,
        "Stream identifiers from 0 on are accepted, with gaps, and each request is answered under its own.",
        f"{SEED}, Stream Identifier; {SPEC} §5 (9)",
        ping(0, "zero"),
        ping(5, "five"),
        ping(0x7FFF_FFFF, "last"),
        expect_all(pong(5, "five"), pong(0x7FFF_FFFF, "last"), pong(0, "zero")),
    ),
    case(
        "sbp-0.1/id/2",
        SHOULD,
        "A placement manager answers an identifier that is not higher than the last one with GOAWAY.",
        f"{SPEC} §1.4",
        Connect(endpoint=MANAGER_ENDPOINT),
        alive(5),
        ping(5),
        expect_any(GOAWAY),
        leaves(),
        variant="apart",
    ),
)

_LIFE = (
    case(
        "sbp-0.1/ping/1",
        MUST,
        "The response to a PING has the header and the payload of the request.",
        f"{SPEC} §5 (18)",
        ping(1, "payload", change=header(b"any bytes")),
        expect_any(pong(1, "payload", header={"raw_hex": b"any bytes".hex()})),
        ping(2),
        expect_any(pong(2)),
    ),
    case(
        "sbp-0.1/goaway/1",
        MUST,
        "GOAWAY is answered without header and payload, and the connection is closed a second later.",
        f"{SPEC} §4.2, §5 (19)",
        alive(1),
        frame("GOAWAY", n=2, change=header(b"bye")),
        expect_any(_ANSWERED),
        leaves(),
    ),
    case(
        "sbp-0.1/goaway/2",
        MUST,
        "Nothing after a GOAWAY is answered.",
        f"{SPEC} §4.2",
        ping(1, "before"),
        frame("GOAWAY", n=2),
        ping(3, "after"),
        frame("GOAWAY", n=4),
        expect_all(pong(1, "before"), _ANSWERED),
        leaves(),
    ),
    case(
        "sbp-0.1/goaway/3",
        MUST,
        "A GOAWAY with the response flag is dropped.",
        f"{SPEC} §4.2",
        frame("GOAWAY", n=1, flags=WHOLE),
        Wait(1.2),
        alive(2),
    ),
    case(
        "sbp-0.1/idle/1",
        SHOULD,
        "A server sends GOAWAY after 15 s of silence, restarted by a PING, and closes the connection a second later.",
        f"{SPEC} §4.2, §5 (20)",
        Connect(),
        Wait(8.0),
        alive(1),
        expect_any(GOAWAY, within_s=IDLE_MAX_S, after_s=IDLE_S),
        leaves(),
    ),
)

CASES: tuple[Case, ...] = (*_FRAMES, *_FLAGS, *_LIFE)
