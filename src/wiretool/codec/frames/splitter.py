"""Cuts one direction of a connection into frames, across holes too.

In step, frames follow one another and each header says where the next begins. A hole inside a frame whose header was
seen changes nothing in that. Where a header itself is missing or is none, the splitter searches (resync.py), and
everything in front of the frame that it finds is lost, and said so.
"""

from functools import partial
from typing import Literal, NamedTuple

from wiretool import limits
from wiretool.codec.frames.resync import OPEN_FRAME_BYTES, WINDOW_BYTES, Framing, Work, find_frame
from wiretool.codec.message import Side
from wiretool.errors import DecodeError

#: Trust in the first frame behind a hole, or at a beginning that was not captured, at which nothing more is awaited.
SURE_BEHIND_HOLE, SURE_AT_START = 4, 2
#: Why the rest of a frame is lost whose beginning was not captured.
_HOLED = "incomplete", "its beginning is before a gap"


class Piece(NamedTuple):
    """A stretch of the stream: a whole frame in `data[at:end]`, bytes that are lost to us, or a hole."""

    kind: Literal["frame", "lost", "gap"]
    data: bytes
    at: int
    end: int
    offset: int
    length: int
    first_packet: int
    last_packet: int
    time_ns: int
    error: str = ""
    why: str = ""


_piece = partial(tuple.__new__, Piece)


class Mark(NamedTuple):
    """Bytes up to `end` (of the stream) came with `packet`."""

    end: int
    packet: int
    time_ns: int


