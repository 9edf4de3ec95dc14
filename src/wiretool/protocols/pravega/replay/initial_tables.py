"""What a recording takes for granted of table segments, in the same way as of plain ones (see `initial_state.py`)."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from wiretool.codec.message import Message
from wiretool.protocols.pravega import failures, segments, tables
from wiretool.protocols.pravega.replay.calls import Calls
from wiretool.protocols.pravega.replay.state import Before, Change, Create, Delete, Held, Past, Put, Remove
from wiretool.protocols.pravega.session import SEGMENT_FIELD
from wiretool.protocols.pravega.structures import NONE_I64, TableEntry, TableKey
from wiretool.records import Record

TABLE_REQUESTS: tuple[type[Message], ...] = (
    tables.GetTableSegmentInfo,
    tables.CreateTableSegment,
    tables.DeleteTableSegment,
    tables.UpdateTableEntries,
    tables.RemoveTableKeys,
    tables.ReadTable,
    tables.ReadTableKeys,
    tables.ReadTableEntries,
    tables.ReadTableEntriesDelta,
)
#: Refusals that tell nothing of segments: the store has others, or the client is not the right one.
MUTE = (failures.WrongHost, failures.AuthTokenCheckFailed)
#: Refusals that only a table gives to a request for tables.
_OF_TABLES = (
    failures.TableKeyBadVersion,
    failures.TableKeyDoesNotExist,
    failures.TableSegmentNotEmpty,
    failures.OperationUnsupported,
)
_NOT_THERE = -1


class _Table:
    """A table as the model has it; `exists` is None until something is known of it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.exists: bool | None = None
        self.before: Before | None = None
        #: Every version that a key had, the last of them at the end; -1 stands for none.
        self.versions: dict[bytes, list[int]] = {}
        #: Keys that somebody tried to change.
        self.unsure: set[bytes] = set()
        #: Places in the log that replies told of.
        self.positions: set[int] = {0}

    def version(self, key: bytes) -> int | None:
        """The version of a key now; None where it is not known."""
        known = self.versions.get(key)
        if known:
            return known[-1]
        return None if self.before is not None else _NOT_THERE


