"""What the append commands of one connection add up to: whole appends, out of blocks and events cut between them.

The rules are those of the server's AppendDecoder.java, numbered D1 to D22 in SOURCES.md. What a hole or an uncaptured
beginning could explain breaks none of them.
"""

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any, Literal

from wiretool import limits
from wiretool.errors import ProtocolViolation
from wiretool.protocols.pravega.commands import BY_CODE
from wiretool.protocols.pravega.framing import HEADER_BYTES, extent, prefix, type_at
from wiretool.protocols.pravega.messages import (
    AppendBlock,
    AppendBlockEnd,
    ConditionalAppend,
    ConditionalBlockEnd,
    Padding,
    PartialEvent,
    SetupAppend,
)

#: Where the client is with its appends: no block is open, one is, or a block may be open that was not captured.
Phase = Literal["idle", "block", "lost"]

EVENT_HEAD = b"\0\0\0\0"
#: Events are frames; the bytes that they are in have their bound.
EVENT_PREFIX, event_extent = prefix(0xFFFF_FFFF), extent(0xFFFF_FFFF)
_PARTIAL_EVENT = PartialEvent.declaration.type_id
_PADDING = Padding.declaration.type_id


class Writer:
    """A writer as the decoder knows it: its segment (None where its set-up was not captured) and its last number.

    The number is of the `era` that it was seen in.
    """

    __slots__ = ("era", "last", "segment")

    def __init__(self, segment: str | None, era: int) -> None:
        self.segment = segment
        self.last = 0
        self.era = era


