"""What may differ between two runs of one Pravega conversation, and why."""

from collections import defaultdict
from collections.abc import Iterator
from math import gcd, inf
from typing import Any

from wiretool.analysis.dialogues import Dialogue, Ended, Recording
from wiretool.codec.message import Message
from wiretool.protocols.pravega import failures, messages, segments, tables
from wiretool.protocols.pravega.replay.appends import Append, Fate
from wiretool.protocols.pravega.replay.flights import flights_of
from wiretool.protocols.pravega.replay.live import LiveHistory
from wiretool.protocols.pravega.replay.reads import Reads
from wiretool.protocols.pravega.replay.reasons import (
    ACKS,
    ASKED_BEFORE,
    AT_ONCE,
    BROKEN,
    CUT_SHORT,
    DIED,
    EMPTY_PAGE,
    EXPIRED,
    FORGOTTEN,
    MERGED_BEFORE,
    MORE_ENTRIES,
    NOT_RECORDED,
    OUTRAN,
    OVERTAKEN,
    PIPELINED,
    REFUSED_AGAIN,
    SEALED_AT,
    UNAUTHORISED,
    UNPAIRED,
    VERSION,
    WRONG_HOST,
    name_record,
)
from wiretool.protocols.pravega.replay.skipped import is_of_another
from wiretool.protocols.pravega.replay.state import Past
from wiretool.protocols.pravega.replay.tears import Tears
from wiretool.protocols.pravega.server.mock import NEWEST_VERSION, OLDEST_SERVED_VERSION
from wiretool.protocols.pravega.session import SEGMENT_FIELD
from wiretool.records import Record
from wiretool.replay.adapter import Difference, Excuse
from wiretool.replay.judging.known_differences import ANOTHER, Case, KnownDifference, explain

_CONDITIONAL = (messages.ConditionalAppend, messages.ConditionalBlockEnd)
#: What no store says that has the container and asks for no token.
_ELSEWHERE = (failures.WrongHost, failures.AuthTokenCheckFailed)
_OF_TABLES = (tables.TableSegmentInfo, tables.TableRead, tables.TableEntriesUpdated, failures.ErrorMessage)
_REFUSALS = (
    failures.SegmentIsSealed,
    failures.NoSuchSegment,
    failures.InvalidEventNumber,
    messages.ConditionalCheckFailed,
)


