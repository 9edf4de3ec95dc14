"""Defects of tables: names, entries, versions."""

from typing import Any

from wiretool import limits
from wiretool.conformance.mutation.mutants import Mutants, Patcher, replaced
from wiretool.protocols.pravega.conformance.mutants.patches import retable
from wiretool.protocols.pravega.failures import (
    NoSuchSegment,
    SegmentIsTruncated,
    TableKeyBadVersion,
    TableKeyDoesNotExist,
    TableSegmentNotEmpty,
)
from wiretool.protocols.pravega.messages import ReadSegment
from wiretool.protocols.pravega.segments import SegmentCreated
from wiretool.protocols.pravega.server import tables
from wiretool.protocols.pravega.server.table_replies import illegal, unsupported, violation_of
from wiretool.protocols.pravega.server.table_segment import ANY_VERSION, NOT_EXISTS, Mismatch, TableSegment
from wiretool.protocols.pravega.server.tables import Tables
from wiretool.protocols.pravega.structures import NONE_I64, TableEntries
from wiretool.protocols.pravega.tables import (
    DeleteTableSegment,
    GetTableSegmentInfo,
    ReadTable,
    RemoveTableKeys,
    TableKeysRemoved,
    UpdateTableEntries,
)

MUTANTS = Mutants()


# -- tables that come and go -------------------------------------------------------------------------------------------


@MUTANTS.declare("table-twice-succeeds", "CreateTableSegment on an existing table succeeds.")
def _twice(patcher: Patcher) -> None:
    def replace(create: Any) -> Any:
        def again(self: Any, request: Any, now_ns: int) -> Any:
            if request.segment in self._tables:
                return SegmentCreated(request_id=request.request_id, segment=request.segment)
            return create(self, request, now_ns)

        return again

    patcher.wrap(Tables, "_create", replace)


@MUTANTS.declare("table-beside-segment", "A table may have the name of a segment.")
def _beside_segment(patcher: Patcher) -> None:
    def replace(create: Any) -> Any:
        def anyway(self: Any, request: Any, now_ns: int) -> Any:
            is_taken, self._is_taken = self._is_taken, lambda name: False
            reply = create(self, request, now_ns)
            self._is_taken = is_taken
            return reply

        return anyway

    patcher.wrap(Tables, "_create", replace)


@MUTANTS.declare("table-key-length-over", "Keys may be fixed to 257 bytes.")
def _length_over(patcher: Patcher) -> None:
    patcher.set(limits, "PRAVEGA_TABLE_KEY_LENGTH_MAX", limits.PRAVEGA_TABLE_KEY_LENGTH_MAX + 1)


@MUTANTS.declare("table-key-length-under", "Keys may be fixed to 255 bytes at most.")
def _length_under(patcher: Patcher) -> None:
    patcher.set(limits, "PRAVEGA_TABLE_KEY_LENGTH_MAX", limits.PRAVEGA_TABLE_KEY_LENGTH_MAX - 1)


@MUTANTS.declare("table-sorted-refused", "A table with the old flag for sorted ones ends the connection.")
def _sorted_refused(patcher: Patcher) -> None:
    def replace(create: Any) -> Any:
        def strict(self: Any, request: Any, now_ns: int) -> Any:
            if request.sorted_deprecated:
                raise violation_of(request, "sorted-table", "a sorted table")
            return create(self, request, now_ns)

        return strict

    patcher.wrap(Tables, "_create", replace)


@MUTANTS.declare("table-deleted-with-entries", "A table that must be empty is deleted with its entries.")
def _with_entries(patcher: Patcher) -> None:
    def replace(delete: Any) -> Any:
        return lambda self, table, request, now_ns: delete(self, table, replaced(request, must_be_empty=False), now_ns)

    retable(patcher, DeleteTableSegment, replace)


@MUTANTS.declare("table-deleted-when-empty", "A table is deleted only where it is empty.")
def _when_empty(patcher: Patcher) -> None:
    def replace(delete: Any) -> Any:
        def strict(self: Any, table: Any, request: Any, now_ns: int) -> Any:
            if table.entry_count:
                return TableSegmentNotEmpty(
                    request_id=request.request_id, segment=request.segment, server_stack_trace=""
                )
            return delete(self, table, request, now_ns)

        return strict

    retable(patcher, DeleteTableSegment, replace)


@MUTANTS.declare("table-count-of-changes", "Info counts the changes of a table, and not its entries.")
def _count_of_changes(patcher: Patcher) -> None:
    def replace(info: Any) -> Any:
        def counted(self: Any, table: Any, request: Any, now_ns: int) -> Any:
            return replaced(info(self, table, request, now_ns), entry_count=len(table._log))

        return counted

    retable(patcher, GetTableSegmentInfo, replace)


