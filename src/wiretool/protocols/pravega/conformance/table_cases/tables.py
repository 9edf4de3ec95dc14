"""Cases of table segments: create, delete, and frames that are odd (protocols/pravega.md §2.1, §5.2)."""

from wiretool.conformance.case import (
    CLOSED,
    MUST,
    NOTHING,
    OBSERVED,
    SHOULD,
    Case,
    case,
    expect_any,
    expect_close,
    reply,
    send,
)
from wiretool.conformance.values import Free
from wiretool.protocols.pravega.conformance.raw_frames import longer, raw_frame, shorter
from wiretool.protocols.pravega.conformance.steps import (
    SEGMENT,
    WRITER,
    append,
    ask,
    filled,
    info,
    rid,
    segment_read,
    still_open,
)
from wiretool.protocols.pravega.conformance.table_cases.steps import (
    ANY_VERSION,
    KEY_BYTES,
    NOT_THERE,
    TABLE,
    create_table,
    get,
    put,
    remove,
    table_info,
)

_TABLE = "protocols/pravega.md §5.2"
_LAYOUT = "protocols/pravega.md §2.1"
K1, K2, K3 = b"k1", b"k2", b"missing"
FIXED = b"12345678"
_UPDATE, _READ = 74, 78

CREATE: tuple[Case, ...] = (
    case(
        "pravega/table/1",
        MUST,
        "A new table is empty; its name is taken, and it is a segment of no bytes.",
        _TABLE,
        create_table(),
        ask(2, "CreateTableSegment", reply("SegmentAlreadyExists", segment=TABLE), segment=TABLE),
        table_info(0, 0),
        info(0, TABLE),
    ),
    case(
        "pravega/table/2",
        SHOULD,
        "A key length above 256 ends the connection.",
        _TABLE,
        send("CreateTableSegment", request_id=rid(1), segment=TABLE, key_length=257),
        expect_close(),
    ),
    case(
        "pravega/table/3",
        MUST,
        "Keys of 256 bytes are the longest that can be fixed.",
        _TABLE,
        create_table(key_length=256),
        table_info(0, 0, key_length=256),
    ),
    case(
        "pravega/table/4",
        MUST,
        "The old flag for sorted tables is ignored.",
        f"{_TABLE}, §2 (CREATE_TABLE_SEGMENT)",
        ask(
            1,
            "CreateTableSegment",
            reply("SegmentCreated", segment=TABLE),
            segment=TABLE,
            sorted_deprecated=True,
            key_length=0,
        ),
        table_info(0, 0),
    ),
    case(
        "pravega/table/5",
        MUST,
        "CreateTableSegment of the oldest layout makes a table of keys of any length.",
        "protocols/pravega.md §1.4",
        send("CreateTableSegment", change=shorter(13), request_id=rid(1), segment=TABLE),
        expect_any(reply("SegmentCreated", request_id=rid(1), segment=TABLE)),
        table_info(0, 0),
    ),
    case(
        "pravega/table/6",
        MUST,
        "A segment cannot have the name of a table, nor a table that of a segment.",
        _TABLE,
        create_table(),
        ask(
            2,
            "CreateSegment",
            reply("SegmentAlreadyExists", segment=TABLE),
            segment=TABLE,
            target_rate=0,
            scale_type=0,
        ),
        filled(),
        ask(3, "CreateTableSegment", reply("SegmentAlreadyExists", segment=SEGMENT), segment=SEGMENT),
    ),
    case(
        "pravega/table/7",
        MUST,
        "A table that must be empty is deleted where it is, and kept where it is not.",
        _TABLE,
        create_table(),
        put(10, [(K1, NOT_THERE, b"v1")], [0]),
        ask(2, "DeleteTableSegment", reply("TableSegmentNotEmpty", segment=TABLE), segment=TABLE, must_be_empty=True),
        get(12, [(K1, 0, b"v1")]),
        remove(11, [(K1, 0)]),
        ask(4, "DeleteTableSegment", reply("SegmentDeleted", segment=TABLE), segment=TABLE, must_be_empty=True),
        ask(5, "GetTableSegmentInfo", reply("NoSuchSegment", segment=TABLE), segment_name=TABLE),
    ),
    case(
        "pravega/table/8",
        MUST,
        "A table is deleted with its entries where it need not be empty.",
        _TABLE,
        create_table(),
        put(10, [(K1, NOT_THERE, b"v1")], [0]),
        ask(2, "DeleteTableSegment", reply("SegmentDeleted", segment=TABLE), segment=TABLE, must_be_empty=False),
        ask(5, "ReadTable", reply("NoSuchSegment", segment=TABLE), segment=TABLE, keys=[{"data": K1.hex()}]),
    ),
    case(
        "pravega/table/9",
        SHOULD,
        "A table of fixed keys cannot be deleted on the condition that it is empty.",
        f"{_TABLE}; captures/pravega-server table_delete_empty",
        create_table(key_length=KEY_BYTES),
        ask(
            4,
            "DeleteTableSegment",
            reply("OperationUnsupported", operation_name="deleteTableSegment"),
            segment=TABLE,
            must_be_empty=True,
        ),
    ),
)

