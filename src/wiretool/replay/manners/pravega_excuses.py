"""What may differ between two runs of one Pravega conversation, and why."""

from collections import defaultdict
from math import gcd, inf
from typing import Any

from wiretool.protocols.pravega import failures, messages, segments, tables
from wiretool.protocols.pravega.session import SEGMENT_FIELD
from wiretool.records import Record
from wiretool.replay.manners.manner import Difference, Excuse, Verdict
from wiretool.replay.manners.pravega_acks import Acks
from wiretool.replay.manners.pravega_appends import Append, Fate
from wiretool.replay.manners.pravega_flights import flights_of
from wiretool.replay.manners.pravega_left_out import is_of_another, segments_of
from wiretool.replay.manners.pravega_state import Past
from wiretool.servers.pravega.mock import NEWEST_VERSION, OLDEST_SERVED_VERSION
from wiretool.sessions.dialogues import Dialogue, Ended, Recording

WRONG_HOST = Excuse(
    Verdict.EXPLAINED,
    "the recorded store did not have the container of the segment, this one has all (§5.1)",
)
UNAUTHORISED = Excuse(
    Verdict.EXPLAINED, "the recorded store asked for another delegation token; this one may ask for none (§4.3)"
)
UNLOADED = Excuse(
    Verdict.EXPLAINED,
    "the recorded store unloaded the segment while nobody used it, which ends the reads that wait in it (§5.3)",
)
VERSION = Excuse(Verdict.EXPLAINED, "the recorded server is of a wire version that no mock speaks (§4.1)")
MERGED_BEFORE = Excuse(
    Verdict.EXPLAINED,
    "of a segment that is merged already the store says either, until it has been cleaned up (MERGE_SEGMENTS, §5.2)",
)
EMPTY_PAGE = Excuse(
    Verdict.EXPLAINED, "a delta without entries has 0 as its last position, some servers repeat the one asked (§5.2)"
)
REFUSED_AGAIN = Excuse(
    Verdict.EXPLAINED,
    "the recorded store forgot a writer whose append it had refused and ended the connection with its next one; "
    "ours refuses that too (§3.7)",
)
FORGOTTEN = Excuse(
    Verdict.EXPLAINED,
    "a store forgets a writer whose append it refuses: if another one is on its way it ends the connection, and may "
    "do so before it says why (§3.7)",
)
OUTRAN = Excuse(
    Verdict.EXPLAINED,
    "appends that came in one piece with their SetupAppend end a connection (§3.5); how bytes are packed is not kept",
)
PIPELINED = Excuse(
    Verdict.EXPLAINED,
    "the recorded store refused a conditional append before those ahead of it were stored, and so this one (§3.7)",
)
EXPIRED = Excuse(
    Verdict.EXPLAINED, "the token had expired: the recorded store ended the connection without a word (§4.3)"
)
BROKEN = Excuse(
    Verdict.EXPLAINED,
    "the recorded store took an append to this table, which broke it for good (§5.2)",
)
DIED = Excuse(Verdict.EXPLAINED, "the recorded server ended the connection by itself: it died, stopped or timed out")
SEALED_AT = Excuse(
    Verdict.EXPLAINED,
    "to an append SegmentIsSealed tells its event number (§2); the recorded server told the length of the segment",
)
SEALED_END = Excuse(
    Verdict.EXPLAINED,
    "a read to the end of a sealed segment says that it ends there (§5.3); the recorded server did with the next one",
)
NOT_CACHED = Excuse(Verdict.NOISE, "what a store has to fetch from its storage is not said to be at the tail")
AT_ONCE = Excuse(
    Verdict.NOISE, "segments are merged at once, and each is told with the length that the target has then"
)
CUT = Excuse(Verdict.NOISE, "how much a read gets hangs on what the store had at hand then")
ACKS = Excuse(Verdict.NOISE, "acks are merged as they come; this one follows another one than was recorded")
OVERTAKEN = Excuse(Verdict.NOISE, "appends of several connections were on their way: the store takes them in any order")
ASKED_BEFORE = Excuse(Verdict.UNKNOWN, "it was asked before the recording begins")
UNPAIRED = Excuse(
    Verdict.UNKNOWN, "the recording begins in the middle: of its first replies it is not known what they answer"
)
TORN = Excuse(Verdict.UNKNOWN, "bytes of the connection are missing in the recording: what they did is not known")
CUT_SHORT = Excuse(
    Verdict.UNKNOWN, "the recorded server ended the connection instead of an answer, the recording does not show why"
)
NOT_RECORDED = Excuse(Verdict.UNKNOWN, "what the recorded server said to it, if it did, is not in the recording")
MORE_ENTRIES = Excuse(Verdict.UNKNOWN, "the table was there before the recording, which does not show all of it")
#: Replies to what was said so shortly before the end of a recording may be behind it.
_MOMENT_NS = 1_000_000_000
#: A store looks every 60 s for segments that were idle for 60 s (§5.3); replays may be faster than what was recorded.
_UNLOADING_NS = 30_000_000_000
_CONDITIONAL = (messages.ConditionalAppend, messages.ConditionalBlockEnd)