@MUTANTS.declare("table-key-length-not-told", "TableSegmentInfo lacks the key length.")
def _length_not_told(patcher: Patcher) -> None:
    def replace(info: Any) -> Any:
        return lambda self, table, request, now_ns: replaced(info(self, table, request, now_ns), key_length=0)

    retable(patcher, GetTableSegmentInfo, replace)


@MUTANTS.declare("table-commands-anywhere", "A table command about a plain segment finds no segment.")
def _commands_anywhere(patcher: Patcher) -> None:
    def replace(missing: Any) -> Any:
        def lax(self: Any, request: Any, name: str) -> Any:
            return NoSuchSegment(request_id=request.request_id, segment=name)

        return lax

    patcher.wrap(Tables, "_missing", replace)


@MUTANTS.declare("table-missing-closes", "A table command about a missing table ends the connection.")
def _missing_closes(patcher: Patcher) -> None:
    def replace(missing: Any) -> Any:
        def strict(self: Any, request: Any, name: str) -> Any:
            raise violation_of(request, "no-table", f"{name!r} is not a table")

        return strict

    patcher.wrap(Tables, "_missing", replace)


@MUTANTS.declare("table-not-readable", "A table cannot be read as a segment.")
def _not_readable(patcher: Patcher) -> None:
    def replace(read: Any) -> Any:
        return lambda self, table, request, now_ns: unsupported(request, "readSegment")

    patcher.set(tables, "_ON_PLAIN", {**tables._ON_PLAIN, ReadSegment: replace(tables._ON_PLAIN[ReadSegment])})


# -- versions ----------------------------------------------------------------------------------------------------------


@MUTANTS.declare("version-ignored", "Keys are put and removed whatever version is asked for.")
def _version_ignored(patcher: Patcher) -> None:
    patcher.wrap(TableSegment, "mismatch", lambda mismatch: lambda self, keys: None)


@MUTANTS.declare("version-first-key-only", "Only the first version of a batch is checked.")
def _first_key_only(patcher: Patcher) -> None:
    patcher.wrap(TableSegment, "mismatch", lambda mismatch: lambda self, keys: mismatch(self, list(keys)[:1]))


@MUTANTS.declare("version-stale-by-one", "A version below the current one is accepted.")
def _stale(patcher: Patcher) -> None:
    def replace(mismatch: Any) -> Any:
        def lax(self: Any, keys: Any) -> Any:
            checked = []
            for key in keys:
                entry = self.get(key.data)
                is_older = entry is not None and 0 <= key.key_version < entry.version
                checked.append(replaced(key, key_version=entry.version) if is_older else key)
            return mismatch(self, checked)

        return lax

    patcher.wrap(TableSegment, "mismatch", replace)


@MUTANTS.declare("version-missing-is-bad", "A version of a missing key is a bad version.")
def _missing_is_bad(patcher: Patcher) -> None:
    patcher.set(
        tables,
        "_MISMATCHES",
        {Mismatch.BAD_VERSION: TableKeyBadVersion, Mismatch.DOES_NOT_EXIST: TableKeyBadVersion},
    )


@MUTANTS.declare("version-bad-is-missing", "Every version that does not match counts as that of a missing key.")
def _bad_is_missing(patcher: Patcher) -> None:
    patcher.set(
        tables,
        "_MISMATCHES",
        {Mismatch.BAD_VERSION: TableKeyDoesNotExist, Mismatch.DOES_NOT_EXIST: TableKeyDoesNotExist},
    )


@MUTANTS.declare("version-negative-taken", "A version below -1 counts as none.")
def _negative_taken(patcher: Patcher) -> None:
    def replace(refusal: Any) -> Any:
        def lax(self: Any, table: Any, request: Any, keys: Any, values: Any) -> Any:
            cleared = [replaced(key, key_version=ANY_VERSION) if key.key_version < NOT_EXISTS else key for key in keys]
            return refusal(self, table, request, cleared, values)

        return lax

    patcher.wrap(Tables, "_refusal", replace)


@MUTANTS.declare("version-is-end", "The version of an entry is where it ends.")
def _version_is_end(patcher: Patcher) -> None:
    def replace(append: Any) -> Any:
        def shifted(self: Any, key: bytes, value: Any, version: Any = None) -> Any:
            size = 17 + len(key) + len(value or b"")
            return append(self, key, value, self.length + size if version is None else version)

        return shifted

    patcher.wrap(TableSegment, "_append", replace)


@MUTANTS.declare("batch-partly-done", "Of a batch with a wrong version, the entries before it are put.")
def _partly_done(patcher: Patcher) -> None:
    def replace(update: Any) -> Any:
        def partly(self: Any, table: Any, request: Any, now_ns: int) -> Any:
            entries = request.table_entries.entries
            good = next((at for at, each in enumerate(entries) if table.mismatch([each.key])), len(entries))
            reply = update(self, table, request, now_ns)
            if good < len(entries):
                table.put(entries[:good], now_ns)
            return reply

        return partly

    retable(patcher, UpdateTableEntries, replace)