class Splitter:
    """One side of one connection. `from_start`: the first byte given is the first that was ever sent."""

    _offset = 0  # stream offset of the first byte held
    _held = 0
    _need = 0  # bytes wanted before it is worth looking again
    _skip = 0  # bytes still to come of a frame whose beginning is missing or was discarded
    _skip_error, _skip_why = _HOLED
    _lost_error = _lost_why = ""
    is_searching = _at_start = False

    def __init__(self, framing: Framing, side: Side, *, from_start: bool = True) -> None:
        self._framing = framing
        self._side = side
        self._parts: list[bytes] = []
        self._marks: list[Mark] = []
        if not from_start:
            self.is_searching = self._at_start = True
            self._lost_error, self._lost_why = "unsynchronised", "the capture begins inside a frame"

    @property
    def offset(self) -> int:
        """Stream offset of the first byte that is not told yet."""
        return self._offset

    @property
    def held(self) -> int:
        """Bytes that wait for more before they can be told."""
        return self._held

    @property
    def cost(self) -> int:
        """Return the memory that the held bytes take."""
        return self._held + limits.UNFINISHED_SEGMENT_BYTES * len(self._marks) if self._held else 0

    @property
    def wanted(self) -> int:
        """Bytes without which nothing more can be told, those held among them."""
        return self._need

    @property
    def is_in_step(self) -> bool:
        """Whether the next byte held, or given, is the first of a frame."""
        return not self.is_searching and not self._skip

    def begin_in_step(self) -> None:
        """Take the first byte, before it comes, for the first of a frame: a search would find it there."""
        self.is_searching = self._at_start = False

    def count_again(self) -> None:
        """Count again the bytes that wait; ValueError where it is not known when each of them came."""
        self._held = sum(len(part) for part in self._parts)
        ends = [mark.end for mark in self._marks]
        if self._held and (not ends or ends != sorted(ends) or ends[-1] != self._offset + self._held):
            raise ValueError("it is not known when the bytes of an unfinished frame came")

    def holds(self) -> tuple[bytes, list[Mark]]:
        """The bytes that wait, and what came when; for who splits the next bytes himself, from `offset` on."""
        return b"".join(self._parts), self._marks

    def pass_to(self, offset: int, rest: bytes, marks: list[Mark], need: int) -> None:
        """All frames before `offset` were told, in step; `rest` waits there, `need` is the extent of its frame."""
        self._offset = offset
        self._parts = [rest] if rest else []
        self._held = len(rest)
        self._marks = marks
        self._need = need

    def feed(self, data: bytes, packet: int = 0, time_ns: int = 0) -> list[Piece]:
        """The pieces that these next bytes complete."""
        if not data:
            return []
        known = 0
        if not self._held and not self._skip and not self.is_searching:
            known = self._extent_at_front(data)
            if known == len(data):
                self._need = 0
                return [self._whole(data, packet, time_ns)]
        self._marks.append(Mark(self._offset + self._held + len(data), packet, time_ns))
        self._parts.append(data)
        self._held += len(data)
        if self._skip:
            return self._skip_holed()
        if self._held < self._need:
            return []
        return self._look(final=False, known=known)

    def _extent_at_front(self, data: bytes) -> int:
        """Return the bytes of the frame that begins with data in step; 0 where none does."""
        try:
            return self._framing.extent(self._side, data, 0, len(data))
        except DecodeError:
            return 0

    def _whole(self, data: bytes, packet: int, time_ns: int) -> Piece:
        """Return the piece of data in step that is just one frame, as it often is."""
        length, offset = len(data), self._offset
        self._offset = offset + length
        return _piece(("frame", data, 0, length, offset, length, packet, packet, time_ns, "", ""))

    def gap(
        self, length: int, packet: int = 0, time_ns: int = 0, *, is_exact: bool = True, why: str = ""
    ) -> list[Piece]:
        """Return the pieces that `length` missing bytes complete, the hole itself the last of them.

        The next frame is searched for if the length is not exact.
        """
        out = self._look(final=True) if self.is_searching else []
        rest = self._skip or max(self._need - self._held, 0)
        known = self._skip or (self._need and not self.is_searching)
        out += self._lose_all("incomplete", "its rest is in a gap")
        out.append(Piece("gap", b"", 0, 0, self._offset, length, packet, packet, time_ns, why=why))
        self._offset += length
        if is_exact and known and length <= rest:
            self._skip = rest - length
            self._skip_error, self._skip_why = _HOLED
            self.is_searching = False
        else:
            self._skip = 0
            self._begin_search("unsynchronised", "between a gap and the next frame that can be trusted")
        self._need = 0
        return out

    def end(self) -> list[Piece]:
        """The pieces that are left when no more bytes will come."""
        out = self._look(final=True) if self._held else []
        return out + self._lose_all("incomplete", "the stream ends before the frame does")

    @property
    def held_since_ns(self) -> int:
        """Capture time of the first bytes that wait; only where some do."""
        return self._marks[0].time_ns

    def settle(self) -> list[Piece]:
        """Return the frames that a search finds without further bytes; whatever else is held still waits."""
        return self._look(final=True) if self.is_searching and self._held else []

    def give_up(self, error: str = "", why: str = "") -> list[Piece]:
        """What is held, told now as at the end: what is no frame is lost, and the search goes on behind it.

        For the reason of the search that is under way; where there is none, one begins for the reason given.
        """
        if not self._held:
            return []
        if not self.is_searching:
            self._begin_search(error, why)
        out = self._look(final=True)
        return out + self._lose_all("", "") if self.is_searching else out

    def discard(self, error: str, why: str) -> list[Piece]:
        """Lose all held bytes to free their memory, except frames that are found in them.

        The rest of a frame of known length is lost as it comes, and the splitter stays in step.
        """
        out = self._look(final=True) if self._held and self.is_searching else []
        if not self._held:
            return out
        rest = 0 if self.is_searching else max(self._need - self._held, 0)
        out += self._lose_all(error, why)
        if rest:
            self._skip, self._skip_error, self._skip_why = rest, error, why
        elif not self.is_searching:
            self._begin_search(error, why)
        return out

    def _look(self, *, final: bool, known: int = 0) -> list[Piece]:
        """Return all that the bytes held give: stretches in step, and between them searches.

        `known` is the extent of the frame at their beginning; 0 where it was not asked for.
        """
        out: list[Piece] = []
        data = self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)
        at, is_stuck = 0, False
        work: Work | None = None
        while not is_stuck:
            if self.is_searching:
                work = work or Work(at, len(data))
                at, is_stuck = self._search(data, at, final, out, work)
            else:
                at, is_stuck = self._split(data, at, out, known)
            known = 0
        return out

    # -- in step ---------------------------------------------------------------------------------------------------

    def _split(self, data: bytes, at: int, out: list[Piece], known: int) -> tuple[int, bool]:
        """Add the frames from `at` on; return where they stop, and whether only more bytes can help."""
        extent, side, end, marks = self._framing.extent, self._side, len(data), self._marks
        base = self._offset - at
        need = 0
        while at < end:
            try:
                length, known = known or extent(side, data, at, end), 0
            except DecodeError as err:
                self._offset = base + at
                self._begin_search(err.kind, err.reason)
                return at, False
            stop = at + length
            if length <= 0 or stop > end:
                need = length
                break
            mark = marks[0]
            if base + stop < mark.end:  # the usual case: whole in one packet, with more behind it
                first = last = mark.packet
                time_ns = mark.time_ns
            else:
                first, last, time_ns = self._packets(base + at, base + stop)
            out.append(_piece(("frame", data, at, stop, base + at, length, first, last, time_ns, "", "")))
            at = stop
        self._offset = base + at
        self._keep(data, at, need)
        return at, True

    def _keep(self, data: bytes, at: int, need: int) -> None:
        rest = data[at:]
        self._parts = [rest] if rest else []
        self._held = len(rest)
        self._need = need
        marks = self._marks
        while marks and marks[0].end <= self._offset:
            del marks[0]

    def _lost(self, data: bytes, at: int, end: int) -> Piece:
        """`data[at:end]`, the next bytes of the stream, for the reason that stands."""
        start, length = self._offset, end - at
        first, last, time_ns = self._packets(start, start + length)
        return Piece("lost", data, at, end, start, length, first, last, time_ns, self._lost_error, self._lost_why)

    def _packets(self, start: int, end: int) -> tuple[int, int, int]:
        marks = self._marks
        mark = marks[0]
        if end <= mark.end:
            if end == mark.end:
                del marks[0]
            return mark.packet, mark.packet, mark.time_ns
        while marks[0].end <= start:
            del marks[0]
        within = [marks[0]]
        for mark in marks[1:]:
            if within[-1].end >= end:
                break
            within.append(mark)
        packets = [mark.packet for mark in within]
        return min(packets), max(packets), max(mark.time_ns for mark in within)

    # -- out of step -----------------------------------------------------------------------------------------------

    def _begin_search(self, error: str, why: str) -> None:
        self.is_searching = True
        self._at_start = False
        self._lost_error, self._lost_why = error, why
        self._need = 0

    def _search(self, data: bytes, at: int, final: bool, out: list[Piece], work: Work) -> tuple[int, bool]:
        """Lose what is in front of the next frame; where that is, and whether only more bytes can help."""
        is_full = len(data) - at > limits.RESYNC_BYTES_MAX
        sure = SURE_AT_START if self._at_start else SURE_BEHIND_HOLE
        final = final or is_full
        start = find_frame(self._framing, self._side, data, at, final=final, sure_points=sure, work=work)
        if start is None:
            self._keep(data, at, 0)
            self._need = min(self._held + _growth(self._held), limits.RESYNC_BYTES_MAX + 1)
            if is_full:
                out += self._lose_all(self._lost_error, self._lost_why)
            return at, True
        if start > at:
            out.append(self._lost(data, at, start))
        self._offset += start - at
        self.is_searching = self._at_start = False
        return start, False

    # -- lost bytes ------------------------------------------------------------------------------------------------

    def _skip_holed(self) -> list[Piece]:
        data = b"".join(self._parts)
        count = min(self._skip, len(data))
        self._lost_error, self._lost_why = self._skip_error, self._skip_why
        out = [self._lost(data, 0, count)]
        self._skip -= count
        self._offset += count
        self._keep(data, count, 0)
        return out + (self._look(final=False) if self._held else [])

    def _lose_all(self, error: str, why: str) -> list[Piece]:
        if not self._held:
            return []
        if not self.is_searching:
            self._lost_error, self._lost_why = error, why
        data = b"".join(self._parts)
        piece = self._lost(data, 0, len(data))
        self._offset += len(data)
        self._keep(b"", 0, 0)
        return [piece]


def _growth(held: int) -> int:
    """Bytes to wait for before looking again, which costs a walk over all that is held: more where that is much."""
    if held > WINDOW_BYTES:
        return held // 2
    return held // (8 if held > OPEN_FRAME_BYTES else 64)  # of little, less than a usual segment