class Excuses:
    """Why what a replay meets may be no finding; a clause names one of the protocol's reference."""

    def __init__(self, past: Past, acks: Acks, recording: Recording) -> None:
        """`acks` are those of the live run, which are heard by now."""
        self._past = past
        self._acks = acks
        #: Which side ended a connection first, and how.
        self._ended: dict[Dialogue, Ended] = {}
        for event in recording.events:
            if isinstance(event, Ended):
                self._ended.setdefault(event.dialogue, event)
        self._flights = flights_of(past.log)
        self._appends: dict[Dialogue, list[Append]] = defaultdict(list)
        for append in past.log.of.values():
            self._appends[append.dialogue].append(append)
        self._last_said: dict[Dialogue, int] = {}
        #: Connections of which bytes are missing.
        self._deaf = {each for each in recording.dialogues if any(record.kind == "gap" for record in each.records)}
        #: Names of what a server was recorded to say for no reason that was.
        self._unasked: dict[Dialogue, set[str]] = {}
        for dialogue in recording.dialogues:
            said = [each for each in dialogue.records if each.side == "server" and each.reply_to is None]
            self._unasked[dialogue] = {each.message for each in said}
            self._last_said[dialogue] = max((each.reply_to or 0 for each in dialogue.records), default=0)

    # -- a reply that differs --------------------------------------------------------------------------------------

    def difference(
        self, difference: Difference, recorded: Record, live: Record, request: Record | None
    ) -> Excuse | None:
        """Why a reply differs there."""
        was: Any = recorded.fields
        now: Any = live.fields
        if not difference.steps and (excuse := self._other(recorded, request)) is not None:
            return excuse
        if self._is_broken(request) and difference.steps in ((), ("entry_count",), ("length",)):
            return BROKEN
        if self._is_unloaded(difference, recorded, now, request):
            return UNLOADED
        if is_of_another(was, request):
            return ASKED_BEFORE
        if request is not None and not self._past.torn.isdisjoint(segments_of(request) | segments_of(recorded)):
            return TORN
        if isinstance(was, messages.SegmentRead) and isinstance(now, messages.SegmentRead):
            return self._read(was, now)
        if isinstance(was, messages.DataAppended) and isinstance(now, messages.DataAppended):
            return self._ack(difference, was, live, request)
        if isinstance(was, messages.Hello) and isinstance(now, messages.Hello):
            return None if OLDEST_SERVED_VERSION <= was.high_version <= NEWEST_VERSION else VERSION
        if isinstance(was, tables.TableEntriesDeltaRead) and isinstance(now, tables.TableEntriesDeltaRead):
            return EMPTY_PAGE if _is_empty_page(was, now, request) and difference.steps == ("last_position",) else None
        if isinstance(was, tables.TableSegmentInfo) and difference.steps == ("entry_count",):
            return MORE_ENTRIES if was.segment_name in self._past.before else None
        if isinstance(was, failures.SegmentIsSealed) and isinstance(now, failures.SegmentIsSealed):
            return self._sealed(difference, request)
        if isinstance(was, segments.SegmentsBatchMerged) and isinstance(now, segments.SegmentsBatchMerged):
            return self._batch(difference, was, request)
        either: set[Any] = {segments.SegmentsMerged, failures.NoSuchSegment}
        is_again = request is not None and request.n in self._past.merged_again
        return MERGED_BEFORE if is_again and {type(was), type(now)} == either else None

    def _other(self, recorded: Record, request: Record | None) -> Excuse | None:
        """Why another message comes in place of this one."""
        was = recorded.fields
        if isinstance(was, failures.WrongHost):
            return WRONG_HOST
        if isinstance(was, failures.AuthTokenCheckFailed):
            return UNAUTHORISED
        is_pipelined = isinstance(was, failures.InvalidEventNumber) and self._is_pipelined(request)
        return PIPELINED if is_pipelined else None

    def _is_unloaded(self, difference: Difference, recorded: Record, now: Any, request: Record | None) -> bool:
        """Whether one of the two stores ended a read because it unloaded the segment, which takes a while."""
        if difference.steps and difference.steps[0] not in ("data", "at_tail", "end_of_segment"):
            return False
        waited_ns = 0 if request is None else recorded.time_ns - request.time_ns
        return is_unloading(recorded.fields) or (is_unloading(now) and waited_ns > _UNLOADING_NS)

    def _read(self, was: messages.SegmentRead, now: messages.SegmentRead) -> Excuse | None:
        """Reads may be cut at another length; what both have must be the same, and no more than is in the segment."""
        common = min(len(was.data), len(now.data))
        if was.data == now.data:
            return self._flags(was, now)
        if len(was.data) == len(now.data) or was.data[:common] != now.data[:common] or not now.data:
            return None
        more = now.data[common:]
        is_there = self._past.contents.bytes_of(was.segment, was.offset + common, was.offset + len(now.data)) == more
        return CUT if is_there else None

    def _flags(self, was: messages.SegmentRead, now: messages.SegmentRead) -> Excuse | None:
        """The same bytes, that may be told otherwise where they end."""
        if now.end_of_segment and not was.end_of_segment and was.segment in self._past.ended:
            return SEALED_END
        is_at_tail = now.at_tail and not (was.at_tail or was.end_of_segment or now.end_of_segment)
        return NOT_CACHED if is_at_tail else None

    def _sealed(self, difference: Difference, request: Record | None) -> Excuse | None:
        append = None if request is None else self._past.log.of.get(request.n)
        is_number = append is not None and difference.live == append.number
        return SEALED_AT if difference.steps == ("offset",) and is_number else None

    def _batch(
        self, difference: Difference, was: segments.SegmentsBatchMerged, request: Record | None
    ) -> Excuse | None:
        """Each is told with the length behind it, or behind some of those that follow."""
        at = difference.steps[1] if len(difference.steps) == 3 else -1
        if difference.steps[-1:] != ("new_target_write_offset",) or not isinstance(at, int):
            return None
        by = difference.expected - was.merged[at].new_target_write_offset
        ends = self._past.merge_ends.get(request.n, []) if request is not None else []
        return AT_ONCE if difference.live - by in ends[at:] else None

    def _ack(
        self, difference: Difference, was: messages.DataAppended, live: Record, request: Record | None
    ) -> Excuse | None:
        if difference.steps == ("previous_event_number",):
            return ACKS if self._follows(was, live) else None
        append = None if request is None else self._past.log.of.get(request.n)
        if difference.steps == ("current_segment_write_offset",) and append is not None:
            return OVERTAKEN if self._is_overtaken(append, abs(difference.expected - difference.live)) else None
        return None

    def _follows(self, was: messages.DataAppended, live: Record) -> bool:
        """Whether an ack names the one before it; or, where that was not heard, one that it may have been."""
        now: Any = live.fields
        before = self._acks.before(live)
        if before is not None:
            return bool(now.previous_event_number == before)
        known = self._past.log.numbers.get(now.writer_id, set())
        return self._is_merged(was, now, known) and now.previous_event_number in known

    def _is_merged(self, was: messages.DataAppended, now: messages.DataAppended, known: set[int]) -> bool:
        """Whether acks that say so were merged, then or now: no append lies behind the later of both."""
        first, last = sorted((was.previous_event_number, now.previous_event_number))
        return last < was.event_number and any(first < number <= last for number in known)

    def _is_overtaken(self, append: Append, by: int) -> bool:
        """Whether appends of other connections that were on their way with this one can have moved it so far."""
        flights = self._flights.get(append.segment)
        sizes = [] if flights is None else flights.beside(append)
        return 0 < by <= sum(sizes) and by % gcd(*sizes) == 0

    # -- what does not come, or comes too much ---------------------------------------------------------------------

    def missing(self, recorded: Record, request: Record | None, dialogue: Dialogue) -> Excuse | None:
        """Why a recorded reply does not come."""
        if (request is None and not dialogue.is_opened) or is_of_another(recorded.fields, request):
            return ASKED_BEFORE
        if is_unloading(recorded.fields):
            return UNLOADED
        append = None if request is None else self._past.log.of.get(request.n)
        if append is not None and self._is_forgotten(append):
            return FORGOTTEN
        return TORN if dialogue in self._deaf else None

    def extra(self, live: Record, request: Record | None, dialogue: Dialogue) -> Excuse | None:
        """Why a reply comes that was not recorded."""
        if request is None:
            return OUTRAN if isinstance(live.fields, messages.DataAppended) and self._outran(dialogue) else None
        if self._is_broken(request):
            return BROKEN
        append = self._past.log.of.get(request.n)
        if append is not None and self._was_refused(dialogue, append):
            return REFUSED_AGAIN
        if dialogue in self._deaf or self._is_late(request, dialogue):
            return NOT_RECORDED
        if not dialogue.is_opened and live.message in self._unasked[dialogue]:
            return UNPAIRED
        return UNLOADED if is_unloading(live.fields) else None

    def _was_refused(self, dialogue: Dialogue, append: Append) -> bool:
        """Whether an append of the writer on this connection was refused: of several the store answers one, or none."""
        mine = [each for each in self._appends[dialogue] if each.writer == append.writer]
        return any(each.fate is Fate.REFUSED for each in mine) or (
            len(mine) > 1 and any(each.record.n in self._past.vain for each in mine)
        )

    def _is_forgotten(self, append: Append) -> bool:
        """Whether it was refused with another one of its writer that was on its way at the same time."""
        if append.fate is not Fate.REFUSED:
            return False
        replies = _answered(append.dialogue)
        return any(
            each.fate in (Fate.REFUSED, Fate.OPEN)
            and each.record.n < replies.get(append.record.n, 0)
            and append.record.n < replies.get(each.record.n, inf)
            for each in self._appends[append.dialogue]
            if each is not append and each.writer == append.writer
        )

    def _is_late(self, request: Record, dialogue: Dialogue) -> bool:
        """Whether nothing later was answered on the connection, or it was recorded only for a moment longer."""
        return request.n > self._last_said[dialogue] or dialogue.records[-1].time_ns - request.time_ns < _MOMENT_NS

    def _is_broken(self, request: Record | None) -> bool:
        """Whether a request is about a table that was appended to by then."""
        if request is None:
            return False
        name = getattr(request.fields, SEGMENT_FIELD.get(type(request.fields), ""), "")  # type: ignore[arg-type]
        return self._past.broken.get(name, request.n) < request.n

    def _is_pipelined(self, request: Record | None) -> bool:
        """Whether others of the writer's conditional appends were on their way before this one."""
        append = None if request is None else self._past.log.of.get(request.n)
        if append is None or not isinstance(append.record.fields, _CONDITIONAL):
            return False
        replies = _answered(append.dialogue)
        return any(
            each.writer == append.writer and each.record.n < append.record.n < replies.get(each.record.n, inf)
            for each in self._appends[append.dialogue]
        )

    def _outran(self, dialogue: Dialogue) -> bool:
        """Whether an append was said before its AppendSetup was heard."""
        waiting: set[str] = set()
        for record in dialogue.records:
            if isinstance(record.fields, messages.SetupAppend):
                waiting.add(record.fields.writer_id)
            elif isinstance(record.fields, messages.AppendSetup):
                waiting.discard(record.fields.writer_id)
            elif getattr(record.fields, "writer_id", None) in waiting and record.side == "client":
                return True
        return False

    def end(self, dialogue: Dialogue, *, was_ended: bool) -> Excuse | None:
        """Why a connection that the recorded server ended stays open."""
        if dialogue in self._deaf:
            return TORN
        if not was_ended:
            return FORGOTTEN if any(map(self._is_forgotten, self._appends[dialogue])) else None
        if any(self._was_refused(dialogue, each) for each in self._appends[dialogue]):
            refused = [each for each in self._appends[dialogue] if each.fate is Fate.REFUSED]
            return PIPELINED if any(self._is_pipelined(each.record) for each in refused) else REFUSED_AGAIN
        if self._outran(dialogue):
            return OUTRAN
        said = [record for record in dialogue.records if record.side == "client"]
        if any(record.kind == "problem" or record.error for record in said):
            return None
        ended = self._ended.get(dialogue)
        if said and isinstance(said[-1].fields, messages.SetupAppend) and said[-1].fields.delegation_token:
            return EXPIRED
        frames = [record for record in said if record.kind == "frame"]
        if (ended is not None and ended.how == "rst") or not self._is_unanswered(dialogue, said):
            return DIED
        last = self._appends[dialogue][-1:]
        return CUT_SHORT if last and last[0].fate is Fate.OPEN and last[0].record is frames[-1] else None

    def _is_unanswered(self, dialogue: Dialogue, said: list[Record]) -> bool:
        """Whether the last request that was said had no answer, so that the end may be one."""
        answered = {record.reply_to for record in dialogue.records}
        frames = [record for record in said if record.kind == "frame"]
        if not frames:
            return False
        record = frames[-1]
        append = self._past.log.of.get(record.n)
        is_taken = append is not None and append.fate in (Fate.LOST, Fate.STORED)
        is_waiting = isinstance(record.fields, messages.ReadSegment | messages.Padding)
        return not (record.n in answered or is_taken or is_waiting)


def _answered(dialogue: Dialogue) -> dict[int, int]:
    """Number of a request -> that of the last reply to it."""
    return {record.reply_to: record.n for record in dialogue.records if record.reply_to is not None}


def _is_empty_page(
    was: tables.TableEntriesDeltaRead, now: tables.TableEntriesDeltaRead, request: Record | None
) -> bool:
    """Whether both have no entries, and one of them repeats the position that was asked for."""
    asked = getattr(request.fields, "from_position", 0) if request is not None else 0
    is_empty = not was.entries.entries and not now.entries.entries
    return is_empty and {was.last_position, now.last_position} == {0, asked}


def is_unloading(reply: Any) -> bool:
    """Whether a read ends with nothing because its segment is no longer in the store's memory, or gone."""
    return isinstance(reply, messages.SegmentRead) and not reply.data and reply.at_tail and not reply.end_of_segment
