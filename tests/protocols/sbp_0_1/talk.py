"""Frames of the batch style made for tests."""

from typing import Any

from tests.protocols.sbp.talk import Said
from wiretool.codec import reference
from wiretool.codec.flatbuffers.declaration import Table
from wiretool.codec.message import Side
from wiretool.protocols.sbp.framing import encode_frame
from wiretool.protocols.sbp.messages import APPEND, FETCH, SbpFrame, Schema
from wiretool.protocols.sbp_0_1 import tables_s1, tables_s2
from wiretool.protocols.sbp_0_1.messages import S1
from wiretool.protocols.sbp_0_1.records import (
    BatchMetaS1,
    BatchMetaS2,
    BatchS1,
    BatchS2,
    KeyValue,
    Record,
    RecordMeta,
)

STATUS = tables_s2.Status(code=1200, message="OK")


def batch(schema: Schema, *bodies: bytes, base_offset: int = 7, **meta: Any) -> bytes:
    """The bytes of a batch with these bodies, numbered from `base_offset` on."""
    records = tuple(Record(meta=RecordMeta(offset_delta=at), body=body) for at, body in enumerate(bodies))
    if schema is S1:
        return reference.encode(
            BatchS1(base_offset=base_offset, meta=BatchMetaS1(stream_id=1, **meta), records=records)
        )
    properties = (KeyValue(key="k", value="v"),)
    whole = BatchS2(
        base_offset=base_offset, meta=BatchMetaS2(stream_id=1, properties=properties, **meta), records=records
    )
    return reference.encode(whole)


def frame(side: Side, header: Table | bytes | None, payload: bytes = b"", **fields: Any) -> tuple[Side, bytes]:
    """A frame of a side."""
    return side, encode_frame(SbpFrame(header=header, payload=payload, **fields), side)


def append(schema: Schema, stream_id: int, *batches: bytes, lengths: Any = None, behind: bytes = b"") -> Any:
    """An APPEND of batches, of which the header says the lengths."""
    lengths = [len(each) for each in batches] if lengths is None else lengths
    header: Table
    if schema is S1:
        one = tuple(tables_s1.AppendInfo(stream_id=1, batch_length=length) for length in lengths)
        header = tables_s1.AppendRequest(timeout_ms=9, append_requests=one)
    else:
        span = tables_s2.Range(stream_id=1)
        two = tuple(tables_s2.AppendInfo(range=span, batch_length=length) for length in lengths)
        header = tables_s2.AppendRequest(timeout_ms=9, append_requests=two)
    return frame("client", header, b"".join(batches) + behind, opcode=APPEND, stream_id=stream_id)


def fetched(schema: Schema, stream_id: int, *batches: bytes, lengths: Any = None) -> Any:
    """The answer to a FETCH."""
    lengths = [len(each) for each in batches] if lengths is None else lengths
    header: Table
    if schema is S1:
        one = tuple(tables_s1.FetchResult(stream_id=1, batch_length=length) for length in lengths)
        header = tables_s1.FetchResponse(fetch_responses=one)
    else:
        two = (tables_s2.FetchResult(stream_id=1, batch_count=len(batches), status=STATUS),)
        header = tables_s2.FetchResponse(fetch_responses=two, status=STATUS)
    return frame("server", header, b"".join(batches), opcode=FETCH, flags=3, stream_id=stream_id)


def fetch(schema: Schema, stream_id: int) -> Any:
    """A FETCH."""
    tables = tables_s1 if schema is S1 else tables_s2
    return frame("client", tables.FetchRequest(max_wait_ms=1, min_bytes=2), opcode=FETCH, stream_id=stream_id)


def plain(schema: Schema, count: int) -> Said:
    """Appends that nobody answers, fetches that somebody does."""
    said: list[tuple[Side, bytes]] = []
    for at in range(count):
        batches = [batch(schema, *[b"body %d" % at] * (at % 4)) for _ in range(1 + at % 3)]
        said += [append(schema, 2 * at, *batches), fetch(schema, 2 * at + 1), fetched(schema, 2 * at + 1, *batches)]
    return said