# -- conditions and limits ---------------------------------------------------------------------------------------------


@MUTANTS.declare("table-offset-ignored", "table_segment_offset is not checked.")
def _offset_ignored(patcher: Patcher) -> None:
    def replace(refusal: Any) -> Any:
        def lax(self: Any, table: Any, request: Any, keys: Any, values: Any) -> Any:
            return refusal(self, table, replaced(request, table_segment_offset=-1), keys, values)

        return lax

    patcher.wrap(Tables, "_refusal", replace)


@MUTANTS.declare("table-offset-not-told", "The refusal of a table_segment_offset names the length 0.")
def _offset_not_told(patcher: Patcher) -> None:
    def replace(refusal: Any) -> Any:
        def silent(self: Any, *arguments: Any) -> Any:
            found = refusal(self, *arguments)
            return replaced(found, start_offset=0) if isinstance(found, SegmentIsTruncated) else found

        return silent

    patcher.wrap(Tables, "_refusal", replace)


@MUTANTS.declare("table-sealed-changed", "A sealed table is changed like any other.")
def _sealed_changed(patcher: Patcher) -> None:
    def replace(refusal: Any) -> Any:
        def lax(self: Any, table: Any, *rest: Any) -> Any:
            was_sealed, table.is_sealed = table.is_sealed, False
            found = refusal(self, table, *rest)
            table.is_sealed = was_sealed
            return found

        return lax

    patcher.wrap(Tables, "_refusal", replace)


@MUTANTS.declare("table-sizes-unchecked", "Keys and entries of any size are put.")
def _sizes_unchecked(patcher: Patcher) -> None:
    patcher.set(tables, "bad_size", lambda table, keys, values: "")


@MUTANTS.declare("table-key-limit-under", "A key of 8,192 bytes is too long.")
def _key_limit_under(patcher: Patcher) -> None:
    patcher.set(limits, "PRAVEGA_TABLE_KEY_BYTES_MAX", limits.PRAVEGA_TABLE_KEY_BYTES_MAX - 1)


# -- reads and removals ------------------------------------------------------------------------------------------------


def _reread(patcher: Patcher, change: Any) -> None:
    """Change the entries of a TableRead: a function of the entries."""

    def replace(read: Any) -> Any:
        def changed(self: Any, table: Any, request: Any, now_ns: int) -> Any:
            reply = read(self, table, request, now_ns)
            return replaced(reply, entries=TableEntries(entries=tuple(change(reply.entries.entries))))

        return changed

    retable(patcher, ReadTable, replace)


@MUTANTS.declare("table-read-sorted", "The entries of a read come in the order of their keys.")
def _read_sorted(patcher: Patcher) -> None:
    _reread(patcher, lambda entries: sorted(entries, key=lambda entry: entry.key.data))


@MUTANTS.declare("table-read-without-missing", "A read omits missing keys.")
def _without_missing(patcher: Patcher) -> None:
    _reread(patcher, lambda entries: [entry for entry in entries if entry.key.key_version != NOT_EXISTS])


@MUTANTS.declare("table-read-asked-version", "A read has the versions that were asked for.")
def _asked_version(patcher: Patcher) -> None:
    _reread(
        patcher, lambda entries: [replaced(entry, key=replaced(entry.key, key_version=NONE_I64)) for entry in entries]
    )


@MUTANTS.declare("remove-missing-fails", "A missing key cannot be removed, not even without a version.")
def _missing_fails(patcher: Patcher) -> None:
    def replace(remove: Any) -> Any:
        def strict(self: Any, table: Any, request: Any, now_ns: int) -> Any:
            if any(table.get(key.data) is None for key in request.keys):
                return TableKeyDoesNotExist(
                    request_id=request.request_id, segment=request.segment, server_stack_trace=""
                )
            return remove(self, table, request, now_ns)

        return strict

    retable(patcher, RemoveTableKeys, replace)


@MUTANTS.declare("remove-keeps", "Keys that are removed stay.")
def _remove_keeps(patcher: Patcher) -> None:
    def replace(remove: Any) -> Any:
        def kept(self: Any, table: Any, request: Any, now_ns: int) -> Any:
            refusal = self._refusal(table, request, request.keys, ())
            return refusal or TableKeysRemoved(request_id=request.request_id, segment=request.segment)

        return kept

    retable(patcher, RemoveTableKeys, replace)


@MUTANTS.declare("batch-empty-refused", "A batch of no entries is refused.")
def _empty_refused(patcher: Patcher) -> None:
    def replace(update: Any) -> Any:
        def strict(self: Any, table: Any, request: Any, now_ns: int) -> Any:
            if not request.table_entries.entries:
                return illegal(request, request.segment, "an empty batch")
            return update(self, table, request, now_ns)

        return strict

    retable(patcher, UpdateTableEntries, replace)
