"""Steps of the cases of tables: tables, entries, keys and their versions."""

from collections.abc import Sequence
from typing import Any

from wiretool.conformance.case import Reply, Steps, reply
from wiretool.conformance.values import Text
from wiretool.protocols.pravega.conformance.steps import ask

#: A table of the case's own, and a second one.
TABLE, SECOND_TABLE = Text("{table}"), Text("{second_table}")
#: Versions that a key may be asked to have (protocols/pravega.md §2.1).
ANY_VERSION, NOT_THERE = -(2**63), -1
#: Bytes of an entry in the log beside its key and value: versions are offsets in it (§5.2, READ_TABLE).
ENTRY_HEADER_BYTES = 17
#: The length of the keys of fixed-key tables here.
KEY_BYTES = 8

#: A key with a version, and an entry with a value.
Key = tuple[bytes, Any]
Entry = tuple[bytes, Any, bytes]


def key_form(data: bytes, version: Any = ANY_VERSION) -> dict[str, Any]:
    """Return a key as messages have it."""
    return {"data": data.hex(), "key_version": version}


def entry_form(data: bytes, version: Any, value: bytes) -> dict[str, Any]:
    """Return an entry as messages have it."""
    return {"key": key_form(data, version), "value": {"data": value.hex()}}


def entries_form(entries: Sequence[Entry]) -> dict[str, Any]:
    """Return entries as messages have them."""
    return {"entries": [entry_form(*each) for each in entries]}


def create_table(segment: Any = TABLE, *, key_length: int = 0, request_id: int = 1) -> Steps:
    """Create a table; without a key length its keys are hashed."""
    return ask(
        request_id,
        "CreateTableSegment",
        reply("SegmentCreated", segment=segment),
        segment=segment,
        key_length=key_length,
    )


def update(number: int, entries: Sequence[Entry], *outcomes: Reply, segment: Any = TABLE, **fields: Any) -> Steps:
    """Put entries into a table, and expect one of these outcomes."""
    return ask(number, "UpdateTableEntries", *outcomes, segment=segment, table_entries=entries_form(entries), **fields)


def put(
    number: int, entries: Sequence[Entry], versions: Sequence[Any], *, segment: Any = TABLE, **fields: Any
) -> Steps:
    """Put entries into a table, which have these versions then."""
    return update(
        number, entries, reply("TableEntriesUpdated", updated_versions=list(versions)), segment=segment, **fields
    )


def remove(number: int, keys: Sequence[Key], *outcomes: Reply, segment: Any = TABLE, **fields: Any) -> Steps:
    """Remove keys, which is done unless outcomes are named."""
    done = outcomes or (reply("TableKeysRemoved", segment=segment),)
    return ask(number, "RemoveTableKeys", *done, segment=segment, keys=[key_form(*each) for each in keys], **fields)


def get(number: int, entries: Sequence[Entry], *, segment: Any = TABLE, on: str = "a") -> Steps:
    """Ask for the keys of these entries, and expect them, in their order."""
    return ask(
        number,
        "ReadTable",
        reply("TableRead", segment=segment, entries=entries_form(entries)),
        on=on,
        segment=segment,
        keys=[key_form(data) for data, _, _ in entries],
    )


def table_info(
    length: Any, entry_count: Any, *, key_length: int = 0, segment: Any = TABLE, request_id: int = 16, on: str = "a"
) -> Steps:
    """Ask what a table is like, and expect this."""
    return ask(
        request_id,
        "GetTableSegmentInfo",
        reply(
            "TableSegmentInfo",
            segment_name=segment,
            start_offset=0,
            length=length,
            entry_count=entry_count,
            key_length=key_length,
        ),
        on=on,
        segment_name=segment,
    )


def bad_version(segment: Any = TABLE) -> Reply:
    """Return the refusal of a version."""
    return reply("TableKeyBadVersion", segment=segment)


def not_there(segment: Any = TABLE) -> Reply:
    """Return the refusal of a key that is not there."""
    return reply("TableKeyDoesNotExist", segment=segment)
