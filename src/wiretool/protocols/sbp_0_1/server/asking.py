"""What both schemas of the batch style have in common when they are served: a request, and the batches in it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from wiretool import limits
from wiretool.codec.compiled import decoder
from wiretool.codec.flatbuffers.declaration import Table
from wiretool.codec.flatbuffers.writer import encode_root
from wiretool.errors import DecodeError
from wiretool.protocols.sbp.messages import Schema
from wiretool.protocols.sbp.records import RECORD_MAGIC
from wiretool.protocols.sbp.server.link import CONTENT_BYTES_MAX
from wiretool.protocols.sbp_0_1.server.codes import BAD_REQUEST, PM_INTERNAL_SERVER_ERROR
from wiretool.protocols.sbp_0_1.server.store import Range, Refusal, Store

#: ClientRole of a data node, in both schemas.
ROLE_DATA_NODE = 2
#: What one more result adds to the header of a FETCH answer at most; a refusal takes more than what was found.
RESULT_BYTES = 256
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


def room_for(answer: Table, entries: int) -> int:
    """Payload that fits behind the header of a FETCH answer with so many results; `answer` is one with one that is OK.

    A request for one batch gets any that fits; behind several, there is room for the others to be refused.
    """
    return CONTENT_BYTES_MAX - len(encode_root(answer)) - RESULT_BYTES * max(entries - 1, 0)


def check_count(asked: Sequence[Any]) -> None:
    """Refusal where a list is too long to be served; lists of tables are held to that where they are read."""
    if len(asked) > limits.SBP_ENTRIES_MAX:
        raise Refusal(BAD_REQUEST, f"{len(asked)} are more than {limits.SBP_ENTRIES_MAX} in one request")


class Listing:
    """The ranges that one answer lists, and how much more it may."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._room = limits.SBP_LISTED_MAX

    def ranges(self, node: int | None, stream_id: int | None) -> list[Range]:
        """The ranges of a data node, of a stream, or of both. Refusal: they are too many for the answer."""
        found: list[Range] = []
        for each in self._store.list_ranges(node, stream_id):
            self._room -= 1 + len(each.nodes)
            if self._room < 0:
                raise Refusal(PM_INTERNAL_SERVER_ERROR, "more ranges than one answer lists")
            found.append(each)
        return found


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
