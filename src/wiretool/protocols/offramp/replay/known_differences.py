"""Why an Offramp server may say otherwise than was recorded, and nobody is wrong."""

from collections.abc import Mapping, Sequence
from functools import cached_property

from wiretool.protocols.offramp.connection import echoed
from wiretool.protocols.offramp.messages import Close, MessageEvent, RebalanceEvent, RequestEvent
from wiretool.protocols.offramp.replay.consumer_trace import Course, content_of
from wiretool.records import Record
from wiretool.replay.adapter import Difference, Excuse, Verdict
from wiretool.replay.judging.explanation import shown

#: Codes whose reasons are sentences of the server's.
_WORDY = frozenset({1001, 1002, 1003, 1007, 1009})
_UNREADABLE = ("Deflated", "Unknown")
_LAX = "an event that only the original's lax decoder takes ends the connection (decision 25)"
_MEMORY = "the original in memory assigns its one partition at the first REQUEST of any count (reference 3.9)"
_EARLY = "a COMMIT before anything was asked for has no success (decision 15)"
_STALE = "other consumers joined or left: the commit belongs to an earlier assignment (reference 3.4, 3.5)"
_SHARED = "the original in memory gives each consumer of a stream all messages (reference 3.9)"
_CUT = "how a message is cut into frames is the server's affair"
_OURS = "the beginning of the connection was not recorded"
_HOLE = "bytes of the server are missing in the recording"
_TORN = "the recording lacks earlier bytes of the client"
_ANSWERS = ("HandshakeResponse", "COMMIT_RESPONSE", "Pong", "ERROR")
_CROWDED = "other consumers of the stream, and their end, were not recorded"
_END = "the recording ends before it"
_CLOCK = "the message is on the road; whether it arrives before the connection or its assignment ends depends on timing"
_UNTOLD = "the message of the road at this offset was not recorded"
_UNSERVED = "the recorded server ended the connection for a later event before it had served the REQUEST"
_AT_ONCE = "a server reports a new assignment to all consumers at once (decision 16)"
_LAST = "once both have sent a Close, either may end TCP first"
_OTHER_REFUSAL = "refusals come in HTTP or after the upgrade (decision 6)"


