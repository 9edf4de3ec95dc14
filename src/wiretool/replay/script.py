"""A recording as a script: what is done, in what order, and what is waited for in between."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from wiretool.analysis.dialogues import Dialogue, Ended, Event, How, Opened, Recording, Told
from wiretool.records import Record
from wiretool.replay.adapter import ReplayAdapter


class Open(NamedTuple):
    """The client connects."""

    time_ns: int
    dialogue: Dialogue


class Say(NamedTuple):
    """The client says a frame, or bytes that are none."""

    time_ns: int
    dialogue: Dialogue
    record: Record


class Hear(NamedTuple):
    """The server was heard to say this; what comes later in the script may be because of it."""

    time_ns: int
    dialogue: Dialogue
    record: Record


class Await(NamedTuple):
    """What is said next comes behind what the server did before: its answer to another client, or some time for it."""

    time_ns: int
    dialogue: Dialogue
    record: Record
    span_ns: int


class Leave(NamedTuple):
    """The client sends no more, or resets the connection."""

    time_ns: int
    dialogue: Dialogue
    how: How


class Part(NamedTuple):
    """The server ended the connection before the client did."""

    time_ns: int
    dialogue: Dialogue


Step = Open | Say | Hear | Await | Leave | Part


#: How long a request must have been sent before another one for their order to be known, and how long a server may
#: need to take it.
ALONE_NS = 1_000_000
TAKEN_NS = 50_000_000
#: How long a pause is waited for at most that no connection lasts through, such as the one between two captures. It is
#: longer than servers keep what clients left behind (the lease of a transaction is 10 s by default).
PAUSE_MAX_NS = 15_000_000_000
#: Why something is left out that could be said.
NOT_ASKED = "not asked for"


class LeftOut(NamedTuple):
    """Something of the recording that is not spoken again."""

    dialogue: Dialogue
    record: Record | None
    why: str


@dataclass(slots=True)
class Script:
    """What is to be done in the order of the recording, and what of the recording is not."""

    steps: list[Step] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)
    #: Number of an answer -> the request, which the server may be doing still; what is said next comes behind that.
    unfinished: dict[int, Record] = field(default_factory=dict)
    #: How much less is waited than was recorded, where no connection lasted through a long pause.
    skipped_ns: int = 0

    @property
    def dialogues(self) -> list[Dialogue]:
        """The connections that are made, in order."""
        return [step.dialogue for step in self.steps if isinstance(step, Open)]


def script_of(
    recording: Recording,
    manners: Mapping[str, ReplayAdapter],
    *,
    is_wanted: Callable[[Record], bool] = lambda record: True,
) -> Script:
    """The script of the connections whose protocol has a manner; `is_wanted` chooses among the client's frames."""
    script = Script()
    apart = {each: _why_not_spoken(each) for each in recording.dialogues if each.protocol not in manners}
    recording = recording.without(apart)
    for name in {dialogue.protocol for dialogue in recording.dialogues}:
        apart |= manners[name].apart(recording)
    apart |= {each: NOT_ASKED for each in recording.dialogues if _is_idle(each, is_wanted)}
    recording = recording.without(apart)
    spoken = set(recording.dialogues)
    for name in {dialogue.protocol for dialogue in spoken}:
        manners[name].study(recording)
    script.left_out += [LeftOut(dialogue, None, why) for dialogue, why in apart.items() if why]
    ended = {event.dialogue for event in recording.events if isinstance(event, Ended)}
    scribes = {
        dialogue: _Scribe(script, dialogue, manners[dialogue.protocol], is_wanted, has_end=dialogue in ended)
        for dialogue in spoken
    }
    for event in recording.events:
        if event.dialogue in scribes:
            scribes[event.dialogue].note(event)
    for name in {dialogue.protocol for dialogue in spoken}:
        script.unfinished |= manners[name].unfinished(recording)
        _put_off(script.steps, manners[name].delays(recording))
    script.steps = list(_in_recorded_order(script.steps))
    script.skipped_ns = _shorten_pauses(script.steps)
    return script


def _in_recorded_order(steps: Sequence[Step]) -> Iterator[Step]:
    """Yield the steps, with a wait before each request that a server took after one of another connection.

    That is known where both were on their way at once, the earlier was answered first, and had some time alone. It has
    as long now to be answered: no replay takes longer by all of these waits together than was recorded.
    """
    replies: dict[int, Record] = {}
    for step in steps:
        if isinstance(step, Hear) and step.record.reply_to is not None:
            replies.setdefault(step.record.reply_to, step.record)
    heard: set[int] = set()
    latest: list[Say] = []  # of the two connections on which something was sent last
    for step in steps:
        if isinstance(step, Hear):
            heard.add(step.record.n)
        elif isinstance(step, Say):
            other = next((each for each in latest if each.dialogue is not step.dialogue), None)
            if other is not None and (wait := _wait_between(other, step, replies, heard)) is not None:
                yield wait
            latest = [step, *(each for each in latest if each.dialogue is not step.dialogue)][:2]
        yield step


def _wait_between(earlier: Say, later: Say, replies: Mapping[int, Record], heard: Collection[int]) -> Await | None:
    """Return the wait for the answer to an earlier request; None where the recorded server had no such order."""
    reply, other = replies.get(earlier.record.n), replies.get(later.record.n)
    span_ns = later.time_ns - earlier.time_ns
    if reply is None or other is None or reply.n in heard or reply.n > other.n or span_ns < ALONE_NS:
        return None
    return Await(later.time_ns, earlier.dialogue, reply, min(span_ns, TAKEN_NS))


