"""Cases of framing, KeepAlive and cut messages (protocols/pravega.md §6.5, S2 to S4, S16, S17)."""

from collections.abc import Iterator

from wiretool.conformance.case import MUST, SHOULD, Case, Steps, case, expect, expect_close, expect_nothing, send
from wiretool.protocols.pravega_draft.conformance.steps import APPENDER, SEGMENT, framed, part, raw

_LIMIT = "protocols/pravega.md §6.5 (S17); spec/000 Protocol"
_PARTS = "protocols/pravega.md §6.5 (S2 to S4); spec/000 Partial Message"
_KEEP_ALIVE = "protocols/pravega.md §6.5 (S16); spec/000 KeepAlive"
_ALIVE, _PART = 100, -2
WHOLE = framed(_ALIVE, b"ping")


def _broken_parts() -> Iterator[Case]:
    broken: tuple[tuple[str, tuple[Steps, ...]], ...] = (
        ("A second beginning before the end of the first", (part("BEGIN", WHOLE[:6]), part("BEGIN", WHOLE[:6]))),
        ("A middle without a beginning", (part("MIDDLE", WHOLE[:6]),)),
        ("An end without a beginning", (part("END", WHOLE),)),
        ("An unknown marker", (raw(framed(_PART, b"\3ab"), "a part with the marker 3"),)),
        ("A part without a marker", (raw(framed(_PART), "a part of no bytes"),)),
        ("Parts that are shorter than their frame", (part("BEGIN", WHOLE[:6]), part("END", WHOLE[6:-1]))),
        ("Parts that are longer than their frame", (part("BEGIN", WHOLE[:6]), part("END", WHOLE[6:] + b"x"))),
        (
            "A part inside the parts",
            (part("BEGIN", framed(_PART, b"\0" + WHOLE)[:6]), part("END", framed(_PART, b"\0" + WHOLE)[6:])),
        ),
    )
    for number, (what, steps) in enumerate(broken, 4):
        yield case(
            f"pravega-draft/partial/{number}", MUST, f"{what} ends the connection.", _PARTS, *steps, expect_close()
        )


CASES: tuple[Case, ...] = (
    case(
        "pravega-draft/frame/1",
        MUST,
        "A message of an unknown type ends the connection.",
        "protocols/pravega.md §6.5 (S1)",
        raw(framed(8, b"data"), "a message of type 8"),
        expect_close(),
    ),
    case(
        "pravega-draft/frame/2",
        MUST,
        "A length of 2^24 ends the connection after the header.",
        _LIMIT,
        raw(bytes(3) + b"\x64\x01" + bytes(3), "a header with the length 2^24"),
        expect_close(),
    ),
    case(
        "pravega-draft/frame/3",
        MUST,
        "A length of 2^24 - 1 is allowed: the server waits for the payload.",
        _LIMIT,
        raw(bytes(3) + b"\x64\0\xff\xff\xff", "a header with the length 2^24 - 1"),
        expect_nothing(seconds=1.0),
    ),
    case(
        "pravega-draft/frame/4",
        SHOULD,
        "Bytes after the last field of a message end the connection.",
        "protocols/pravega.md §6.5 (S7)",
        send(
            "SetupAppend",
            change=lambda frame: frame[:7] + bytes((frame[7] + 1,)) + frame[8:] + b"x",
            connection_id=APPENDER,
            segment=SEGMENT,
        ),
        expect_close(),
    ),
    case(
        "pravega-draft/frame/5",
        MUST,
        "A reply that a client sends ends the connection.",
        "protocols/pravega.md §6.5 (S15)",
        send("DataAppended", connection_id=APPENDER, connection_offset_ack_level=1),
        expect_close(),
    ),
    case(
        "pravega-draft/keep-alive/1",
        MUST,
        "KeepAlive is answered with an empty one.",
        _KEEP_ALIVE,
        send("KeepAlive", data=""),
        expect("KeepAlive", data=""),
    ),
    case(
        "pravega-draft/keep-alive/2",
        MUST,
        "The payload of a KeepAlive is ignored, and not sent back.",
        _KEEP_ALIVE,
        send("KeepAlive", data=b"ping".hex()),
        expect("KeepAlive", data=""),
    ),
    case(
        "pravega-draft/partial/1",
        MUST,
        "A message that is split in two, with its header, is served when its end arrives.",
        _PARTS,
        part("BEGIN", WHOLE[:5]),
        expect_nothing(),
        part("END", WHOLE[5:]),
        expect("KeepAlive", data=""),
    ),
    case(
        "pravega-draft/partial/2",
        MUST,
        "A message may have any number of middle parts, also empty ones.",
        _PARTS,
        part("BEGIN", WHOLE[:5]),
        part("MIDDLE", WHOLE[5:7]),
        part("MIDDLE", b""),
        part("MIDDLE", WHOLE[7:10]),
        part("END", WHOLE[10:]),
        expect("KeepAlive", data=""),
    ),
    case(
        "pravega-draft/partial/3",
        MUST,
        "Other messages may come between the parts of one.",
        _PARTS,
        part("BEGIN", WHOLE[:5]),
        send("KeepAlive", data=""),
        expect("KeepAlive", data=""),
        part("END", WHOLE[5:]),
        expect("KeepAlive", data=""),
    ),
    *_broken_parts(),
)
