"""Cases of framing (protocols/pravega.md §1): lengths, types, cut frames."""

from collections.abc import Iterator

from wiretool.conformance.case import (
    CLOSED,
    MUST,
    OBSERVED,
    SHOULD,
    Case,
    Finish,
    Steps,
    Wait,
    case,
    expect,
    expect_all,
    expect_any,
    expect_close,
    expect_nothing,
    reply,
    send,
    together,
)
from wiretool.protocols.pravega.conformance.raw_frames import framed, header, raw
from wiretool.protocols.pravega.conformance.steps import (
    CONTENT,
    MISSING,
    SEGMENT,
    ack,
    append,
    ask,
    create,
    event,
    filled,
    hello,
    info,
    no_info,
    numbered,
    open_segment,
    read,
    rid,
    segment_read,
    several,
    still_open,
)

#: The longest payload that a server takes: it counts the header as well.
PAYLOAD_BYTES_MAX = 0xFFFFF7
_KEEP_ALIVE, _INFO, _PADDING = 100, 11, -1
_UNKNOWN = 999


def _unknown_types() -> Iterator[Case]:
    """Types that name no command."""
    types = (
        (_UNKNOWN, "beyond a byte"),
        (-128, "below the lowest code"),
        (0x81, "the last byte of Hello without the others"),
        (72, "a code that was retired"),
        (6, "a code that was never given"),
    )
    for name, (type_id, what) in several("pravega/frame/1", types):
        yield case(
            name,
            MUST,
            f"A frame of an unknown type ({what}) ends the connection, with no reply.",
            "protocols/pravega.md §1.1",
            hello(),
            raw(framed(type_id, bytes(3) + b"\x10" + bytes(3) + b"\5"), f"a frame of type {type_id}"),
            expect_close(),
        )


def _misplaced() -> Iterator[Case]:
    """Frames that a client must not send to the main port."""
    frames: tuple[tuple[str, Steps], ...] = (
        ("PartialEvent outside a block", send("PartialEvent", data=b"data".hex())),
        ("Event outside a block", send("Event", data=b"data".hex())),
        (
            "DataAppended, which is a reply,",
            send("DataAppended", writer_id="11111111-2222-3333-4444-000000000001", event_number=1),
        ),
        ("SegmentCreated, which is a reply,", send("SegmentCreated", request_id=rid(1), segment=SEGMENT)),
        ("FlushToStorage, which is for the admin port,", send("FlushToStorage", container_id=0, request_id=rid(1))),
        (
            "ListStorageChunks, which is for the admin port,",
            send("ListStorageChunks", segment=SEGMENT, request_id=rid(1)),
        ),
    )
    for name, (what, sent) in several("pravega/frame/21", frames):
        yield case(
            name,
            MUST,
            f"{what} ends the connection, with no reply.",
            "protocols/pravega.md §3.6",
            hello(),
            sent,
            expect_close(),
        )


def _too_long() -> Iterator[Case]:
    """Lengths beyond what a server takes."""
    lengths = (
        (PAYLOAD_BYTES_MAX + 1, "one byte beyond the longest"),
        (0x80000000, "with the highest bit set"),
        (0xFFFFFFFF, "with all bits set"),
    )
    for name, (length, what) in several("pravega/frame/31", lengths):
        yield case(
            name,
            MUST,
            f"A length {what} ends the connection after the header; the server does not wait for the payload.",
            "protocols/pravega.md §1.1",
            hello(),
            raw(header(_KEEP_ALIVE, length), f"a header with the length 0x{length:08x}"),
            expect_close(),
        )


def _in_pieces() -> Iterator[Case]:
    """Frames that do not come in one piece."""
    whole = framed(_KEEP_ALIVE)
    pieces = (
        ("inside its type", (whole[:3], whole[3:])),
        ("between its type and its length", (whole[:4], whole[4:])),
        ("at every byte", tuple(whole[at : at + 1] for at in range(len(whole)))),
    )
    for name, (what, parts) in several("pravega/frame/61", pieces):
        yield case(
            name,
            MUST,
            f"A frame that is cut {what} is served when its last byte arrives, and not before.",
            "protocols/pravega.md §1.1",
            hello(),
            *((raw(part, "a piece of KeepAlive"), Wait(0.02)) for part in parts[:-1]),
            expect_nothing(seconds=0.1),
            raw(parts[-1], "the last piece"),
            expect("KeepAlive"),
        )


