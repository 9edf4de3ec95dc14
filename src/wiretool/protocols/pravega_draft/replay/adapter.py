"""How the 2017 draft of Pravega's protocol is spoken again: appenders go on where they are now."""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID, uuid5

import msgspec

from wiretool.analysis.dialogues import Dialogue, Recording
from wiretool.codec.message import Issued, Named, Position, Role
from wiretool.faults.adapter import Form
from wiretool.protocols.base.protocol import Protocol
from wiretool.protocols.pravega_draft.messages import (
    DataAppended,
    EndAppendBlock,
    KeepAlive,
    NoSuchSegment,
    PartialMessage,
    ReadSegment,
    SegmentIsSealed,
    SegmentRead,
    SetupAppend,
)
from wiretool.protocols.pravega_draft.replay.blocks import Past, content_before
from wiretool.protocols.pravega_draft.replay.known_differences import DraftDifferences
from wiretool.protocols.pravega_draft.server.mock import SegmentStart
from wiretool.records import Record
from wiretool.replay.adapter import Difference, Excuse, ReplayAdapter, Steps, Talk, Verdict
from wiretool.replay.judging.known_differences import Case
from wiretool.server.options import MockOptions

#: What names segments and appenders in what is known of an append.
_APPEND_NAMES = {"segment": Named("segment"), "connection_id": Named("appender")}


class DraftReplayAdapter(ReplayAdapter):
    """The draft of 2017."""

    def __init__(self, protocol: Protocol) -> None:
        super().__init__(protocol)
        self._pasts: dict[int, Past] = {}
        self._differences = DraftDifferences(self._pasts)

    def study(self, recording: Recording) -> None:
        self._pasts = {dialogue.number: Past(dialogue) for dialogue in recording.of(self.protocol.name)}
        self._differences = DraftDifferences(self._pasts)

    def _past(self, dialogue: Dialogue) -> Past:
        return self._pasts.get(dialogue.number) or Past(dialogue)

    # -- what a frame says ---------------------------------------------------------------------------------------------

    def within(self, role: Role, steps: Steps, form: Form, record: Record, request: Record | None) -> Hashable:
        within = super().within(role, steps, form, record, request)
        if not isinstance(role, Issued | Position) or role.within != "connection_id":
            return within
        past = self._pasts.get(record.connection)
        return past.segments.get(record.n) if past is not None else None, within

    # -- what is said again --------------------------------------------------------------------------------------------

    def is_said(self, record: Record) -> bool:
        past = self._pasts.get(record.connection)
        return past is None or record.n not in past.left_out

    def alias(self, record: Record, number: int) -> Record:
        """With another name in what is known of an append, too."""
        other = super().alias(record, number)
        if not record.append:
            return other
        names = {name: self.other_name(role, record.append[name], number) for name, role in _APPEND_NAMES.items()}
        return msgspec.structs.replace(other, append={**record.append, **names})

    def other_name(self, role: Role, name: Any, number: int) -> Any:
        """Other segments: nobody makes them, and other appenders do not leave them as they were."""
        if isinstance(role, Named) and role.kind == "appender":
            return str(uuid5(UUID(name), str(number)))
        return super().other_name(role, name, number) if name else name

    def is_greeted(self, dialogue: Dialogue) -> bool:
        return bool(self._past(dialogue).unbound)

    def greeting(self, dialogue: Dialogue) -> Talk:
        """The appenders that were set up before the recording, each with a segment of its own."""
        yield [
            SetupAppend(connection_id=connection_id, segment=segment)
            for connection_id, segment in self._past(dialogue).unbound.items()
        ]

    # -- the server before the recording -------------------------------------------------------------------------------

    def mock_options(self, recording: Recording, options: MockOptions) -> MockOptions:
        pasts = [Past(dialogue) for dialogue in recording.of(self.protocol.name)]
        starts = _starts(pasts)
        refused = {name for past in pasts for name in _named(past, NoSuchSegment)}
        names = options.segments
        if names is None and refused:
            names = sorted(_bound_in(pasts) - refused)
        return replace(options, segments=names, segment_starts={**starts, **(options.segment_starts or {})})

    def options_with_copies(
        self, recording: Recording, copies: Sequence[Recording], options: MockOptions
    ) -> MockOptions:
        """The segments of each are there."""
        return self.mock_options(recording.beside(copies), options)

    # -- what is answered ----------------------------------------------------------------------------------------------

    def is_basis(self, record: Record) -> bool:
        """Who appends where."""
        return isinstance(record.fields, SetupAppend)

    def wants_answer(self, request: Record) -> bool:
        if isinstance(request.fields, EndAppendBlock | PartialMessage):
            return request.append is not None
        return isinstance(request.fields, SetupAppend | ReadSegment | KeepAlive)

    def settles(self, reply: Record, waiting: Mapping[int, Record]) -> Sequence[int]:
        if not isinstance(reply.fields, DataAppended):
            return ()
        ack = reply.fields
        return [
            number
            for number, request in waiting.items()
            if request.append is not None
            and request.append["connection_id"] == ack.connection_id
            and request.append["connection_offset"] + request.append["length"] <= ack.connection_offset_ack_level
        ]

    def is_expected(self, reply: Record) -> bool:
        past = self._pasts.get(reply.connection)
        return not isinstance(reply.fields, KeepAlive) and not (past is not None and past.has_hole("client"))

    def excuse(self, difference: Difference, recorded: Record, live: Record, request: Record | None) -> Excuse | None:
        return self._differences.difference(Case(difference, recorded, live, request))

    def excuse_missing(self, recorded: Record, request: Record | None, dialogue: Dialogue) -> Excuse | None:
        return self._differences.missing(recorded, request, dialogue)

    def excuse_extra(self, live: Record, request: Record | None, dialogue: Dialogue) -> Excuse | None:
        return self._differences.extra(live, request, dialogue)

    def excuse_end(self, dialogue: Dialogue, *, was_ended: bool) -> Excuse | None:
        if self._past(dialogue).has_hole("client"):
            return Excuse(Verdict.UNKNOWN, "a gap of the recording hides which side closed first")
        return None


