"""What the payloads of APPEND and FETCH hold in the batch style: record batches, and in them records."""

from __future__ import annotations

from typing import Annotated, Any

from wiretool.codec.compiled import decoder
from wiretool.codec.cursor import Cursor
from wiretool.codec.flatbuffers.declaration import (
    Int16,
    Int32,
    Int64,
    Many,
    String,
    Table,
    table_form,
    table_from_json,
)
from wiretool.codec.flatbuffers.writer import encode_root
from wiretool.codec.json_types import text_or_hex_schema
from wiretool.codec.layouts import Counted, CountedTable, Group, Member, Number, Until
from wiretool.codec.message import Message, fields_of, message
from wiretool.codec.types import I64, U8, JsonSchema, Refer, WireType
from wiretool.errors import DecodeError, EncodeError
from wiretool.protocols.sbp.messages import APPEND, FETCH, SbpFrame
from wiretool.protocols.sbp.records import (
    RECORD_MAGIC,
    Batches,
    SizedTable,
    as_record_error,
    body_form,
    body_from_json,
    magic_error,
    read_length,
)
from wiretool.protocols.sbp.roles import StreamId
from wiretool.protocols.sbp_0_1 import tables_s1, tables_s2

SPEC = "elastic-stream components/records record.fbs @13039bdb, flat_record.rs @cb3b50c1"


class KeyValue(Table, frozen=True, kw_only=True):
    """A header or property."""

    key: String = None
    value: String = None


class BatchMetaS1(Table, frozen=True, kw_only=True):
    """What is known of a batch without reading it (S1)."""

    stream_id: StreamId = 0
    flags: Int16 = 0
    base_offset: Int64 = 0
    last_offset_delta: Int32 = 0
    base_timestamp: Int64 = 0


class BatchMetaS2(Table, frozen=True, kw_only=True):
    """What is known of a batch without reading it (S2)."""

    stream_id: StreamId = 0
    flags: Int16 = 0
    base_offset: Int64 = 0
    last_offset_delta: Int32 = 0
    base_timestamp: Int64 = 0
    properties: Many[KeyValue] = None


class RecordMeta(Table, frozen=True, kw_only=True):
    """What is known of a record without its body."""

    offset_delta: Int32 = 0
    timestamp_delta: Int32 = 0
    headers: Many[KeyValue] = None
    properties: Many[KeyValue] = None


class Record(Message, frozen=True, kw_only=True):
    """One record; both of its lengths stand in front, so `Records` reads and writes it."""

    meta: RecordMeta
    body: bytes


class Records(WireType):
    """Records up to the end, or to the next batch: no MetaLength begins with the byte that a batch begins with."""

    name = "records"
    _meta = SizedTable(RecordMeta)
    layout = Until(
        Group(
            (Member("meta", CountedTable(Number("i"), RecordMeta)), Member("body", Counted(Number("i"), "bytes"))),
            counts_first=True,
        ),
        RECORD_MAGIC,
    )

    def read(self, cursor: Cursor, path: str) -> tuple[Record, ...]:
        out: list[Record] = []
        while cursor.left and cursor.data[cursor.at] != RECORD_MAGIC:
            out.append(self._read_one(cursor, f"{path}[{len(out)}]"))
        return tuple(out)

    def _read_one(self, cursor: Cursor, path: str) -> Record:
        meta_length = read_length(cursor, f"{path}.meta")
        body_length = read_length(cursor, f"{path}.body")
        meta = self._meta.read_behind(cursor, meta_length, f"{path}.meta")
        start = cursor.at
        body = cursor.take(body_length, f"{path}.body", kind="record_length_mismatch")
        cursor.note(start, f"{path}.body", "bytes", body)
        assert isinstance(meta, RecordMeta)
        return Record(meta=meta, body=body)

    def write(self, value: tuple[Record, ...], out: bytearray, path: str) -> None:
        for record in value:
            meta = encode_root(record.meta)
            out += len(meta).to_bytes(4, "big") + len(record.body).to_bytes(4, "big") + meta + record.body

    def to_json(self, value: tuple[Record, ...]) -> list[dict[str, Any]]:
        """Offset and body of each; the rest of its meta is in the payload's hex."""
        return [{"offset_delta": record.meta.offset_delta, "body": body_form(record.body)} for record in value]

    def from_json(self, value: Any, path: str) -> tuple[Record, ...]:
        if not isinstance(value, list):
            raise EncodeError(f"expected a list, got {value!r}", path=path)
        return tuple(_record_from_json(record, f"{path}[{index}]") for index, record in enumerate(value))

    def json_schema(self, refer: Refer) -> JsonSchema:
        delta = next(field.wire for field in fields_of(RecordMeta) if field.name == "offset_delta")
        properties = {"offset_delta": delta.json_schema(refer), "body": text_or_hex_schema()}
        record: JsonSchema = {"type": "object", "properties": properties, "required": list(properties)}
        return {"type": "array", "items": {**record, "additionalProperties": False}}


