"""How Pravega's protocol is spoken again."""

import random
import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from math import inf
from typing import Any
from uuid import UUID, uuid5

from wiretool.analysis.dialogues import Dialogue, Recording
from wiretool.codec.message import Credential, Issued, Named, Position, Role
from wiretool.errors import EncodeError
from wiretool.faults.adapter import Form
from wiretool.protocols.base.conversation import Conversation
from wiretool.protocols.base.protocol import Protocol
from wiretool.protocols.pravega.failures import InvalidEventNumber
from wiretool.protocols.pravega.messages import (
    AppendBlock,
    AppendBlockEnd,
    ConditionalAppend,
    ConditionalBlockEnd,
    DataAppended,
    Hello,
    Padding,
    SetupAppend,
)
from wiretool.protocols.pravega.replay.appends import Fate, frames_of
from wiretool.protocols.pravega.replay.calls import names_told, own_connections
from wiretool.protocols.pravega.replay.initial_state import past_of
from wiretool.protocols.pravega.replay.known_differences import Excuses
from wiretool.protocols.pravega.replay.live import LiveHistory
from wiretool.protocols.pravega.replay.order import waits_of
from wiretool.protocols.pravega.replay.prepare import HELLO, done, prepared, renamed
from wiretool.protocols.pravega.replay.reads import is_empty
from wiretool.protocols.pravega.replay.state import Past
from wiretool.protocols.pravega.segments import (
    CreateTransientSegment,
    FlushedToStorage,
    OffsetLocated,
    SegmentCreated,
    StorageChunksListed,
    StreamSegmentInfo,
)
from wiretool.protocols.pravega.server.mock import ADMIN_DOOR, NEWEST_VERSION, OLDEST_SERVED_VERSION
from wiretool.protocols.pravega.session import SEGMENT_FIELD
from wiretool.protocols.pravega.structures import NAME
from wiretool.protocols.pravega.tables import TableEntriesDeltaRead
from wiretool.protocols.pravega_controller.replay.adapter import TOKEN
from wiretool.protocols.pravega_controller.replay.names import other_scope, stream_of
from wiretool.records import Record
from wiretool.replay.adapter import Difference, Excuse, Place, ReplayAdapter, Talk, Wait
from wiretool.replay.playing.id_map import Values
from wiretool.server.options import MockOptions

_NAME = NAME.kind
_OWN = "the controller's own connection to its store, which each has for itself"
#: What the server makes up stands behind these, in the names of parts of transactions and of transient segments.
_MADE_UP = re.compile("#transaction[.]|#transient[.]")
#: Where a segment begins that was not truncated since the recording began.
START = Issued("segment start", "segment_name")


