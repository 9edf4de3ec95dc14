"""SBP v0.1's consistency model: acknowledged batches of streams, and FETCHes that contradict them.

The data node gives each batch its offset and writes it into the batch (protocols/sbp.md §3.1, §4.6). In S1 a batch
belongs to a stream, in S2 to a range of it. A FETCH returns batches in order. That it returns nothing more denies only
what was acknowledged some time before: a data node shows an open range up to the limit that is replicated (§4.6).
"""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from wiretool import limits
from wiretool.codec.flatbuffers.declaration import Table
from wiretool.codec.message import Side
from wiretool.consistency.batch_log import AppendedBatch, Fetch, FetchedBatch
from wiretool.consistency.model import Anomaly, Consistency, Question, ReadTalk
from wiretool.protocols.sbp.consistency_frames import BatchLogs, Fields, code_of, header_of, is_intact, parts_of
from wiretool.protocols.sbp.messages import FETCH, SbpFrame
from wiretool.protocols.sbp_0_1 import tables_s1, tables_s2
from wiretool.records import Record

OK, NO_NEW_RECORD = 1200, 1204
#: What one FETCH of a question asks for, in bytes.
READ_BYTES = 256 * 1024
#: For so long an acknowledged batch may be missing at the end of a range, in seconds.
REPLICATED_S = 1.0
_REPLICATED_NS = int(REPLICATED_S * 1_000_000_000)
_OFFSET_MAX = 2**63 - 1
_BATCHES = "batches"
#: Where the offset stands that the data node gives a batch (protocols/sbp.md §3.1).
_BASE_OFFSET = slice(1, 9)

#: Stream, index of a range in S2 and -1 in S1, and the server.
StreamKey = tuple[int, int, str]


class _Sent(NamedTuple):
    """A batch of an APPEND, and the place that it is for."""

    key: StreamKey
    events: int
    content: bytes


class _Asked(NamedTuple):
    """An entry of a FETCH. Of those without an answer, batches that were acknowledged before that record are denied."""

    key: StreamKey
    offset: int
    acknowledged_before: int


class Sbp01Consistency(Consistency):
    """The streams of data nodes."""

    def __init__(self, *, is_new: bool = False) -> None:
        super().__init__(is_new=is_new)
        self._logs = BatchLogs(is_strict=True)
        #: The indexes of the ranges that the first SYNC_RANGES named, by stream.
        self._ranges: dict[int, frozenset[int | None]] = {}
        #: Streams for which another SYNC_RANGES named other ranges.
        self._doubtful: set[int] = set()
        #: The record of the last trim or removal of a stream, sent while APPENDs were without an answer.
        self._changed_at: dict[int, int] = {}
        #: Requests without an answer, by record, of each connection.
        self._appends: dict[int, dict[int, list[_Sent]]] = {}
        self._fetches: dict[int, dict[int, list[_Asked]]] = {}
        #: Time and record of the latest acknowledgements, and the record before which all are older than those. Where
        #: there are too many, the last entry stands for several: it has the latest time and record of them.
        self._latest: deque[tuple[int, int]] = deque()
        self._replicated_before = 0

    @property
    def judged(self) -> int:
        """Return the number of acknowledged records that FETCHes returned or showed to be missing."""
        return self._logs.judged

    def follow(self, record: Record) -> Sequence[Anomaly]:
        if record.kind != "frame" or record.protocol != "sbp-0.1":
            return ()
        if record.side == "client":
            self._ask(record)
        elif record.message == "APPEND":
            return self._acknowledge(record)
        elif record.message == "FETCH":
            return self._read(record)
        return ()

    def forget(self, connection: int, side: Side) -> None:
        self._appends.pop(connection, None)
        self._fetches.pop(connection, None)
        if side == "client":
            self._logs.forget()  # a stream may have been trimmed or deleted

    def questions(self) -> Iterable[Question]:
        for (stream_id, index, server), log in self._logs.items():
            talk = _read_back(stream_id, index, log.first_offset)
            yield Question(log.label, "sbp-0.1", server, talk, after_s=REPLICATED_S)

    def _ask(self, record: Record) -> None:
        header = header_of(record)
        if record.message == "APPEND":
            self._appends.setdefault(record.connection, {})[record.n] = _batches_in(record)
        elif record.message == "FETCH":
            before = self._find_replicated(record.time_ns)
            infos = header.get("fetch_requests") or ()
            asked = [_Asked(_key_of(info, record.server), info["fetch_offset"], before) for info in infos]
            self._fetches.setdefault(record.connection, {})[record.n] = asked
        elif record.message == "SYNC_RANGES":
            for stream in header.get("stream_ranges") or ():
                self._sync(stream)
        elif record.message == "TRIM_STREAMS":
            for stream in header.get("trimmed_streams") or ():
                self._logs.trim((stream["stream_id"],), stream["trim_offset"])
                self._note_change(stream["stream_id"], record.n)
        elif record.message == "DELETE_STREAMS":
            for stream in header.get("streams") or ():
                self._logs.forget((stream["stream_id"],))
                self._note_change(stream["stream_id"], record.n)

    def _note_change(self, stream_id: int, n: int) -> None:
        """Batches that were sent before this record may be gone by the time they are acknowledged."""
        if any(self._appends.values()):
            self._changed_at[stream_id] = n

    def _sync(self, stream: Fields) -> None:
        """Other ranges for a stream may take the place of those that have its batches."""
        indexes = frozenset(each.get("range_index") for each in stream.get("ranges") or ())
        if self._ranges.setdefault(stream["stream_id"], indexes) != indexes:
            self._doubtful.add(stream["stream_id"])
            self._logs.forget((stream["stream_id"],))

    def _acknowledge(self, record: Record) -> Sequence[Anomaly]:
        request = record.reply_to or 0
        sent = self._appends.get(record.connection, {}).pop(request, [])
        results = header_of(record).get("append_responses") or ()
        anomalies: list[Anomaly] = []
        if len(results) != len(sent):
            return anomalies
        for batch, result in zip(sent, results, strict=True):
            is_kept = batch.key[0] not in self._doubtful and self._changed_at.get(batch.key[0], 0) < request
            if _is_ok(result, batch.key) and batch.events > 0 and is_kept:
                made = AppendedBatch(request, record.n, result["base_offset"], batch.events, batch.content)
                anomalies += self._logs.acknowledge(batch.key, _label(batch.key), made)
        if self._changed_at and not any(self._appends.values()):
            self._changed_at.clear()
        self._note_acknowledged(record.time_ns, record.n)
        return anomalies

    def _note_acknowledged(self, now_ns: int, n: int) -> None:
        if len(self._latest) >= limits.CONSISTENCY_ACKNOWLEDGEMENTS_MAX:
            self._find_replicated(now_ns)
        if len(self._latest) >= limits.CONSISTENCY_ACKNOWLEDGEMENTS_MAX:
            now_ns = max(now_ns, self._latest.pop()[0])
        self._latest.append((now_ns, n))

    def _read(self, record: Record) -> Sequence[Anomaly]:
        request = record.reply_to or 0
        asked = self._fetches.get(record.connection, {}).pop(request, [])
        results = header_of(record).get("fetch_responses") or ()
        anomalies: list[Anomaly] = []
        if len(results) != len(asked) or not is_intact(record):
            return anomalies
        parts = ((batch, content) for batch, content in parts_of(record, _BATCHES))
        for each, result in zip(asked, results, strict=True):
            if not _is_ok(result, each.key) and code_of(result) != NO_NEW_RECORD:
                continue
            batches = [
                FetchedBatch(batch["base_offset"], _without_offset(content))
                for batch, content in _take(parts, _count_of(result))
                if batch["meta"]["last_offset_delta"] > 0
            ]
            fetch = Fetch(request, record.n, each.offset, batches, _OFFSET_MAX, each.acknowledged_before)
            anomalies += self._logs.read(each.key, fetch)
        return anomalies

    def _find_replicated(self, now_ns: int) -> int:
        """Return the record before which every acknowledged batch is replicated by now."""
        while self._latest and self._latest[0][0] <= now_ns - _REPLICATED_NS:
            self._replicated_before = self._latest.popleft()[1] + 1
        return self._replicated_before


