"""In which order a store took requests of several connections, where its answers hang on it."""

from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from wiretool.analysis.dialogues import Dialogue, Recording
from wiretool.protocols.pravega.messages import ReadSegment
from wiretool.protocols.pravega.replay.appends import AppendLog, Fate, frames_of
from wiretool.protocols.pravega.segments import DeleteSegment, SealSegment, SegmentDeleted, SegmentSealed
from wiretool.records import Record
from wiretool.replay.adapter import Wait

#: How long a store may need to take what was said to it.
_TAKEN_NS = 50_000_000
#: How long the answer to what it does at once is waited for.
_DONE_NS = 1_000_000_000


class _Flight(NamedTuple):
    """A request on its way, and what is said to it later."""

    dialogue: Dialogue
    segment: str
    request: Record
    time_ns: int
    reply: Record


def waits_of(recording: Recording, log: AppendLog) -> dict[int, list[Wait]]:
    """By the number of a request, what has to be done before it is said, as far as its client did not wait for it.

    That is of appends and reads in a segment that ends while they are on their way: the recorded store had taken them
    before, or the end before the appends.
    """
    replies = _replies(recording, log)
    waits: dict[int, list[Wait]] = {}
    #: What is on its way, by the number of its reply; and of these, what is about a segment.
    flying: dict[int, _Flight] = {}
    about: dict[str, set[int]] = defaultdict(set)
    for time_ns, dialogue, record in frames_of(recording):
        if (landed := flying.pop(record.n, None)) is not None:
            about[landed.segment].discard(record.n)
        segment = _segment(record, log)
        reply = replies.get(record.n)
        if segment is None or reply is None:
            continue
        others = [flying[n] for n in about[segment] if flying[n].dialogue is not dialogue]
        found = list(_waits(record, time_ns, others, log))
        if found:
            waits[record.n] = found
        if not _is_end(record) or isinstance(reply.fields, SegmentSealed | SegmentDeleted):
            flying[reply.n] = _Flight(dialogue, segment, record, time_ns, reply)
            about[segment].add(reply.n)
    return waits


def _waits(record: Record, time_ns: int, others: list[_Flight], log: AppendLog) -> Iterator[Wait]:
    append = log.of.get(record.n)
    for dialogue, _, request, said_ns, reply in others:
        earlier = log.of.get(request.n)
        if append is None and _is_end(record):
            if earlier is not None and earlier.fate is Fate.STORED:
                yield Wait(dialogue, reply, _DONE_NS)
            elif earlier is None and not _is_end(request):
                yield Wait(dialogue, reply, min(time_ns - said_ns, _TAKEN_NS))
        elif append is not None and append.fate is Fate.REFUSED and _is_end(request):
            yield Wait(dialogue, reply, _DONE_NS)


def _replies(recording: Recording, log: AppendLog) -> dict[int, Record]:
    """What is said first to each request; to appends, the ack that settles them."""
    found: dict[int, Record] = {}
    for event in frames_of(recording):
        record = event.record
        if record.side == "server" and record.reply_to is not None:
            found.setdefault(record.reply_to, record)
            for append in log.acked.get(record.n, ()):
                found.setdefault(append.record.n, record)
    return found


def _segment(record: Record, log: AppendLog) -> str | None:
    if isinstance(record.fields, SealSegment | DeleteSegment | ReadSegment):
        return record.fields.segment
    append = log.of.get(record.n)
    return None if append is None else append.segment


def _is_end(record: Record) -> bool:
    return isinstance(record.fields, SealSegment | DeleteSegment)