class PravegaReplayAdapter(ReplayAdapter):
    """Segments, writers and tables."""

    name_role = NAME

    def __init__(self, protocol: Protocol) -> None:
        super().__init__(protocol)
        self._past = Past()
        #: Segments of which the controller tells.
        self._named: set[str] = set()
        self._waits: Mapping[int, Sequence[Wait]] = {}
        self._history = LiveHistory()
        self._excuses = Excuses(self._past, self._history, Recording())

    def untaken(self, recording: Recording) -> Mapping[int, str]:
        """Appends that were lost with their connection."""
        past = past_of(recording)
        return {n: past.unsaid[n] for n, append in past.log.of.items() if append.fate is Fate.LOST and n in past.unsaid}

    def apart(self, recording: Recording) -> Mapping[Dialogue, str]:
        """The controller's own, where its calls are said again."""
        return dict.fromkeys(own_connections(recording), _OWN)

    def study(self, recording: Recording) -> None:
        """What the recording takes for granted is inferred once."""
        self._past = past_of(recording)
        self._named = names_told(recording)
        self._waits = waits_of(recording, self._past.log)
        self._excuses = Excuses(self._past, self._history, recording)

    # -- what a frame says ---------------------------------------------------------------------------------------------

    def form(self, record: Record) -> Form:
        """The entries of a delta stand in the order of their versions: the store has none within a page."""
        form = super().form(record)
        if isinstance(record.fields, TableEntriesDeltaRead):
            entries = sorted(form["entries"]["entries"], key=lambda entry: entry["key"]["key_version"])
            return {**form, "entries": {"entries": entries}}
        return form

    def places(self, record: Record, form: Form, request: Record | None = None) -> Sequence[Place]:
        """Only what the server made up: clients choose most names, and some offsets are none."""
        found = super().places(record, form, request)
        return [self._told(place, record) for place in found if self._has_role(place, record, request)]

    def _told(self, place: Place, record: Record) -> Place:
        """A segment that was there before the recording begins where it likes, until it is truncated."""
        info: Any = record.fields
        if isinstance(place.role, Credential) and self._named:
            return place._replace(within=stream_of(getattr(info, SEGMENT_FIELD.get(type(info), ""), "")))
        if not isinstance(info, StreamSegmentInfo) or place.steps != ("start_offset",):
            return place
        before = self._past.before.get(info.segment_name)
        return place if before is None or info.start_offset > before.start else place._replace(role=START)

    def _has_role(self, place: Place, record: Record, request: Record | None) -> bool:
        role = place.role
        if isinstance(role, Issued) and role.kind == _NAME:
            return place.value in self._past.made_up or place.value in self._named or _makes_up(record, request)
        if place.steps == ("offset",) and request is not None and request.n in self._past.log.of:
            return False  # the number of an event
        if place.steps == ("last_position",) and isinstance(record.fields, TableEntriesDeltaRead):
            return bool(record.fields.entries.entries)
        return True

    def within(
        self, role: Role, steps: Sequence[str | int], form: Form, record: Record, request: Record | None
    ) -> Hashable:
        """Appends and their acks are in the segment of their writer."""
        asked = request if record.side == "server" else record
        if isinstance(role, Position) and asked is not None and (append := self._past.log.of.get(asked.n)) is not None:
            return append.segment
        return super().within(role, tuple(steps), form, record, request)

    # -- what is said again --------------------------------------------------------------------------------------------

    def waits(self, record: Record) -> Sequence[Wait]:
        """Appends and reads in a segment that another client ends."""
        return self._waits.get(record.n, ())

    def is_basis(self, record: Record) -> bool:
        """What wire version is spoken, and who appends where."""
        return isinstance(record.fields, Hello | SetupAppend)

    def renewed(self, record: Record, values: Values, conversation: Conversation, rng: random.Random) -> bytes:
        """Not what the recorded server never took: the client says it again later."""
        if record.n in self._past.unsaid:
            raise EncodeError(self._past.unsaid[record.n])
        if not self.may_change(record):
            return record.raw
        for place in self.places(record, self.form(record)):
            role, value = place.role, place.value
            if isinstance(role, Position) and values.live_of(role, place.within, value) < 0 <= value:
                raise EncodeError("it concerns bytes from long before the recording")
        return super().renewed(record, values, conversation, rng)

    def _live(self, place: Place, values: Values) -> Any:
        """The token that the controller has given out, where it was asked for one."""
        if isinstance(place.role, Credential) and self.identity.token is None:
            return values.live_of(TOKEN, place.within, place.value)
        return super()._live(place, values)

    def other_name(self, role: Role, name: Any, number: int) -> Any:
        """Other scopes, and other writers."""
        if isinstance(role, Issued) and role.kind == _NAME:
            return other_scope(name, number)
        return str(uuid5(UUID(name), str(number))) if isinstance(role, Named) else name

    def stem(self, name: str) -> str:
        """Of a part of a transaction, or a transient segment, the segment that it becomes part of."""
        return _MADE_UP.split(name, maxsplit=1)[0]

    def door(self, dialogue: Dialogue) -> str:
        """Flushing and listing are asked at the admin port."""
        return ADMIN_DOOR.name if is_admin(dialogue) else ""

    def greeting(self, dialogue: Dialogue) -> Talk:
        """Hello, and what binds the writers that append without a recorded SetupAppend."""
        yield [HELLO]
        setups = [
            SetupAppend(request_id=n, writer_id=writer, segment=segment)
            for n, (writer, segment) in enumerate(self._unbound(dialogue).items(), 1)
        ]
        if setups:
            yield setups

    def _unbound(self, dialogue: Dialogue) -> Mapping[str, str]:
        """The writers of a connection that were bound before the recording, and to which segment."""
        bound: set[str] = set()
        found: dict[str, str] = {}
        for record in dialogue.records:
            if isinstance(record.fields, SetupAppend):
                bound.add(record.fields.writer_id)
            append = self._past.log.of.get(record.n)
            if append is not None and append.segment is not None and append.writer not in bound:
                found.setdefault(append.writer, append.segment)
        return found

    # -- the server before the recording -------------------------------------------------------------------------------

    def anchor(self, values: Values) -> None:
        """Fix the offsets in segments that are created in the recording: each begins at 0."""
        for name in self._past.created:
            values.shift("segment", name, 0)

    def prepare(self, recording: Recording, values: Values) -> Talk:
        """The segments that were there, in the protocol's own words."""
        return renamed(prepared(self._past, values), values)

    def meanwhile(self, record: Record, values: Values) -> Talk | None:
        """What others did, of whom nothing was recorded."""
        changes = self._past.changes.get(record.n)
        return None if changes is None else renamed(done(changes, values), values)

    def mock_options(self, recording: Recording, options: MockOptions) -> MockOptions:
        """The wire version that the recorded server said, if the mock speaks it."""
        if any(is_admin(dialogue) for dialogue in recording.of(self.protocol.name)):
            options = replace(options, has_admin=True)
        shown = {_version(event.record) for event in frames_of(recording) if event.record.side == "server"}
        spoken = [version for version in shown if OLDEST_SERVED_VERSION <= version <= NEWEST_VERSION]
        if options.wire_version is not None or not spoken:
            return options
        return replace(options, wire_version=max(spoken))

    # -- what is answered ----------------------------------------------------------------------------------------------

    def wants_answer(self, request: Record) -> bool:
        """Blocks are answered when they end, and padding never."""
        return not isinstance(request.fields, AppendBlock | Padding)

    def follow(self, record: Record) -> None:
        """Note what happens in the live run: what servers may say later depends on it."""
        self._history.note(record)

    def pair(self, request: Record, live: Record) -> None:
        """Note which live request stands for a recorded one."""
        self._history.pair(request, live)

    def settles(self, reply: Record, waiting: Mapping[int, Record]) -> Sequence[int]:
        """An ack is one for every append of its writer from behind the ack before it up to its number."""
        ack = reply.fields
        if not isinstance(ack, DataAppended):
            return ()
        first, last = ack.previous_event_number, ack.event_number
        return [n for n, record in waiting.items() if first < _number(record, ack.writer_id) <= last]

    def is_expected(self, reply: Record) -> bool:
        """Not what was asked before the recording, or in a hole of it."""
        return reply.n not in self._past.orphans

    def is_awaited(self, reply: Record) -> bool:
        """Not the end of a read in a segment that the store unloads, which it does when it likes."""
        return not (is_empty(reply) or reply.n in self._past.orphans)

    def excuse(self, difference: Difference, recorded: Record, live: Record, request: Record | None) -> Excuse | None:
        """Why a difference is none of the server's."""
        return self._excuses.difference(difference, recorded, live, request)

    def excuse_missing(self, recorded: Record, request: Record | None, dialogue: Dialogue) -> Excuse | None:
        """Why a reply may fail to come."""
        return self._excuses.missing(recorded, request, dialogue)

    def excuse_extra(self, live: Record, request: Record | None, dialogue: Dialogue) -> Excuse | None:
        """Why there may be a reply that was not recorded."""
        return self._excuses.extra(live, request, dialogue)

    def excuse_end(self, dialogue: Dialogue, *, was_ended: bool) -> Excuse | None:
        """Why a connection may end otherwise."""
        return self._excuses.end(dialogue, was_ended=was_ended)


