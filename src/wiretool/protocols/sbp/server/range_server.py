"""The range server: appends in order, fetches, and what it answers to each request (sbp.md §4.5)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec

from wiretool import limits
from wiretool.codec.flatbuffers.declaration import Table
from wiretool.codec.flatbuffers.writer import encode_root
from wiretool.protocols.sbp import tables
from wiretool.protocols.sbp.messages import SEAL_RANGE
from wiretool.protocols.sbp.records import RECORD_MAGIC, AppendEntry
from wiretool.protocols.sbp.records import Batches as ReadBatches
from wiretool.protocols.sbp.server.batches import Batches, Keeper
from wiretool.protocols.sbp.server.codes import (
    APPEND_TO_COMMITTED_OFFSET,
    APPEND_TO_OVERTAKEN_OFFSET,
    APPEND_TO_PENDING_OFFSET,
    BAD_REQUEST,
    CREATE_RANGE,
    HEARTBEAT,
    NO_NEW_RECORD,
    OFFSET_OVERFLOW,
    OK,
    RANGE_ALREADY_SEALED,
    RANGE_NOT_FOUND,
    RS_INTERNAL_SERVER_ERROR,
)
from wiretool.protocols.sbp.server.link import CONTENT_BYTES_MAX

OFFSET_MAX = 2**63 - 1
NANOSECONDS = 1_000_000_000
#: Entries of one APPEND up to which its answer is remembered.
USUAL_ENTRIES = 16

MESSAGES = {
    RANGE_NOT_FOUND: "The specified range is not found",
    RANGE_ALREADY_SEALED: "The specified range is sealed",
    APPEND_TO_COMMITTED_OFFSET: "The append request is already committed",
    APPEND_TO_PENDING_OFFSET: "The append request is on the fly",
    APPEND_TO_OVERTAKEN_OFFSET: "The append request is out of order",
    OFFSET_OVERFLOW: "The append request passes the last offset",
    BAD_REQUEST: "Invalid request",
}

RangeKey = tuple[int, int]


@dataclass(slots=True)
class Replica:
    """What a range server has of one range."""

    start: int
    #: Where the next batch must begin, and up to where batches are durable; `committed <= next`.
    next: int
    committed: int
    is_sealed: bool = False
    batches: Batches = field(default_factory=Batches)


class Accepted(NamedTuple):
    """A batch that has its place and is on its way to be durable."""

    replica: Replica
    base: int
    records: int
    data: bytes


class Refused(Exception):
    """A request that is answered with a system error."""

    def __init__(self, code: int, message: str | None = None) -> None:
        super().__init__(code, message)
        self.code = code
        self.message = message


def unsigned(value: int) -> int:
    """A signed 64-bit number as the range server reads it."""
    return value % 2**64


class RangeServer:
    """The ranges of one range server and their batches."""

    def __init__(self, retain_bytes: int, *, cuts_answers: bool = True) -> None:
        #: Whether a FETCH stops in front of what no frame can carry; a real one does not, and never answers again.
        self.cuts_answers = cuts_answers
        self.replicas: dict[RangeKey, Replica] = {}
        self.keeper = Keeper(retain_bytes)

    def answer(self, opcode: int, request: Table, now_ns: int) -> Table:
        """The response table to a request table. Refused: there is none."""
        return HANDLERS[opcode](self, request, now_ns)

    # -- ranges ----------------------------------------------------------------------------------------------------

    def heartbeat(self, request: tables.HeartbeatRequest, now_ns: int) -> Table:
        return tables.HeartbeatResponse(
            client_id=request.client_id, client_role=request.client_role, status=tables.Status(code=OK, message="OK")
        )

    def create_range(self, request: tables.CreateRangeRequest, now_ns: int) -> Table:
        """OK whatever is asked: a range that is there already stays as it is."""
        self._made(_range_of(request))
        status = tables.Status(code=OK, message="OK")
        return tables.CreateRangeResponse(status=status, range=request.range)

    def seal_range(self, request: tables.SealRangeRequest, now_ns: int) -> Table:
        """Seal, and say how far this replica has got, whatever end and kind were asked for."""
        wanted = _range_of(request)
        replica = self._made(wanted)
        self.seal(replica)
        sealed = msgspec.structs.replace(wanted, end=replica.committed)
        return tables.SealRangeResponse(status=tables.Status(code=OK, message="OK"), range=sealed)

    def seal(self, replica: Replica) -> None:
        """Take no more appends; what is on its way is not part of it any more."""
        replica.is_sealed = True
        replica.next = replica.committed

    def _made(self, wanted: tables.Range) -> Replica:
        """The replica, made from the request where there is none."""
        key = (wanted.stream_id, wanted.index)
        replica = self.replicas.get(key)
        if replica is None:
            if len(self.replicas) >= limits.SBP_RANGES_MAX:
                raise Refused(RS_INTERNAL_SERVER_ERROR, f"no room for more than {limits.SBP_RANGES_MAX} ranges")
            replica = self.replicas[key] = Replica(wanted.start, wanted.start, wanted.start)
        return replica

    # -- appends ---------------------------------------------------------------------------------------------------

    def accept(self, payload: bytes, batches: ReadBatches | None) -> list[Accepted | int]:
        """For each entry of an APPEND its place, or why it has none. Refused: nothing of it is written.

        Nothing at all where the first entry has no offset: the real server answers that with an empty frame.
        """
        entries = check_entries(batches)
        if entries[0][0].meta.base_offset < 0:
            return []
        at = 0
        out: list[Accepted | int] = []
        for entry, length in entries:
            out.append(self._place(entry, payload[at : at + length]))
            at += length
        return out

    def _place(self, entry: AppendEntry, data: bytes) -> Accepted | int:
        meta = entry.meta
        replica = self.replicas.get((meta.stream_id, meta.range_index))
        if replica is None:
            return RANGE_NOT_FOUND
        if replica.is_sealed:
            return RANGE_ALREADY_SEALED
        base, count = unsigned(meta.base_offset), meta.last_offset_delta
        if base < unsigned(replica.committed):
            return APPEND_TO_COMMITTED_OFFSET
        if base != unsigned(replica.next):
            return APPEND_TO_PENDING_OFFSET if base < unsigned(replica.next) else APPEND_TO_OVERTAKEN_OFFSET
        if count < 0:
            return BAD_REQUEST
        if replica.next + count > OFFSET_MAX:
            return OFFSET_OVERFLOW
        replica.next += count
        return Accepted(replica, replica.next - count, count, data)

    def commit(self, accepted: Sequence[Accepted | int], now_ns: int) -> bytes:
        """The batches are durable now; the header of the answer to the frame that brought them."""
        codes = tuple(result if isinstance(result, int) else self._commit(result) for result in accepted)
        make = _append_header if len(codes) <= USUAL_ENTRIES else _append_header.__wrapped__
        return make(codes, now_ns // NANOSECONDS)

    def _commit(self, batch: Accepted) -> int:
        replica = batch.replica
        if replica.is_sealed:
            return RANGE_ALREADY_SEALED
        replica.committed = batch.base + batch.records
        self.keeper.put(replica.batches, batch.base, batch.data)
        return OK

    # -- fetches ---------------------------------------------------------------------------------------------------

    def fetch(self, request: tables.FetchRequest) -> tuple[Table | bytes, bytes]:
        """The answer and its payload. The bound on the bytes is `max_wait_ms`, as the real server has it."""
        wanted = _range_of(request)
        replica = self.replicas.get((wanted.stream_id, wanted.index))
        if replica is None:
            return _nothing(RANGE_NOT_FOUND, "Range is not found")
        found: list[bytes] = []
        if 0 <= request.offset <= replica.batches.last_base:  # inside the last batch it finds nothing (§4.5 FETCH)
            found = replica.batches.between(
                request.offset,
                None if request.limit < 0 else request.limit,
                None if request.max_wait_ms < 0 else request.max_wait_ms,
                FETCH_PAYLOAD_BYTES_MAX if self.cuts_answers else OFFSET_MAX,
            )
        if not found:
            return _nothing(NO_NEW_RECORD, "No new records to fetch")
        if self.cuts_answers and len(found[0]) > FETCH_PAYLOAD_BYTES_MAX:
            return _nothing(RS_INTERNAL_SERVER_ERROR, "The batch does not fit into an answer")
        return _FOUND, b"".join(found)


@lru_cache(maxsize=64)
def _append_header(codes: tuple[int, ...], seconds: int) -> bytes:
    """The header that answers an APPEND; most are the same for a second."""
    entries = tuple(
        tables.AppendResultEntry(
            status=tables.Status(code=code, message=MESSAGES.get(code)), timestamp_ms=seconds if code == OK else 0
        )
        for code in codes
    )
    return encode_root(tables.AppendResponse(status=tables.Status(code=OK), entries=entries))


#: The header of the answer that has records in its payload, and how many bytes of them fit behind it.
_FOUND = encode_root(tables.FetchResponse(status=tables.Status(code=OK), throttle_time_ms=-1, object_metadata_list=()))
FETCH_PAYLOAD_BYTES_MAX = CONTENT_BYTES_MAX - len(_FOUND)


def _nothing(code: int, why: str) -> tuple[Table, bytes]:
    return tables.FetchResponse(status=tables.Status(code=code, message=why)), b""


def _range_of(
    request: tables.CreateRangeRequest | tables.SealRangeRequest | tables.FetchRequest,
) -> tables.Range:
    """The range of a request, without which none comes here."""
    assert request.range is not None
    return request.range


def check_entries(batches: ReadBatches | None) -> list[tuple[AppendEntry, int]]:
    """The entries of an APPEND with their lengths; Refused where one of them is broken."""
    if batches is None:
        raise Refused(BAD_REQUEST)
    entries: list[tuple[AppendEntry, int]] = []
    for entry, length in batches.found:
        assert isinstance(entry, AppendEntry)
        if entry.magic != RECORD_MAGIC:
            break
        entries.append((entry, length))
    if not batches.defects:
        return entries
    raise Refused(BAD_REQUEST, "Invalid request" if entries else "Bad Request")


#: What serves each operation that is a table and is answered with one.
HANDLERS: Mapping[int, Callable[[RangeServer, Any, int], Table]] = {
    HEARTBEAT: RangeServer.heartbeat,
    SEAL_RANGE: RangeServer.seal_range,
    CREATE_RANGE: RangeServer.create_range,
}
