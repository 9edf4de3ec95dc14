"""Appends in SBP v0.1, the batch style, as a load sends them: each event is a record, each append one record batch.

The server gives the offsets, so a batch that is sent again is stored again, and what became of one that was not
answered nobody can say for sure. A writer that comes back goes on in a stream of its own, from event 1 on: of the old
one, what was acknowledged must be there, and the rest may be.
"""

import zlib
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import NamedTuple

from wiretool.codec import reference
from wiretool.codec.flatbuffers.declaration import Scalar, slots_of
from wiretool.codec.frames.template import form_in, slot_at, span_called
from wiretool.errors import Unmet
from wiretool.load.events import Head, Maker
from wiretool.load.link import ANSWER_S, Link
from wiretool.protocols.sbp.framing import FrameReading
from wiretool.protocols.sbp.load.frames import (
    Acks,
    Talk,
    checked_frame,
    checked_length,
    codes_named,
    heartbeats,
    refused,
)
from wiretool.protocols.sbp.messages import APPEND, CHECKSUM_BYTES, SbpFrame
from wiretool.protocols.sbp.spans import annotate
from wiretool.protocols.sbp_0_1.messages import S1
from wiretool.protocols.sbp_0_1.records import BatchMetaS1, BatchS1, Record, RecordMeta
from wiretool.protocols.sbp_0_1.tables_s1 import (
    AppendInfo,
    AppendRequest,
    AppendResponse,
    AppendResult,
    CreateStreamResult,
    CreateStreamsRequest,
    CreateStreamsResponse,
    FetchInfo,
    FetchRequest,
    FetchResponse,
    FetchResult,
    HeartbeatRequest,
    Stream,
)

#: As events are read back: the bodies of records, each behind its length.
HEAD = Head()
#: Bytes that one fetch asks for in all, and batches at most: each result has one.
READ_BYTES = 1024 * 1024
READ_BATCHES = 64
_TIMEOUT_MS = round(ANSWER_S * 1000)
_DAY_MS = 86_400_000
_NONE = 0
_CODES = next(
    wire.names for name, wire, _ in slots_of(AppendResult) if name == "error_code" and isinstance(wire, Scalar)
)
_RESULT = "AppendResponse.append_responses[0]"
#: What is different in each answer to an append, but for its identifier.
_TIMES = (f"{_RESULT}.base_offset", f"{_RESULT}.stream_append_time_ms")
_LENGTH_BYTES = 4

heartbeat = partial(heartbeats, HeartbeatRequest(client_id="wiretool"))


def check_result(asked: str, results: tuple[AppendResult | FetchResult | CreateStreamResult, ...]) -> None:
    """Failed for anything but one result without an error."""
    if len(results) != 1:
        raise refused(asked, f"{len(results)} results")
    _check_code(asked, results[0])


def _check_code(asked: str, result: AppendResult | FetchResult | CreateStreamResult) -> None:
    if result.error_code != _NONE:
        raise refused(asked, codes_named(_CODES, result.error_code), result.error_message or "")


