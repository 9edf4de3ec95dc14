"""The interface of mutations, and how they find the fields of a message."""

import random
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from wiretool.codec.cursor import Span
from wiretool.codec.message import Side
from wiretool.errors import DecodeError, EncodeError
from wiretool.faults.actions import Change as FieldChange
from wiretool.faults.adapter import FaultAdapter
from wiretool.fuzz.sequences.call_streams import CallStreams
from wiretool.fuzz.sequences.renaming import Renamer
from wiretool.fuzz.sequences.rewriting import Rewriter, spliced
from wiretool.fuzz.sequences.sequence import Change, Edit, FuzzSequence, Sending, SetField, Splice, Step
from wiretool.protocols.base.protocol import Protocol
from wiretool.records import Record

_INDEX = re.compile(r"\[\d+\]")
#: Annotated messages that are kept; larger messages are annotated each time.
SPANS_KEPT, SPANS_BYTES_MAX = 4096, 4096


@dataclass(slots=True)
class MutationContext:
    """The protocol, and other sequences to take steps from."""

    protocol: Protocol
    adapter: FaultAdapter
    rewriter: Rewriter
    #: Seeds that run in the same setup of the server.
    others: Callable[[str], Sequence[FuzzSequence]]
    #: The sender of the messages that are mutated.
    side: Side = "client"
    #: The setups of the server that sequences can run in, with their endpoints.
    setups: Mapping[str, Collection[str]] = field(default_factory=dict)
    #: The streams of calls, where connections have any.
    streams: CallStreams | None = None
    renamer: Renamer = field(init=False)
    _spans: dict[bytes, list[Span]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.renamer = Renamer(self.protocol, self.adapter, self.rewriter)

    def spans(self, data: bytes) -> list[Span]:
        """Return the fields of a message with their places; empty where it does not decode."""
        found = self._spans.get(data)
        if found is None:
            found = self._annotated(data)
            if len(data) <= SPANS_BYTES_MAX:
                if len(self._spans) >= SPANS_KEPT:
                    self._spans.clear()
                self._spans[data] = found
        return found

    def _annotated(self, data: bytes) -> list[Span]:
        conversation = self.protocol.open(False)
        if not data:
            return []
        try:
            if conversation.extent(self.side, data, 0, len(data)) != len(data):
                return []
        except DecodeError:
            return []
        return [span for span in conversation.annotate(self.side, data, 0, len(data)) if span.length > 0]

    def edited(self, sending: Sending, edits: Sequence[Edit], change: Change) -> Sending | None:
        """Return a message with further edits; None where it has no bytes, or the same ones."""
        every = (*sending.edits, *edits)
        if sending.record is None or not any(isinstance(edit, SetField) for edit in every):
            data = spliced(sending.data, [edit for edit in edits if isinstance(edit, Splice)])
        else:
            try:
                data = self.rewriter.encode(sending.record, every, self.protocol.open(True))
            except EncodeError:
                return None
        return None if data == sending.data else sending.changed(change, data=data, edits=every)

    def has_fields(self, record: Record) -> bool:
        """Return whether the fields of a message can be set."""
        return (record.side, record.message) in self.adapter.declared

    def check_field(self, record: Record, edit: SetField) -> None:
        """EncodeError where a message with fields has no such one, or where that does not take the value."""
        self.adapter.check_change((record.side, record.message), FieldChange(edit.steps, edit.value))

    def repaired(self, sending: Sending, splice: Splice) -> tuple[Edit, ...]:
        """Return a splice with the one that corrects the length of the frame, where frames have one."""
        length = self.adapter.length
        delta = len(splice.inserted) - splice.removed
        if length is None or not delta or splice.offset < length.at + length.size <= len(sending.data):
            return (splice,)
        at, size = length
        value = int.from_bytes(sending.data[at : at + size], "big") + delta
        if not 0 <= value < 256**size:
            return (splice,)
        return splice, Splice(at, size, value.to_bytes(size, "big"))

    def with_checksum(self, sending: Sending, *splices: Splice) -> tuple[Edit, ...]:
        """Return splices with the one that corrects the checksum of the frame, where it has one."""
        made = spliced(sending.data, splices)
        repaired = self.adapter.with_right_checksum(made)
        if repaired == made:
            return splices
        at = next(at for at, (one, two) in enumerate(zip(made, repaired, strict=True)) if one != two)
        return *splices, Splice(at, len(made) - at, repaired[at:])


class Mutation(ABC):
    """One way to change a sequence. `--case` matches its name."""

    name = ""
    #: One sentence for `--list`.
    description = ""

    @abstractmethod
    def apply(self, sequence: FuzzSequence, rng: random.Random, context: MutationContext) -> FuzzSequence | None:
        """Return the mutated sequence; None where it does not apply."""


class MessageMutation(Mutation):
    """A mutation of one message of the sequence."""

    #: Whether only messages of clients have what it changes.
    is_of_clients = False

    def apply(self, sequence: FuzzSequence, rng: random.Random, context: MutationContext) -> FuzzSequence | None:
        places = [at for at, step in enumerate(sequence.steps) if isinstance(step, Sending) and self.fits(step)]
        if not places:
            return None
        at = rng.choice(places)
        step = sequence.steps[at]
        assert isinstance(step, Sending)
        made = self.change(step, rng, context)
        if made is None:
            return None
        steps = (*sequence.steps[:at], *([made] if isinstance(made, Sending) else made), *sequence.steps[at + 1 :])
        return replace(sequence, steps=steps)

    def fits(self, sending: Sending) -> bool:
        """Return whether the mutation may apply to a message."""
        return bool(sending.data)

    @abstractmethod
    def change(
        self, sending: Sending, rng: random.Random, context: MutationContext
    ) -> Sending | tuple[Step, ...] | None:
        """Return the changed message, or the steps in its place; None where it does not apply."""


def region_of(span: Span) -> str:
    """Return the field of a span, elements of lists all alike."""
    return _INDEX.sub("[]", span.path)


def region_at(spans: Sequence[Span], offset: int) -> str:
    """Return the field at a byte of a message; its distance from the start where it does not decode."""
    for span in spans:
        if span.offset <= offset < span.offset + span.length:
            return region_of(span)
    return f"byte {offset}" if not spans else "after the last field"