def _record_from_json(value: Any, path: str) -> Record:
    if not isinstance(value, dict):
        raise EncodeError(f"expected an object, got {value!r}", path=path)
    meta = {name: part for name, part in value.items() if name != "body"}
    return Record(
        meta=table_from_json(RecordMeta, meta, path), body=body_from_json(value.get("body", ""), f"{path}.body")
    )


@message(type_id=-1, name="RecordBatchS1", sender="both", spec=SPEC)
class BatchS1(Message, frozen=True, kw_only=True):
    """A record batch (S1). It has no length field: the header holds its size in bytes."""

    magic: U8 = RECORD_MAGIC
    base_offset: I64 = 0
    meta: Annotated[BatchMetaS1, SizedTable(BatchMetaS1)]
    records: Annotated[tuple[Record, ...], Records()]


@message(type_id=-1, name="RecordBatchS2", sender="both", spec=SPEC)
class BatchS2(Message, frozen=True, kw_only=True):
    """A record batch (S2). In FETCH the header gives a count of batches, so each is read up to the next one."""

    magic: U8 = RECORD_MAGIC
    base_offset: I64 = 0
    meta: Annotated[BatchMetaS2, SizedTable(BatchMetaS2)]
    records: Annotated[tuple[Record, ...], Records()]


Batch = BatchS1 | BatchS2


def batch_form(batch: Batch, length: int) -> dict[str, Any]:
    """A batch of `length` bytes as JSON."""
    return {
        "magic": batch.magic,
        "base_offset": batch.base_offset,
        "meta": table_form(batch.meta),
        "length": length,
        "records": Records().to_json(batch.records),
    }


def batch_s1_from_json(value: Any, path: str) -> BatchS1:
    """An S1 batch from its JSON form; EncodeError for anything else."""
    return BatchS1(**_batch_values(BatchS1, value, path))


def batch_s2_from_json(value: Any, path: str) -> BatchS2:
    """An S2 batch from its JSON form; EncodeError for anything else."""
    return BatchS2(**_batch_values(BatchS2, value, path))


def _batch_values(cls: type[Batch], value: Any, path: str) -> dict[str, Any]:
    if not isinstance(value, dict) or "meta" not in value:
        raise EncodeError(f"expected an object with meta and records, got {value!r}", path=path)
    values = {
        field.name: field.wire.from_json(value[field.name], f"{path}.{field.name}")
        for field in fields_of(cls)
        if field.name in value
    }
    return {"records": (), **values}


def read_batches_s1(frame: SbpFrame, header: Table | None) -> Batches | None:
    """The batches of an APPEND request or a FETCH response: the header says how many bytes each takes."""
    if frame.opcode == APPEND and isinstance(header, tables_s1.AppendRequest):
        return _cut(BatchS1, frame.payload, [info.batch_length for info in header.append_requests or ()])
    if frame.opcode == FETCH and isinstance(header, tables_s1.FetchResponse):
        lengths = [result.batch_length for result in header.fetch_responses or ()]
        return _cut(BatchS1, frame.payload, [length for length in lengths if length])
    return None


def read_batches_s2(frame: SbpFrame, header: Table | None) -> Batches | None:
    """The same for S2, where the header of a FETCH response only counts the batches."""
    if frame.opcode == APPEND and isinstance(header, tables_s2.AppendRequest):
        return _cut(BatchS2, frame.payload, [info.batch_length for info in header.append_requests or ()])
    if frame.opcode == FETCH and isinstance(header, tables_s2.FetchResponse):
        return _split(BatchS2, frame.payload)
    return None


def _cut(cls: type[Batch], payload: bytes, lengths: list[int]) -> Batches:
    """Batches of these lengths; what is behind the last one, no server looks at."""
    at = 0
    out = Batches([], [])
    for length in lengths:
        if not 0 <= length <= len(payload) - at:
            why = f"a batch of {length} bytes with {len(payload) - at} left in the payload"
            out.defects.append(DecodeError("batch_length_exceeds_payload", why, offset=at))
            return out
        if _read_one(cls, payload, at, at + length, out) not in (0, length):
            why = "another batch begins where a record was to be"
            out.defects.append(DecodeError("record_length_mismatch", why, offset=at))
        at += length
    return out


def _split(cls: type[Batch], payload: bytes) -> Batches:
    """Batches up to the end of the payload."""
    at = 0
    out = Batches([], [])
    while at < len(payload):
        length = _read_one(cls, payload, at, len(payload), out)
        if not length:
            return out
        at += length
    return out


def _read_one(cls: type[Batch], payload: bytes, at: int, end: int, out: Batches) -> int:
    """Read the batch at `at` into `out`; its length, 0 where it does not decode."""
    try:
        batch, behind = decoder(cls)(payload, at, end)
    except DecodeError as err:
        out.defects.append(as_record_error(err))
        return 0
    if batch.magic != RECORD_MAGIC:
        out.defects.append(magic_error(batch.magic, at))
    out.found.append((batch, behind - at))
    return behind - at
