"""SBP's FETCH as a load sends it: one frame, changed in place, many batches in an answer.

Offsets are those of records: that of event n is n - 1.
"""

from collections.abc import Iterator

from wiretool.codec.frames.template import form_in, slot_at
from wiretool.load.following import Piece
from wiretool.protocols.sbp.framing import FrameReading, encode_frame
from wiretool.protocols.sbp.load.client import READ_BYTES, behind, entries_in, range_at
from wiretool.protocols.sbp.load.fetches import Fetches
from wiretool.protocols.sbp.load.frames import Place
from wiretool.protocols.sbp.messages import FETCH, SbpFrame
from wiretool.protocols.sbp.schema import LATEST
from wiretool.protocols.sbp.spans import annotate
from wiretool.protocols.sbp.tables import FetchRequest

#: What a batch counts where it is stored beside its bytes (sbp.md §3.4).
_STORED_BYTES = 8


class Reads(Fetches):
    """The FETCHes of one range."""

    def __init__(self, place: Place, ids: Iterator[int]) -> None:
        super().__init__(LATEST, ids)
        # Servers take `max_wait_ms` for the bound on the bytes. What is 0 would be left out.
        header = FetchRequest(max_wait_ms=READ_BYTES, range=range_at(place), offset=1, limit=-1, max_bytes=READ_BYTES)
        raw = encode_frame(SbpFrame(opcode=FETCH, header=header), "client")
        spans = annotate(LATEST, raw, 0, len(raw))
        self._request = bytearray(raw)
        self._id_slot = slot_at(spans, "stream_id", ">I")
        self._offset_slot = slot_at(spans, "FetchRequest.offset", form_in(FetchRequest, "offset"))

    def _frame(self, stream_id: int, offset: int) -> bytearray:
        self._id_slot.put(self._request, self._id_slot.at, stream_id)
        self._offset_slot.put(self._request, self._offset_slot.at, offset)
        return self._request

    def _piece(self, reading: FrameReading) -> Piece:
        """The events of all batches; that the answer is full says that there may be more."""
        entries = entries_in(reading)
        if not entries:
            return Piece(b"", self._offset, is_all=True)
        data = b"".join(entry.payload for entry, _ in entries)
        is_full = sum(size + _STORED_BYTES for _, size in entries) >= READ_BYTES
        return Piece(data, behind(entries[-1][0], self._offset), is_all=not is_full)
