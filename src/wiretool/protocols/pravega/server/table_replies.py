"""What answers about tables are made of: refusals, entries as messages have them, pages."""

from collections.abc import Iterable, Sequence
from typing import Any

from wiretool import limits
from wiretool.codec.message import Message
from wiretool.errors import DecodeError, ProtocolViolation
from wiretool.protocols.pravega.failures import ErrorMessage, OperationUnsupported
from wiretool.protocols.pravega.server.pages import page_of
from wiretool.protocols.pravega.server.table_segment import HEADER_BYTES, NOT_EXISTS, Entry, TableSegment
from wiretool.protocols.pravega.structures import TableEntries, TableEntry, TableKey, TableValue
from wiretool.protocols.pravega.tables import ReadTableEntries, ReadTableKeys

#: The code of an ErrorMessage about an argument that no table takes.
_ILLEGAL_ARGUMENT = 0


def id_of(request: Any) -> int:
    """The number that the reply repeats; every request about a table has one."""
    number: int = request.request_id
    return number


def violation_of(request: Message, kind: str, why: str) -> ProtocolViolation:
    """The real server closes the connection on this."""
    return ProtocolViolation(kind, why, phase="serving", side="client", message=request.declaration.name)


def illegal(request: Message, name: str, why: str) -> Message:
    """An argument that no table takes, in words."""
    return ErrorMessage(request_id=id_of(request), segment=name, message=why, error_code=_ILLEGAL_ARGUMENT)


def unsupported(request: Message, operation: str) -> Message:
    """Such a table does not do this."""
    return OperationUnsupported(request_id=id_of(request), operation_name=operation)


def bad_size(table: TableSegment, keys: Sequence[TableKey], values: Sequence[TableValue]) -> str:
    """What is wrong with the lengths in a batch, in the store's words where it has some; empty where nothing is."""
    for index, key in enumerate(keys):
        length = len(key.data)
        if table.key_length and length != table.key_length:
            return f"A key of {length} bytes, where all have {table.key_length}."
        if not length:
            return "An empty key."
        if length > limits.PRAVEGA_TABLE_KEY_BYTES_MAX:
            return "Key too large."
        if values and HEADER_BYTES + length + len(values[index].data) > limits.PRAVEGA_TABLE_ENTRY_BYTES_MAX:
            return "Key+Value serialization too large."
    return ""


def entry_of(key: bytes, entry: Entry | None) -> TableEntry:
    """A key with its version and value; -1 and nothing where it is not there."""
    version, value = (NOT_EXISTS, b"") if entry is None else (entry.version, entry.value or b"")
    return TableEntry(key=TableKey(data=key, key_version=version), value=TableValue(data=value))


def entries_of(entries: Iterable[Entry]) -> TableEntries:
    """Entries of the log, in their order."""
    return TableEntries(entries=tuple(entry_of(entry.key, entry) for entry in entries))


def page_or_refusal(
    table: TableSegment, request: ReadTableKeys | ReadTableEntries, count: int
) -> tuple[Sequence[Entry], bytes] | Message:
    """The next entries of an iteration and where to go on, or why there is none."""
    args = request.args
    if table.is_hash and (args.from_key or args.to_key):
        return illegal(request, table.name, "Range Iterators not supported for HashTableSegments.")
    if not table.is_hash and args.continuation_token:
        return illegal(request, table.name, "ContinuationToken not supported for FixedKeyLengthTableSegments.")
    try:
        return page_of(table, args, count)
    except DecodeError as err:
        raise violation_of(request, err.kind, err.why) from err
