"""Reads of segments: what a SegmentRead may say after what clients appended and sealed in the live run (§5.3)."""

from collections.abc import Iterator, Sequence

from wiretool.analysis.dialogues import Recording
from wiretool.protocols.pravega.failures import NoSuchSegment, SegmentIsSealed
from wiretool.protocols.pravega.messages import ReadSegment, SegmentRead
from wiretool.protocols.pravega.replay.appends import frames_of
from wiretool.protocols.pravega.replay.live import LiveHistory
from wiretool.protocols.pravega.replay.skipped import is_of_another
from wiretool.protocols.pravega.replay.state import Past
from wiretool.protocols.pravega.segments import SegmentDeleted
from wiretool.records import Record
from wiretool.replay.adapter import Difference, Excuse, Verdict
from wiretool.replay.judging.known_differences import ANOTHER, Case, KnownDifference

#: A store looks every 60 s for segments that nobody used for 60 s, and unloads them.
UNLOADING_NS = 60_000_000_000
#: So many bytes a read brings at least, if they are there, and at most.
_READ_MIN, _READ_MAX = 8, 2 * 1024 * 1024
_CUT = Excuse(Verdict.EXPLAINED, "a read returns the available bytes, up to the requested size (§5.3)")
_NOT_CACHED = Excuse(Verdict.EXPLAINED, "a store does not mark bytes that it fetches from storage as the tail (§5.3)")
_UNLOADED = Excuse(Verdict.EXPLAINED, "the live store unloaded an idle segment, which ended the read in it (§5.3)")
_ASKED_BEFORE = Excuse(Verdict.UNKNOWN, "the recorded reply is to a read from before the recording")
_UNSEEN = Excuse(Verdict.UNKNOWN, "neither the recording nor the live run shows which bytes are there")


