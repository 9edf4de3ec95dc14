"""Cases of the admin port (protocols/pravega.md §1.2, §5.2)."""

from typing import Any

from wiretool.conformance.case import (
    CLOSED,
    MUST,
    NOTHING,
    SHOULD,
    Case,
    Connect,
    Steps,
    case,
    expect_any,
    expect_close,
    reply,
    send,
)
from wiretool.conformance.values import Check
from wiretool.protocols.pravega.conformance.steps import (
    CONTENT,
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
_CONNECT = Connect(endpoint="admin")
_FLUSH = "protocols/pravega.md §5.2 (FLUSH_TO_STORAGE)"
_END = len(CONTENT)
_CHUNKS = "protocols/pravega.md §5.2 (LIST_STORAGE_CHUNKS)"


def _is_chunk_list(chunks: Any, _: object) -> bool:
    """Return whether chunks follow each other and have the length of the segment, or there are none.

    A server of 0.13.0 answers before it has looked: its list may be empty, or have chunks that are not yet in storage.
    """
    if not isinstance(chunks, list):
        return False
    end = 0
    for chunk in chunks:
        length = chunk["length_in_metadata"] if chunk["start_offset"] == end else -1
        if length < 0 or chunk["length_in_storage"] not in ((length,) if chunk["exists_in_storage"] else (0, length)):
            return False
        end += length
    return not chunks or end == _END


_CHUNK_LIST = Check(f"no chunks, or successive ones with {_END} bytes in all", _is_chunk_list)


def _flush_all() -> Steps:
    """Flush four containers, of which a server of this setup has no more: one of them has the segment of the case."""
    return tuple(
        ask(container + 3, "FlushToStorage", reply("FlushedToStorage"), container_id=container)
        for container in range(4)
    )


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
        _flush_all(),
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
        "The chunks of a flushed segment are listed, in order and with its length; a server in memory may list none.",
        _CHUNKS + "; captures/pravega-server admin_chunks",
        _CONNECT,
        filled(on="b"),
        _flush_all(),
        ask(9, "ListStorageChunks", reply("StorageChunksListed", chunks=_CHUNK_LIST), segment=SEGMENT),
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