class Excuses:
    """What is excused on one connection; `others` are all connections to its road."""

    def __init__(self, course: Course, others: Sequence[Course]) -> None:
        self._course = course
        self._others = others
        #: The live server has refused the client in the other way.
        self._is_refused_now = False

    # -- another answer ------------------------------------------------------------------------------------------------

    def difference(self, difference: Difference, recorded: Record, live: Record) -> Excuse | None:
        """See ReplayAdapter.excuse."""
        name, steps = recorded.message, difference.steps
        if name == "Close" and steps == ("reason",) and isinstance(live.fields, Close) and live.fields.code in _WORDY:
            return Excuse(Verdict.EXPLAINED, "reasons of such a Close are the server's own words")
        if name == "REBALANCE" and self._is_crowded:
            return Excuse(Verdict.UNKNOWN, _CROWDED)
        if name == "Close" and self._is_lax(recorded.n) and _is_failure(live):
            return Excuse(Verdict.EXPLAINED, _LAX)
        if name == "Fragment" or live.message == "Fragment":
            return Excuse(Verdict.EXPLAINED, _CUT)
        if name in _UNREADABLE or live.message in _UNREADABLE:
            return Excuse(Verdict.UNKNOWN, "it could not be read in the recording") if name in _UNREADABLE else None
        if steps == ("correlationId",) and _is_echo(difference.expected, difference.live):
            return Excuse(
                Verdict.EXPLAINED, "the original turns half a surrogate pair into `?`; it comes back as it was"
            )
        if name == "COMMIT_RESPONSE" and steps == ("success",) and self._is_early(recorded):
            is_known = self._course.is_opened_whole
            return Excuse(Verdict.EXPLAINED, _EARLY) if is_known else Excuse(Verdict.UNKNOWN, _TORN)
        if name == "COMMIT_RESPONSE" and steps == ("success",) and difference.live is True:
            rebalance = self._rebalance_behind(recorded)
            if rebalance is not None:
                return Excuse(Verdict.EXPLAINED, shown(_STALE, rebalance))
        if recorded is self._course.close and not self._course.is_all_said:
            return Excuse(Verdict.UNKNOWN, _TORN)
        if name == "HandshakeResponse" and steps == ("status",) and self._is_other_refusal(difference):
            self._is_refused_now = True
            return Excuse(Verdict.EXPLAINED, _OTHER_REFUSAL)
        if name == "HandshakeResponse" and self._is_refused_otherwise(live):
            return Excuse(Verdict.EXPLAINED, _OTHER_REFUSAL)
        return None

    def _rebalance_behind(self, recorded: Record) -> Record | None:
        """Return the REBALANCE behind a refused COMMIT, if another consumer had come or gone before that."""
        course = self._course
        told = [each for each in course.frames if isinstance(each.fields, RebalanceEvent)]
        since = max((each.time_ns for each in told if course.is_behind(recorded.n, each.n)), default=course.span[0])
        following = next((each for each in told if course.is_behind(each.n, recorded.n)), None)
        others = (other for other in self._others if other is not course and other.stream == course.stream)
        moved = any(since <= at <= recorded.time_ns for other in others for at in other.span)
        return following if moved else None

    def _is_early(self, recorded: Record) -> bool:
        """Whether a COMMIT was answered before anything was asked for."""
        return not any(
            isinstance(each.fields, RequestEvent) and self._course.is_behind(recorded.reply_to or 0, each.n)
            for each in self._course.taken
        )

    def _is_other_refusal(self, difference: Difference) -> bool:
        """Whether both refuse, one of them after the upgrade; or with 500 what is the client's fault."""
        statuses = {difference.expected, difference.live}
        if 101 in statuses:
            is_refused = not self._course.is_granted and self._course.close is not None
            return is_refused if difference.expected == 101 else bool(statuses & {401, 403, 404})
        return statuses == {500, 400}

    def _is_refused_otherwise(self, live: Record) -> bool:
        status = getattr(live.fields, "status", 0)
        recorded = next((each for each in self._course.frames if each.message == "HandshakeResponse"), None)
        was = getattr(recorded.fields, "status", 0) if recorded is not None else 0
        return status != was and self._is_other_refusal(Difference((), was, status))

    def is_expected(self, recorded: Record) -> bool:
        """Whether a Close or a REBALANCE of the server will come."""
        if isinstance(recorded.fields, RebalanceEvent):
            return self._is_asked(recorded.n) and not self._is_crowded
        course = self._course
        return course.failure is None and (recorded is not course.close or course.is_all_said)

    # -- no answer -----------------------------------------------------------------------------------------------------

    def missing(self, recorded: Record, request: Record | None) -> Excuse | None:
        """See ReplayAdapter.excuse_missing."""
        course = self._course
        if recorded.message == "Fragment":
            return Excuse(Verdict.EXPLAINED, _CUT)
        if recorded.message in _UNREADABLE:
            return Excuse(Verdict.UNKNOWN, "it could not be read in the recording")
        if recorded.message == "Ping" or (recorded.message == "Pong" and request is None):
            return Excuse(Verdict.EXPLAINED, "keep-alives are sent at any time")
        if self._is_lax(recorded.n):
            return Excuse(Verdict.EXPLAINED, _LAX)
        if course.failure is not None and recorded.message == "Close":
            return Excuse(Verdict.EXPLAINED, course.failure[1])
        if request is None and recorded.message in _ANSWERS:
            return Excuse(Verdict.UNKNOWN, _TORN)
        if recorded is course.close and not course.is_all_said:
            return Excuse(Verdict.UNKNOWN, _TORN)
        if course.is_torn and isinstance(recorded.fields, MessageEvent | RebalanceEvent):
            return Excuse(Verdict.UNKNOWN, _TORN)
        if recorded is course.close and not course.is_granted and self._is_refused_now:
            return Excuse(Verdict.EXPLAINED, _OTHER_REFUSAL)
        if isinstance(recorded.fields, MessageEvent | RebalanceEvent) and self._is_crowded:
            return Excuse(Verdict.UNKNOWN, _CROWDED)
        if isinstance(recorded.fields, RebalanceEvent) and not self._is_asked(recorded.n):
            return Excuse(Verdict.EXPLAINED, _MEMORY)
        if isinstance(recorded.fields, MessageEvent) and course.is_memory and self._is_shared:
            return Excuse(Verdict.EXPLAINED, _SHARED)
        return None

    def _is_lax(self, n: int) -> bool:
        return self._course.lax_at is not None and self._course.is_behind(n, self._course.lax_at)

    def _is_asked(self, n: int) -> bool:
        """Whether any message was asked for by then."""
        course = self._course
        asked = (
            each.fields
            for each in course.taken
            if course.is_behind(n, each.n) and isinstance(each.fields, RequestEvent)
        )
        return course.is_greeted or course.is_lossy or any(fields.count > 0 for fields in asked)

    # -- one answer too many -------------------------------------------------------------------------------------------

    def extra(self, live: Record, request: Record | None) -> Excuse | None:
        """See ReplayAdapter.excuse_extra."""
        course = self._course
        if live.message == "Fragment":
            return Excuse(Verdict.EXPLAINED, _CUT)
        if live.message in ("Ping", "Pong") and request is None:
            return Excuse(Verdict.EXPLAINED, "keep-alives are sent at any time")
        if live.message == "Close" and course.lax_at is not None and _is_failure(live):
            return Excuse(Verdict.EXPLAINED, _LAX)
        if isinstance(live.fields, MessageEvent):
            return self._extra_message(live.fields)
        if request is None and course.is_greeted and live.message in ("CONNECTION", "REBALANCE"):
            return Excuse(Verdict.UNKNOWN, _OURS)
        if isinstance(live.fields, RebalanceEvent) and course.is_cut_short:
            return Excuse(Verdict.EXPLAINED, _UNSERVED)
        if isinstance(live.fields, RebalanceEvent) and self._is_shared:
            return Excuse(Verdict.EXPLAINED, _AT_ONCE)
        return self._extra_behind(0 if request is None else request.n, live.message)

    def _extra_behind(self, n: int, message: str) -> Excuse | None:
        """What was said to the request `n`, or unasked, and was not recorded."""
        course = self._course
        if course.is_lossy_behind(n):
            return Excuse(Verdict.UNKNOWN, _HOLE)
        if course.failure is not None:
            return Excuse(Verdict.EXPLAINED, course.failure[1])
        if course.is_cut_behind(n, message) or (n and course.is_silent_behind(n)):
            return Excuse(Verdict.UNKNOWN, _END)
        return None if course.is_all_said else Excuse(Verdict.UNKNOWN, _TORN)

    def _extra_message(self, event: MessageEvent) -> Excuse | None:
        place = event.partition, event.offset
        if self._is_crowded:
            return Excuse(Verdict.UNKNOWN, _CROWDED)
        if self.is_known(event):
            is_again = self._course.contents.get(place) == content_of(event)
            if not is_again or self._is_shared or self._course.is_greeted:
                return Excuse(Verdict.EXPLAINED, _CLOCK)
            return None
        told = self._told.get(event.partition, set())
        is_hole = any(each.is_lossy for each in self._others) and place[1] not in told
        is_behind = self._has_demand and place[1] > max(told, default=-1)
        return Excuse(Verdict.UNKNOWN, _UNTOLD) if is_hole or is_behind else None

    def is_known(self, event: MessageEvent, offset: int | None = None) -> bool:
        """Whether somebody was told of such a message on the road, at that place if one is given."""
        content = content_of(event)
        if offset is not None:
            return any(course.contents.get((event.partition, offset)) == content for course in self._others)
        return (event.partition, content) in self._known

    @cached_property
    def _known(self) -> set[tuple[int, str]]:
        """What anybody was told, by partition."""
        return {(place[0], content) for course in self._others for place, content in course.contents.items()}

    @cached_property
    def _told(self) -> Mapping[int, set[int]]:
        """The offsets of which anybody was told, by partition."""
        told: dict[int, set[int]] = {}
        for course in self._others:
            for partition, offset in course.contents:
                told.setdefault(partition, set()).add(offset)
        return told

    @cached_property
    def _has_demand(self) -> bool:
        """Whether the recorded client had asked for more than it was told."""
        asked = sum(max(each.fields.count, 0) for each in self._course.taken if isinstance(each.fields, RequestEvent))
        return asked > len(self._course.messages)

    @cached_property
    def _is_crowded(self) -> bool:
        """Whether there may be others on the stream of whom it was not recorded that they came, or went."""
        course = self._course
        if course.is_greeted:
            return any(isinstance(record.fields, RebalanceEvent) for record in course.frames)
        return any(
            (other.stream == course.stream and not (other.is_ended and other.is_all_said)) or other.is_greeted
            for other in self._others
            if other.span[0] < course.span[0]
        )

    @cached_property
    def _is_shared(self) -> bool:
        """Whether others read the same stream at the time."""
        mine = self._course.span
        return any(
            other is not self._course
            and other.stream == self._course.stream
            and other.span[0] <= mine[1]
            and mine[0] <= other.span[1]
            for other in self._others
        )

    # -- the end -------------------------------------------------------------------------------------------------------

    def end(self, *, was_ended: bool, is_closed_by_both: bool) -> Excuse | None:
        """See ReplayAdapter.excuse_end; `is_closed_by_both` if both sides have sent a Close on the live connection."""
        course = self._course
        if course.lax_at is not None:
            return Excuse(Verdict.EXPLAINED, _LAX)
        if was_ended and course.failure is not None:
            return Excuse(Verdict.EXPLAINED, course.failure[1])
        if is_closed_by_both:
            return Excuse(Verdict.EXPLAINED, _LAST)
        has_close = any(each.message == "Close" and each.side == "server" for each in course.frames)
        if was_ended and course.is_granted and not has_close and not course.is_lossy:
            return Excuse(Verdict.EXPLAINED, "the recorded server ended TCP without a Close, as it does where it fails")
        if not course.is_all_said or not course.is_left:
            return Excuse(Verdict.UNKNOWN, _TORN)
        if not was_ended and not course.is_ended:
            return Excuse(Verdict.UNKNOWN, _END)
        if not was_ended and course.is_lossy:
            return Excuse(Verdict.UNKNOWN, _HOLE)
        return None


def _is_echo(expected: object, live: object) -> bool:
    """Whether two ids are the same but for what the original does to half a surrogate pair."""
    return (
        isinstance(expected, str)
        and isinstance(live, str)
        and echoed(live) == echoed(expected) != live.encode("utf-8", "surrogatepass")
    )


def _is_failure(live: Record) -> bool:
    """Return whether it is the Close that ends a connection for what cannot be decoded: 1011, no reason (§1.4)."""
    return isinstance(live.fields, Close) and live.fields.code == 1011 and not live.fields.reason
