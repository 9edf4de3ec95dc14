"""Bytes that a recording lacks: which differences after them they may have made, and in which fields."""

from collections.abc import Iterator, Mapping

from wiretool.analysis.dialogues import Dialogue, Recording
from wiretool.codec.message import Message
from wiretool.protocols.pravega import failures, messages, segments, tables
from wiretool.protocols.pravega.replay.live import LiveHistory
from wiretool.protocols.pravega.replay.reasons import NOT_RECORDED, name_record
from wiretool.protocols.pravega.replay.skipped import segments_of
from wiretool.protocols.pravega.replay.state import Past
from wiretool.records import Record
from wiretool.replay.adapter import Excuse, Verdict
from wiretool.replay.judging.known_differences import ANOTHER, Case, KnownDifference

_TORN = Excuse(
    Verdict.UNKNOWN, "bytes of a client are missing in the recording: their effect on the segment is unknown"
)
_CUT_OFF = Excuse(Verdict.UNKNOWN, "bytes of the connection are missing in the recording")
#: What depends on earlier requests, in replies; everything else in them repeats what was asked.
_STATE: Mapping[type[Message], frozenset[str]] = {
    messages.AppendSetup: frozenset({"last_event_number"}),
    messages.DataAppended: frozenset({"current_segment_write_offset"}),
    messages.SegmentRead: frozenset({"data", "at_tail", "end_of_segment"}),
    segments.StreamSegmentInfo: frozenset({"exists", "is_sealed", "is_deleted", "write_offset", "start_offset"}),
    segments.SegmentAttribute: frozenset({"value"}),
    segments.SegmentAttributeUpdated: frozenset({"success"}),
    segments.SegmentsMerged: frozenset({"new_target_write_offset"}),
    segments.SegmentsBatchMerged: frozenset({"merged.new_target_write_offset"}),
    segments.OffsetLocated: frozenset({"offset"}),
    failures.SegmentIsTruncated: frozenset({"start_offset"}),
    tables.TableSegmentInfo: frozenset({"start_offset", "length", "entry_count", "key_length"}),
    tables.TableRead: frozenset({"entries"}),
    tables.TableKeysRead: frozenset({"keys", "continuation_token"}),
    tables.TableEntriesRead: frozenset({"entries", "continuation_token"}),
    tables.TableEntriesDeltaRead: frozenset({"entries", "should_clear", "reached_end", "last_position"}),
    tables.TableEntriesUpdated: frozenset({"updated_versions"}),
}


class Tears:
    """The gaps of a recording, by connection and by the segments that lost bytes may be about."""

    def __init__(self, past: Past, history: LiveHistory, recording: Recording) -> None:
        self._past = past
        self._history = history
        #: The last gap of each connection in what its server said.
        self._unheard: dict[Dialogue, Record] = {}
        #: Request ids of replies whose requests were not told apart: a gap of the client is reported late.
        self._unpaired: dict[Dialogue, set[int | None]] = {}
        for dialogue in recording.dialogues:
            for record in dialogue.records:
                if record.kind == "gap" and record.side == "server":
                    self._unheard[dialogue] = record
        for dialogue, tear in past.torn_connections.items():
            alone = (each for each in dialogue.records if each.side == "server" and each.reply_to is None)
            self._unpaired[dialogue] = {_id_of(each) for each in alone if each.n > tear.after}

    def known(self) -> Iterator[KnownDifference]:
        """Yield what requests that are missing may have changed in later replies."""
        yield KnownDifference(Message, Message, frozenset({ANOTHER}), self._explain_another)
        for reply, fields in _STATE.items():
            yield KnownDifference(reply, reply, fields, self._explain)

    def missing(self, recorded: Record, dialogue: Dialogue) -> Excuse | None:
        """Return why a recorded reply may have been to something that is missing; None where it was not."""
        tear = self._past.torn_connections.get(dialogue)
        return name_record(_CUT_OFF, tear.gap) if tear is not None and tear.after < recorded.n else None

    def extra(self, live: Record, request: Record, dialogue: Dialogue) -> Excuse | None:
        """Return why the recorded reply to a request may be missing; None where it is not."""
        gap = self._unheard.get(dialogue)
        if gap is not None and (gap.n > request.n or gap.time_ns >= request.time_ns) and self._is_possible(live):
            return name_record(NOT_RECORDED, gap)
        number = _id_of(request)
        if number is None or number not in self._unpaired.get(dialogue, ()) or not self._is_possible(live):
            return None
        return name_record(NOT_RECORDED, self._past.torn_connections[dialogue].gap)

    def end(self, dialogue: Dialogue) -> Excuse | None:
        """Return why it is not known who ended a connection, and why; None where it is."""
        tear = self._past.torn_connections.get(dialogue)
        gap = self._unheard.get(dialogue)
        number = tear.gap if tear is not None else gap.n if gap is not None else None
        return None if number is None else name_record(_CUT_OFF, number)

    def _explain_another(self, case: Case) -> Excuse | None:
        return self._explain(case) if self._history.is_answer(case.live) else None

    def _explain(self, case: Case) -> Excuse | None:
        if case.request is None:
            return None
        names = segments_of(case.request) | segments_of(case.recorded)
        tears = [self._past.torn[name] for name in names if name in self._past.torn]
        tear = next((each for each in tears if each.after < case.recorded.n), None)
        if tear is None or not self._is_possible(case.live):
            return None
        return name_record(_TORN, tear.gap)

    def _is_possible(self, live: Record) -> bool:
        """Return whether a live reply agrees with the live run, which lacks nothing."""
        reply = live.fields
        if isinstance(reply, messages.DataAppended):
            return self._history.is_alone(live) and self._history.is_joined(live)
        if isinstance(reply, messages.SegmentRead):
            return self._history.find_unknown(reply.segment, reply.offset, reply.data) is not None
        return True


def _id_of(record: Record) -> int | None:
    return getattr(record.fields, "request_id", None)
