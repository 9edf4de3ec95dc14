"""Cases of the admin port (protocols/pravega.md §1.2, §5.2)."""

from wiretool.conformance.case import (
    CLOSED,
    MUST,
    NOTHING,
    SHOULD,
    Case,
    Connect,
    case,
    expect_any,
    expect_close,
    reply,
    send,
)
from wiretool.protocols.pravega.conformance.steps import (
    MISSING,
    SEGMENT,
    WRITER,
    ask,
    filled,
    hello,
    info,
    rid,
    still_open,
)

_ADMIN = "admin"
_CONNECT = Connect(door="admin")
_FLUSH = "protocols/pravega.md §5.2 (FLUSH_TO_STORAGE)"
_CHUNKS = "protocols/pravega.md §5.2 (LIST_STORAGE_CHUNKS)"

CASES: tuple[Case, ...] = (
    case(
        "pravega/admin/1",
        MUST,
        "The admin port answers Hello and KeepAlive.",
        "protocols/pravega.md §1.2, §5.2; captures/pravega-server admin_hello",
        _CONNECT,
        hello(),
        still_open(),
        variant=_ADMIN,
    ),
    case(
        "pravega/admin/2",
        MUST,
        "Each of four containers is flushed.",
        _FLUSH + "; captures/pravega-server admin_chunks",
        _CONNECT,
        *(
            ask(container + 3, "FlushToStorage", reply("FlushedToStorage"), container_id=container)
            for container in range(4)
        ),
        variant=_ADMIN,
    ),
    case(
        "pravega/admin/3",
        SHOULD,
        "A missing container ends the connection.",
        _FLUSH,
        _CONNECT,
        send("FlushToStorage", request_id=rid(3), container_id=99),
        expect_close(),
        variant=_ADMIN,
    ),
    case(
        "pravega/admin/4",
        MUST,
        "The chunks of a segment are listed; where all is in memory there are none.",
        _CHUNKS + "; captures/pravega-server admin_chunks",
        _CONNECT,
        filled(on="b"),
        ask(9, "ListStorageChunks", reply("StorageChunksListed", chunks=[]), segment=SEGMENT),
        variant=_ADMIN,
    ),
    case(
        "pravega/admin/5",
        SHOULD,
        "The chunks of a missing segment end the connection.",
        _CHUNKS + "; captures/pravega-server admin_chunks",
        _CONNECT,
        send("ListStorageChunks", request_id=rid(10), segment=MISSING),
        expect_close(),
        variant=_ADMIN,
    ),
    case(
        "pravega/admin/6",
        SHOULD,
        "No writer is set up on the admin port.",
        "protocols/pravega.md §1.2",
        _CONNECT,
        filled(on="b"),
        send("SetupAppend", request_id=rid(3), writer_id=WRITER, segment=SEGMENT),
        expect_any(reply(CLOSED), reply(NOTHING), within_s=0.5),
        info(48, on="b"),
        variant=_ADMIN,
    ),
)
