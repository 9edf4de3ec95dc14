"""What the payloads of APPEND and FETCH hold in the newest schema: entries back to back; and what objects hold."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, NamedTuple

from wiretool.codec.compiled import decoder
from wiretool.codec.cursor import Cursor
from wiretool.codec.flatbuffers.compiled import missing_error, read_fast
from wiretool.codec.flatbuffers.declaration import (
    Int16,
    Int32,
    Int64,
    Many,
    RequiredString,
    Table,
    table_form,
    table_from_json,
)
from wiretool.codec.flatbuffers.reader import annotate_root
from wiretool.codec.flatbuffers.writer import encode_root
from wiretool.codec.json_types import text_or_hex_schema
from wiretool.codec.layouts import Counted, CountedTable, Number
from wiretool.codec.message import Message, message
from wiretool.codec.types import U8, U32, JsonSchema, Refer, RestBytes, WireType
from wiretool.errors import DecodeError, EncodeError
from wiretool.protocols.base.conversation import let_go
from wiretool.protocols.sbp.roles import StreamId

#: First byte of every record batch.
RECORD_MAGIC = 0x22
SPEC = "elastic-stream components/model flat_record.rs, model.fbs @ed91db3c"


class KeyValue(Table, frozen=True, kw_only=True):
    """A property of a batch."""

    key: RequiredString = None
    value: RequiredString = None


class RecordBatchMeta(Table, frozen=True, kw_only=True):
    """What is known of a batch without reading it; `last_offset_delta` is the count of its records."""

    stream_id: StreamId = 0
    range_index: Int32 = 0
    flags: Int16 = 0
    base_offset: Int64 = -1
    last_offset_delta: Int32 = 0
    base_timestamp: Int64 = 0
    properties: Many[KeyValue] = None


def read_length(cursor: Cursor, path: str) -> int:
    """The i32 at the cursor, big-endian like all of the envelope."""
    start = cursor.at
    value = int.from_bytes(cursor.take(4, path, kind="record_length_mismatch"), "big", signed=True)
    cursor.note(start, f"{path}.(length)", "i32", value)
    return value


class SizedTable(WireType):
    """i32 length, then a FlatBuffer with that root."""

    size_min = 4

    def __init__(self, cls: type[Table]) -> None:
        self.cls = self.structure = cls
        self.name = f"i32 length + {cls.__name__}"
        self.layout = CountedTable(Number("i"), cls)

    def read(self, cursor: Cursor, path: str) -> Table:
        return self.read_behind(cursor, read_length(cursor, path), path)

    def read_behind(self, cursor: Cursor, length: int, path: str) -> Table:
        """The table in the next `length` bytes."""
        start = cursor.at
        cursor.take(length, path, kind="record_length_mismatch")
        if cursor.spans is not None:
            cursor.spans += annotate_root(self.cls, cursor.data, start, cursor.at, path)
        found = read_fast(self.cls, cursor.data, start, cursor.at, kind="bad_record_meta")
        if found.missing:
            raise DecodeError("bad_record_meta", missing_error(found.missing, start).why, path=path, offset=start)
        table: Table = found.value
        return table

    def write(self, value: Table, out: bytearray, path: str) -> None:
        raw = encode_root(value)
        out += len(raw).to_bytes(4, "big") + raw

    def to_json(self, value: Table) -> dict[str, Any]:
        return table_form(value)

    def from_json(self, value: Any, path: str) -> Table:
        return table_from_json(self.cls, value, path)

    def json_schema(self, refer: Refer) -> JsonSchema:
        return refer(self.cls)


class SizedBody(WireType):
    """i32 length, then bytes that SBP does not look into; text in JSON where they are UTF-8."""

    name = "i32 length + bytes"
    size_min = 4
    layout = Counted(Number("i"), "bytes")

    def read(self, cursor: Cursor, path: str) -> bytes:
        length = read_length(cursor, path)
        start = cursor.at
        value = cursor.take(length, path, kind="record_length_mismatch")
        cursor.note(start, path, "bytes", value)
        return value

    def write(self, value: bytes, out: bytearray, path: str) -> None:
        out += len(value).to_bytes(4, "big") + value

    def to_json(self, value: bytes) -> Any:
        return body_form(value)

    def from_json(self, value: Any, path: str) -> bytes:
        return body_from_json(value, path)

    def json_schema(self, refer: Refer) -> JsonSchema:
        return text_or_hex_schema()


def body_form(body: bytes) -> Any:
    """The bytes as text where they are UTF-8, else as {"hex": ...}."""
    try:
        return body.decode()
    except UnicodeDecodeError:
        return {"hex": body.hex()}


def body_from_json(value: Any, path: str) -> bytes:
    """The bytes again; EncodeError for what `body_form` never gives."""
    try:
        return value.encode() if isinstance(value, str) else bytes.fromhex(value["hex"])
    except (ValueError, TypeError, KeyError) as err:
        raise EncodeError(f'expected text or {{"hex": "..."}}, got {value!r}', path=path) from err


@message(type_id=-1, name="AppendEntry", sender="both", spec=SPEC)
class AppendEntry(Message, frozen=True, kw_only=True):
    """One record batch of the newest schema; the payload is opaque (Kafka batches in practice)."""

    magic: U8 = RECORD_MAGIC
    meta: Annotated[RecordBatchMeta, SizedTable(RecordBatchMeta)]
    payload: Annotated[bytes, SizedBody()]


class Batches(NamedTuple):
    """Record batches with the bytes that each takes, and what is wrong with the payload they are from."""

    found: list[tuple[Message, int]]
    defects: list[DecodeError]


def read_entries(payload: bytes) -> Batches:
    """The entries that `payload` consists of, as far as they decode."""
    read, at, end = decoder(AppendEntry), 0, len(payload)
    found: list[tuple[Message, int]] = []
    defects: list[DecodeError] = []
    while at < end:
        try:
            entry, behind = read(payload, at, end)
        except DecodeError as err:
            return Batches(found, [*defects, as_record_error(err)])
        if entry.magic != RECORD_MAGIC:
            defects.append(magic_error(entry.magic, at))
        found.append((entry, behind - at))
        at = behind
    return Batches(found, defects)


def as_record_error(err: DecodeError) -> DecodeError:
    """A field that runs out of its payload, by the name that this has in records."""
    if err.kind != "truncated-field":
        let_go([err])
        return err
    return DecodeError("record_length_mismatch", err.why, path=err.path, offset=err.offset)


def magic_error(magic: int, at: int) -> DecodeError:
    """The error for a batch that begins with another byte than all do."""
    return DecodeError("bad_record_magic", f"a record batch begins with 0x22, not 0x{magic:02x}", offset=at)


def entry_form(entry: AppendEntry, length: int) -> dict[str, Any]:
    """An entry of `length` bytes as JSON."""
    return {
        "magic": entry.magic,
        "meta": table_form(entry.meta),
        "payload_len": len(entry.payload),
        "payload": body_form(entry.payload),
        "length": length,
    }


def entry_from_json(value: Any, path: str) -> AppendEntry:
    """The entry again; what follows from the rest (its lengths) need not be given. EncodeError for anything else."""
    if not isinstance(value, dict) or "meta" not in value:
        raise EncodeError(f"expected an object with meta and payload, got {value!r}", path=path)
    return AppendEntry(
        magic=value.get("magic", RECORD_MAGIC),
        meta=table_from_json(RecordBatchMeta, value["meta"], f"{path}.meta"),
        payload=body_from_json(value.get("payload", ""), f"{path}.payload"),
    )


# -- objects -----------------------------------------------------------------------------------------------------------


class SparseIndexItem(Message, frozen=True, kw_only=True):
    """Up to `end_offset`, counted from the start of the object, its batches take the bytes in front of `position`."""

    end_offset: U32
    position: U32


class ObjectTail(Message, frozen=True, kw_only=True):
    """What stands behind the data of an object whose index is empty: a delimiter and the footer."""

    delimiter: U8 = 0x66
    sparse_index_pos: U32
    sparse_index_size: U32
    rest: Annotated[bytes, RestBytes()]


#: The last 8 bytes of an object.
OBJECT_MAGIC = bytes.fromhex("88e241b785f4cff7")


def read_sparse_index(data: bytes) -> Iterator[SparseIndexItem]:
    """The items of ObjectMetadata.sparse_index; DecodeError for a part of one."""
    read, at = decoder(SparseIndexItem), 0
    while at < len(data):
        item, at = read(data, at, len(data))
        yield item


def read_object_tail(data: bytes) -> ObjectTail:
    """The tail of an object; DecodeError for a delimiter or magic that is none."""
    tail: ObjectTail
    tail, _ = decoder(ObjectTail)(data, 0, len(data))
    if tail.delimiter != 0x66 or len(tail.rest) != 40 or not tail.rest.endswith(OBJECT_MAGIC):
        raise DecodeError("bad_object_tail", "an object ends with 0x66, its index, 48 bytes and their magic")
    return tail
