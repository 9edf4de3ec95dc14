"""Cases of fields: cut and odd ones, names, bytes after the last (protocols/pravega.md §1.3, §1.4)."""

from collections.abc import Iterator
from typing import Any

from wiretool.conformance.case import (
    MUST,
    Case,
    Send,
    Steps,
    case,
    expect,
    expect_any,
    expect_close,
    send,
)
from wiretool.conformance.values import ANY
from wiretool.protocols.pravega.conformance.raw_frames import framed, longer, raw, raw_frame, shorter
from wiretool.protocols.pravega.conformance.steps import (
    CONTENT,
    NO_REQUEST_ID,
    SEGMENT,
    filled,
    hello,
    reads,
    rid,
    segment_read,
    several,
    still_open,
)

_INFO, _CREATE = 11, 20


def _cut(what: str, sent: Send) -> Steps:
    return hello(), sent, expect_close()


def _cut_fields() -> Iterator[Case]:
    """Frames that end inside a field."""
    asked: dict[str, Any] = {"request_id": rid(5), "segment_name": SEGMENT}
    frames: tuple[tuple[str, Any], ...] = (
        (
            "a name that is longer than the frame",
            raw(framed(_INFO, bytes(7) + b"\5" + b"\xff\xffabc"), "GetStreamSegmentInfo, its name cut"),
        ),
        ("no token where the command has one", send("GetStreamSegmentInfo", change=shorter(2), **asked)),
        ("half a request id", raw(framed(_INFO, bytes(4)), "GetStreamSegmentInfo of 4 bytes")),
        ("no payload where fields are required", raw(framed(_INFO), "GetStreamSegmentInfo of no bytes")),
        ("half a Hello", raw(framed(-127, bytes(4)), "Hello of 4 bytes")),
        (
            "no scale type",
            raw_frame(_CREATE, bytes(7) + b"\5", SEGMENT, bytes(4), words="CreateSegment without a scale type"),
        ),
    )
    for name, (what, sent) in several("pravega/frame/41", frames):
        yield case(
            name,
            MUST,
            f"A frame that ends too early ({what}) ends the connection, with no reply.",
            "protocols/pravega.md §1.3",
            _cut(what, sent),
        )


def _bad_names() -> Iterator[Case]:
    """Names that are no modified UTF-8."""
    names = (
        (b"\xf0\x9f\x98\x80", "a sequence of four bytes"),
        (b"\xc3\x28", "a bad continuation byte"),
        (b"ab\xc3", "a sequence that is cut"),
    )
    for name, (text, what) in several("pravega/frame/51", names):
        payload = bytes(7) + b"\5" + len(text).to_bytes(2, "big") + text + bytes(2)
        yield case(
            name,
            MUST,
            f"A name with {what} ends the connection, with no reply.",
            "protocols/pravega.md §1.3",
            hello(),
            raw(framed(_INFO, payload), f"GetStreamSegmentInfo of the name {text!r}"),
            expect_close(),
        )


def _odd_names() -> Iterator[Case]:
    """Names in other forms that are read all the same, and written in the one form."""
    names = (
        (b"a/\xed\xa0\xbd\xed\xb8\x80/0.#epoch.0", "a/\U0001f600/0.#epoch.0", "two surrogates of three bytes"),
        (b"a/\0/0.#epoch.0", "a/\0/0.#epoch.0", "a zero byte"),
        (b"a/\xc0\x80/0.#epoch.0", "a/\0/0.#epoch.0", "a zero of two bytes"),
    )
    for name, (text, meant, what) in several("pravega/frame/54", names):
        payload = bytes(7) + b"\5" + len(text).to_bytes(2, "big") + text + bytes(2)
        yield case(
            name,
            MUST,
            f"A name with {what} is read, and comes back in modified UTF-8.",
            "protocols/pravega.md §1.3",
            raw(framed(_INFO, payload), f"GetStreamSegmentInfo of the name {text!r}"),
            expect("NoSuchSegment", request_id=5, segment=meant, offset=-1),
        )


CASES: tuple[Case, ...] = (
    *_cut_fields(),
    *_bad_names(),
    *_odd_names(),
    case(
        "pravega/frame/71",
        MUST,
        "Bytes after the last field of a request are skipped, and the next frame is found.",
        "protocols/pravega.md §1.1",
        filled(),
        send(
            "ReadSegment",
            change=longer(b"\1\2\3"),
            segment=SEGMENT,
            offset=0,
            suggested_length=100,
            request_id=rid(6),
        ),
        expect_any(segment_read(0, CONTENT, at_tail=True, request_id=6)),
        still_open(),
    ),
    case(
        "pravega/frame/72",
        MUST,
        "Bytes after the last field of Hello are skipped.",
        "protocols/pravega.md §1.1",
        send("Hello", change=longer(bytes(4)), high_version=16, low_version=5),
        expect("Hello", high_version=ANY, low_version=5),
        still_open(),
    ),
    case(
        "pravega/frame/73",
        MUST,
        "A request id that is missing at the end of an older request is -1.",
        "protocols/pravega.md §1.4",
        filled(),
        send("ReadSegment", change=shorter(8), segment=SEGMENT, offset=0, suggested_length=100, request_id=rid(6)),
        expect_any(segment_read(0, CONTENT, at_tail=True, request_id=NO_REQUEST_ID)),
    ),
    case(
        "pravega/frame/74",
        MUST,
        "An incomplete optional field counts as absent: the request has its default.",
        "protocols/pravega.md §1.4",
        filled(),
        send("ReadSegment", change=shorter(4), segment=SEGMENT, offset=0, suggested_length=100, request_id=rid(6)),
        expect_any(segment_read(0, CONTENT, at_tail=True, request_id=NO_REQUEST_ID)),
        reads(0, CONTENT, request_id=7),
    ),
)
