"""Cases of append blocks (protocols/pravega.md §3.2 to §3.4): padding, cut events, and what ends a connection."""

from collections.abc import Iterator

from wiretool.conformance.case import (
    MUST,
    SHOULD,
    Case,
    Reset,
    SendBytes,
    Steps,
    case,
    expect_all,
    expect_close,
    expect_nothing,
    reply,
    send,
    together,
)
from wiretool.conformance.values import ANY
from wiretool.protocols.pravega.conformance.raw_frames import framed, raw_frame
from wiretool.protocols.pravega.conformance.steps import (
    OTHER,
    SECOND_WRITER,
    SEGMENT,
    WRITER,
    ack,
    acked,
    append,
    block,
    create,
    end_block,
    event,
    hello,
    info,
    numbered,
    open_segment,
    reads,
    rid,
    set_up,
    several,
)

_DECODER = "protocols/pravega.md §3.4"
_LAYOUT = "protocols/pravega.md §3.2"
_BLOCK, _KEEP_ALIVE, _PADDING, _PARTIAL_EVENT = 3, 100, -1, -2
HELLO, TEN = event(b"hello"), event(b"0123456789")


def padding(count: int) -> bytes:
    """Return padding as it stands in a block."""
    return framed(_PADDING, bytes(count))


def partial(data: bytes) -> bytes:
    """Return the beginning of an event as it stands in a block."""
    return framed(_PARTIAL_EVENT, data)


def _stored() -> Iterator[Case]:
    """Blocks that are stored, and as what."""
    both = HELLO + TEN
    blocks: tuple[tuple[str, str, bytes, bytes, int, bytes], ...] = (
        ("Padding at the end of a block is not stored.", _LAYOUT, HELLO + padding(40), b"", 1, HELLO),
        ("Empty padding is valid.", _LAYOUT, HELLO + padding(0), b"", 1, HELLO),
        (
            "An event that a block splits is assembled from its two parts.",
            f"{_DECODER} (D17)",
            HELLO + partial(TEN[:11]),
            TEN[11:],
            2,
            both,
        ),
        (
            "A block may cut an event inside its header.",
            _LAYOUT,
            HELLO + partial(TEN[:3]),
            TEN[3:],
            2,
            both,
        ),
        (
            "The part of an event in a block may be the whole event.",
            f"{_DECODER} (D17)",
            HELLO + partial(TEN),
            b"",
            2,
            both,
        ),
        (
            "The part of an event in a block may be empty.",
            f"{_DECODER} (D17)",
            HELLO + partial(b""),
            TEN,
            2,
            both,
        ),
        (
            "The data of the AppendBlockEnd of a full block is discarded.",
            f"{_DECODER} (D18)",
            HELLO,
            event(b"LOST"),
            2,
            HELLO,
        ),
        ("A block of several events without a tail is stored whole.", _LAYOUT, HELLO + TEN, b"", 2, both),
        (
            "Bytes after the tail item of a block are ignored.",
            f"{_DECODER}",
            HELLO + padding(4) + b"\1\2\3",
            b"",
            1,
            HELLO,
        ),
    )
    for name, (requirement, source, data, rest, events, stored) in several("pravega/block/1", blocks):
        size = len(HELLO + TEN) if data == both else len(HELLO)
        yield case(
            name,
            MUST,
            requirement,
            source,
            open_segment(),
            together(block(data), end_block(size, rest, number=events, events=events)),
            acked(len(stored), number=events),
            reads(0, stored),
        )