class TablesPast:
    """The tables of the model."""

    def __init__(self, past: Past, requests: Mapping[int, Record], replies: Mapping[int, Record], calls: Calls) -> None:
        self._past = past
        self._calls = calls
        self._replies = replies
        #: Keys of which one made that a change was refused; whether because it was not there.
        self._refusals: list[tuple[_Table, list[TableKey], bool]] = []
        self._tables: dict[str, _Table] = {}
        for record in requests.values():
            reply = replies.get(record.n)
            if isinstance(record.fields, TABLE_REQUESTS) and reply is not None and _is_of_table(reply.fields):
                name = getattr(record.fields, SEGMENT_FIELD[type(record.fields)])
                self._tables.setdefault(name, _Table(name))

    def has(self, name: str) -> bool:
        """Whether a segment is a table."""
        return name in self._tables

    def say(self, record: Record) -> bool:
        """A request; whether it is about a table."""
        table = self._about(record)
        if table is None:
            return False
        reply = self._replies.get(record.n)
        act = _ACTS.get(type(record.fields))  # type: ignore[arg-type]
        if reply is None:
            self._try(table, record.fields)
        elif isinstance(reply.fields, Message) and not reply.fields.declaration.is_failure:
            if not isinstance(record.fields, tables.CreateTableSegment):
                self._there(table, record.n)
            if act is not None:
                act(self, table, record, reply.fields)
        return True

    def _try(self, table: _Table, request: Any) -> None:
        """It was not recorded what was said to a change: it is not known which versions keys have by now."""
        if isinstance(request, tables.CreateTableSegment) and table.exists is None:
            table.exists = True
        table.unsure |= {key.data for key in keys_of(request)}

    def hear(self, record: Record, request: Record) -> bool:
        """A reply; whether it is about a table."""
        table = self._about(request)
        if table is None:
            return False
        reply = record.fields
        if isinstance(reply, failures.NoSuchSegment):
            if table.exists:
                self._change(request.n, Delete(table.name))
            table.exists = False
        elif isinstance(reply, failures.SegmentAlreadyExists):
            self._there(table, request.n)
        elif isinstance(reply, failures.TableKeyBadVersion | failures.TableKeyDoesNotExist):
            self._there(table, request.n)
            is_missing = isinstance(reply, failures.TableKeyDoesNotExist)
            self._refused(table, keys_of(request.fields), is_missing=is_missing)
        elif isinstance(reply, failures.TableSegmentNotEmpty):
            self._there(table, request.n)
            self._holds_something(table)
        elif _has_fixed_keys(request.fields, reply):
            self._fix_keys(table)
        return True

    def _about(self, record: Record) -> _Table | None:
        message: Any = record.fields
        field = SEGMENT_FIELD.get(type(message))
        return None if field is None else self._tables.get(getattr(message, field))

    def _there(self, table: _Table, n: int) -> None:
        if table.exists is None and not self._calls.makes(table.name, n):
            table.before = self._past.before[table.name] = Before(table.name, is_table=True)
        elif table.exists is False:
            self._change(n, Create(table.name))
        table.exists = True

    def _change(self, n: int, change: Change) -> None:
        if self._calls.does(change, n):
            return
        self._past.changes.setdefault(n, []).append(change)

    # -- what is evident of keys -----------------------------------------------------------------------------------

    def _has(self, table: _Table, n: int, key: bytes, version: int, value: bytes | None) -> None:
        """A key has this version by now, or had it a moment ago."""
        known = table.versions.get(key)
        if key in table.unsure:
            table.unsure.discard(key)
            table.versions.setdefault(key, []).append(version)
            return
        if known is None and table.before is not None:
            self._had(table, key, version, value)
            return
        if version in (known or (_NOT_THERE,)):
            self._note_value(table, key, version, value)
            return
        if version == _NOT_THERE:
            self._change(n, Remove(table.name, key))
        else:
            self._change(n, Put(table.name, key, Held(version, value or b"")))
        table.versions.setdefault(key, []).append(version)

    def _had(self, table: _Table, key: bytes, version: int, value: bytes | None) -> None:
        """A key had this version before the recording."""
        assert table.before is not None
        if version == _NOT_THERE:
            table.before.absent.add(key)
        else:
            table.before.entries[key] = Held(version, value or b"")
        table.versions[key] = [version]

    def _note_value(self, table: _Table, key: bytes, version: int, value: bytes | None) -> None:
        """The value of an entry of which only the version was known."""
        before = table.before.entries.get(key) if table.before is not None else None
        if before is not None and before.version == version and value:
            table.before.entries[key] = Held(version, value)  # type: ignore[union-attr]

    def _refused(self, table: _Table, keys: Iterable[TableKey], *, is_missing: bool) -> None:
        """One of the keys has another version, or is not there."""
        asked = [key for key in keys if key.key_version != NONE_I64]
        unknown = [key for key in asked if table.version(key.data) is None]
        if unknown and all(table.version(key.data) in (None, key.key_version) for key in asked):
            self._refusals.append((table, unknown, is_missing))

    def settle(self) -> None:
        """All is heard: where nothing else tells why a change of several keys was refused, it was the first."""
        for table, unknown, is_missing in self._refusals:
            before = table.before
            assert before is not None, "all is known of a table that was made"
            if any(_first_version(before, key.data) not in (None, key.key_version) for key in unknown):
                continue
            blamed = next((key.data for key in unknown if _first_version(before, key.data) is None), None)
            if blamed is not None and is_missing:
                before.absent.add(blamed)
            elif blamed is not None:
                before.entries[blamed] = Held(None, b"?")

    def _holds_something(self, table: _Table) -> None:
        """There is an entry in a table; one is made up where none is known."""
        is_known = any(versions[-1] != _NOT_THERE for versions in table.versions.values())
        if table.before is not None and not is_known and not table.before.entries:
            table.before.entries[b"?"] = Held(None, b"?")

    def _fix_keys(self, table: _Table) -> None:
        """All keys of the table have one length."""
        if table.before is not None and not table.before.key_length:
            lengths = {len(key) for key in (*table.before.entries, *table.versions)}
            table.before.key_length = lengths.pop() if len(lengths) == 1 else 0

    # -- what is said ----------------------------------------------------------------------------------------------

    def _create(self, table: _Table, record: Record, reply: Any) -> None:
        if table.exists:
            self._change(record.n, Delete(table.name))
        made = self._tables[table.name] = _Table(table.name)
        made.exists = True

    def _delete(self, table: _Table, record: Record, reply: Any) -> None:
        table.exists = False

    def _update(self, table: _Table, record: Record, reply: Any) -> None:
        request: Any = record.fields
        for key in keys_of(request):
            if key.key_version != NONE_I64:
                self._has(table, record.n, key.data, key.key_version, None)
        for key, version in zip(keys_of(request), reply.updated_versions, strict=False):
            table.versions.setdefault(key.data, []).append(version)

    def _remove(self, table: _Table, record: Record, reply: Any) -> None:
        request: Any = record.fields
        for key in request.keys:
            if key.key_version != NONE_I64:
                self._has(table, record.n, key.data, key.key_version, None)
            table.versions.setdefault(key.data, []).append(_NOT_THERE)

    def _read(self, table: _Table, record: Record, reply: Any) -> None:
        self._show(table, record.n, reply.entries.entries)

    def _read_keys(self, table: _Table, record: Record, reply: Any) -> None:
        for key in reply.keys:
            self._has(table, record.n, key.data, key.key_version, None)
        self._see_range(table, record.fields)

    def _read_entries(self, table: _Table, record: Record, reply: Any) -> None:
        self._show(table, record.n, reply.entries.entries)
        self._see_range(table, record.fields)

    def _see_range(self, table: _Table, request: Any) -> None:
        if request.args.from_key or request.args.to_key:
            self._fix_keys(table)

    def _read_delta(self, table: _Table, record: Record, reply: Any) -> None:
        request: Any = record.fields
        if request.from_position not in table.positions and table.before is not None:
            table.before.positions.add(request.from_position)
        if reply.entries.entries:
            table.positions.add(reply.last_position)
        self._show(table, record.n, reply.entries.entries)

    def _show(self, table: _Table, n: int, entries: Iterable[TableEntry]) -> None:
        for entry in entries:
            self._has(table, n, entry.key.data, entry.key.key_version, entry.value.data)

    def _told(self, table: _Table, record: Record, reply: Any) -> None:
        if table.before is not None:
            table.before.key_length = reply.key_length
        table.positions.add(reply.length)


