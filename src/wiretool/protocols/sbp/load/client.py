"""SBP's appends as a load sends them: each writer has a range of its own, where event n is the record at offset n - 1.

So an offset says which events are stored, and a batch that is sent again is refused, not stored twice.
"""

import zlib
from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

from wiretool.codec import reference
from wiretool.codec.flatbuffers.declaration import Scalar, slots_of
from wiretool.codec.frames.template import form_in, slot_at, span_called
from wiretool.errors import Unmet
from wiretool.load.events import Head, Maker
from wiretool.load.link import ANSWER_S, Failed, Link
from wiretool.protocols.sbp.framing import FrameReading
from wiretool.protocols.sbp.load.frames import (
    Acks,
    Place,
    Talk,
    checked_frame,
    checked_length,
    codes_named,
    heartbeats,
    place_from,
    refused,
)
from wiretool.protocols.sbp.messages import APPEND, CHECKSUM_BYTES, SbpFrame
from wiretool.protocols.sbp.records import AppendEntry, RecordBatchMeta
from wiretool.protocols.sbp.schema import LATEST
from wiretool.protocols.sbp.spans import annotate
from wiretool.protocols.sbp.tables import (
    AppendRequest,
    AppendResponse,
    CreateRangeRequest,
    CreateRangeResponse,
    CreateStreamRequest,
    CreateStreamResponse,
    FetchRequest,
    HeartbeatRequest,
    Range,
    RangeServer,
    Status,
    Stream,
)

OK, NO_NEW_RECORD = 1200, 1204
CREATE_RANGE_BEFORE_SEAL, UNSUPPORTED_OPERATION, PD_NOT_LEADER = 1470, 1498, 1503
#: ClientRole of a client that is no server.
ROLE_FRONTEND = 3
#: What one fetch asks for: with a batch of any size behind it, an answer stays within a frame (sbp.md §4.5 FETCH).
READ_BYTES = 256 * 1024
#: The payload of a batch: its events, each behind its length.
HEAD = Head()
_TIMEOUT_MS = round(ANSWER_S * 1000)
#: Stream identifiers are signed.
_ID_MASK = 2**63 - 1
_CODES = next(wire.names for name, wire, _ in slots_of(Status) if name == "code" and isinstance(wire, Scalar))
#: What is different in each answer to an append, but for its identifier.
_TIMES = ("AppendResponse.entries[0].timestamp_ms",)
_BATCH = "payload[0]"

heartbeat = partial(heartbeats, HeartbeatRequest(client_id="wiretool", client_role=ROLE_FRONTEND))


def check_status(asked: str, status: Status | None) -> None:
    """Failed where it is anything but OK."""
    if status is None:
        raise refused(asked, "no status")
    if status.code != OK:
        raise refused(asked, codes_named(_CODES, status.code), status.message or "")


