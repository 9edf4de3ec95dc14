"""SBP's consistency model: acknowledged batches of ranges, and FETCHes that contradict them.

A range server answers each entry of an APPEND, in order (protocols/sbp.md §4.5). Each range server has data of its own.
A FETCH returns the batches from the one with its offset on, in order; an empty answer denies every batch below its
limit, but for an offset inside the last batch. A range that is not known proves nothing of its batches: a server that
restarted knows only the ranges that were created again. Nothing removes batches: TRIM_STREAM is not served.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from wiretool.codec.message import Side
from wiretool.consistency.batch_log import AppendedBatch, Fetch, FetchedBatch
from wiretool.consistency.model import Anomaly, Consistency, Question, ReadTalk
from wiretool.protocols.sbp.consistency_frames import BatchLogs, code_of, header_of, is_intact, parts_of
from wiretool.protocols.sbp.messages import FETCH, SbpFrame
from wiretool.protocols.sbp.tables import FetchRequest, Range, RangeServer
from wiretool.records import Record

OK, NO_NEW_RECORD = 1200, 1204
#: What one FETCH of a question asks for, in bytes: servers take `max_wait_ms` for `max_bytes` (protocols/sbp.md §4.5).
READ_BYTES = 256 * 1024
_OFFSET_MAX = 2**63 - 1
_ENTRIES = "entries"

#: Server, stream and index of a range.
RangeKey = tuple[str, int, int]


class _Sent(NamedTuple):
    """A batch of an APPEND, and the range that it is for."""

    key: RangeKey
    base: int
    events: int
    content: bytes


class _Asked(NamedTuple):
    """A FETCH."""

    key: RangeKey
    offset: int
    #: Batches with a base before this are asked for; 0 where the request proves nothing.
    limit: int


class SbpConsistency(Consistency):
    """The ranges of range servers."""

    def __init__(self, *, is_new: bool = False) -> None:
        super().__init__(is_new=is_new)
        self._logs = BatchLogs(is_strict=False)
        #: Requests without an answer, by record, of each connection.
        self._appends: dict[int, dict[int, list[_Sent]]] = {}
        self._fetches: dict[int, dict[int, _Asked]] = {}

    @property
    def judged(self) -> int:
        """Return the number of acknowledged records that FETCHes returned or showed to be missing."""
        return self._logs.judged

    def follow(self, record: Record) -> Sequence[Anomaly]:
        if record.kind != "frame" or record.protocol != "sbp" or record.message not in ("APPEND", "FETCH"):
            return ()
        is_append = record.message == "APPEND"
        if record.side == "client":
            if is_append:
                self._appends.setdefault(record.connection, {})[record.n] = _batches_in(record)
            else:
                self._ask(record)
            return ()
        return self._acknowledge(record) if is_append else self._read(record)

    def forget(self, connection: int, side: Side) -> None:
        """Answers may be missing: one that comes may be to another request. Nothing of a client removes batches."""
        self._appends.pop(connection, None)
        self._fetches.pop(connection, None)

    def questions(self) -> Iterable[Question]:
        for (server, stream_id, index), log in self._logs.items():
            yield Question(log.label, "sbp", server, _read_back(stream_id, index, log.first_offset))

    def _acknowledge(self, record: Record) -> Sequence[Anomaly]:
        sent = self._appends.get(record.connection, {}).pop(record.reply_to or 0, [])
        header = header_of(record)
        entries = header.get("entries") or ()
        anomalies: list[Anomaly] = []
        if code_of(header) != OK or len(entries) != len(sent):
            return anomalies
        for batch, entry in zip(sent, entries, strict=True):
            if code_of(entry) == OK and batch.events > 0:
                made = AppendedBatch(record.reply_to or 0, record.n, batch.base, batch.events, batch.content)
                anomalies += self._logs.acknowledge(batch.key, _label(batch.key), made)
        return anomalies

    def _ask(self, record: Record) -> None:
        header = header_of(record)
        wanted = header.get("range")
        if wanted is None:
            return
        limit = header["limit"] if header["limit"] >= 0 else _OFFSET_MAX
        if header["max_wait_ms"] == 0 or header["max_bytes"] == 0 or header["offset"] < 0:
            limit = 0
        asked = _Asked((record.server, wanted["stream_id"], wanted["index"]), header["offset"], limit)
        self._fetches.setdefault(record.connection, {})[record.n] = asked

    def _read(self, record: Record) -> Sequence[Anomaly]:
        asked = self._fetches.get(record.connection, {}).pop(record.reply_to or 0, None)
        header = header_of(record)
        code = code_of(header)
        if asked is None or code not in (OK, NO_NEW_RECORD) or not is_intact(record):
            return ()
        if header.get("object_metadata_list"):
            return ()  # some of the batches are in objects
        batches = [
            FetchedBatch(entry["meta"]["base_offset"], content)
            for entry, content in parts_of(record, _ENTRIES)
            if entry["meta"]["last_offset_delta"] > 0
        ]
        limit = asked.limit if code == NO_NEW_RECORD else 0
        request = record.reply_to or 0
        return self._logs.read(asked.key, Fetch(request, record.n, asked.offset, batches, limit, request))


def _batches_in(record: Record) -> list[_Sent]:
    """Return the batches of an APPEND."""
    found = []
    for entry, content in parts_of(record, _ENTRIES):
        meta = entry["meta"]
        key = (record.server, meta["stream_id"], meta["range_index"])
        found.append(_Sent(key, meta["base_offset"], meta["last_offset_delta"], content))
    return found


def _label(key: RangeKey) -> str:
    server, stream_id, index = key
    return f"range {index} of stream {stream_id} on {server}"


def _read_back(stream_id: int, index: int, offset: int) -> ReadTalk:
    """Fetch a range from an offset to its end."""
    servers = (RangeServer(server_id=0, advertise_addr="wiretool"),)
    wanted = Range(stream_id=stream_id, index=index, epoch=0, start=0, servers=servers)
    frame_id = 0
    while True:
        frame_id += 1
        header = FetchRequest(max_wait_ms=READ_BYTES, range=wanted, offset=offset, limit=-1, max_bytes=READ_BYTES)
        replies = yield [SbpFrame(opcode=FETCH, stream_id=frame_id, header=header)]
        ends = [
            entry["meta"]["base_offset"] + entry["meta"]["last_offset_delta"]
            for reply in replies
            if reply.message == "FETCH"
            for entry, _ in parts_of(reply, _ENTRIES)
        ]
        if not ends or max(ends) <= offset:
            return
        offset = max(ends)


CONSISTENCY = SbpConsistency