def _refused() -> Iterator[Case]:
    """Blocks that end the connection."""
    blocks: tuple[tuple[str, str, bytes, Steps], ...] = (
        ("Data after padding", "D16", HELLO + padding(8), end_block(13, event(b"x"), number=2, events=2)),
        ("A size of whole events above that of the block", "D10", HELLO, end_block(100, number=1)),
        ("A size of whole events one byte above that of the block", "D10", HELLO, end_block(14, number=1)),
        ("A negative size of whole events", "D10", HELLO, end_block(-1, number=1)),
        ("A tail that is shorter than a header", "D11", HELLO + bytes(4), end_block(13, number=1)),
        ("A tail that is longer than the block", "D12", HELLO + framed(_PADDING)[:4] + b"\0\0\0\x63", end_block(13)),
        ("A tail of an unknown type", "D13", HELLO + framed(6), end_block(13, number=1)),
        ("An event as the tail", "D14", HELLO + event(b"x"), end_block(13, number=1)),
        ("Another command as the tail", "D15", HELLO + framed(_KEEP_ALIVE) + bytes(1), end_block(13, number=1)),
        ("The end of another writer", "D9", HELLO, end_block(13, number=1, writer=SECOND_WRITER)),
        ("A second block before the end of the first", "D1", HELLO, block(HELLO)),
        ("Padding by itself before the end of a block", "D1", HELLO, send("Padding", length=8)),
        (
            "SetupAppend before the end of a block",
            "D1",
            HELLO,
            send("SetupAppend", request_id=rid(9), writer_id=WRITER, segment=SEGMENT),
        ),
        (
            "A conditional append before the end of a block",
            "D1",
            HELLO,
            send(
                "ConditionalAppend",
                writer_id=WRITER,
                event_number=1,
                expected_offset=0,
                event={"data": b"cond".hex()},
                request_id=rid(9),
            ),
        ),
        (
            "A conditional block before the end of a block",
            "D1",
            HELLO,
            send(
                "ConditionalBlockEnd",
                writer_id=WRITER,
                event_number=1,
                expected_offset=0,
                data=b"cond".hex(),
                request_id=rid(9),
            ),
        ),
        ("No events in a block", "D7", HELLO, end_block(13, number=1, events=0)),
    )
    for name, (what, rule, data, then) in several("pravega/block/11", blocks):
        yield case(
            name,
            MUST,
            f"{what} ends the connection, and nothing of the block is stored.",
            f"{_DECODER} ({rule})",
            open_segment(),
            set_up(writer=SECOND_WRITER, request_id=8),
            block(data),
            then,
            expect_close(),
            info(0, on="b"),
        )


def _backwards(bad: SendBytes) -> Steps:
    return (hello(), create(), set_up(), bad, expect_close())


CASES: tuple[Case, ...] = (
    *_stored(),
    *_refused(),
    case(
        "pravega/block/31",
        MUST,
        "A block of a writer that is not set up ends the connection.",
        f"{_DECODER} (D4)",
        hello(),
        block(event(b"x")),
        expect_close(),
    ),
    case(
        "pravega/block/32",
        MUST,
        "A block that is shorter than a writer's id ends the connection.",
        "protocols/pravega.md §1.3",
        _backwards(raw_frame(_BLOCK, bytes(8), words="AppendBlock of 8 bytes")),
    ),
    case(
        "pravega/block/33",
        MUST,
        "A lower number at the end of a block ends the connection, and nothing of it is stored.",
        f"{_DECODER} (D8)",
        open_segment(),
        append(number=5),
        acked(13, number=5),
        block(HELLO),
        end_block(13, number=4),
        expect_close(),
        info(13, on="b"),
    ),
    case(
        "pravega/block/34",
        MUST,
        "A request while a block is open is answered, and does not end the block.",
        f"{_DECODER}; captures/pravega-server append_block_info_inside",
        open_segment(),
        together(
            block(HELLO),
            send("GetStreamSegmentInfo", request_id=rid(5), segment_name=SEGMENT),
            end_block(13, number=1),
        ),
        expect_all(
            numbered(5, reply("StreamSegmentInfo", segment_name=SEGMENT, write_offset=ANY)),
            ack(13, number=1),
        ),
    ),
    case(
        "pravega/block/35",
        MUST,
        "The events of an open block are not stored, also not when its connection ends.",
        f"{_DECODER}; captures/pravega-server append_block_abandoned",
        open_segment(),
        block(HELLO),
        expect_nothing(seconds=0.3),
        info(0, request_id=989, on="b"),
        Reset(),
        info(0, request_id=990, on="b"),
        set_up(request_id=991, on="b"),
    ),
    case(
        "pravega/block/36",
        MUST,
        "Blocks of two writers follow one another on one connection.",
        "protocols/pravega.md §3.5",
        hello(),
        create(),
        create(OTHER, request_id=4),
        set_up(),
        set_up(OTHER, SECOND_WRITER, request_id=8),
        together(
            block(HELLO),
            end_block(13, number=1),
            block(TEN, writer=SECOND_WRITER),
            end_block(18, number=1, writer=SECOND_WRITER, request_id=8),
        ),
        expect_all(ack(13, number=1), ack(18, number=1, writer=SECOND_WRITER, request_id=8)),
        reads(0, HELLO),
        reads(0, TEN, segment=OTHER, request_id=51),
    ),
    case(
        "pravega/block/37",
        MUST,
        "After the end of a block, an append without a block is accepted.",
        _DECODER,
        open_segment(),
        block(HELLO),
        end_block(13, number=1),
        acked(13, number=1),
        append(b"lone", number=2),
        acked(25, number=2, previous=1),
        block(TEN),
        end_block(18, number=3),
        acked(43, number=3, previous=2),
    ),
    case(
        "pravega/block/38",
        SHOULD,
        "A block of padding alone is acknowledged with the event number of its end, and nothing is stored.",
        "protocols/pravega.md §3.3 (9)",
        open_segment(),
        block(padding(4)),
        end_block(0, number=1),
        acked(0, number=1),
        info(0),
    ),
)
