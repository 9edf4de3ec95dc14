"""What may differ between two runs of the same calls to a controller, and why."""

from collections.abc import Mapping
from typing import Any

from wiretool.analysis.dialogues import Dialogue, Ended, Recording
from wiretool.protocols.pravega import segments
from wiretool.protocols.pravega.replay.appends import frames_of
from wiretool.protocols.pravega_controller.messages import GoAway, RstStream
from wiretool.protocols.pravega_controller.replay.lists import FIELDS, Lists
from wiretool.protocols.pravega_controller.replay.names import name_of, stream_at
from wiretool.records import Record
from wiretool.replay.adapter import Difference, Excuse, Steps, Verdict

OWN_TIME = Excuse(Verdict.EXPLAINED, "a controller commits, aborts and scales some time after it was asked to")
ASIDE = Excuse(
    Verdict.EXPLAINED,
    "a client has truncated the segment in the store: the recorded controller ignored that, the mock does not",
)
GIVEN_UP = Excuse(Verdict.UNKNOWN, "the recorded client gave the call up before its answer")
UNHEARD = Excuse(Verdict.UNKNOWN, "the answer to the call was not recorded")
STOPPED = Excuse(Verdict.EXPLAINED, "the recorded controller ended the connection by itself: it died, or stopped")
TORN = Excuse(Verdict.UNKNOWN, "the client's last bytes are in a gap of the recording")

NO_RETENTION = Excuse(
    Verdict.EXPLAINED, "a real controller omits a retention policy without a kind, other servers return it"
)

#: What is under way in one run may be done in the other: method, field -> the words for that, in turn.
_STAGES: Mapping[tuple[str, Steps], tuple[frozenset[str], ...]] = {
    ("checkTransactionState", ("state",)): (
        frozenset({"COMMITTING", "COMMITTED"}),
        frozenset({"ABORTING", "ABORTED"}),
    ),
    ("checkScale", ("status",)): (frozenset({"IN_PROGRESS", "SUCCESS"}),),
}


class Excuses:
    """Knows the recording, and what is no finding because of what is in it."""

    def __init__(self, recording: Recording, protocol: str) -> None:
        self._lists = Lists(recording, protocol)
        self._reset = {each.dialogue for each in recording.events if isinstance(each, Ended) and each.how == "rst"}
        #: Segments that clients truncate in the store itself -> number of the first such request.
        self._truncated: dict[str, int] = {}
        for event in frames_of(recording):
            asked = event.record.fields
            if event.record.side == "client" and isinstance(asked, segments.TruncateSegment):
                self._truncated.setdefault(asked.segment, event.record.n)

    def difference(
        self, difference: Difference, recorded: Record, live: Record, request: Record | None
    ) -> Excuse | None:
        """Why a difference is none of the server's."""
        if request is None or recorded.message != live.message:
            return None
        stages = _STAGES.get((live.message, difference.steps), ())
        if any({difference.expected, difference.live} <= words for words in stages):
            return OWN_TIME
        if difference.steps == ("retentionPolicy",) and _is_no_retention(difference.expected, difference.live):
            return NO_RETENTION
        if live.message in FIELDS and difference.steps[:1] == (FIELDS[live.message],):
            return self._lists.excuse(recorded, live, request)
        if live.message == "getSegments" and difference.steps[-1:] == ("offset",):
            return ASIDE if self._is_aside(difference, recorded) else None
        return None

    def _is_aside(self, difference: Difference, recorded: Record) -> bool:
        """Whether a stream begins later than the controller has told, where a client had truncated it by itself."""
        assert isinstance(recorded.fields, Mapping)
        told: Any = recorded.fields["segments"]
        names = {
            name_of(stream, each["segmentId"]["segmentId"])
            for each in told
            if each["segmentId"] is not None and (stream := stream_at(each, ())) is not None
        }
        is_later = type(difference.live) is int and difference.live > difference.expected
        return is_later and any(self._truncated.get(name, recorded.n) < recorded.n for name in names)

    def end(self, dialogue: Dialogue) -> Excuse | None:
        """Why a connection stays open that the recorded controller ended."""
        if any(record.kind == "gap" and record.side == "client" for record in dialogue.records):
            return TORN
        is_gone = any(isinstance(record.fields, GoAway) and record.side == "server" for record in dialogue.records)
        return STOPPED if is_gone or dialogue in self._reset else None

    def extra(self, request: Record | None, dialogue: Dialogue) -> Excuse | None:
        """Why a call is answered that was not, as it was recorded: every call has an answer, or was given up."""
        if request is None or any(record.reply_to == request.n for record in dialogue.records):
            return None
        stream = request.raw[5:9]
        is_given_up = any(
            isinstance(record.fields, RstStream) and record.side == "client" and record.raw[5:9] == stream
            for record in dialogue.records
        )
        return GIVEN_UP if is_given_up else UNHEARD


def _is_no_retention(*policies: Any) -> bool:
    """Return whether each of some policies keeps everything: it is left out, or of no kind."""
    kinds = [policy and policy.get("retentionType") for policy in policies]
    return all(kind in (None, "UNKNOWN") for kind in kinds)
