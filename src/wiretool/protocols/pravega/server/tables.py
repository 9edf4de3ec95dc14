"""The answers to the commands about table segments.

The names of tables and of plain segments are one space: the store asks the tables first, they ask it `is_taken`.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from wiretool import limits
from wiretool.codec.message import Message
from wiretool.protocols.pravega.failures import (
    ErrorMessage,
    NoSuchSegment,
    SegmentAlreadyExists,
    SegmentIsSealed,
    SegmentIsTruncated,
    TableKeyBadVersion,
    TableKeyDoesNotExist,
    TableSegmentNotEmpty,
)
from wiretool.protocols.pravega.messages import ReadSegment, SegmentRead, SetupAppend
from wiretool.protocols.pravega.segments import (
    CreateSegment,
    DeleteSegment,
    GetSegmentAttribute,
    GetStreamSegmentInfo,
    LocateOffset,
    MergeSegments,
    MergeSegmentsBatch,
    SealSegment,
    SegmentCreated,
    SegmentDeleted,
    SegmentSealed,
    StreamSegmentInfo,
    TruncateSegment,
    UpdateSegmentAttribute,
    UpdateSegmentPolicy,
)
from wiretool.protocols.pravega.server.table_replies import (
    bad_size,
    entries_of,
    entry_of,
    id_of,
    illegal,
    page_or_refusal,
    unsupported,
    violation_of,
)
from wiretool.protocols.pravega.server.table_segment import (
    ANY_VERSION,
    HEADER_BYTES,
    NOT_EXISTS,
    Mismatch,
    TableSegment,
)
from wiretool.protocols.pravega.session import SEGMENT_FIELD
from wiretool.protocols.pravega.structures import TableEntries, TableKey, TableValue
from wiretool.protocols.pravega.tables import (
    CreateTableSegment,
    DeleteTableSegment,
    GetTableSegmentInfo,
    ReadTable,
    ReadTableEntries,
    ReadTableEntriesDelta,
    ReadTableKeys,
    RemoveTableKeys,
    TableEntriesDeltaRead,
    TableEntriesRead,
    TableEntriesUpdated,
    TableKeysRead,
    TableKeysRemoved,
    TableRead,
    TableSegmentInfo,
    UpdateTableEntries,
)

#: The code of an ErrorMessage that has no better one.
_UNSPECIFIED = -1
#: A condition on the length of a table that none is.
_ANY_OFFSET = -1
#: What ReadSegment sends at least and at most.
_READ_BYTES_MIN, _READ_BYTES_MAX = 8, 2 * 1024 * 1024
#: Bytes of an entry in a reply beside its key and value.
_ENTRY_BYTES = 24
#: What a reply may have beside its entries: the name of the segment, and some numbers.
_REPLY_ROOM_BYTES = 64 * 1024 + 64
#: What a table takes of memory beside its entries, about.
_TABLE_OVERHEAD_BYTES = 1_000


class Tables:
    """Every table segment of one store.

    `is_taken(name)`: whether a plain segment has the name, so that no table can. `retain_bytes`: what all tables may
    hold. A table cannot lose its oldest entries unnoticed as a stream can, so past it what would add is refused.
    """

    def __init__(self, is_taken: Callable[[str], bool], *, retain_bytes: int = limits.MOCK_RETAIN_BYTES) -> None:
        self._is_taken = is_taken
        self._retain_bytes = retain_bytes
        self._tables: dict[str, TableSegment] = {}
        #: What each takes of memory as of now, and all together.
        self._held: dict[str, int] = {}
        self._held_bytes = 0

    def answer(self, request: Message, now_ns: int) -> Message | None:
        """The reply to a request, None where it is neither a table's own command nor about a table that is here.

        Besides the table commands, it answers what the plain ones ask of a table. So ask it first. The token is not
        checked here. ProtocolViolation: the real server closes the connection with no reply (a table command on a
        plain segment, an iterator token that is none, a key version of -5).
        """
        cls = type(request)
        if isinstance(request, CreateTableSegment):
            return self._create(request, now_ns)
        if cls in _ON_TABLES:
            name = _name(request)
            table = self._tables.get(name)
            if table is None:
                return self._missing(request, name)
            return _ON_TABLES[cls](self, table, request, now_ns)
        if cls in _ON_PLAIN and (table := self._tables.get(_name(request))) is not None:
            return _ON_PLAIN[cls](self, table, request, now_ns)
        return self._refuse(request)

    @property
    def held_bytes(self) -> int:
        """What all tables take of memory now, about."""
        return self._held_bytes

    # -- tables that come and go -----------------------------------------------------------------------------------

    def _create(self, request: CreateTableSegment, now_ns: int) -> Message:
        name, key_length = request.segment, max(request.key_length, 0)
        if key_length > limits.PRAVEGA_TABLE_KEY_LENGTH_MAX:
            raise violation_of(request, "bad-key-length", f"keys of {key_length} bytes")
        if not name:
            raise violation_of(request, "bad-segment-name", "an empty name")
        if name in self._tables or self._is_taken(name):
            return SegmentAlreadyExists(request_id=request.request_id, segment=name)
        if not self._has_room(_TABLE_OVERHEAD_BYTES):
            return self._full(request, name)
        table = self._tables[name] = TableSegment(name, key_length, now_ns)
        self._count(table)
        return SegmentCreated(request_id=request.request_id, segment=name)

    def _missing(self, request: Message, name: str) -> Message:
        """There is no such table."""
        if self._is_taken(name):
            raise violation_of(request, "not-a-table", f"{name!r} is not a table segment")
        offset = getattr(request, "table_segment_offset", _ANY_OFFSET)
        return NoSuchSegment(request_id=id_of(request), segment=name, offset=offset)

    def _drop(self, table: TableSegment) -> None:
        del self._tables[table.name]
        self._held_bytes -= self._held.pop(table.name)

    def _count(self, table: TableSegment) -> None:
        """Count what the table takes now."""
        held = _TABLE_OVERHEAD_BYTES + len(table.name) + table.held_bytes
        self._held_bytes += held - self._held.get(table.name, 0)
        self._held[table.name] = held

    def _has_room(self, added: int) -> bool:
        """Whether so many bytes more may be kept, if need be instead of entries that were replaced."""
        if self._held_bytes + added <= self._retain_bytes:
            return True
        for table in self._tables.values():
            if table.has_waste:
                table.compact()
                self._count(table)
        return self._held_bytes + added <= self._retain_bytes

    def _delete(self, table: TableSegment, request: DeleteTableSegment, now_ns: int) -> Message:
        if request.must_be_empty and not table.is_hash:
            return unsupported(request, "deleteTableSegment")
        if request.must_be_empty and table.entry_count:
            return TableSegmentNotEmpty(request_id=request.request_id, segment=table.name, server_stack_trace="")
        self._drop(table)
        return SegmentDeleted(request_id=request.request_id, segment=table.name)

    def _info(self, table: TableSegment, request: GetTableSegmentInfo, now_ns: int) -> Message:
        return TableSegmentInfo(
            request_id=request.request_id,
            segment_name=table.name,
            start_offset=table.start_offset,
            length=table.length,
            entry_count=table.entry_count,
            key_length=table.key_length,
        )

    # -- entries ---------------------------------------------------------------------------------------------------

    def _update(self, table: TableSegment, request: UpdateTableEntries, now_ns: int) -> Message:
        entries = request.table_entries.entries
        keys = [entry.key for entry in entries]
        refusal = self._refusal(table, request, keys, [entry.value for entry in entries])
        if refusal is not None:
            return refusal
        versions = table.put(entries, now_ns)
        self._count(table)
        return TableEntriesUpdated(request_id=request.request_id, updated_versions=versions)

    def _remove(self, table: TableSegment, request: RemoveTableKeys, now_ns: int) -> Message:
        refusal = self._refusal(table, request, request.keys, ())
        if refusal is not None:
            return refusal
        table.remove(request.keys, now_ns)
        self._count(table)
        return TableKeysRemoved(request_id=request.request_id, segment=table.name)

    def _refusal(
        self,
        table: TableSegment,
        request: UpdateTableEntries | RemoveTableKeys,
        keys: Sequence[TableKey],
        values: Sequence[TableValue],
    ) -> Message | None:
        """Why nothing of a batch is done; all is held against the state before it."""
        number, offset = request.request_id, request.table_segment_offset
        bad = next((key.key_version for key in keys if ANY_VERSION < key.key_version < NOT_EXISTS), None)
        if bad is not None:
            raise violation_of(request, "bad-key-version", f"a key version of {bad}")
        if table.is_sealed:
            return SegmentIsSealed(request_id=number, segment=table.name, offset=offset)
        why = bad_size(table, keys, values)
        mismatch = None if why and not table.is_hash else table.mismatch(keys)
        if mismatch is not None:
            return _MISMATCHES[mismatch](request_id=number, segment=table.name, server_stack_trace="")
        if why:
            return illegal(request, table.name, why)
        if offset not in (_ANY_OFFSET, table.length):
            return SegmentIsTruncated(request_id=number, segment=table.name, start_offset=table.length, offset=offset)
        added = sum(HEADER_BYTES + len(key.data) for key in keys) + sum(len(value.data) for value in values)
        if values and not self._has_room(added):
            return self._full(request, table.name)
        return None

    def _full(self, request: Message, name: str) -> Message:
        why = f"the tables hold {self._held_bytes} bytes, no more than {self._retain_bytes} are kept"
        return ErrorMessage(request_id=id_of(request), segment=name, message=why, error_code=_UNSPECIFIED)

    def _read(self, table: TableSegment, request: ReadTable, now_ns: int) -> Message:
        found = [(key.data, table.get(key.data)) for key in request.keys]
        size = sum(_ENTRY_BYTES + len(key) + len(entry.value or b"" if entry else b"") for key, entry in found)
        if size > limits.PRAVEGA_PAYLOAD_BYTES_MAX - _REPLY_ROOM_BYTES:
            raise violation_of(request, "reply-too-large", f"a reply of {size} bytes")
        entries = tuple(entry_of(key, entry) for key, entry in found)
        return TableRead(request_id=request.request_id, segment=table.name, entries=TableEntries(entries=entries))

    def _read_keys(self, table: TableSegment, request: ReadTableKeys, now_ns: int) -> Message:
        page = page_or_refusal(table, request, request.suggested_key_count)
        if isinstance(page, Message):
            return page
        entries, token = page
        keys = tuple(TableKey(data=entry.key, key_version=entry.version) for entry in entries)
        return TableKeysRead(request_id=request.request_id, segment=table.name, keys=keys, continuation_token=token)

    def _read_entries(self, table: TableSegment, request: ReadTableEntries, now_ns: int) -> Message:
        page = page_or_refusal(table, request, request.suggested_entry_count)
        if isinstance(page, Message):
            return page
        entries, token = page
        return TableEntriesRead(
            request_id=request.request_id,
            segment=table.name,
            entries=entries_of(entries),
            continuation_token=token,
        )

    def _read_delta(self, table: TableSegment, request: ReadTableEntriesDelta, now_ns: int) -> Message:
        position, number = request.from_position, request.request_id
        if not table.is_hash:
            return unsupported(request, "readTableEntriesDelta")
        if position > table.length:
            why = f"fromPosition ({position}) can not exceed the length ({table.length}) of the TableSegment."
            return illegal(request, table.name, why)
        delta = table.delta(position, request.suggested_entry_count)
        if delta is None:
            raise violation_of(request, "bad-position", f"no entry begins at {position}")
        return TableEntriesDeltaRead(
            request_id=number,
            segment=table.name,
            entries=entries_of(delta.entries),
            should_clear=delta.should_clear,
            reached_end=delta.reached_end,
            last_position=delta.last_position,
        )

    # -- what plain commands ask of a table --------------------------------------------------------------------------

    def _create_plain(self, table: TableSegment, request: CreateSegment, now_ns: int) -> Message:
        return SegmentAlreadyExists(request_id=request.request_id, segment=table.name)

    def _plain_info(self, table: TableSegment, request: GetStreamSegmentInfo, now_ns: int) -> Message:
        return StreamSegmentInfo(
            request_id=request.request_id,
            segment_name=table.name,
            exists=True,
            is_sealed=table.is_sealed,
            is_deleted=False,
            last_modified=table.modified_ns // 1_000_000,
            write_offset=table.length,
            start_offset=table.start_offset,
        )

    def _plain_seal(self, table: TableSegment, request: SealSegment, now_ns: int) -> Message:
        if table.is_sealed:
            return SegmentIsSealed(request_id=request.request_id, segment=table.name)
        table.seal(now_ns)
        return SegmentSealed(request_id=request.request_id, segment=table.name)

    def _plain_delete(self, table: TableSegment, request: DeleteSegment, now_ns: int) -> Message:
        self._drop(table)
        return SegmentDeleted(request_id=request.request_id, segment=table.name)

    def _plain_read(self, table: TableSegment, request: ReadSegment, now_ns: int) -> Message:
        """The log as it is stored. At its end the answer is empty at once: nobody waits for more of a table."""
        number, offset = request.request_id, request.offset
        if offset < 0 or (table.is_sealed and offset > table.length):
            raise violation_of(request, "bad-offset", f"a read at {offset}")
        if offset < table.start_offset:
            start = table.start_offset
            return SegmentIsTruncated(request_id=number, segment=table.name, start_offset=start, offset=offset)
        size = min(max(request.suggested_length, _READ_BYTES_MIN), _READ_BYTES_MAX)
        data = table.read(offset, size)
        is_at_end = offset + len(data) >= table.length and len(data) < size
        return SegmentRead(
            segment=table.name,
            offset=offset,
            at_tail=is_at_end and not table.is_sealed,
            end_of_segment=is_at_end and table.is_sealed,
            data=data,
            request_id=number,
        )

    def _refuse(self, request: Message) -> Message | None:
        """No to a command on a table that would only break it; None where it is about none."""
        found = _UNSUPPORTED.get(type(request))
        if found is None:
            return None
        operation, names = found
        return unsupported(request, operation) if any(name in self._tables for name in names(request)) else None


def _name(request: Message) -> str:
    """The segment that a request is about."""
    name: str = getattr(request, SEGMENT_FIELD[type(request)])
    return name


_MISMATCHES: Mapping[Mismatch, type[TableKeyBadVersion] | type[TableKeyDoesNotExist]] = {
    Mismatch.BAD_VERSION: TableKeyBadVersion,
    Mismatch.DOES_NOT_EXIST: TableKeyDoesNotExist,
}

_Handler = Callable[[Tables, TableSegment, Any, int], Message]
_ON_TABLES: Mapping[type[Message], _Handler] = {
    DeleteTableSegment: Tables._delete,
    GetTableSegmentInfo: Tables._info,
    UpdateTableEntries: Tables._update,
    RemoveTableKeys: Tables._remove,
    ReadTable: Tables._read,
    ReadTableKeys: Tables._read_keys,
    ReadTableEntries: Tables._read_entries,
    ReadTableEntriesDelta: Tables._read_delta,
}
_ON_PLAIN: Mapping[type[Message], _Handler] = {
    CreateSegment: Tables._create_plain,
    GetStreamSegmentInfo: Tables._plain_info,
    SealSegment: Tables._plain_seal,
    DeleteSegment: Tables._plain_delete,
    ReadSegment: Tables._plain_read,
}
#: What a table does not do -> the operation's name in the store, and the segments that are named.
_UNSUPPORTED: Mapping[type[Message], tuple[str, Callable[[Any], Sequence[str]]]] = {
    SetupAppend: ("setupAppend", lambda request: (request.segment,)),
    TruncateSegment: ("truncateSegment", lambda request: (request.segment,)),
    UpdateSegmentPolicy: ("updateSegmentPolicy", lambda request: (request.segment,)),
    LocateOffset: ("locateOffset", lambda request: (request.segment,)),
    GetSegmentAttribute: ("getSegmentAttribute", lambda request: (request.segment_name,)),
    UpdateSegmentAttribute: ("updateSegmentAttribute", lambda request: (request.segment_name,)),
    MergeSegments: ("mergeSegments", lambda request: (request.target, request.source)),
    MergeSegmentsBatch: (
        "mergeSegmentsBatch",
        lambda request: (request.target_segment_id, *request.source_segment_ids),
    ),
}