_KEY = b"\0\0\0\x0d\0\0\0\1k" + (ANY_VERSION % 2**64).to_bytes(8, "big")

ODD: tuple[Case, ...] = (
    case(
        "pravega/table/41",
        MUST,
        "An empty key with a version after it, as some clients write it, ends the connection.",
        f"{_LAYOUT}; captures/pravega-server table_empty_key_rust",
        create_table(),
        raw_frame(
            _UPDATE,
            bytes(7) + b"\x0a",
            TABLE,
            bytes(2),
            b"\0\0\0\1" + b"\0\0\0\x0c" + bytes(4) + b"\xff" * 8 + b"\0\0\0\5" + b"\0\0\0\1v" + b"\xff" * 8,
            words="a batch of one empty key with a version",
        ),
        expect_close(),
    ),
    case(
        "pravega/table/42",
        MUST,
        "A negative number of keys to read ends the connection.",
        "protocols/pravega.md §1.3",
        create_table(),
        raw_frame(_READ, bytes(7) + b"\x0a", TABLE, bytes(2), b"\xff" * 4, words="ReadTable with the count -1"),
        expect_close(),
    ),
    case(
        "pravega/table/43",
        MUST,
        "A number of keys that the frame does not hold ends the connection.",
        "protocols/pravega.md §1.3",
        create_table(),
        raw_frame(_READ, bytes(7) + b"\x0a", TABLE, bytes(2), b"\0\0\0\2" + _KEY, words="ReadTable of 2 keys with one"),
        expect_close(),
    ),
    case(
        "pravega/table/44",
        MUST,
        "A key whose size is more than the frame has left ends the connection.",
        f"{_LAYOUT}; vectors/pravega.json table_key_payload_size_too_big",
        create_table(),
        raw_frame(
            _READ,
            bytes(7) + b"\x0a",
            TABLE,
            bytes(2),
            b"\0\0\0\1" + (999).to_bytes(4, "big") + _KEY[4:],
            words="ReadTable of a key of 999 bytes that ends early",
        ),
        expect_close(),
    ),
    case(
        "pravega/table/45",
        MUST,
        "A huge number of keys in a small frame ends its connection, and the server goes on.",
        "protocols/pravega.md §1.3; captures/pravega-server zz_huge_count",
        raw_frame(
            _READ, bytes(7) + b"\x0a", TABLE, bytes(2), b"\x7f\xff\xff\xff", words="ReadTable with the count 2^31 - 1"
        ),
        expect_close(),
        still_open(on="b"),
        variant="expendable",
    ),
    case(
        "pravega/table/46",
        SHOULD,
        "A table is read as a segment too, as it is stored.",
        f"{_TABLE}; captures/pravega-server table_read_segment",
        create_table(),
        put(10, [(b"k", NOT_THERE, b"v")], [0]),
        send("ReadSegment", segment=TABLE, offset=0, suggested_length=1000, request_id=rid(50)),
        expect_any(
            segment_read(
                0,
                bytes(4) + b"\1" + bytes(3) + b"\1" + b"\x80" + bytes(7) + b"kv",
                at_tail=True,
                segment=TABLE,
            )
        ),
        expect_any(reply(NOTHING), reply(CLOSED), within_s=0.1),  # a real store closes the connection afterwards
    ),
    case(
        "pravega/table/47",
        OBSERVED,
        "A writer of a table is refused; servers that set one up take its append.",
        f"{_TABLE}; captures/pravega-server zz_append_to_table",
        create_table(),
        ask(
            7,
            "SetupAppend",
            reply("OperationUnsupported"),
            reply("AppendSetup", segment=TABLE, writer_id=WRITER),
            writer_id=WRITER,
            segment=TABLE,
        ),
        append(b"event-1", number=1, request_id=8),
        expect_any(reply(CLOSED), reply("DataAppended", request_id=rid(8), event_number=1)),
        variant="expendable",
    ),
    case(
        "pravega/table/48",
        MUST,
        "Bytes after the last field of a table request are skipped.",
        "protocols/pravega.md §1.1",
        create_table(),
        send(
            "ReadTable",
            change=longer(b"\1\2\3"),
            request_id=rid(12),
            segment=TABLE,
            keys=[{"data": K1.hex(), "key_version": Free(ANY_VERSION)}],
        ),
        expect_any(reply("TableRead", request_id=rid(12), segment=TABLE)),
        still_open(),
    ),
)
CASES = (*CREATE, *ODD)