class StreamTalk(Talk):
    """A connection to a data node that is the placement manager too."""

    def __init__(self, link: Link) -> None:
        super().__init__(link, S1)

    def make_stream(self) -> int:
        """A new stream."""
        wanted = Stream(replica_nums=1, retention_period_ms=_DAY_MS)
        answer = self.ask(CreateStreamsRequest(timeout_ms=_TIMEOUT_MS, stremas=(wanted,)))
        results = answer.header.create_responses if isinstance(answer.header, CreateStreamsResponse) else None
        check_result("CREATE_STREAMS", results or ())
        assert results is not None
        if results[0].stream is None:
            raise refused("CREATE_STREAMS", "no stream")
        return results[0].stream.stream_id

    def read(self, segment: str) -> Iterator[bytes]:
        """The events of all batches that a stream has now. Unmet where it has lost its first ones."""
        if not segment:
            return  # its writer was never set up
        stream_id, offset, step, wanted = int(segment), 0, 1, 1
        while batches := self._fetch(stream_id, [offset + index * step for index in range(wanted)]):
            if not offset and batches[0].base_offset > 0:
                why = f"stream {segment} starts at offset {batches[0].base_offset} now"
                raise Unmet(f"{why}; earlier events are deleted and cannot be checked")
            for batch in batches:
                behind(batch, offset)
                yield (rows := body_rows(batch))
                step = batch.meta.last_offset_delta
                offset = batch.base_offset + step
                wanted = max(1, min(READ_BATCHES, READ_BYTES // max(len(rows), 1)))

    def _fetch(self, stream_id: int, offsets: list[int]) -> list[BatchS1]:
        """The batches at these offsets, in a row from the first one on; none where there are none."""
        infos = tuple(
            FetchInfo(stream_id=stream_id, request_index=index, fetch_offset=offset, batch_max_bytes=READ_BYTES)
            for index, offset in enumerate(offsets)
        )
        reading = self.ask_for_batches(FetchRequest(max_wait_ms=0, min_bytes=1, fetch_requests=infos))
        return list(in_a_row(batches_in(reading, len(infos))))


def batches_in(reading: FrameReading, asked: int) -> list[BatchS1]:
    """The batches in the answer to a FETCH of so many: those that are there. Failed where the first is refused."""
    header = reading.frame.header
    results = (header.fetch_responses if isinstance(header, FetchResponse) else None) or ()
    if len(results) != asked:
        raise refused("FETCH", f"{len(results)} results")
    _check_code("FETCH", results[0])
    found = [] if reading.batches is None else reading.batches.found
    return [batch for batch, _ in found if isinstance(batch, BatchS1)]


def body_rows(batch: BatchS1) -> bytes:
    """The events of a batch, each behind its head."""
    bodies = [record.body for record in batch.records]
    return b"".join(part for body in bodies for part in (HEAD.of(len(body)), body))


def in_a_row(batches: Iterable[BatchS1]) -> Iterator[BatchS1]:
    """The first batch, and each that begins where the one before it ends."""
    behind: int | None = None
    for batch in batches:
        if behind is not None and batch.base_offset != behind:
            return
        yield batch
        behind = batch.base_offset + batch.meta.last_offset_delta


def behind(batch: BatchS1, offset: int) -> int:
    """Where the batch behind this one begins, which is beyond what was asked for."""
    end = batch.base_offset + batch.meta.last_offset_delta
    if end <= offset:
        raise refused("FETCH", "batches from before", f"offset {offset} was asked for")
    return end


class Binding(NamedTuple):
    """Where a writer goes on: its new stream, the first identifier that is free."""

    stream_id: int
    next_id: int


def bind(link: Link) -> Binding:
    """Begin on a new connection, in a new stream."""
    talk = StreamTalk(link)
    return Binding(talk.make_stream(), talk.next_id())


def check_append(frame: SbpFrame) -> None:
    """Failed for an answer that does not say of the one batch of an append that it is stored."""
    header = frame.header
    if not isinstance(header, AppendResponse):
        raise refused("an append", "no result")
    check_result("an append", header.append_responses or ())


def acks(first_id: int, events: int) -> Acks:
    """Reads the answers to the appends from `first_id` on, which are the first of their stream."""
    return Acks(S1, check_append, times=_TIMES, first_id=first_id, last=0, events=events)


def append_frame(stream_id: int, bodies: list[bytes]) -> bytes:
    """An append of one batch, its identifier still to come. Failed where no frame takes it."""
    records = tuple(Record(meta=RecordMeta(offset_delta=number), body=body) for number, body in enumerate(bodies))
    meta = BatchMetaS1(stream_id=stream_id, last_offset_delta=len(records))
    batch = reference.encode(BatchS1(meta=meta, records=records))
    info = AppendInfo(stream_id=stream_id, batch_length=len(batch))
    header = AppendRequest(timeout_ms=_TIMEOUT_MS, append_requests=(info,))
    return checked_frame(SbpFrame(opcode=APPEND, header=header, payload=batch))


class _Template:
    """An append's frame, and where its numbers and records stand."""

    def __init__(self, stream_id: int, bodies: list[bytes]) -> None:
        raw = append_frame(stream_id, bodies)
        spans = annotate(S1, raw, 0, len(raw))
        self.frame = bytearray(raw)
        self.length = slot_at(spans, "frame_length", ">I")
        self.stream_id = slot_at(spans, "stream_id", ">I")
        path = "AppendRequest.append_requests[0].batch_length"
        self.batch_length = slot_at(spans, path, form_in(AppendInfo, "batch_length"))
        self.checksum = slot_at(spans, "checksum", ">I")
        #: Where the batch begins, which is what the checksum covers.
        self.batch_at = span_called(spans, "payload[0].magic").offset
        #: Of each record: where it begins, and where the length of its body stands.
        records = [f"payload[0].records[{index}]" for index in range(len(bodies))]
        self.begins = [span_called(spans, f"{record}.meta.(length)").offset for record in records]
        self.body_lengths = [span_called(spans, f"{record}.body.(length)").offset for record in records]


class Appends:
    """The appends of one writer whose events are of one size: one frame, changed in place. Bound before the first."""

    _next_id: int
    _template: _Template
    _numbers: list[Callable[[int], None]]
    _covered: memoryview

    def __init__(self, maker: Maker, *, events: int, size: int) -> None:
        self.events = events
        self.size = events * size
        self.last = 0
        self._maker = maker
        self._event_size = size

    def bind(self, stream_id: int, next_id: int) -> None:
        """Send to this stream from now on, with identifiers from `next_id` on."""
        size, width = self._event_size, HEAD.width + self._event_size
        rows = bytes(self._maker.template(self.events, size))
        bodies = [rows[at + HEAD.width : at + width] for at in range(0, len(rows), width)]
        self._template = made = _Template(stream_id, bodies)
        ends = [*made.begins[1:], made.checksum.at]
        self._numbers = [self._maker.numbering(made.frame, end - width, 1, size) for end in ends]
        self._covered = memoryview(made.frame)[made.batch_at : made.checksum.at]
        self._next_id = next_id

    def next(self) -> bytearray:
        """The frame of the next append; it is the same object each time."""
        made, last = self._template, self.last
        frame = made.frame
        for number, put in enumerate(self._numbers, last + 1):
            put(number)
        made.stream_id.put(frame, made.stream_id.at, self._next_id)
        made.checksum.put(frame, made.checksum.at, zlib.crc32(self._covered))
        self._next_id += 1
        self.last = last + self.events
        return frame


class VaryingAppends:
    """The appends of one writer whose events differ in size. Bound before the first."""

    _next_id: int
    _template: _Template
    #: What stands before the records, and of each record before the length of its body and behind it.
    _head: bytearray
    _records: list[tuple[bytes, bytes]]

    def __init__(self, maker: Maker, *, events: int, draw: Callable[[], int]) -> None:
        self.events = events
        self.size = 0
        self.last = 0
        self._maker = maker
        self._draw = draw

    def bind(self, stream_id: int, next_id: int) -> None:
        """Send to this stream from now on, with identifiers from `next_id` on."""
        self._template = made = _Template(stream_id, [b""] * self.events)
        frame = bytes(made.frame)
        ends = [*made.begins[1:], made.checksum.at]
        self._head = made.frame[: made.begins[0]]
        self._records = [
            (frame[begin:at], frame[at + _LENGTH_BYTES : end])
            for begin, at, end in zip(made.begins, made.body_lengths, ends, strict=True)
        ]
        self._next_id = next_id

    def next(self) -> bytes:
        """The frame of the next append. Failed where no frame takes so much."""
        sizes = [self._draw() for _ in range(self.events)]
        self.size = sum(sizes)
        rows, made, head = self._maker.batch(sizes, self.last + 1), self._template, self._head
        parts: list[bytes] = []
        at = 0
        for size, (front, meta) in zip(sizes, self._records, strict=True):
            parts += front, rows[at : at + HEAD.width], meta, rows[at + HEAD.width : at + HEAD.width + size]
            at += HEAD.width + size
        records = b"".join(parts)
        made.length.put(head, made.length.at, checked_length(len(head) + len(records) + CHECKSUM_BYTES))
        made.batch_length.put(head, made.batch_length.at, len(head) - made.batch_at + len(records))
        made.stream_id.put(head, made.stream_id.at, self._next_id)
        self.last += self.events
        self._next_id += 1
        checksum = zlib.crc32(records, zlib.crc32(head[made.batch_at :]))
        return b"".join((head, records, checksum.to_bytes(CHECKSUM_BYTES, "big")))
