"""Known differences of the 2017 draft: which fields of which replies may differ between two runs, and why."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from wiretool.analysis.dialogues import Dialogue
from wiretool.codec.message import Message
from wiretool.protocols.pravega.replay.content import Contents
from wiretool.protocols.pravega_draft.messages import (
    DataAppended,
    KeepAlive,
    NoSuchSegment,
    SegmentAlreadyExists,
    SegmentIsSealed,
    SegmentRead,
    WrongHost,
)
from wiretool.protocols.pravega_draft.replay.blocks import Past, content_before
from wiretool.records import Record
from wiretool.replay.adapter import Excuse, Verdict
from wiretool.replay.judging.known_differences import ANOTHER, Case, KnownDifference, explain

_MERGED = Excuse(Verdict.EXPLAINED, "a later acknowledgement is for this block too")
_ALIVE = Excuse(Verdict.EXPLAINED, "keep-alives are sent at any time")
_SIZE = Excuse(Verdict.EXPLAINED, "how much of a segment one reply brings is the server's choice (S18)")
_ELSEWHERE = Excuse(
    Verdict.EXPLAINED, "one store has all segments, and the draft has no word for making, sealing or removing one"
)
_HIDDEN = Excuse(Verdict.UNKNOWN, "a gap of the recording hides its request")
_GAP = Excuse(Verdict.UNKNOWN, "bytes of the server are missing in the recording")
_LEFT_OUT = Excuse(Verdict.UNKNOWN, "blocks that are incomplete in the recording were skipped")
_SHARED = Excuse(Verdict.UNKNOWN, "several connections append to the segment, in an unknown order")
_OVER = Excuse(Verdict.UNKNOWN, "the recording ends before it")
_REFUSALS = (WrongHost, SegmentAlreadyExists, SegmentIsSealed, NoSuchSegment)


class DraftDifferences:
    """Judges by what the recorded clients appended, connection by connection."""

    def __init__(self, pasts: Mapping[int, Past]) -> None:
        self._pasts = pasts
        self._contents = Contents()
        #: Segment -> the connections that append to it.
        self._appenders: dict[str, set[int]] = defaultdict(set)
        for number, past in pasts.items():
            for block in past.blocks:
                self._appenders[block.segment].add(number)
        self._collect()
        read, content = SegmentRead, frozenset({"data", "at_tail", "end_of_segment"})
        self._known = (
            KnownDifference(read, read, content, self._explain_left_out),
            KnownDifference(read, read, content, self._explain_size),
            KnownDifference(_REFUSALS, Message, frozenset({ANOTHER}), self._explain_elsewhere),
        )

    def _collect(self) -> None:
        """Note what is known to be in the segments."""
        reads: dict[str, dict[int, bytes]] = defaultdict(dict)
        for past in self._pasts.values():
            for record in past.dialogue.records:
                if isinstance(record.fields, SegmentRead):
                    read = record.fields
                    self._contents.add(read.segment, read.offset, read.data)
                    reads[read.segment][read.offset] = max(
                        reads[read.segment].get(read.offset, b""), read.data, key=len
                    )
        for name, numbers in self._appenders.items():
            if len(numbers) == 1:
                (number,) = numbers
                data = b"".join(bytes(block.stored) for block in self._pasts[number].stored if block.segment == name)
                self._contents.add(name, len(content_before(data, reads[name])), data, is_sure=False)

    # -- a reply that differs ------------------------------------------------------------------------------------------

    def difference(self, case: Case) -> Excuse | None:
        """Return why a reply differs there; None where it is a finding."""
        return explain(self._known, case)

    def _explain_left_out(self, case: Case) -> Excuse | None:
        """Blocks that were left out before the read are not there."""
        was = case.recorded.fields
        assert isinstance(was, SegmentRead)
        is_lacking = any(
            n < case.recorded.n
            for past in self._pasts.values()
            if was.segment in past.segments.values()
            for n in past.left_out
        )
        return _LEFT_OUT if is_lacking else None

    def _explain_size(self, case: Case) -> Excuse | None:
        """Return that a reply brings more or less of the same bytes; what is no longer the tail does not say so."""
        was, now = case.recorded.fields, case.live.fields
        assert isinstance(was, SegmentRead)
        assert isinstance(now, SegmentRead)
        if not now.data or len(now.data) == len(was.data):
            return None
        is_shared = len(self._appenders[was.segment]) > 1
        unknown = self._contents.find_unknown(was.segment, was.offset, now.data)
        if unknown is None:
            return None
        if unknown:
            return _SHARED if is_shared else None
        is_shorter = len(now.data) < len(was.data)
        if case.difference.steps == ("end_of_segment",):
            return _SIZE if is_shorter and was.end_of_segment else None
        return None if is_shorter and now.at_tail and not is_shared else _SIZE

    def _explain_elsewhere(self, case: Case) -> Excuse | None:
        asked, told = _name_in(case.request), _name_in(case.live)
        is_echo = asked is None or told is None or asked == told
        return _ELSEWHERE if is_echo and self._is_elsewhere(case.recorded) else None

    def _is_elsewhere(self, recorded: Record) -> bool:
        """Return whether a segment was refused for what no client does: it is elsewhere, or was sealed or removed."""
        if isinstance(recorded.fields, WrongHost | SegmentAlreadyExists):
            return True
        if not isinstance(recorded.fields, SegmentIsSealed | NoSuchSegment):
            return False
        name = _name_in(recorded)
        return any(
            _name_in(record) == name and record.message in ("AppendSetup", "SegmentRead")
            for past in self._pasts.values()
            for record in past.dialogue.records
            if record.n < recorded.n
        )

    # -- what does not come, or comes too much -------------------------------------------------------------------------

    def missing(self, recorded: Record, request: Record | None, dialogue: Dialogue) -> Excuse | None:
        """Return why a recorded reply does not come; None where it is a finding."""
        if isinstance(recorded.fields, KeepAlive) and request is None:
            return _ALIVE
        if request is None and any(n < recorded.n for n in _gaps(dialogue, "client")):
            return _HIDDEN
        if isinstance(recorded.fields, DataAppended) and any(n < recorded.n for n in _gaps(dialogue, "server")):
            return _GAP  # where the appender was is not known
        return _ELSEWHERE if self._is_elsewhere(recorded) else None

    def extra(self, live: Record, request: Record | None, dialogue: Dialogue) -> Excuse | None:
        """Return why a reply comes that was not recorded; None where it is a finding."""
        if isinstance(live.fields, KeepAlive) and request is None:
            return _ALIVE
        n = 0 if request is None else request.n
        if any(gap > n for gap in _gaps(dialogue, "server")):
            return _GAP
        if request is None:
            return None
        if any(True for _ in _gaps(dialogue, "client")):
            return _HIDDEN
        if isinstance(live.fields, DataAppended) and _is_acknowledged_later(live, dialogue, n):
            return _MERGED
        after = [each for each in dialogue.records if each.side == "server" and each.n > n]
        if any(self._is_elsewhere(each) for each in after):
            return _ELSEWHERE
        return None if after else _OVER


def _name_in(record: Record | None) -> str | None:
    message: Any = None if record is None else record.fields
    return getattr(message, "segment", None)


def _gaps(dialogue: Dialogue, side: str) -> Iterator[int]:
    """Yield the last whole frame of a side before each of its gaps: what is missing comes after."""
    last = 0
    for record in dialogue.records:
        if record.side != side:
            continue
        if record.kind == "gap":
            yield record.n if side == "server" else last
        last = record.n


def _is_acknowledged_later(ack: Record, dialogue: Dialogue, n: int) -> bool:
    """Return whether the appender of an acknowledgement was recorded to be acknowledged as much after record `n`."""
    told = ack.fields
    return isinstance(told, DataAppended) and any(
        isinstance(each.fields, DataAppended) and each.fields.connection_id == told.connection_id and each.n > n
        for each in dialogue.records
    )
