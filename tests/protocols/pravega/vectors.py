"""Checks one vector of Pravega's protocol or of its draft: the fields or the error, and the bytes again."""

from collections.abc import Mapping
from typing import Any

from wiretool.codec import reference
from wiretool.codec.compiled import decoder
from wiretool.codec.jsonform import json_form
from wiretool.codec.message import Message, Side
from wiretool.errors import DecodeError, ProtocolViolation
from wiretool.protocols import pravega, pravega_draft
from wiretool.protocols.base.conversation import Conversation, Reading
from wiretool.protocols.base.protocol import Protocol
from wiretool.protocols.pravega import framing
from wiretool.protocols.pravega.appends import Appends, event_frame
from wiretool.protocols.pravega.commands import enum_name
from wiretool.protocols.pravega.encoder import AppendEncoder
from wiretool.protocols.pravega.messages import (
    AppendBlock,
    AppendBlockEnd,
    ConditionalAppend,
    ConditionalBlockEnd,
    Padding,
    SetupAppend,
)
from wiretool.protocols.pravega_draft import messages as draft_messages

PROTOCOLS: Mapping[str, Protocol] = {"pravega": pravega.PROTOCOL, "pravega-draft": pravega_draft.PROTOCOL}
#: What a vector calls a message: its type and its fields.
Said = dict[str, Any]


def check_vector(record: Mapping[str, Any]) -> None:
    """AssertionError where wiretool reads or writes the vector otherwise."""
    protocol, data, name = PROTOCOLS[record["version"]], bytes.fromhex(record["hex"]), record["name"]
    said: list[Said] = []
    kind = ""
    try:
        read_vector(protocol, record["stage"], data, said)
    except (DecodeError, ProtocolViolation) as defect:
        kind = defect.kind
    assert kind == record.get("error_kind", ""), f"{name}: {kind or said} instead of {record.get('error_kind')}"
    if "expect" not in record:
        return
    assert said == expected(record), f"{name}: {said}"
    if record["stage"] == "codec":
        check_bytes_again(protocol, said, data if record.get("canonical") else None)
    if "encoder" in record:
        assert encoded(record["encoder"]) == data, f"{name}: other bytes"


def expected(record: Mapping[str, Any]) -> list[Said]:
    """The messages that the vector wants."""
    want = record["expect"]
    if want["type"] == "INCOMPLETE":
        return []
    return list(want["fields"]["messages"]) if want["type"] == "SEQUENCE" else [want]


def read_vector(protocol: Protocol, stage: str, data: bytes, said: list[Said]) -> None:
    """What the bytes say, up to the first defect, which is raised."""
    if stage == "parse":
        said.append(_said(framing.parse(data)))
    elif stage == "codec":
        _read_codec(protocol, data, said)
    else:
        assert stage == "append", stage
        _read_appends(protocol, data, said)


def frames(protocol: Protocol, conversation: Conversation, data: bytes) -> list[tuple[Side, int, int]]:
    """Who sends each frame, where it begins and where it ends; what is not whole at the end is no frame."""
    senders = {cls.declaration.type_id: cls.declaration.sender for cls in protocol.messages}
    found: list[tuple[Side, int, int]] = []
    at = 0
    while at < len(data):
        side: Side = "server" if senders.get(framing.type_at(data, at)) == "server" else "client"
        length = conversation.extent(side, data, at, len(data))
        if not 0 < length <= len(data) - at:
            break
        found.append((side, at, at + length))
        at += length
    return found


def _read_codec(protocol: Protocol, data: bytes, said: list[Said]) -> None:
    """Single frames: whether this is the time for them does not matter."""
    conversation = protocol.open(False)
    for n, (side, at, end) in enumerate(frames(protocol, conversation, data), 1):
        reading = conversation.read(side, data, at, end, n)
        for defect in reading.defects:
            if isinstance(defect, DecodeError):
                raise defect
        assert isinstance(reading.fields, Message)
        said.append(_said(reading.fields))
        _check_decoders_agree(type(reading.fields), data, at + framing.HEADER_BYTES, end)
        spans = conversation.annotate(side, data, at, end)
        assert sum(span.length for span in spans) == end - at


def _check_decoders_agree(cls: type[Message], data: bytes, at: int, end: int) -> None:
    assert decoder(cls)(data, at, end) == reference.decode(cls, data, at, end)