def _named(past: Past, cls: type[Any]) -> Iterable[str]:
    """The segments that messages of the server of this class name."""
    return (reply.fields.segment for reply in _from_server(past, cls))


def _from_server(past: Past, cls: type[Any]) -> Iterable[Any]:
    """Return the records of messages of this class that the server sent; a client may have sent some by mistake."""
    return (each for each in past.dialogue.records if each.side == "server" and isinstance(each.fields, cls))


def _bound_in(pasts: Sequence[Past]) -> set[str]:
    """Every segment that somebody appended to, read, or was told of."""
    return {
        name
        for past in pasts
        for record in past.dialogue.records
        if isinstance(name := getattr(record.fields, "segment", None), str)
    } | {name for past in pasts for name in past.unbound.values()}


def _starts(pasts: Sequence[Past]) -> Mapping[str, SegmentStart]:
    """The segments that were there before the recording, with what is known to have been in them."""
    appended: dict[str, bytearray] = defaultdict(bytearray)
    for block in sorted((block for past in pasts for block in past.stored), key=lambda block: block.numbers[-1]):
        appended[block.segment] += block.stored
    reads: dict[str, dict[int, bytes]] = defaultdict(dict)
    ended: set[str] = set()
    for past in pasts:
        ended.update(_named(past, SegmentIsSealed))
        for reply in _from_server(past, SegmentRead):
            read = reply.fields
            ended |= {read.segment} if read.end_of_segment else set()
            known = reads[read.segment].get(read.offset, b"")
            reads[read.segment][read.offset] = max(known, read.data, key=len)
    acked = {past.segments[reply.n] for past in pasts for reply in _from_server(past, DataAppended)}
    levels: dict[str, dict[str, int]] = defaultdict(dict)
    for past in pasts:
        for (segment, connection_id), level in past.levels.items():
            levels[segment].setdefault(connection_id, level)
    return {
        name: SegmentStart(
            data=content_before(bytes(appended[name]), reads[name]),
            levels={connection_id: level for connection_id, level in levels[name].items() if level},
            is_sealed=name in ended and name not in acked,
        )
        for name in sorted({*reads, *levels, *ended})
    }