class Reads:
    """Judges what differs between two replies to a read, by the bytes that are known to be in the segment."""

    def __init__(self, past: Past, history: LiveHistory, recording: Recording) -> None:
        self._past = past
        self._history = history
        #: Segment -> recorded replies that say where it ends, and that it was removed.
        self._ends: dict[tuple[str, int], Record] = {}
        self._removals: dict[str, list[int]] = {}
        for event in frames_of(recording):
            self._note(event.record)

    def _note(self, record: Record) -> None:
        reply = record.fields
        if isinstance(reply, SegmentRead) and reply.end_of_segment:
            self._ends.setdefault((reply.segment, reply.offset + len(reply.data)), record)
        elif isinstance(reply, SegmentIsSealed):
            self._ends.setdefault((reply.segment, reply.offset), record)
        elif isinstance(reply, SegmentDeleted):
            self._removals.setdefault(reply.segment, []).append(record.n)

    def known(self) -> Iterator[KnownDifference]:
        """Yield the differences between replies to reads that are known, the first to explain one counts."""
        ended, reads = frozenset({"data", "at_tail"}), SegmentRead
        yield KnownDifference(reads, reads, ended, self._explain_unloading)
        yield KnownDifference(reads, SegmentIsSealed, frozenset({ANOTHER}), self._explain_refusal)
        yield KnownDifference(
            reads, reads, frozenset({"segment", "offset", *ended, "end_of_segment"}), self._of_another
        )
        yield KnownDifference(reads, reads, frozenset({"data"}), self._explain_size)
        yield KnownDifference(reads, reads, frozenset({"at_tail"}), self._explain_tail)
        yield KnownDifference(reads, reads, frozenset({"end_of_segment"}), self._explain_end)

    # -- reads that were ended by unloading ----------------------------------------------------------------------------

    def unloading(self, recorded: Record, request: Record | None) -> Excuse | None:
        """Return how a recorded read ended with nothing because the store unloaded its segment; None where it did not.

        A removal ends a read in the same way, but at once: so do all servers.
        """
        if request is None or not is_empty(recorded) or recorded.time_ns - request.time_ns < UNLOADING_NS:
            return None
        removed = self._removals.get(recorded.fields.segment, ())  # type: ignore[union-attr]
        if any(request.n < n < recorded.n for n in removed):
            return None
        why = (
            f"the recorded store unloaded an idle segment, which ended the read that waited in it (record {recorded.n}"
        )
        return Excuse(Verdict.EXPLAINED, f"{why}, §5.3)")

    def waits(self, segment: str, offset: int, n: int) -> bool:
        """Return whether a live read from there has to wait, by what is known before a record."""
        is_over = self._history.is_sealed(segment, n) or self._history.is_gone(segment, n)
        return not is_over and self._history.length(segment, n) <= offset

    def is_live_unloading(self, live: Record) -> bool:
        """Return whether a live read waited for so long, with nothing to read, that its segment was unloaded."""
        request = self._history.request_of(live)
        if request is None or not is_empty(live) or live.time_ns - request.time_ns < UNLOADING_NS:
            return False
        message = live.fields
        return isinstance(message, SegmentRead) and self.waits(message.segment, message.offset, live.n)

    def is_waiting(self, request: Record) -> bool:
        """Return whether the live read that stands for a recorded one has nothing to read up to now."""
        live = self._history.live_of(request)
        read = None if live is None else live.fields
        return not isinstance(read, ReadSegment) or self.waits(read.segment, read.offset, self._history.last_n + 1)

    def live_unloading(self, live: Record) -> Excuse | None:
        """Return that a live read ended with nothing because the store unloaded its segment; None where it did not."""
        return _UNLOADED if self.is_live_unloading(live) else None

    def may_answer(self, live: Record) -> bool:
        """Return whether a live reply may come to a read that waited to the end of the recorded connection."""
        reply = live.fields
        if isinstance(reply, SegmentIsSealed):
            return self._history.is_sealed(reply.segment, live.n) or reply.segment in self._past.ended
        if not isinstance(reply, SegmentRead):
            return not isinstance(reply, NoSuchSegment) or self._history.is_gone(reply.segment, live.n)
        if not reply.data:
            return self.is_live_unloading(live) or reply.end_of_segment or self._history.is_gone(reply.segment, live.n)
        case = Case(Difference((), None, None), live, live, None)
        return self._is_there(case)

    def _explain_unloading(self, case: Case) -> Excuse | None:
        if self.is_live_unloading(case.live):
            return _UNLOADED
        found = self.unloading(case.recorded, case.request)
        return found if found is not None and self._is_there(case) and self._may_be_tail(case) else None

    def _explain_refusal(self, case: Case) -> Excuse | None:
        """A read that was ended by unloading would have waited until its segment was sealed."""
        found, reply = self.unloading(case.recorded, case.request), case.live.fields
        if found is None or not isinstance(reply, SegmentIsSealed | NoSuchSegment) or not self._is_echo(case.live):
            return None
        return found if self._history.is_sealed(reply.segment, case.live.n) else None

    # -- reads as such -------------------------------------------------------------------------------------------------

    def _of_another(self, case: Case) -> Excuse | None:
        """What was recorded is the reply to an earlier read with the same id."""
        is_it = is_of_another(case.recorded.fields, case.request)
        return _ASKED_BEFORE if is_it and self._is_echo(case.live) and self._find_unknown(case) is not None else None

    def _explain_size(self, case: Case) -> Excuse | None:
        was, now = _reads(case)
        if not was.data or not now.data or len(now.data) > self._size_of(case.live):
            return None
        unknown = self._find_unknown(case)
        if unknown is None or not unknown:
            return None if unknown is None else _CUT
        return None if was.at_tail or was.end_of_segment or self._history.length(now.segment, case.live.n) else _UNSEEN

    def _explain_tail(self, case: Case) -> Excuse | None:
        was, now = _reads(case)
        if now.end_of_segment:  # what follows is the end, and nothing to wait for
            return None if now.at_tail or was.end_of_segment else self._explain_end(case)
        if was.data == now.data:
            is_late = now.at_tail and not was.end_of_segment
            return _NOT_CACHED if is_late and self._may_be_tail(case) else None
        if not was.data or not now.data:
            return None
        if not now.at_tail:
            return _CUT if self._may_go_on(case) else None
        is_inside = self._history.is_inside(now.segment, now.offset + len(now.data))  # the reference has seen such
        return _CUT if is_inside or self._may_be_tail(case) else None

    def _explain_end(self, case: Case) -> Excuse | None:
        was, now = _reads(case)
        if was.end_of_segment:
            is_cut = len(now.data) < len(was.data) and self._is_there(case)
            return _CUT if is_cut else None
        end = self._ends.get((was.segment, was.offset + len(now.data)))
        if end is None or not self._is_there(case):
            return None
        return Excuse(
            Verdict.EXPLAINED,
            f"a read to the end of a sealed segment is marked as the end (§5.3); record {end.n} shows that end",
        )

    def _is_there(self, case: Case) -> bool:
        """Return whether all live bytes are known to be in the segment."""
        return self._find_unknown(case) == []

    def _find_unknown(self, case: Case) -> Sequence[slice] | None:
        """Return the live bytes of which nothing is known; None where others are known to be there.

        What the live run has placed there counts; of all else, what the recording shows.
        """
        was, now = _reads(case)
        found: list[slice] = []
        for part in self._history.find_unknown(now.segment, now.offset, now.data) or ():
            asked = _offset_of(case)
            left = self._past.contents.find_unknown(was.segment, asked + part.start, now.data[part])
            if left is None:
                return None
            found += left
        is_other = self._history.find_unknown(now.segment, now.offset, now.data) is None
        return None if is_other else found

    def _may_be_tail(self, case: Case) -> bool:
        """Return whether live bytes may be the last: none behind them were acknowledged before they were asked for."""
        now, request = case.live.fields, self._history.request_of(case.live)
        assert isinstance(now, SegmentRead)
        end = now.offset + len(now.data)
        if request is None or len(now.data) >= self._size_of(case.live):
            return False
        return self._history.length(now.segment, request.n) <= end

    def _may_go_on(self, case: Case) -> bool:
        """Return whether more bytes may be behind the live ones."""
        was, now = _reads(case)
        end = now.offset + len(now.data)
        is_full = len(now.data) >= self._size_of(case.live)
        return is_full or len(was.data) > len(now.data) or self._history.length(now.segment, case.live.n) > end

    def _size_of(self, live: Record) -> int:
        """Return how many bytes a live read may bring."""
        request = self._history.request_of(live)
        asked = request.fields.suggested_length if request and isinstance(request.fields, ReadSegment) else _READ_MAX
        return min(_READ_MAX, max(_READ_MIN, asked))

    def _is_echo(self, live: Record) -> bool:
        """Return whether a reply is about what was asked for."""
        request, reply = self._history.request_of(live), live.fields
        if request is None or not isinstance(request.fields, ReadSegment):
            return False
        place = (request.fields.segment, request.fields.offset)
        return isinstance(reply, SegmentRead | SegmentIsSealed) and (reply.segment, reply.offset) == place


def is_empty(record: Record) -> bool:
    """Return whether a read ended with nothing at the tail: its segment was unloaded, or removed."""
    reply = record.fields
    return isinstance(reply, SegmentRead) and not reply.data and reply.at_tail and not reply.end_of_segment


def _reads(case: Case) -> tuple[SegmentRead, SegmentRead]:
    was, now = case.recorded.fields, case.live.fields
    assert isinstance(was, SegmentRead)
    assert isinstance(now, SegmentRead)
    return was, now


def _offset_of(case: Case) -> int:
    """Return the recorded offset that the live bytes begin at: the one that was asked for."""
    asked = case.request.fields if case.request is not None else None
    return asked.offset if isinstance(asked, ReadSegment) else case.recorded.fields.offset  # type: ignore[union-attr]