def _is_idle(dialogue: Dialogue, is_wanted: Callable[[Record], bool]) -> bool:
    """Whether clients say something on a connection, and nothing of it is wanted."""
    said = [each for each in dialogue.records if each.side == "client" and each.kind == "frame"]
    return bool(said) and not any(map(is_wanted, said))


def _put_off(steps: list[Step], delays: Mapping[int, int]) -> None:
    """Say requests, and what their connections say and hear then, each behind a later frame of another connection."""
    places = _places(steps) if delays else {}
    for n, behind in delays.items():
        first, last = places.get(n, -1), places.get(behind, -1)
        if not 0 <= first < last:
            continue
        dialogue = steps[first].dialogue
        span = steps[first : last + 1]
        moved: list[Step] = [step for step in span if step.dialogue is not dialogue]
        moved += [step._replace(time_ns=span[-1].time_ns) for step in span if step.dialogue is dialogue]
        steps[first : last + 1] = moved
        places |= _places(moved, first)


def _shorten_pauses(steps: list[Step]) -> int:
    """Let the later steps come earlier where no connection lasts through a long pause; return by how much in all."""
    connections = [step.dialogue for step in steps]
    last = {connection: at for at, connection in enumerate(connections)}
    skipped_ns = busy_until = 0
    before_ns = steps[0].time_ns if steps else 0
    for at, step in enumerate(steps):
        pause_ns = step.time_ns - before_ns
        if at > busy_until:
            skipped_ns += max(pause_ns - PAUSE_MAX_NS, 0)
        before_ns = max(before_ns, step.time_ns)
        busy_until = max(busy_until, last[connections[at]])
        if skipped_ns:
            steps[at] = step._replace(time_ns=step.time_ns - skipped_ns)
    return skipped_ns


def _places(steps: Sequence[Step], first: int = 0) -> dict[int, int]:
    """By the number of its record, where each frame stands; the first step is number `first`."""
    return {step.record.n: at for at, step in enumerate(steps, first) if isinstance(step, Say | Hear)}


def _why_not_spoken(dialogue: Dialogue) -> str:
    """Why a connection of no manner is not spoken again; empty where there is nothing to say of it."""
    return f"{dialogue.protocol} is not replayed" if dialogue.protocol else ""


class _Scribe:
    """Writes the steps of one connection into the script."""

    def __init__(
        self,
        script: Script,
        dialogue: Dialogue,
        manner: ReplayAdapter,
        is_wanted: Callable[[Record], bool],
        *,
        has_end: bool,
    ) -> None:
        self._script = script
        self._dialogue = dialogue
        self._manner = manner
        self._is_wanted = is_wanted
        self._has_end = has_end
        self._is_over = False
        self._behind_holes = set(_behind_holes(dialogue))
        #: Where bytes of the client are missing, so that what ends there is half a frame.
        self._holes = {each.offset for each in dialogue.records if each.kind == "gap" and each.side == "client"}

    def note(self, event: Event) -> None:
        """Something happened on the connection."""
        if isinstance(event, Opened):
            self._script.steps.append(Open(event.time_ns, self._dialogue))
        elif isinstance(event, Ended):
            self._end(event)
        elif event.record.kind == "frame" and self._manner.is_carriage(event.record):
            return
        elif event.record.side == "client":
            self._client(event)
        elif event.record.kind == "frame":
            self._script.steps.append(Hear(event.time_ns, self._dialogue, event.record))

    def _client(self, event: Told) -> None:
        record = event.record
        why = self._why_not(record)
        if why:
            self._script.left_out.append(LeftOut(self._dialogue, record, why))
        elif record.raw:
            if record.kind == "frame":
                self._script.steps += [Await(event.time_ns, *wait) for wait in self._manner.waits(record)]
            self._script.steps.append(Say(event.time_ns, self._dialogue, record))

    def _why_not(self, record: Record) -> str:
        """Why a record of the client is not said again; empty where it is, or there is nothing to say."""
        if record.kind == "gap":
            return record.why
        if record.kind != "frame":
            if not self._manner.is_said_raw:
                return f"no frame: {record.why or record.error}" if record.length else ""
            if record.length and record.offset + record.length in self._holes:
                return f"before a gap of the recording: {record.why}"
            if record.n in self._behind_holes:
                return f"after a gap of the recording: {record.why}"
            is_cut = record.error == "incomplete" and not self._has_end  # neither side was seen to end within it
            return "the recording ends inside it" if is_cut else ""
        if not (self._is_wanted(record) or self._manner.is_basis(record)):
            return NOT_ASKED
        return "" if self._manner.is_said(record) else "none of the client's own"

    def _end(self, event: Ended) -> None:
        if self._is_over:
            return
        self._is_over = event.side == "client" or event.how == "rst"
        if event.side == "client":
            self._script.steps.append(Leave(event.time_ns, self._dialogue, event.how))
        else:
            self._script.steps.append(Part(event.time_ns, self._dialogue))


def _behind_holes(dialogue: Dialogue) -> Iterator[int]:
    """What of the client is no frame, and may be half of one: bytes are missing between it and the frame before it."""
    is_torn = not dialogue.is_opened
    for record in sorted(dialogue.records, key=lambda record: record.offset):
        if record.side != "client":
            continue
        if record.kind == "gap":
            is_torn = True
        elif record.kind == "frame":
            is_torn = False
        elif is_torn and record.length:
            yield record.n


def span_ns(steps: Sequence[Step]) -> int:
    """From the first step to the last."""
    return steps[-1].time_ns - steps[0].time_ns if steps else 0