def _read_appends(protocol: Protocol, data: bytes, said: list[Said]) -> None:
    """The server's whole chain: blocks put together, what stands in them told once."""
    conversation = protocol.open(True)
    data_of = _PravegaData() if protocol is pravega.PROTOCOL else _DraftData()
    for n, (side, at, end) in enumerate(frames(protocol, conversation, data), 1):
        reading = conversation.read(side, data, at, end, n)
        for defect in reading.defects:
            raise defect
        stored = data_of.add(reading)
        if reading.append is not None:
            said.append(_append_said(reading, stored))
        elif not data_of.is_inside(reading):
            assert isinstance(reading.fields, Message)
            said.append(_said(reading.fields))


def _append_said(reading: Reading, stored: bytes) -> Said:
    assert reading.append is not None
    fields = dict(reading.append)
    assert fields.pop("length") == len(stored)
    framed = b"".join(event_frame(bytes.fromhex(event["data"])) for event in reading.events or [])
    assert framed in (b"", stored)
    if "writer_id" in fields:
        return {"type": "APPEND", "fields": {**fields, "data": stored.hex()}}
    assert fields.pop("segment") is not None
    return {"type": "BLOCK", "fields": {**fields, "data": stored.hex()}}


class _PravegaData:
    """The bytes of each append, put together beside the conversation, which does not tell them."""

    def __init__(self) -> None:
        self._appends = Appends(is_whole=True)

    def add(self, reading: Reading) -> bytes:
        """The bytes that the frame completes."""
        message = reading.fields
        if isinstance(message, SetupAppend):
            self._appends.set_up(message)
        elif isinstance(message, AppendBlock):
            self._appends.begin(message)
        elif isinstance(message, AppendBlockEnd):
            return self._appends.finish(message)[1] or b""
        elif isinstance(message, ConditionalAppend):
            return event_frame(message.event.data)
        elif isinstance(message, ConditionalBlockEnd):
            return message.data
        return b""

    @staticmethod
    def is_inside(reading: Reading) -> bool:
        """Whether the server passes on nothing of its own for this frame."""
        return isinstance(reading.fields, AppendBlock | Padding)


class _DraftData:
    """The same for the draft: events in the order in which they were sent, cut ones when they are whole."""

    def __init__(self) -> None:
        self._stored = b""
        self._cut = b""

    def add(self, reading: Reading) -> bytes:
        """The bytes that the frame completes."""
        message = reading.fields
        if isinstance(message, draft_messages.Event):
            self._stored += event_frame(message.data)
        elif isinstance(message, draft_messages.PartialMessage):
            self._cut += message.data
            if message.part == "END":
                self._stored, self._cut = self._stored + self._cut, b""
        done = self._stored
        if reading.append is not None:
            self._stored = b""
        return done

    @staticmethod
    def is_inside(reading: Reading) -> bool:
        """Whether the frame is a part of a block."""
        return reading.message in ("BeginAppendBlock", "EndAppendBlock", "Event", "Padding", "PartialMessage")


def _said(message: Message) -> Said:
    return {"type": enum_name(type(message)), "fields": json_form(message)}


def check_bytes_again(protocol: Protocol, said: list[Said], data: bytes | None) -> None:
    """The messages from their JSON form, written and read again; with `data` the bytes must be those."""
    written = b"".join(
        protocol.encode(protocol.from_json(message["type"], "client", message["fields"]), "client") for message in said
    )
    assert data is None or written == data, f"{written.hex()} instead of {data.hex()}"
    again: list[Said] = []
    read_vector(protocol, "codec", written, again)
    assert again == said


def encoded(work: Mapping[str, Any]) -> bytes:
    """What our encoder writes for the operations of a vector."""
    encoder = AppendEncoder(work["block_size"])
    common: dict[str, Any] = {}
    out = b""
    for operation in work["ops"]:
        if "append" in operation:
            append = operation["append"]
            data = event_frame(bytes.fromhex(append["event"])) if "event" in append else bytes.fromhex(append["raw"])
            out += encoder.append(append["writer_id"], append["event_number"], data)
            continue
        fields = {name: value for name, value in operation.items() if name != "send"}
        if operation["send"] == "SETUP_APPEND":
            common = {name: fields[name] for name in ("writer_id", "request_id")}
        elif operation["send"] == "CONDITIONAL_APPEND":
            fields = {**common, **fields, "event": {"data": fields["event"]}}
        out += encoder.send(pravega.PROTOCOL.from_json(operation["send"], "client", fields))
    return out


def protocol_of(record: Mapping[str, Any]) -> str:
    """Return the name of the protocol of a vector."""
    name: str = record["version"]
    return name


def sent_bytes(group: str, record: Mapping[str, Any]) -> tuple[bytes, bytes]:
    """Return what the client sends, and what the server does."""
    data = bytes.fromhex(record["hex"])
    return data, data


CHECKS = {"": check_vector}