class Excuses:
    """Why what a replay meets may be no finding; a clause names one of the protocol's reference."""

    def __init__(self, past: Past, history: LiveHistory, recording: Recording) -> None:
        """Take what the recording shows, and the live run, which goes on meanwhile."""
        self._past = past
        self._history = history
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
        #: Names of what a server was recorded to say for no reason that was.
        self._unasked: dict[Dialogue, set[str]] = {}
        for dialogue in recording.dialogues:
            said = [each for each in dialogue.records if each.side == "server" and each.reply_to is None]
            self._unasked[dialogue] = {each.message for each in said}
            self._last_said[dialogue] = max((each.reply_to or 0 for each in dialogue.records), default=0)
        self._reads = Reads(past, history, recording)
        self._tears = Tears(past, history, recording)
        self._known = [*self._list_known(), *self._reads.known(), *self._tears.known()]

    # -- a reply that differs --------------------------------------------------------------------------------------

    def difference(
        self, difference: Difference, recorded: Record, live: Record, request: Record | None
    ) -> Excuse | None:
        """Return why a reply differs there; None where it is a finding."""
        return explain(self._known, Case(difference, recorded, live, request))

    def _list_known(self) -> Iterator[KnownDifference]:
        """Yield the differences that are known, but those of reads and of lost bytes: these come after."""
        another = frozenset({ANOTHER})
        merged, missing = segments.SegmentsMerged, failures.NoSuchSegment
        yield KnownDifference(failures.WrongHost, Message, another, self._explain_host)
        yield KnownDifference(failures.AuthTokenCheckFailed, Message, another, self._explain_token)
        yield KnownDifference(
            failures.InvalidEventNumber,
            (messages.DataAppended, messages.ConditionalCheckFailed),
            another,
            self._explain_pipelined,
        )
        yield KnownDifference(Message, _OF_TABLES, another, self._explain_broken)
        yield KnownDifference(
            tables.TableSegmentInfo, tables.TableSegmentInfo, frozenset({"entry_count", "length"}), self._explain_broken
        )
        yield KnownDifference(
            tables.TableSegmentInfo, tables.TableSegmentInfo, frozenset({"entry_count"}), self._explain_entries
        )
        yield KnownDifference(
            messages.DataAppended, messages.DataAppended, frozenset({"previous_event_number"}), self._explain_previous
        )
        yield KnownDifference(
            messages.DataAppended,
            messages.DataAppended,
            frozenset({"current_segment_write_offset"}),
            self._explain_overtaken,
        )
        yield KnownDifference(
            messages.Hello, messages.Hello, frozenset({"high_version", "low_version"}), self._explain_version
        )
        page = tables.TableEntriesDeltaRead
        yield KnownDifference(page, page, frozenset({"last_position"}), self._explain_page)
        sealed, batch = failures.SegmentIsSealed, segments.SegmentsBatchMerged
        yield KnownDifference(sealed, sealed, frozenset({"offset"}), self._explain_sealed)
        yield KnownDifference(batch, batch, frozenset({"merged.new_target_write_offset"}), self._explain_batch)
        yield KnownDifference(merged, missing, another, self._explain_merged)
        yield KnownDifference(missing, merged, another, self._explain_merged)

    def _explain_host(self, case: Case) -> Excuse | None:
        is_answer = not isinstance(case.live.fields, _ELSEWHERE) and self._history.is_answer(case.live)
        return WRONG_HOST if is_answer else None

    def _explain_token(self, case: Case) -> Excuse | None:
        return UNAUTHORISED if self._history.is_answer(case.live) else None

    def _explain_pipelined(self, case: Case) -> Excuse | None:
        return PIPELINED if self._is_pipelined(case.request) and self._history.is_answer(case.live) else None

    def _explain_broken(self, case: Case) -> Excuse | None:
        """A table that was appended to is what nobody can tell; ours has never taken the append."""
        return self._broken(case.request) if self._history.is_answer(case.live) else None

    def _explain_entries(self, case: Case) -> Excuse | None:
        was = case.recorded.fields
        return MORE_ENTRIES if getattr(was, "segment_name", "") in self._past.before else None

    def _explain_previous(self, case: Case) -> Excuse | None:
        was = case.recorded.fields
        assert isinstance(was, messages.DataAppended)
        return ACKS if self._follows(was, case.live) else None

    def _explain_overtaken(self, case: Case) -> Excuse | None:
        """The store takes appends in any order, but no two of them at one place."""
        append = None if case.request is None else self._past.log.of.get(case.request.n)
        by = abs(case.difference.expected - case.difference.live)
        is_it = append is not None and self._is_overtaken(append, by) and self._history.is_alone(case.live)
        return OVERTAKEN if is_it else None

    def _explain_version(self, case: Case) -> Excuse | None:
        was = case.recorded.fields
        assert isinstance(was, messages.Hello)
        return None if OLDEST_SERVED_VERSION <= was.high_version <= NEWEST_VERSION else VERSION

    def _explain_page(self, case: Case) -> Excuse | None:
        was, now = case.recorded.fields, case.live.fields
        assert isinstance(was, tables.TableEntriesDeltaRead)
        assert isinstance(now, tables.TableEntriesDeltaRead)
        return EMPTY_PAGE if _is_empty_page(was, now, case.request) else None

    def _explain_sealed(self, case: Case) -> Excuse | None:
        append = None if case.request is None else self._past.log.of.get(case.request.n)
        return SEALED_AT if append is not None and case.difference.live == append.number else None

    def _explain_batch(self, case: Case) -> Excuse | None:
        """Each is told with the length behind it, or behind some of those that follow."""
        difference, was = case.difference, case.recorded.fields
        at = difference.steps[1] if len(difference.steps) == 3 else -1
        if not isinstance(at, int) or not isinstance(was, segments.SegmentsBatchMerged):
            return None
        by = difference.expected - was.merged[at].new_target_write_offset
        ends = self._past.merge_ends.get(case.request.n, []) if case.request is not None else []
        return AT_ONCE if difference.live - by in ends[at:] else None

    def _explain_merged(self, case: Case) -> Excuse | None:
        earlier = None if case.request is None else self._past.merged_again.get(case.request.n)
        if earlier is None or not self._history.is_answer(case.live):
            return None
        now = case.live.fields
        if isinstance(now, segments.SegmentsMerged):
            length = self._history.length(now.target, case.live.n)
            if length and now.new_target_write_offset != length:
                return None
        return name_record(MERGED_BEFORE, earlier)

    def _follows(self, was: messages.DataAppended, live: Record) -> bool:
        """Whether an ack names the one before it; or, where that was not heard, one that it may have been."""
        now: Any = live.fields
        before = self._history.number_before(live)
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
        """Return why a recorded reply does not come; None where it is a finding."""
        if (request is None and not dialogue.is_opened) or is_of_another(recorded.fields, request):
            return ASKED_BEFORE
        unloading = self._reads.unloading(recorded, request)
        if unloading is not None and request is not None:
            return unloading if self._reads.is_waiting(request) else None
        append = None if request is None else self._past.log.of.get(request.n)
        if append is not None and self._is_forgotten(append):
            return FORGOTTEN
        return self._tears.missing(recorded, dialogue)

    def extra(self, live: Record, request: Record | None, dialogue: Dialogue) -> Excuse | None:
        """Return why a reply comes that was not recorded; None where it is a finding."""
        if request is None:
            return OUTRAN if self._is_of_outrun(live, dialogue) else None
        if not self._history.is_answer(live):
            return None
        if (broken := self._broken(request)) is not None:
            return broken
        append = self._past.log.of.get(request.n)
        if append is not None and self._was_refused(dialogue, append):
            return REFUSED_AGAIN if self._is_refusal(live, dialogue, append) else None
        if (torn := self._tears.extra(live, request, dialogue)) is not None:
            return torn
        if self._is_open(request, dialogue, live):
            return NOT_RECORDED
        if not dialogue.is_opened and live.message in self._unasked[dialogue]:
            return UNPAIRED
        return self._reads.live_unloading(live)

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

    def _is_open(self, request: Record, dialogue: Dialogue, live: Record) -> bool:
        """Return whether the answer to a request may have come after the recorded connection.

        Answers but acks come in any order (§5.2): a request is open until it is answered, and a read for as long as
        there is nothing to read. An append is not that repeats a number, since it is never acknowledged (§3.7), nor
        one whose writer was told of a later one.
        """
        append = self._past.log.of.get(request.n)
        if append is not None:
            return self._is_pending(append) and self._is_sound(live)
        if isinstance(request.fields, messages.ReadSegment):
            return self._reads.may_answer(live)
        return request.n > self._last_said[dialogue]

    def _is_refusal(self, live: Record, dialogue: Dialogue, append: Append) -> bool:
        """Return whether a reply refuses an append of a writer, by its event number if the segment is sealed (§2)."""
        mine = self._history.append_of(live)
        numbers = {each.number for each in self._appends[dialogue] if each.writer == append.writer}
        numbers &= {mine.number} if mine is not None else numbers
        is_sealed = isinstance(live.fields, failures.SegmentIsSealed)
        is_numbered = not is_sealed or live.fields.offset in numbers  # type: ignore[union-attr]
        return isinstance(live.fields, _REFUSALS) and is_numbered

    def _is_of_outrun(self, live: Record, dialogue: Dialogue) -> bool:
        """Return whether an ack is the one for an append that was sent before its AppendSetup was heard."""
        ack, before = live.fields, self._history.number_before(live)
        if not isinstance(ack, messages.DataAppended) or (before is not None and before >= ack.event_number):
            return False
        return any(
            (each.writer, each.number) == (ack.writer_id, ack.event_number)
            and ack.previous_event_number < each.number
            and ack.current_segment_write_offset >= each.length
            for each in (self._appends[dialogue] if self._outran(dialogue) else ())
        )

    def _is_sound(self, live: Record) -> bool:
        """Return whether an ack agrees with those before it; there is no recorded one to compare it with."""
        ack = live.fields
        if not isinstance(ack, messages.DataAppended):
            return True
        before = self._history.number_before(live)
        is_next = before is None or before == ack.previous_event_number
        return is_next and self._history.is_alone(live) and self._history.is_joined(live)

    def _is_pending(self, append: Append) -> bool:
        """Return whether an append waited for its ack when the connection ended."""
        last = -inf
        for record in append.dialogue.records:
            message, other = record.fields, self._past.log.of.get(record.n)
            if isinstance(message, messages.AppendSetup) and message.writer_id == append.writer:
                last = message.last_event_number
            elif other is append:
                break
            elif other is not None and other.writer == append.writer:
                last = max(last, other.number)
        return append.number > last and not any(
            isinstance(record.fields, messages.DataAppended)
            and record.fields.writer_id == append.writer
            and record.fields.event_number >= append.number
            for record in append.dialogue.records
        )

    def _broken(self, request: Record | None) -> Excuse | None:
        """Return that a request is about a table that was appended to by then; None where it is not."""
        if request is None:
            return None
        name = getattr(request.fields, SEGMENT_FIELD.get(type(request.fields), ""), "")  # type: ignore[arg-type]
        broken = self._past.broken.get(name, request.n)
        return name_record(BROKEN, broken) if broken < request.n else None

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
        if (torn := self._tears.end(dialogue)) is not None:
            return torn
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
