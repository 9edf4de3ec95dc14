"""FETCH in SBP v0.1, schema S1, as a load sends it: one batch for each offset, so that many are asked for at once.

Offsets are those of records; where batches begin is guessed from how many records the last ones had.
"""

from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from wiretool.codec.frames.patching import Slot
from wiretool.codec.frames.template import form_in, slot_at
from wiretool.load.following import Piece
from wiretool.protocols.sbp.framing import FrameReading, encode_frame
from wiretool.protocols.sbp.load.fetches import Fetches
from wiretool.protocols.sbp.messages import FETCH, SbpFrame
from wiretool.protocols.sbp.spans import annotate
from wiretool.protocols.sbp_0_1.load.client import READ_BATCHES, READ_BYTES, batches_in, behind, body_rows, in_a_row
from wiretool.protocols.sbp_0_1.messages import S1
from wiretool.protocols.sbp_0_1.tables_s1 import FetchInfo, FetchRequest

#: Batches that are asked for at first: where fewer come there are no more.
FIRST_BATCHES = 2


#: By how many batches a FETCH asks for: few numbers, for each is a frame of its own.
_WIDTHS = tuple(1 << power for power in range(READ_BATCHES.bit_length()))


class _Template(NamedTuple):
    """A FETCH of some batches, and where its numbers stand."""

    frame: bytes
    id_slot: Slot
    stream_slots: list[Slot]
    offset_slots: list[Slot]


class Reads(Fetches):
    """The FETCHes of one stream whose batches have `step` records, as far as is known."""

    def __init__(self, stream_id: int, ids: Iterator[int], *, step: int) -> None:
        super().__init__(S1, ids)
        self._step = step
        self._wanted = FIRST_BATCHES
        #: By how many batches they ask for: all of them now, while nothing is measured.
        self._frames = {wanted: _frame_on(stream_id, wanted) for wanted in _WIDTHS}

    def _frame(self, stream_id: int, offset: int) -> bytearray:
        frame, template = self._frames[self._wanted], _template(self._wanted)
        template.id_slot.put(frame, template.id_slot.at, stream_id)
        for index, slot in enumerate(template.offset_slots):
            slot.put(frame, slot.at, offset + index * self._step)
        return frame

    def _piece(self, reading: FrameReading) -> Piece:
        """The events of the batches that follow one another; there are no more where none is where they end."""
        found = batches_in(reading, self._wanted)
        batches = list(in_a_row(found))
        if not batches:
            return Piece(b"", self._offset, is_all=True)
        rows, end = [body_rows(batch) for batch in batches], behind(batches[-1], self._offset)
        is_end_asked_for = self._offset + len(batches) * self._step == end
        is_all = is_end_asked_for and len(batches) == len(found) < self._wanted
        self._step = batches[-1].meta.last_offset_delta
        self._want(len(batches), max(map(len, rows)))
        return Piece(b"".join(rows), end, is_all)

    def _want(self, came: int, largest: int) -> None:
        """How many batches to ask for next: more than came, up to twice as many."""
        wanted = min(1 << came.bit_length(), READ_BATCHES, READ_BYTES // max(largest, 1))
        self._wanted = max(width for width in _WIDTHS if width <= max(wanted, 1))


def _frame_on(stream_id: int, wanted: int) -> bytearray:
    """A request for so many batches of that stream."""
    template = _template(wanted)
    frame = bytearray(template.frame)
    for slot in template.stream_slots:
        slot.put(frame, slot.at, stream_id)
    return frame


@cache
def _template(wanted: int) -> _Template:
    """Finding the numbers in a long one takes milliseconds: once for all fetchers of a process."""
    # What is 0 would be left out.
    infos = tuple(
        FetchInfo(stream_id=1, request_index=index, fetch_offset=1, batch_max_bytes=READ_BYTES)
        for index in range(wanted)
    )
    header = FetchRequest(max_wait_ms=0, min_bytes=1, fetch_requests=infos)
    raw = encode_frame(SbpFrame(opcode=FETCH, header=header), "client")
    spans = annotate(S1, raw, 0, len(raw))
    streams, offsets = (
        [
            slot_at(spans, f"FetchRequest.fetch_requests[{index}].{name}", form_in(FetchInfo, name))
            for index in range(wanted)
        ]
        for name in ("stream_id", "fetch_offset")
    )
    return _Template(raw, slot_at(spans, "stream_id", ">I"), streams, offsets)