def _key_of(info: Fields, server: str) -> StreamKey:
    """Return the place that an entry names; the stream itself in S1."""
    wanted = info.get("range")
    if wanted is None:
        return info.get("stream_id", -1), -1, server
    return wanted["stream_id"], wanted["range_index"], server


def _batches_in(record: Record) -> list[_Sent]:
    """Return the batches of an APPEND; none where their number is not that of its entries."""
    infos, batches = header_of(record).get("append_requests") or (), list(parts_of(record, _BATCHES))
    if len(infos) != len(batches):
        return []
    return [
        _Sent(_key_of(info, record.server), batch["meta"]["last_offset_delta"], _without_offset(content))
        for info, (batch, content) in zip(infos, batches, strict=True)
    ]


def _is_ok(result: Fields, key: StreamKey) -> bool:
    """Return whether an entry succeeded, by the schema in which it was asked."""
    return result.get("error_code") == 0 if key[1] < 0 else code_of(result) == OK


def _count_of(result: Fields) -> int:
    """Return how many batches of the payload belong to a result: in S1 it has the length of one."""
    count: int = result["batch_count"] if "batch_count" in result else int(result["batch_length"] > 0)
    return count


def _take(parts: Iterator[tuple[Fields, bytes]], count: int) -> list[tuple[Fields, bytes]]:
    return list(islice(parts, count))


def _without_offset(content: bytes) -> bytes:
    """Return the bytes of a batch without those that the data node changes."""
    return content[: _BASE_OFFSET.start] + content[_BASE_OFFSET.stop :]


def _label(key: StreamKey) -> str:
    stream_id, index, server = key
    return f"stream {stream_id} on {server}" if index < 0 else f"range {index} of stream {stream_id} on {server}"


def _read_back(stream_id: int, index: int, offset: int) -> ReadTalk:
    """Fetch a stream, or a range of it, from an offset to its end."""
    frame_id = 0
    while True:
        frame_id += 1
        header = _request_s1(stream_id, offset) if index < 0 else _request_s2(stream_id, index, offset)
        replies = yield [SbpFrame(opcode=FETCH, stream_id=frame_id, header=header)]
        ends = [
            batch["base_offset"] + batch["meta"]["last_offset_delta"]
            for reply in replies
            if reply.message == "FETCH"
            for batch, _ in parts_of(reply, _BATCHES)
        ]
        if not ends or max(ends) <= offset:
            return
        offset = max(ends)


def _request_s1(stream_id: int, offset: int) -> Table:
    info = tables_s1.FetchInfo(stream_id=stream_id, fetch_offset=offset, batch_max_bytes=READ_BYTES)
    return tables_s1.FetchRequest(min_bytes=1, fetch_requests=(info,))


def _request_s2(stream_id: int, index: int, offset: int) -> Table:
    wanted = tables_s2.Range(stream_id=stream_id, range_index=index)
    info = tables_s2.FetchInfo(range=wanted, fetch_offset=offset, batch_max_bytes=READ_BYTES)
    return tables_s2.FetchRequest(min_bytes=1, fetch_requests=(info,))


CONSISTENCY = Sbp01Consistency
