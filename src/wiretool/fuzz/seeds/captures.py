"""Seeds from captures: the sessions of clients, as far as they were recorded from their beginning."""

from collections import Counter
from collections.abc import Iterator, Sequence

from wiretool.analysis.dialogues import Ended, Opened, Recording
from wiretool.analysis.dialogues import Event as RecordedEvent
from wiretool.codec.message import Side
from wiretool.faults.adapter import fault_adapter_of
from wiretool.fuzz.seeds.building import Began, Event, Left, Seen, SentBytes, sequence_from
from wiretool.fuzz.sequences.sequence import FuzzSequence, Sending
from wiretool.protocols.base.protocol import Protocol
from wiretool.replay.adapter import ReplayAdapter
from wiretool.units import counted

#: Sequences of one capture at most, and connections of one sequence.
SEQUENCES_MAX = 64
_CLIENT: Side = "client"


def capture_sequences(
    recording: Recording, protocol: Protocol, adapter: ReplayAdapter, *, origin: str, setup: str
) -> Iterator[FuzzSequence]:
    """Yield a sequence for each connection that was recorded from its first byte, and one of all of them together."""
    adapter.study(recording)
    known = [each for each in recording.of(protocol.name) if each.is_opened]
    every: list[Event] = []
    by_connection: dict[int, list[Event]] = {each.number: [] for each in known}
    for event in recording.events:
        connection = event.dialogue
        if connection in known:
            made = _event(event, adapter)
            by_connection[connection.number] += made
            every += made
    groups = [by_connection[each.number] for each in known[:SEQUENCES_MAX]]
    for events in [*groups, *([every] if len(known) > 1 else [])]:
        sequence = sequence_from(events, protocol, fault_adapter_of(protocol), origin=origin, setup=setup)
        if sequence.sendings:
            yield sequence


def damage_words(recording: Recording, protocol: str) -> str:
    """Return the problems and gaps in the connections of a protocol, or of none, and the first one; empty for none."""
    found = [
        record
        for each in recording.dialogues
        if each.protocol in (protocol, "")
        for record in each.records
        if record.kind in ("problem", "gap")
    ]
    if not found:
        return ""
    first = min(found, key=lambda record: record.n)
    kinds = Counter(record.kind for record in found)
    counts = [counted(kinds[kind], kind) for kind in ("problem", "gap") if kinds[kind]]
    sender, receiver = (first.client, first.server) if first.side == _CLIENT else (first.server, first.client)
    why = ": ".join(filter(None, (first.error, first.why))) or f"{first.length:,} bytes are missing"
    return (
        f"{' and '.join(counts)} in the bytes of its connections, the first in packet {first.packets[0]:,}, "
        f"{sender} to {receiver}: {why}; the messages that decode are seeds"
    )


def _event(event: RecordedEvent, adapter: ReplayAdapter) -> list[Event]:
    number = event.dialogue.number
    if isinstance(event, Opened):
        return [Began(number, event.time_ns, adapter.door(event.dialogue))]
    if isinstance(event, Ended):
        return [Left(number, event.time_ns, event.how == "rst")] if event.side == _CLIENT else []
    record = event.record
    if record.kind == "frame":
        return [Seen(number, event.time_ns, record)]
    return [SentBytes(number, event.time_ns, record.raw)] if record.side == _CLIENT and record.raw else []


def distinct(sequences: Sequence[FuzzSequence]) -> list[FuzzSequence]:
    """Return the sequences that send different bytes."""
    found: dict[tuple[object, ...], FuzzSequence] = {}
    for each in sequences:
        key = (each.setup, *((step.connection, step.data) for step in each.steps if isinstance(step, Sending)))
        found.setdefault(key, each)
    return list(found.values())