CASES: tuple[Case, ...] = (
    *_unknown_types(),
    case(
        "pravega/frame/6",
        SHOULD,
        "A command of a later wire version than the server's is an unknown type to it.",
        "protocols/pravega.md §2, §4.1",
        hello(),
        ask(
            1, "LocateOffset", reply(CLOSED), reply("NoSuchSegment", segment=MISSING), segment=MISSING, target_offset=0
        ),
    ),
    case(
        "pravega/frame/7",
        OBSERVED,
        "The replies to good frames that arrive together with a broken one after them are lost with the connection.",
        "protocols/pravega.md §1.1; captures/pravega-server frame_good_then_unknown",
        together(
            send("Hello", high_version=16, low_version=5),
            send("KeepAlive"),
            raw(framed(_UNKNOWN, bytes(4)), "a frame of type 999"),
        ),
        expect_close(),
    ),
    case(
        "pravega/frame/8",
        OBSERVED,
        "A request that arrives together with a broken frame after it has no reply.",
        "protocols/pravega.md §1.1; captures/pravega-server frame_info_then_unknown",
        create(),
        together(
            send("GetStreamSegmentInfo", request_id=rid(5), segment_name=SEGMENT),
            raw(framed(_UNKNOWN, bytes(4)), "a frame of type 999"),
        ),
        expect_close(),
    ),
    case(
        "pravega/frame/9",
        SHOULD,
        "A good append that arrives together with a broken frame after it is stored.",
        "protocols/pravega.md §1.1",
        open_segment(),
        together(append(), raw(framed(_UNKNOWN, bytes(4)), "a frame of type 999")),
        expect_any(ack(len(event(b"event"))), reply(CLOSED)),
        info(len(event(b"event")), on="b"),
    ),
    case(
        "pravega/frame/10",
        MUST,
        "A broken frame does not undo requests that were answered before it.",
        "protocols/pravega.md §1.1",
        hello(),
        still_open(),
        no_info(MISSING),
        raw(framed(_UNKNOWN), "a frame of type 999"),
        expect_close(),
    ),
    case(
        "pravega/frame/11",
        MUST,
        "A broken frame ends its own connection only.",
        "protocols/pravega.md §1.1",
        hello(),
        hello(on="b"),
        raw(framed(_UNKNOWN), "a frame of type 999"),
        expect_close(),
        still_open(on="b"),
    ),
    case(
        "pravega/frame/12",
        MUST,
        "A header with the maximum length is valid: the server waits for the payload.",
        "protocols/pravega.md §1.1",
        hello(),
        raw(header(_PADDING, PAYLOAD_BYTES_MAX), "a header of the longest frame"),
        expect_nothing(seconds=1.0),
    ),
    case(
        "pravega/frame/13",
        MUST,
        "A frame of the maximum length is served, as is the next frame.",
        "protocols/pravega.md §1.1",
        hello(),
        together(send("Padding", length=PAYLOAD_BYTES_MAX), send("KeepAlive")),
        expect("KeepAlive"),
    ),
    case(
        "pravega/frame/14",
        MUST,
        "A frame that is too long ends the connection although a good one arrives with it.",
        "protocols/pravega.md §1.1",
        hello(),
        together(raw(header(_KEEP_ALIVE, 0xFFFFFF + 1), "a header with the length 0x01000000"), send("KeepAlive")),
        expect_close(),
    ),
    case(
        "pravega/frame/15",
        MUST,
        "Bytes of another protocol end the connection.",
        "protocols/pravega.md §1.1",
        raw(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", "a request of HTTP/1.1"),
        expect_close(),
    ),
    *_misplaced(),
    *_too_long(),
    case(
        "pravega/frame/34",
        MUST,
        "Padding outside a block is dropped, with a payload of no bytes too.",
        "protocols/pravega.md §2, §3.4 (D2)",
        together(send("Padding", length=0), send("KeepAlive")),
        expect("KeepAlive"),
    ),
    case(
        "pravega/frame/35",
        MUST,
        "The contents of padding are ignored.",
        "protocols/pravega.md §2.1",
        together(raw(framed(_PADDING, b"\1\2\3garbage"), "Padding that is not zero"), send("KeepAlive")),
        expect("KeepAlive"),
    ),
    case(
        "pravega/frame/36",
        MUST,
        "Requests that arrive together all have a reply, in any order.",
        "protocols/pravega.md §5.2",
        filled(),
        together(
            *(send("GetStreamSegmentInfo", request_id=rid(number), segment_name=SEGMENT) for number in (100, 101, 102)),
            read(0, length=100, request_id=103),
            send("KeepAlive"),
        ),
        expect_all(
            *(
                numbered(number, reply("StreamSegmentInfo", segment_name=SEGMENT, write_offset=len(CONTENT)))
                for number in (100, 101, 102)
            ),
            segment_read(0, CONTENT, at_tail=True, request_id=103),
            reply("KeepAlive"),
        ),
    ),
    case(
        "pravega/frame/37",
        MUST,
        "A client that sends half a frame and no more has no reply, and the connection ends.",
        "protocols/pravega.md §1.1; captures/pravega-server frame_half_then_fin",
        raw(framed(_INFO, bytes(33))[:20], "20 bytes of a frame of 41"),
        Finish(),
        expect_close(),
    ),
    case(
        "pravega/frame/38",
        SHOULD,
        "When a client sends no more, the server ends the connection, after the reply that is due or without it.",
        "protocols/pravega.md §1.1; captures/pravega-server frame_request_then_fin",
        send("GetStreamSegmentInfo", request_id=rid(5), segment_name=MISSING),
        Finish(),
        expect_any(numbered(5, reply("NoSuchSegment", segment=MISSING, offset=-1)), reply(CLOSED)),
        expect_close(),
    ),
    *_in_pieces(),
)