def _first_version(before: Before, key: bytes) -> int | None:
    """The version that a key had before the recording; None where it is not known."""
    if key in before.absent:
        return _NOT_THERE
    return before.entries[key].version if key in before.entries else None


def _is_of_table(reply: Any) -> bool:
    """Whether only a table is answered for like this."""
    is_failure = isinstance(reply, Message) and reply.declaration.is_failure
    return not is_failure or isinstance(reply, _OF_TABLES)


def _has_fixed_keys(request: Any, reply: Any) -> bool:
    """Whether the store did not do what it does to any table but those of keys of one length."""
    is_delta = isinstance(request, tables.ReadTableEntriesDelta)
    return is_delta and isinstance(reply, failures.OperationUnsupported)


def keys_of(request: Any) -> list[TableKey]:
    """The keys that a request changes, with the versions that it asks for."""
    if isinstance(request, tables.UpdateTableEntries):
        return [entry.key for entry in request.table_entries.entries]
    return list(getattr(request, "keys", ()))


_ACTS: Mapping[type[Message], Callable[[TablesPast, _Table, Record, Any], None]] = {
    tables.GetTableSegmentInfo: TablesPast._told,
    tables.CreateTableSegment: TablesPast._create,
    tables.DeleteTableSegment: TablesPast._delete,
    segments.DeleteSegment: TablesPast._delete,
    tables.UpdateTableEntries: TablesPast._update,
    tables.RemoveTableKeys: TablesPast._remove,
    tables.ReadTable: TablesPast._read,
    tables.ReadTableKeys: TablesPast._read_keys,
    tables.ReadTableEntries: TablesPast._read_entries,
    tables.ReadTableEntriesDelta: TablesPast._read_delta,
}