class Appends:
    """The writers of one connection and its open block. `is_whole`: nothing that the client said so far is missing."""

    def __init__(self, *, is_whole: bool) -> None:
        self.writers: dict[str, Writer] = {}
        self.is_whole = is_whole
        #: Moved on by the session, along its table.
        self.phase: Phase = "idle" if is_whole else "lost"
        self._block: AppendBlock | None = None
        #: How often frames of the client were lost; last numbers from before count no more.
        self._era = 0
        self._by_segment: dict[str, dict[str, None]] = {}

    @property
    def held_bytes(self) -> int:
        """Return the bytes of the block whose AppendBlockEnd is missing."""
        return 0 if self._block is None else len(self._block.data)

    def lose(self) -> None:
        """Frames of the client are missing: a block may have been opened or ended, a writer set up anew."""
        self.is_whole = False
        self.phase = "lost"
        self._block = None
        self._era += 1

    def drop_block(self) -> None:
        """The open block will not be ended."""
        self.phase = "idle"
        self._block = None

    def set_up(self, setup: SetupAppend) -> None:
        """Bind the writer to a segment, its numbers beginning anew (D3)."""
        self.bind(setup.writer_id, setup.segment)

    def bind(self, writer_id: str, segment: str) -> None:
        """The same, by the names in the message."""
        self._add(writer_id, segment)

    def learn(self, writer_id: str, segment: str | None) -> None:
        """A reply of the server proves that the writer is set up, for this segment if one is named."""
        writer = self.writers.get(writer_id)
        if writer is None:
            self._add(writer_id, segment)
        elif writer.segment is None and segment is not None:
            writer.segment = segment
            self._by_segment.setdefault(segment, {})[writer_id] = None

    def begin(self, block: AppendBlock) -> None:
        """A block begins (D4, D5)."""
        self._writer(block.writer_id, "AppendBlock")
        self._block = block

    def finish(self, end: AppendBlockEnd) -> tuple[Writer, bytes | None]:
        """Who appends, and the bytes of the append that ends here (D6 to D19); None where its block is missing."""
        block, self._block = self._block, None
        writer = self.writers.get(end.writer_id) or self._writer(end.writer_id, "AppendBlockEnd")
        if writer.era != self._era:
            self._renew(writer)
        if end.num_events <= 0:
            raise self._violation("bad-event-count", f"an append of {end.num_events} events", "AppendBlockEnd")
        if end.last_event_number < writer.last:
            raise self._backwards(end.last_event_number, writer, "AppendBlockEnd")
        if block is not None:
            if block.writer_id != end.writer_id:
                why = f"the open block is of writer {block.writer_id}"
                raise self._violation("writer-mismatch", why, "AppendBlockEnd")
            writer.last = end.last_event_number
            return writer, self._join(block.data, end)
        writer.last = end.last_event_number
        return writer, end.data if self.phase != "lost" or _is_lone(end) else None

    def condition(self, append: ConditionalAppend | ConditionalBlockEnd) -> Writer:
        """Who makes an append that stands alone (D20 to D22)."""
        name = type(append).__name__
        writer = self._writer(append.writer_id, name)
        if writer.era != self._era:
            self._renew(writer)
        if append.event_number < writer.last:
            raise self._backwards(append.event_number, writer, name)
        writer.last = append.event_number
        return writer

    @property
    def is_idle(self) -> bool:
        """Whether no block is open, for sure."""
        return self.phase == "idle" and self._block is None

    def current(self, writer_id: str) -> Writer | None:
        """The writer, if it is known; its last number is one of this era."""
        writer = self.writers.get(writer_id)
        if writer is not None and writer.era != self._era:
            self._renew(writer)
        return writer

    def go_on(self, writer_id: str, event_number: int) -> Writer | None:
        """The writer, moved on to this number; None, with nothing changed, where anything speaks against it."""
        writer = self.current(writer_id)
        if writer is None or event_number < writer.last or not self.is_idle:
            return None
        writer.last = event_number
        return writer

    def writers_of(self, segment: str | None) -> Iterable[str]:
        """The writers that are bound to a segment; all of them where none is named."""
        return self.writers if segment is None else self._by_segment.get(segment, ())

    def _writer(self, writer_id: str, command: str) -> Writer:
        """The writer; an unknown one is taken in where its set-up may be what was not captured."""
        writer = self.writers.get(writer_id)
        if writer is not None:
            return writer
        if self.is_whole:
            raise self._violation("append-before-setup", f"no SetupAppend named writer {writer_id}", command)
        return self._add(writer_id, None)

    def _add(self, writer_id: str, segment: str | None) -> Writer:
        if len(self.writers) >= limits.WRITERS_MAX and writer_id not in self.writers:
            self.is_whole = False
            for old in list(islice(self.writers, limits.WRITERS_MAX // 2)):
                self._unbind(old, self.writers.pop(old))
        known = self.writers.get(writer_id)
        if known is not None:
            self._unbind(writer_id, known)
        if segment is not None:
            self._by_segment.setdefault(segment, {})[writer_id] = None
        writer = self.writers[writer_id] = Writer(segment, self._era)
        return writer

    def _unbind(self, writer_id: str, writer: Writer) -> None:
        """The writer is of its segment no longer."""
        if writer.segment is None:
            return
        bound = self._by_segment[writer.segment]
        del bound[writer_id]
        if not bound:
            del self._by_segment[writer.segment]

    def _renew(self, writer: Writer) -> None:
        writer.era = self._era
        writer.last = 0

    def _join(self, block: bytes, end: AppendBlockEnd) -> bytes:
        """The whole events of the block, and the one that is cut between its tail and its end."""
        whole = end.size_of_whole_events
        if not 0 <= whole <= len(block):
            raise self._violation("bad-whole-size", f"{whole} bytes of whole events in {len(block)}", "AppendBlockEnd")
        if whole == len(block):
            return block  # D18: what the end carries is dropped
        if len(block) - whole < HEADER_BYTES:
            why = f"{len(block) - whole} bytes after the whole events are not an item"
            raise self._violation("bad-tail-item", why, "AppendBlockEnd")
        kind = type_at(block, whole)
        stop = whole + event_extent(block, whole, len(block))
        if stop > len(block):
            why = f"an item of {stop - whole} bytes after the whole events, {len(block) - whole} left"
            raise self._violation("bad-tail-item", why, "AppendBlockEnd")
        if kind == _PARTIAL_EVENT:
            return block[:whole] + block[whole + HEADER_BYTES : stop] + end.data
        if kind != _PADDING:
            name = BY_CODE[kind].__name__ if kind in BY_CODE else f"type {kind}"
            raise self._violation("bad-tail-item", f"{name} after the whole events", "AppendBlockEnd")
        if end.data:
            raise self._violation("data-after-padding", f"{len(end.data)} bytes after padding", "AppendBlockEnd")
        return block[:whole]

    def _backwards(self, number: int, writer: Writer, command: str) -> ProtocolViolation:
        return self._violation("event-number-backwards", f"event {number} after event {writer.last}", command)

    def _violation(self, kind: str, why: str, command: str) -> ProtocolViolation:
        return ProtocolViolation(kind, why, phase=self.phase, side="client", message=command)


def _is_lone(end: AppendBlockEnd) -> bool:
    """Whether an end whose block may be missing is surely a whole append: its data is whole events, all of them."""
    return end.size_of_whole_events == len(end.data) and len(bodies_of(end.data, end.num_events)) == end.num_events


def block_form(writer: Writer, end: AppendBlockEnd, data: bytes) -> dict[str, Any]:
    """The append that an AppendBlockEnd completes; its events are told beside it."""
    return {
        "segment": writer.segment,
        "writer_id": end.writer_id,
        "event_number": end.last_event_number,
        "event_count": end.num_events,
        "expected_length": None,
        "request_id": end.request_id,
        "length": len(data),
    }


def conditional_form(writer: Writer, append: ConditionalAppend | ConditionalBlockEnd, length: int) -> dict[str, Any]:
    """An append that stands alone, in the same form."""
    return {
        "segment": writer.segment,
        "writer_id": append.writer_id,
        "event_number": append.event_number,
        "event_count": 1,
        "expected_length": append.expected_offset,
        "request_id": append.request_id,
        "length": length,
    }


def bodies_of(data: bytes, num_events: int) -> list[bytes]:
    """What the EVENT frames hold that make up `data`; none where it is not made of them, as in a byte stream."""
    return [data[start:stop] for start, stop in spans_of(data, 0, len(data), num_events)]


def spans_of(data: bytes, at: int, end: int, num_events: int) -> list[tuple[int, int]]:
    """Where the bodies are that `bodies_of` would give of `data[at:end]`."""
    spans: list[tuple[int, int]] = []
    while at < end:
        size = event_extent(data, at, end)
        stop = at + size
        if not size or stop > end or data[at : at + 4] != EVENT_HEAD or len(spans) == num_events:
            return []
        spans.append((at + HEADER_BYTES, stop))
        at = stop
    return spans


def events_of(data: bytes, num_events: int, last_event_number: int) -> list[Mapping[str, Any]]:
    """The events in the bytes of an append, numbered where each one that is counted is there."""
    if num_events == 1 and data[:4] == EVENT_HEAD and int.from_bytes(data[4:8], "big") == len(data) - HEADER_BYTES:
        return [{"event_number": last_event_number, "length": len(data) - HEADER_BYTES, "data": data[8:].hex()}]
    bodies = bodies_of(data, num_events)
    if len(bodies) != num_events:
        return [{"length": len(body), "data": body.hex()} for body in bodies]
    first = last_event_number - num_events + 1
    return [
        {"event_number": first + index, "length": len(body), "data": body.hex()} for index, body in enumerate(bodies)
    ]


def event_frame(body: bytes) -> bytes:
    """An event as it is appended and stored: with its header."""
    return EVENT_HEAD + len(body).to_bytes(4, "big") + body