class RangeTalk(Talk):
    """A connection to a range server, which may be the placement driver too."""

    def __init__(self, link: Link) -> None:
        super().__init__(link, LATEST)

    def make_range(self, own_id: int) -> Place:
        """Make a new stream with one range; where there is no placement driver, a range of a stream called `own_id`.

        Failed where the range is not here.
        """
        stream = Stream(replica=1, ack_count=1)
        answer = self.ask(CreateStreamRequest(timeout_ms=_TIMEOUT_MS, stream=stream))
        if status_of(answer).code == UNSUPPORTED_OPERATION:
            place = Place(own_id & _ID_MASK, 0)
            self.open_range(place)
            return place
        self._check_leads(answer)
        assert isinstance(answer.header, CreateStreamResponse)
        if answer.header.stream is None:
            raise refused("CREATE_STREAM", "no stream")
        return self._place_range(Place(answer.header.stream.stream_id, 0))

    def _place_range(self, place: Place) -> Place:
        """Let the placement driver choose who has the first range of a stream, and make it there."""
        wanted = Range(stream_id=place.stream_id, index=place.range_index, epoch=0, start=0)
        answer = self.ask(CreateRangeRequest(timeout_ms=_TIMEOUT_MS, range=wanted))
        self._check_leads(answer)
        assert isinstance(answer.header, CreateRangeResponse)
        placed = answer.header.range
        if placed is None:
            raise refused("CREATE_RANGE", "no range")
        answer = self.ask(CreateRangeRequest(timeout_ms=_TIMEOUT_MS, range=placed))
        if status_of(answer).code in (CREATE_RANGE_BEFORE_SEAL, UNSUPPORTED_OPERATION):
            where = ", ".join(str(server.advertise_addr) for server in placed.servers or ()) or "no range server"
            why = f"{self.link.name} is a placement driver alone, and put the range on {where}: load that address"
            raise Failed(why, kind="the range is on another server")
        check_status("CREATE_RANGE", status_of(answer))
        return place

    def _check_leads(self, answer: SbpFrame) -> None:
        status = status_of(answer)
        if status.code == PD_NOT_LEADER:
            why = f"{self.link.name} is a placement driver that does not lead: load the one that does"
            raise Failed(why, kind="the placement driver does not lead")
        operation = LATEST.operation(answer.opcode)
        check_status("" if operation is None else operation.name, status)

    def open_range(self, place: Place) -> None:
        """Make a range at a range server, where it is not there already."""
        answer = self.ask(CreateRangeRequest(timeout_ms=_TIMEOUT_MS, range=range_at(place)))
        check_status("CREATE_RANGE", status_of(answer))

    def stored(self, place: Place, known: int) -> int:
        """The number of the last event of a range that is stored, of which so many are `known` to be."""
        while entries := self._fetch(place, known):
            known = behind(entries[-1], known)
        return known

    def read(self, segment: str) -> Iterator[bytes]:
        """The payloads of all batches that a range has now. Unmet where it has lost its first ones."""
        if not segment:
            return  # its writer was never set up
        place, offset = place_from(segment), 0
        while entries := self._fetch(place, offset):
            base = entries[0].meta.base_offset
            if not offset and base > 0:
                why = f"stream {place.stream_id} starts at offset {base} now"
                raise Unmet(f"{why}; earlier events are deleted and cannot be checked")
            yield b"".join(entry.payload for entry in entries)
            offset = behind(entries[-1], offset)

    def _fetch(self, place: Place, offset: int) -> list[AppendEntry]:
        """Batches from an offset on, none where there are none. Servers take `max_wait_ms` for a bound on the bytes."""
        request = FetchRequest(
            max_wait_ms=READ_BYTES, range=range_at(place), offset=offset, limit=-1, max_bytes=READ_BYTES
        )
        return [entry for entry, _ in entries_in(self.ask_for_batches(request))]


def entries_in(reading: FrameReading) -> list[tuple[AppendEntry, int]]:
    """The batches in the answer to a FETCH, and the bytes of each; none where it says that there are none.

    Failed where it says anything else.
    """
    status = status_of(reading.frame)
    if status.code == NO_NEW_RECORD:
        return []
    check_status("FETCH", status)
    found = [] if reading.batches is None else reading.batches.found
    return [(entry, size) for entry, size in found if isinstance(entry, AppendEntry)]


class Binding(NamedTuple):
    """Where a writer goes on: its range, its last event that is stored, the first identifier that is free."""

    place: Place
    last: int
    next_id: int


def bind(link: Link, place: Place | None, *, own_id: int, acknowledged: int) -> Binding:
    """Begin on a new connection, in a new range or behind what is stored in the one that there is."""
    talk = RangeTalk(link)
    if place is None:
        place = talk.make_range(own_id)
    else:
        talk.open_range(place)
    return Binding(place, talk.stored(place, acknowledged), talk.next_id())


def range_at(place: Place) -> Range:
    """A range as it is named to a range server; that it names a server shows that one is meant."""
    servers = (RangeServer(server_id=0, advertise_addr="wiretool"),)
    return Range(stream_id=place.stream_id, index=place.range_index, epoch=0, start=0, servers=servers)


def behind(entry: AppendEntry, offset: int) -> int:
    """Where the batch behind this one begins, which is beyond what was asked for."""
    end = entry.meta.base_offset + entry.meta.last_offset_delta
    if end <= offset:
        raise refused("FETCH", "batches from before", f"offset {offset} was asked for, the last ends at {end}")
    return end


def status_of(frame: SbpFrame) -> Status:
    """How a request went; one of a system error is told the same way."""
    header = frame.header
    status = getattr(header, "status", None)
    return status if isinstance(status, Status) else Status(message="an answer without a status")


def check_append(frame: SbpFrame) -> None:
    """Failed for an answer that does not say of the one batch of an append that it is stored."""
    header = frame.header
    if not isinstance(header, AppendResponse):
        check_status("an append", status_of(frame))
        raise refused("an append", "no result")
    check_status("an append", header.status)
    entries = header.entries or ()
    if len(entries) != 1:
        raise refused("an append", f"{len(entries)} results")
    check_status("an append", entries[0].status)


