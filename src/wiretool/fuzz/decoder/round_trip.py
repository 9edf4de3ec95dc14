"""Decode, encode, decode: frames without problems give the same messages again."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from wiretool.analysis.script import Sent, read_script
from wiretool.codec.message import Side
from wiretool.errors import EncodeError
from wiretool.faults.adapter import fault_adapter_of
from wiretool.protocols.base.conversation import Reading, let_go
from wiretool.protocols.base.protocol import Protocol
from wiretool.protocols.base.registry import PROTOCOLS
from wiretool.records import Record
from wiretool.sinks.ndjson import RecordText, json_record

#: FlatBuffers of one meaning have different lengths, depending on the library that wrote them.
_LENGTHS = frozenset({"frame_length", "header_length", "total_bytes"})


class Loss(NamedTuple):
    """A message that encoding changes."""

    message: str
    #: One sentence.
    problem: str


def losses(records: Sequence[Record]) -> Iterator[Loss]:
    """Yield the messages that encoding changes: those of whole connections without problems, and single frames."""
    connections: dict[int, list[Record]] = {}
    for record in records:
        connections.setdefault(record.connection, []).append(record)
    for mine in connections.values():
        if all(record.kind == "frame" for record in mine):
            yield from _connection_losses(mine)
        for record in mine:
            if record.kind == "frame":
                loss = _frame_loss(PROTOCOLS[record.protocol], record.side, record.raw)
                if loss is not None:
                    yield loss


# -- whole connections -------------------------------------------------------------------------------------------------


def _connection_losses(records: Sequence[Record]) -> Iterator[Loss]:
    """Yield how the messages of a connection differ once all of them are encoded.

    Both are read from the beginning of a connection; one that has problems then was captured from its middle.
    """
    protocol = PROTOCOLS[records[0].protocol]
    before = _readings(protocol, [(record.side, record.raw) for record in records])
    if any(reading.defects or reading.left_over for reading in before):
        return
    text = RecordText()
    try:
        sent = list(read_script(text.of(record) for record in records))
    except EncodeError as err:
        yield Loss("", f"no bytes: {err}")
        return
    if len(sent) != len(records):
        yield Loss("", f"{len(records)} frames were encoded as {len(sent)}")
        return
    after = _readings(protocol, [(each.side, each.data) for each in sent])
    for record, each, first, again in zip(records, sent, before, after, strict=True):
        problem = _difference(protocol, record, each, first, again)
        if problem:
            yield Loss(record.message, problem)
            return


def _readings(protocol: Protocol, frames: Sequence[tuple[Side, bytes]]) -> list[Reading]:
    """Return the readings of the frames of one connection."""
    conversation = protocol.open(True)
    readings = [conversation.read(side, raw, 0, len(raw), n) for n, (side, raw) in enumerate(frames, 1)]
    for reading in readings:
        let_go(reading.defects)
    return readings


def _difference(protocol: Protocol, record: Record, sent: Sent, first: Reading, again: Reading) -> str:
    if (again.message, sent.side) != (first.message, record.side):
        return f"the encoded message is a {again.message} of the {sent.side}"
    if again.defects:
        return f"the encoded message has a problem: {again.defects[0]}"
    before, after = (_form(protocol, record.side, each, b"") or {} for each in (first, again))
    if names := _changed(before, after):
        return f"other values after encoding: {', '.join(names)}"
    return f"it answers {again.reply_to} instead of {first.reply_to}" if again.reply_to != first.reply_to else ""


# -- single frames -----------------------------------------------------------------------------------------------------


def _frame_loss(protocol: Protocol, side: Side, raw: bytes) -> Loss | None:
    """Return how a frame differs from its encoded message, None where it does not, or where it has problems.

    The frame is read as the first one of its connection.
    """
    first = _read(protocol, side, raw)
    if first.defects or first.left_over or (side, first.message) not in fault_adapter_of(protocol).declared:
        return None
    form = _form(protocol, side, first, raw)
    if form is None:
        return None
    try:
        encoded = protocol.encode(protocol.from_json(first.message, side, form), side)
    except EncodeError as err:
        return Loss(first.message, f"no bytes: {err}")
    again = _read(protocol, side, encoded)
    if again.message != first.message:
        return Loss(first.message, f"the encoded message is a {again.message}")
    if again.defects:
        return Loss(first.message, f"the encoded message has a problem: {again.defects[0]}")
    names = _changed(form, _form(protocol, side, again, encoded) or {})
    return Loss(first.message, f"other values after encoding: {', '.join(names)}") if names else None


def _read(protocol: Protocol, side: Side, raw: bytes) -> Reading:
    reading = protocol.open(True).read(side, raw, 0, len(raw), 1)
    let_go(reading.defects)
    return reading


def _form(protocol: Protocol, side: Side, reading: Reading, raw: bytes) -> Mapping[str, Any] | None:
    """Return the JSON form of the fields, as `decode --format ndjson` writes them."""
    record = Record(
        1, "frame", 0, 0, "", "", side, (0, 0), 0, len(raw), protocol.name, reading.message, reading.fields, raw=raw
    )
    fields = json_record(record).get("fields")
    return fields if isinstance(fields, Mapping) else None


def _changed(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """Return the names of the fields that differ; NaN is not equal to itself, so their texts are compared too."""
    names = before.keys() | after.keys()
    return sorted(
        name
        for name in names - _LENGTHS
        if before.get(name) != after.get(name) and repr(before.get(name)) != repr(after.get(name))
    )
