"""A recording as a script: what is done, in what order, and what is waited for in between."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from wiretool.records import Record
from wiretool.replay.manners.manner import Manner
from wiretool.sessions.dialogues import Dialogue, Ended, Event, How, Opened, Recording, Told


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


class Leave(NamedTuple):
    """The client sends no more, or resets the connection."""

    time_ns: int
    dialogue: Dialogue
    how: How


class Part(NamedTuple):
    """The server ended the connection before the client did."""

    time_ns: int
    dialogue: Dialogue


Step = Open | Say | Hear | Leave | Part


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

    @property
    def dialogues(self) -> list[Dialogue]:
        """The connections that are made, in order."""
        return [step.dialogue for step in self.steps if isinstance(step, Open)]


def script_of(
    recording: Recording,
    manners: Mapping[str, Manner],
    *,
    is_wanted: Callable[[Record], bool] = lambda record: True,
) -> Script:
    """The script of the connections whose protocol has a manner; `is_wanted` chooses among the client's frames."""
    script = Script()
    spoken = {dialogue for dialogue in recording.dialogues if dialogue.protocol in manners}
    for name in {dialogue.protocol for dialogue in spoken}:
        manners[name].study(recording)
    for dialogue in recording.dialogues:
        if dialogue not in spoken and dialogue.protocol:
            script.left_out.append(LeftOut(dialogue, None, f"{dialogue.protocol} is not replayed"))
    scribes = {dialogue: _Scribe(script, dialogue, manners[dialogue.protocol], is_wanted) for dialogue in spoken}
    for event in recording.events:
        if event.dialogue in scribes:
            scribes[event.dialogue].note(event)
    return script


class _Scribe:
    """Writes the steps of one connection into the script."""

    def __init__(self, script: Script, dialogue: Dialogue, manner: Manner, is_wanted: Callable[[Record], bool]) -> None:
        self._script = script
        self._dialogue = dialogue
        self._manner = manner
        self._is_wanted = is_wanted
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
            self._script.steps.append(Say(event.time_ns, self._dialogue, record))

    def _why_not(self, record: Record) -> str:
        """Why a record of the client is not said again; empty where it is, or there is nothing to say."""
        if record.kind == "gap":
            return record.why
        if record.kind != "frame":
            if record.length and record.offset + record.length in self._holes:
                return f"in front of a hole of the recording: {record.why}"
            return f"behind a hole of the recording: {record.why}" if record.n in self._behind_holes else ""
        if not self._is_wanted(record):
            return "not asked for"
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