def acks(first_id: int, last: int, events: int) -> Acks:
    """Reads the answers to the appends from `first_id` on, behind the event `last`."""
    return Acks(LATEST, check_append, times=_TIMES, first_id=first_id, last=last, events=events)


def append_frame(place: Place, payload: bytes, *, events: int) -> bytes:
    """An append of one batch with so many events, its numbers still to come. Failed where no frame takes it."""
    meta = RecordBatchMeta(
        stream_id=place.stream_id, range_index=place.range_index, base_offset=0, last_offset_delta=events
    )
    entry = AppendEntry(meta=meta, payload=payload)
    header = AppendRequest(timeout_ms=_TIMEOUT_MS)
    return checked_frame(SbpFrame(opcode=APPEND, header=header, payload=reference.encode(entry)))


class _Template:
    """An append's frame, and where its numbers stand."""

    def __init__(self, place: Place, payload: bytes, *, events: int) -> None:
        raw = append_frame(place, payload, events=events)
        spans = annotate(LATEST, raw, 0, len(raw))
        self.frame = bytearray(raw)
        self.length = slot_at(spans, "frame_length", ">I")
        self.stream_id = slot_at(spans, "stream_id", ">I")
        self.offset = slot_at(spans, f"{_BATCH}.meta.base_offset", form_in(RecordBatchMeta, "base_offset"))
        self.payload_length = slot_at(spans, f"{_BATCH}.payload.(length)", ">i")
        self.checksum = slot_at(spans, "checksum", ">I")
        #: Where the batch begins, which is what the checksum covers, and its events.
        self.batch_at = span_called(spans, f"{_BATCH}.magic").offset
        self.events_at = self.checksum.at - len(payload)


class Appends:
    """The appends of one writer whose events are of one size: one frame, changed in place. Bound before the first."""

    _next_id: int
    _template: _Template
    _number: Callable[[int], None]
    _covered: memoryview

    def __init__(self, maker: Maker, *, events: int, size: int) -> None:
        self.events = events
        self.size = events * size
        self.last = 0
        self._maker = maker
        self._event_size = size

    def bind(self, place: Place, next_id: int) -> None:
        """Send to this range from now on, with identifiers from `next_id` on."""
        payload = bytes(self._maker.template(self.events, self._event_size))
        self._template = made = _Template(place, payload, events=self.events)
        self._number = self._maker.numbering(made.frame, made.events_at, self.events, self._event_size)
        self._covered = memoryview(made.frame)[made.batch_at : made.checksum.at]
        self._next_id = next_id

    def next(self) -> bytearray:
        """The frame of the next append; it is the same object each time."""
        made, last = self._template, self.last
        frame = made.frame
        self._number(last + 1)
        made.stream_id.put(frame, made.stream_id.at, self._next_id)
        made.offset.put(frame, made.offset.at, last)
        made.checksum.put(frame, made.checksum.at, zlib.crc32(self._covered))
        self._next_id += 1
        self.last = last + self.events
        return frame


class VaryingAppends:
    """The appends of one writer whose events differ in size. Bound before the first."""

    _next_id: int
    _template: _Template

    def __init__(self, maker: Maker, *, events: int, draw: Callable[[], int]) -> None:
        self.events = events
        self.size = 0
        self.last = 0
        self._maker = maker
        self._draw = draw

    def bind(self, place: Place, next_id: int) -> None:
        """Send to this range from now on, with identifiers from `next_id` on."""
        self._template = _Template(place, b"", events=self.events)
        self._next_id = next_id

    def next(self) -> bytes:
        """The frame of the next append. Failed where no frame takes so much."""
        sizes = [self._draw() for _ in range(self.events)]
        self.size = sum(sizes)
        payload, made = self._maker.batch(sizes, self.last + 1), self._template
        head = made.frame[: made.events_at]
        made.length.put(head, made.length.at, checked_length(len(made.frame) + len(payload)))
        made.stream_id.put(head, made.stream_id.at, self._next_id)
        made.offset.put(head, made.offset.at, self.last)
        made.payload_length.put(head, made.payload_length.at, len(payload))
        self.last += self.events
        self._next_id += 1
        checksum = zlib.crc32(payload, zlib.crc32(head[made.batch_at :]))
        return b"".join((head, payload, checksum.to_bytes(CHECKSUM_BYTES, "big")))
