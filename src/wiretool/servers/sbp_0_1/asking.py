"""What both schemas of the batch style have in common when they are served: a request, and the batches in it."""

from dataclasses import dataclass
from typing import Any, NamedTuple

from wiretool import limits
from wiretool.codec.compiled import decoder
from wiretool.codec.flatbuffers import Table
from wiretool.errors import DecodeError
from wiretool.protocols.sbp.framing import FIXED_BYTES
from wiretool.protocols.sbp.messages import Schema
from wiretool.protocols.sbp.records import RECORD_MAGIC
from wiretool.servers.sbp_0_1.codes import BAD_REQUEST
from wiretool.servers.sbp_0_1.store import Refusal, Store

#: ClientRole of a data node, in both schemas.
ROLE_DATA_NODE = 2
#: Payload of a FETCH answer: its header has a line for each entry of the request, and all of it must fit into a frame.
FETCH_PAYLOAD_BYTES_MAX = limits.SBP_FRAME_LENGTH_MAX - FIXED_BYTES - 4096
RESULT_BYTES = 128
NANOSECONDS_PER_MS = 1_000_000


class Reply(NamedTuple):
    """The header of an answer and its payload."""

    header: Table
    payload: bytes = b""


@dataclass(frozen=True, slots=True)
class Ask:
    """A request that can be read, and who is asked."""

    store: Store
    request: Any
    payload: bytes
    now_ns: int
    #: A data node's own door: SEAL_RANGES makes no new range there.
    is_data_node: bool


def batches_in(schema: Schema, payload: bytes, lengths: list[int]) -> list[Any]:
    """The batches that the payload is cut into: their bytes and their record counts, or the Refusal of one.

    What is behind the last one, no server looks at. Behind one that does not fit, nothing fits.
    """
    out: list[Any] = []
    at = 0
    for length in lengths:
        if not 0 < length <= len(payload) - at:
            why = f"a batch of {length} bytes with {len(payload) - at} left in the payload"
            out.append(Refusal(BAD_REQUEST, why))
            at = len(payload)
            continue
        out.append(_batch_in(schema, payload[at : at + length]))
        at += length
    return out


def _batch_in(schema: Schema, data: bytes) -> tuple[bytes, int] | Refusal:
    try:
        batch, behind = decoder(schema.batch)(data, 0, len(data))
    except DecodeError as err:
        return Refusal(BAD_REQUEST, str(err))
    if batch.magic != RECORD_MAGIC or behind != len(data):
        return Refusal(BAD_REQUEST, "not one record batch")
    records: int = batch.meta.last_offset_delta
    return (data, records) if records >= 0 else Refusal(BAD_REQUEST, f"a batch of {records} records")
