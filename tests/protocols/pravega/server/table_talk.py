"""Requests to tables, short to write, and what is answered: what the tests of tables say."""

from typing import TypeVar

import pytest

from wiretool import limits
from wiretool.codec.message import Message
from wiretool.errors import ProtocolViolation
from wiretool.protocols.pravega import messages, segments, tables
from wiretool.protocols.pravega.server.tables import Tables
from wiretool.protocols.pravega.structures import TableEntries, TableEntry, TableIteratorArgs, TableKey, TableValue

TABLE, PLAIN = "scope/table/0.#epoch.0", "scope/stream/0.#epoch.0"
MIB = 1024 * 1024
T = TypeVar("T", bound=Message)


def put(*entries: tuple[bytes, bytes, int], name: str = TABLE, number: int = 1, offset: int = -1) -> Message:
    """A request to put key, value and version."""
    return tables.UpdateTableEntries(
        request_id=number,
        segment=name,
        table_entries=TableEntries(
            entries=tuple(
                TableEntry(key=TableKey(data=key, key_version=version), value=TableValue(data=value))
                for key, value, version in entries
            )
        ),
        table_segment_offset=offset,
    )


def remove(*keys: tuple[bytes, int], offset: int = -1) -> Message:
    """A request to remove keys, each of a version."""
    wanted = tuple(TableKey(data=key, key_version=version) for key, version in keys)
    return tables.RemoveTableKeys(request_id=1, segment=TABLE, keys=wanted, table_segment_offset=offset)


def read(*keys: bytes) -> Message:
    """A request for the values of keys."""
    return tables.ReadTable(request_id=1, segment=TABLE, keys=tuple(TableKey(data=key) for key in keys))


def read_keys(count: int, *, token: bytes = b"", first: bytes = b"", last: bytes = b"") -> Message:
    """A request for a page of keys."""
    args = TableIteratorArgs(continuation_token=token, from_key=first, to_key=last)
    return tables.ReadTableKeys(request_id=1, segment=TABLE, suggested_key_count=count, args=args)


def read_delta(position: int, count: int = 1_000) -> Message:
    """A request for what has changed."""
    return tables.ReadTableEntriesDelta(
        request_id=1, segment=TABLE, from_position=position, suggested_entry_count=count
    )


def made(key_length: int = 0, *, retain_bytes: int = limits.MOCK_RETAIN_BYTES) -> Tables:
    """Tables with one table among them, and a plain segment beside it."""
    store = Tables({PLAIN}.__contains__, retain_bytes=retain_bytes)
    ask(store, tables.CreateTableSegment(request_id=1, segment=TABLE, key_length=key_length), segments.SegmentCreated)
    return store


def ask(store: Tables, request: Message, wanted: type[T], now_ns: int = 0) -> T:
    """The reply, which must be of this class."""
    reply = store.answer(request, now_ns)
    assert isinstance(reply, wanted), reply
    return reply


def info(store: Tables) -> tables.TableSegmentInfo:
    """What the table says of itself."""
    return ask(store, tables.GetTableSegmentInfo(request_id=1, segment_name=TABLE), tables.TableSegmentInfo)


def values(store: Tables, *keys: bytes) -> list[tuple[int, bytes]]:
    """The version and value of each key."""
    reply = ask(store, read(*keys), tables.TableRead)
    return [(entry.key.key_version, entry.value.data) for entry in reply.entries.entries]


def is_closed_by(store: Tables, request: Message, kind: str) -> bool:
    """Whether the connection ends for this reason."""
    with pytest.raises(ProtocolViolation) as caught:
        store.answer(request, 0)
    return caught.value.kind == kind


def raw(store: Tables, offset: int, size: int) -> messages.SegmentRead:
    """A piece of the log."""
    return ask(store, messages.ReadSegment(segment=TABLE, offset=offset, suggested_length=size), messages.SegmentRead)


def every_key(store: Tables, count: int) -> list[bytes]:
    """The keys of all pages, which are no larger than asked."""
    found: list[bytes] = []
    token = b""
    while True:
        page = ask(store, read_keys(count, token=token), tables.TableKeysRead)
        if not page.keys:
            assert page.continuation_token == b""
            return found
        assert len(page.keys) <= count
        found += [key.data for key in page.keys]
        token = page.continuation_token