def is_admin(dialogue: Dialogue) -> bool:
    """Whether a connection is to the admin port: its own port, or only there these are answered."""
    is_answered = any(isinstance(record.fields, FlushedToStorage | StorageChunksListed) for record in dialogue.records)
    return is_answered or dialogue.server.endswith(f":{ADMIN_DOOR.port}")


def _version(record: Record) -> int:
    """The wire version that a frame of the server shows; 0 where it shows none."""
    if isinstance(record.fields, Hello):
        return record.fields.high_version
    if isinstance(record.fields, OffsetLocated):
        return NEWEST_VERSION
    is_old = isinstance(record.fields, InvalidEventNumber) and record.fields.event_number == -1
    return OLDEST_SERVED_VERSION if is_old else 0


def _makes_up(record: Record, request: Record | None) -> bool:
    """Whether a reply names a segment whose name the server chose."""
    return (
        isinstance(record.fields, SegmentCreated)
        and request is not None
        and isinstance(request.fields, CreateTransientSegment)
    )


def _number(record: Record, writer: str) -> float:
    """The event number of an append of the writer; infinite for anything else."""
    append = record.fields
    if isinstance(append, AppendBlockEnd) and append.writer_id == writer:
        return append.last_event_number
    if isinstance(append, ConditionalAppend | ConditionalBlockEnd) and append.writer_id == writer:
        return append.event_number
    return inf
