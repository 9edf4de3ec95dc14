"""What of a recording is not said again: it was not done then and would be now, or not all of it was recorded."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from wiretool.analysis.dialogues import Dialogue, Recording
from wiretool.protocols.pravega import messages, segments, tables
from wiretool.protocols.pravega.replay.appends import Append, Fate, frames_of
from wiretool.protocols.pravega.replay.initial_tables import MUTE
from wiretool.protocols.pravega.replay.state import Past, Tear
from wiretool.protocols.pravega.session import SEGMENT_FIELD
from wiretool.records import Record

#: Requests that change something, if they are done.
CHANGES = (
    segments.CreateSegment,
    segments.CreateTransientSegment,
    segments.SealSegment,
    segments.DeleteSegment,
    segments.UpdateSegmentPolicy,
    segments.UpdateSegmentAttribute,
    segments.TruncateSegment,
    segments.MergeSegments,
    segments.MergeSegmentsBatch,
    tables.CreateTableSegment,
    tables.DeleteTableSegment,
    tables.UpdateTableEntries,
    tables.RemoveTableKeys,
)
_TO_TABLE = "it is an append to a table segment, which breaks the real store for good (§5.2)"


def leave_out(past: Past, recording: Recording, replies: Mapping[int, Record], is_table: Callable[[str], bool]) -> None:
    """Note in `past` which frames are not said again, and why."""
    for event in frames_of(recording):
        why = _why_not_asked(event.record, replies, is_table) if event.record.side == "client" else ""
        if why:
            past.unsaid[event.record.n] = why
        if why is _TO_TABLE and isinstance(event.record.fields, messages.SetupAppend):
            past.broken.setdefault(event.record.fields.segment, event.record.n)
    past.orphans |= set(orphans_in(recording))
    blocks = {append.record.n: block for block, append in past.log.of_block.items()}
    for n, append in past.log.of.items():
        why = _why_not_appended(append, is_table)
        if why:
            past.unsaid |= dict.fromkeys((n, blocks.get(n, n)), why)
    for dialogue, tear in tears_in(recording, "pravega").items():
        past.torn_connections[dialogue] = tear
        for record in dialogue.records:
            past.tear(segments_of(record), tear)
            if isinstance(record.fields, messages.AppendBlock) and record.n not in past.log.of_block:
                past.unsaid[record.n] = "the end of the block is in a gap of the recording"


def orphans_in(recording: Recording) -> Iterator[int]:
    """The numbers of replies whose requests were before the recording, or are in a hole of it."""
    torn = tears_in(recording, "pravega")
    for dialogue in recording.of("pravega"):
        requests = {record.n: record for record in dialogue.records if record.side == "client"}
        for record in dialogue.records:
            is_alone = record.reply_to is None and (not dialogue.is_opened or dialogue in torn)
            request = requests.get(record.reply_to or 0)
            if record.side == "server" and (is_alone or is_of_another(record.fields, request)):
                yield record.n


def is_of_another(reply: Any, request: Record | None) -> bool:
    """Whether what was read is not what was asked for: an earlier read with the same id was not recorded."""
    asked = None if request is None else request.fields
    if not (isinstance(reply, messages.SegmentRead) and isinstance(asked, messages.ReadSegment)):
        return False
    return (reply.segment, reply.offset) != (asked.segment, asked.offset)


def _why_not_asked(record: Record, replies: Mapping[int, Record], is_table: Callable[[str], bool]) -> str:
    """Why a request is not said again; empty where it is."""
    reply = replies.get(record.n)
    if isinstance(record.fields, CHANGES) and reply is not None and isinstance(reply.fields, MUTE):
        return f"the recorded server refused it ({reply.message}), this one would do it"
    is_to_table = isinstance(record.fields, messages.SetupAppend) and is_table(record.fields.segment)
    return _TO_TABLE if is_to_table else ""


def _why_not_appended(append: Append, is_table: Callable[[str], bool]) -> str:
    """Why an append is not made again; empty where it is."""
    if append.fate is Fate.LOST:
        return "the recorded server ended before it took this append; the writer appends it again later"
    if append.data is None or not append.is_bound:
        return "a part of it, or the SetupAppend of its writer, is in a gap of the recording"
    if append.segment is None:
        return "its writer was set up before the recording, for an unknown segment"
    return _TO_TABLE if is_table(append.segment) else ""


def tears_in(recording: Recording, protocol: str) -> dict[Dialogue, Tear]:
    """Return the connections of which bytes of the client are missing after the beginning, and where the first are.

    A gap is reported when the frames after it can be trusted, which may be late: the last frame before it counts.
    """
    found: dict[Dialogue, Tear] = {}
    for dialogue in recording.of(protocol):
        last = 0
        for record in dialogue.records:
            if record.kind == "gap" and record.side == "client":
                found.setdefault(dialogue, Tear(last, record.n))
            elif record.side == "client" and dialogue not in found:
                last = record.n
    return found


def segments_of(record: Record) -> set[str]:
    """The segments that a frame names."""
    message: Any = record.fields
    names = {getattr(message, SEGMENT_FIELD[type(message)])} if type(message) in SEGMENT_FIELD else set()
    names |= set(getattr(message, "source_segment_ids", ()))
    return names | ({record.append["segment"]} if record.append and record.append["segment"] else set())
