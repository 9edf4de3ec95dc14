"""Requests of the batch style in S1 and S2."""

from typing import Any

from tests.protocols.sbp.server.talk import Client
from wiretool.codec.reference import encode
from wiretool.protocols.sbp.messages import APPEND, SbpFrame
from wiretool.protocols.sbp_0_1 import tables_s1 as s1
from wiretool.protocols.sbp_0_1 import tables_s2 as s2
from wiretool.protocols.sbp_0_1.messages import S1, S2
from wiretool.protocols.sbp_0_1.records import BatchMetaS1, BatchMetaS2, BatchS1, BatchS2, Record, RecordMeta
from wiretool.protocols.sbp_0_1.server.mock import Sbp01Mock


def client_s1(mock: Sbp01Mock | None = None, number: int = 0, door: str = "") -> Client:
    return Client(mock or Sbp01Mock(), number, door, schema=S1)


def client_s2(mock: Sbp01Mock | None = None, number: int = 0, door: str = "") -> Client:
    return Client(mock or Sbp01Mock(schema="S2"), number, door, schema=S2)


def header_of(frame: SbpFrame) -> Any:
    """The table of an answer."""
    assert frame.flags == 3
    return frame.header


def batch_s1(count: int, body: bytes = b"x") -> bytes:
    meta = BatchMetaS1(stream_id=0, last_offset_delta=count)
    return encode(BatchS1(meta=meta, records=(Record(meta=RecordMeta(), body=body),)))


def batch_s2(count: int, body: bytes = b"x") -> bytes:
    meta = BatchMetaS2(stream_id=0, last_offset_delta=count)
    return encode(BatchS2(meta=meta, records=(Record(meta=RecordMeta(), body=body),)))


def append_s1(stream_id: int, *batches: tuple[int, bytes]) -> SbpFrame:
    """Batches for streams."""
    infos = tuple(
        s1.AppendInfo(stream_id=stream, request_index=index, batch_length=len(data))
        for index, (stream, data) in enumerate(batches)
    )
    payload = b"".join(data for _, data in batches)
    return SbpFrame(opcode=APPEND, stream_id=stream_id, header=s1.AppendRequest(append_requests=infos), payload=payload)


def append_s2(stream_id: int, *batches: tuple[int, int, bytes]) -> SbpFrame:
    """Batches for ranges of streams."""
    infos = tuple(
        s2.AppendInfo(range=s2.Range(stream_id=stream, range_index=index), batch_length=len(data))
        for stream, index, data in batches
    )
    payload = b"".join(data for _, _, data in batches)
    return SbpFrame(opcode=APPEND, stream_id=stream_id, header=s2.AppendRequest(append_requests=infos), payload=payload)


def placed(data: bytes, base: int) -> bytes:
    """A batch with the offset that a data node gave it."""
    return data[:1] + base.to_bytes(8, "big") + data[9:]
