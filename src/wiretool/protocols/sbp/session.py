"""One connection: which response answers which request, and what may be said when.

Both sides may ask; both match a response to its request by the stream identifier. Answers come in any order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum
from typing import Any, Literal

from wiretool import limits
from wiretool.codec.cursor import Span
from wiretool.codec.message import Side, other_side
from wiretool.errors import DecodeError, ProtocolViolation
from wiretool.protocols.base.conversation import Conversation, Defect, Reading
from wiretool.protocols.sbp import framing, spans
from wiretool.protocols.sbp.forms import form_in
from wiretool.protocols.sbp.framing import FrameReading
from wiretool.protocols.sbp.messages import GOAWAY, RESPONSE_END, SEAL_RANGE, SbpFrame, Schema


class Phase(Enum):
    """How far a connection has come."""

    # Each frame is looked up by its phase: that of the base class is a function in Python.
    __hash__ = object.__hash__

    OPEN = "open"
    #: One side has said that it goes away; what is on its way is still said and answered.
    LEAVING = "leaving"


class What(Enum):
    """What a frame is to the connection."""

    REQUEST = "request"
    RESPONSE = "response"
    GOAWAY = "goaway"


#: (phase, who sends, what) -> next phase. Nothing is refused by its phase: a server serves on after its GOAWAY (the
#: range server does), and a peer may not have read it yet. What depends on the open requests is in the methods below.
TABLE: Mapping[tuple[Phase, Side, What], Phase] = {
    (Phase.OPEN, "client", What.REQUEST): Phase.OPEN,
    (Phase.OPEN, "client", What.RESPONSE): Phase.OPEN,
    (Phase.OPEN, "client", What.GOAWAY): Phase.LEAVING,
    (Phase.OPEN, "server", What.REQUEST): Phase.OPEN,
    (Phase.OPEN, "server", What.RESPONSE): Phase.OPEN,
    (Phase.OPEN, "server", What.GOAWAY): Phase.LEAVING,
    (Phase.LEAVING, "client", What.REQUEST): Phase.LEAVING,
    (Phase.LEAVING, "client", What.RESPONSE): Phase.LEAVING,
    (Phase.LEAVING, "client", What.GOAWAY): Phase.LEAVING,
    (Phase.LEAVING, "server", What.REQUEST): Phase.LEAVING,
    (Phase.LEAVING, "server", What.RESPONSE): Phase.LEAVING,
    (Phase.LEAVING, "server", What.GOAWAY): Phase.LEAVING,
}

#: What kind of server is talked to; empty while it is not known.
Role = Literal["", "placement driver", "range server"]
#: Operations that only one kind of server serves: its answer tells what it is.
SERVED_BY: Mapping[str, Role] = {
    "ALLOCATE_ID": "placement driver",
    "LIST_RANGE": "placement driver",
    "CREATE_STREAM": "placement driver",
    "DELETE_STREAM": "placement driver",
    "UPDATE_STREAM": "placement driver",
    "DESCRIBE_STREAM": "placement driver",
    "REPORT_METRICS": "placement driver",
    "DESCRIBE_PLACEMENT_DRIVER": "placement driver",
    "APPEND": "range server",
    "FETCH": "range server",
}
#: SealRangeRequest.kind that the placement driver takes.
SEAL_KIND_PLACEMENT_DRIVER = 2

#: Requests with one and the same identifier that are remembered.
_SAME_ID_MAX = 256


class Requests:
    """The requests of one side that may still be answered, oldest first."""

    def __init__(self) -> None:
        self._open: dict[int, list[tuple[int, int]]] = {}
        self.count = 0

    def add(self, stream_id: int, opcode: int, n: int) -> None:
        """A request with record number `n`; an identifier may be used again, and is then answered again."""
        if self.count >= limits.REQUESTS_OPEN_MAX:
            oldest = next(iter(self._open))
            self.count -= len(self._open.pop(oldest))
        asked = self._open.setdefault(stream_id, [])
        asked.append((opcode, n))
        if len(asked) > _SAME_ID_MAX:
            del asked[0]
        else:
            self.count += 1

    def answer(self, stream_id: int, opcode: int, *, is_last: bool) -> int | None:
        """The number of the request that a response answers; after the last one it is forgotten."""
        asked = self._open.get(stream_id)
        if not asked:
            return None
        index = next((index for index, (code, _) in enumerate(asked) if code == opcode), 0)
        n = asked[index][1]
        if is_last:
            self.count -= 1
            del asked[index]
            if not asked:
                del self._open[stream_id]
        return n

    def has_several(self, stream_id: int) -> bool:
        """Return whether several requests with this identifier are open."""
        return len(self._open.get(stream_id, ())) > 1

    def drop(self, stream_id: int) -> None:
        """Nothing with this identifier is answered any more."""
        self.count -= len(self._open.pop(stream_id, ()))

    # -- many at once ----------------------------------------------------------------------------------------------

    def all_open(self) -> Iterable[tuple[int, Sequence[tuple[int, int]]]]:
        """Every identifier with its open requests, the longest open first."""
        return self._open.items()

    def open_among(self, stream_ids: Iterable[int]) -> Mapping[int, Sequence[tuple[int, int]]]:
        """The open requests with one of these identifiers, oldest first: operation and number of each."""
        return {stream_id: self._open[stream_id] for stream_id in set(stream_ids).intersection(self._open)}

    def forget(self, stream_ids: Iterable[int]) -> None:
        """The one open request of each of these is answered."""
        for stream_id in stream_ids:
            self.count -= len(self._open.pop(stream_id))

    def leave_open(self, requests: Mapping[int, tuple[int, int]]) -> None:
        """Requests as `add` takes them, in order: identifiers that are not open, and no more than there is room for."""
        self._open.update((stream_id, [asked]) for stream_id, asked in requests.items())
        self.count += len(requests)


class SbpConversation(Conversation):
    """A connection whose frames are of `schema`; with `role` known, what that server never takes is a defect."""

    is_proved_by_trust = True

    def __init__(self, began: bool, schema: Schema, *, role: Role = "") -> None:
        self.schema = schema
        self.role = role
        self.phase = Phase.OPEN
        self.requests: dict[Side, Requests] = {"client": Requests(), "server": Requests()}
        #: Sides whose every byte so far was seen, and those of which a frame was.
        self._whole: set[Side] = {"client", "server"} if began else set()
        self.heard: set[Side] = set()
        #: Bytes of either side are missing: an open request may have been answered unseen.
        self._has_gaps = False

    def extent(self, side: Side, data: bytes, at: int, end: int) -> int:
        return framing.extent(data, at, end)

    def candidates(self, side: Side, data: bytes, at: int, end: int) -> Iterator[int]:
        return framing.candidates(self.schema, data, at, end)

    def trust(self, side: Side, data: bytes, at: int, end: int) -> int:
        return framing.trust(self.schema, data, at, end)

    def annotate(self, side: Side, data: bytes, at: int, end: int) -> list[Span]:
        return spans.annotate(self.schema, data, at, end)

    def hole(self, side: Side) -> None:
        self._whole.discard(side)
        self._has_gaps = True

    def is_doubtful(self, asker: Side, stream_id: int) -> bool:
        """Return whether it is not known which of several requests with one identifier a response answers."""
        return self._has_gaps and self.requests[asker].has_several(stream_id)

    def is_whole(self, side: Side) -> bool:
        """Whether every byte of a side so far was seen."""
        return side in self._whole

    def read(self, side: Side, data: bytes, at: int, end: int, n: int) -> Reading:
        reading, fields = form_in(self.schema, data, at, end)
        defects: list[Defect] = list(reading.defects)
        reply_to = self._advance(side, reading, n, defects)
        name = "Unknown" if reading.operation is None else reading.operation.name
        return Reading(name, fields, defects, reply_to)

    def _advance(self, side: Side, reading: FrameReading, n: int, defects: list[Defect]) -> int | None:
        frame = reading.frame
        what = What.GOAWAY if frame.opcode == GOAWAY else What.RESPONSE if frame.is_response else What.REQUEST
        self.phase = TABLE[self.phase, side, what]
        self.heard.add(side)
        reply_to = self._answer(side, frame, n, defects) if frame.is_response else None
        if frame.is_response:
            self._learn_role(side, reading)
        else:
            self.requests[side].add(frame.stream_id, frame.opcode, n)
            self._check_seal_kind(side, frame, defects)
        return reply_to

    def _answer(self, side: Side, frame: SbpFrame, n: int, defects: list[Defect]) -> int | None:
        asker = other_side(side)
        is_last = bool(frame.flags & RESPONSE_END)
        is_doubtful = self.is_doubtful(asker, frame.stream_id)
        reply_to = self.requests[asker].answer(frame.stream_id, frame.opcode, is_last=is_last)
        if reply_to is not None:
            return None if is_doubtful else reply_to
        # The range server looks at no response bit and answers such a frame all the same.
        self.requests[side].add(frame.stream_id, frame.opcode, n)
        is_maintenance = frame.opcode == GOAWAY and not is_last
        if asker in self._whole and asker in self.heard and not is_maintenance:
            why = f"the {asker} has no open request {frame.stream_id}"
            defects.append(self._violation("response-without-request", why, side, frame))
        return None

    def _learn_role(self, side: Side, reading: FrameReading) -> None:
        operation, frame = reading.operation, reading.frame
        if side == "server" and operation is not None and not frame.is_system_error and not reading.defects:
            self.role = self.role or SERVED_BY.get(operation.name, "")

    def _check_seal_kind(self, side: Side, frame: SbpFrame, defects: list[Defect]) -> None:
        if self.role != "placement driver" or side != "client" or frame.opcode != SEAL_RANGE:
            return
        kind: Any = getattr(frame.header, "kind", SEAL_KIND_PLACEMENT_DRIVER)
        if kind != SEAL_KIND_PLACEMENT_DRIVER:
            why = f"the placement driver seals kind 2 (PLACEMENT_DRIVER) only, not {kind}"
            defects.append(DecodeError("bad_request", why, path="header.kind"))

    def _violation(self, kind: str, why: str, side: Side, frame: SbpFrame) -> ProtocolViolation:
        operation = self.schema.operation(frame.opcode)
        name = "Unknown" if operation is None else operation.name
        return ProtocolViolation(kind, why, phase=self.phase.value, side=side, message=name)
