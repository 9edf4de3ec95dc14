"""Checks one vector of the Streaming Batch Protocol: the fields both ways, or the named defect."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import accumulate
from typing import Any

import msgspec

from wiretool.codec import reference
from wiretool.codec.cursor import Cursor, Span
from wiretool.codec.flatbuffers.compiled import decode_root
from wiretool.codec.flatbuffers.declaration import Table, table_form, table_from_json
from wiretool.codec.flatbuffers.reader import annotate_root, read_root
from wiretool.codec.flatbuffers.writer import encode_root
from wiretool.codec.message import Side
from wiretool.errors import DecodeError
from wiretool.protocols.base.conversation import Conversation, Reading
from wiretool.protocols.base.protocol import Protocol
from wiretool.protocols.base.registry import PROTOCOLS
from wiretool.protocols.sbp import records
from wiretool.protocols.sbp.framing import encode_frame, read_frame
from wiretool.protocols.sbp.messages import APPEND, SbpFrame, Schema
from wiretool.protocols.sbp.schema import LATEST, UNCARRIED
from wiretool.protocols.sbp.session import Role, SbpConversation
from wiretool.protocols.sbp.tables import status_detail

Vector = Mapping[str, Any]


def check_vector(record: Vector) -> None:
    """AssertionError unless the protocols say of the vector's bytes what it expects."""
    data = bytes.fromhex(record["hex"])
    kind = record.get("kind")
    if kind == "header_only":
        _check_header(record, data)
    elif kind == "payload_only":
        _check_payload(record, data)
    elif "append_repeat" in record:
        _check_frame(record, data + _repeated(record))
    else:
        _check_frame(record, data)


def _repeated(record: Vector) -> bytes:
    """What stands behind the hex of a frame too long to be written out: one piece many times, then the rest."""
    repeat = record["append_repeat"]
    parts = list(repeat.values()) if isinstance(repeat, Mapping) else list(repeat)
    texts = [part for part in parts if isinstance(part, str)]
    numbers = [part for part in parts if isinstance(part, int)]
    unit = bytes.fromhex(texts[0]) if texts else bytes((min(numbers),))
    return unit * max(numbers) + bytes.fromhex(record.get("then_hex", ""))


def protocol_of(record: Vector) -> str:
    """Return the name of the protocol of a vector."""
    return "sbp" if record["version"] == "sbp-latest" else "sbp-0.1"


def schema_of(record: Vector) -> tuple[Protocol, Schema]:
    """The protocol that the vector is of, and its schema."""
    name = protocol_of(record)
    if name == "sbp":
        return PROTOCOLS[name], LATEST
    from wiretool.protocols.sbp_0_1.messages import S1

    return PROTOCOLS[name], S1


def _conversation(record: Vector) -> Conversation:
    # What the server refuses hangs on which server it is; the vector says so in words.
    role: Role = "placement driver" if record.get("error") == "bad_request" else ""
    return SbpConversation(True, LATEST, role=role) if role else schema_of(record)[0].open(True)


def side_of(data: bytes) -> Side:
    """Who sends a frame like this."""
    return "server" if len(data) > 7 and data[7] & 1 else "client"


def _check_frame(record: Vector, data: bytes) -> None:
    conversation, side = _conversation(record), side_of(data)
    error = record.get("error")
    length, refused = _extent(conversation, side, data)
    if refused or length == 0 or length > len(data):
        assert (refused or "incomplete") == error, f"{refused or 'incomplete'} instead of {error}"
        return
    reading = conversation.read(side, data, 0, length, 1)
    kinds = [defect.kind for defect in reading.defects]
    if error is not None:
        assert error in kinds, f"{kinds} instead of {error}"
        # Vectors of the frame layer carry headers that are no tables.
        others = set(kinds) - {error} - ({"bad_flatbuffer_header"} if record["layer"] == "frame" else set())
        assert not others, f"{others} beside {error}"
        _check_equal(record.get("frame", {}), reading.fields)
        return
    expect = record["expect"]
    if "append_repeat" in record:
        _check_equal({key: value for key, value in expect.items() if key != "payload"}, reading.fields)
    else:
        _check_equal(expect, reading.fields)
        assert reading.fields == expect, "more than what is expected"
    if kinds:
        # As above.
        assert kinds == ["bad_flatbuffer_header"], f"{kinds} instead of nothing"
        assert "raw_hex" in (expect["header"] or {}), "a table that does not decode"
    _check_layout(conversation.annotate(side, data, 0, length), length)
    if "table" in (expect["header"] or {}):
        assert conversation.trust(side, data, 0, length) == 4, "no writer of this schema lays it out so"
    _check_way_back(record, data[:length], reading, side)
    if "detail_decoded" in record:
        frame = read_frame(LATEST, data, 0, length).frame
        detail = status_detail(frame.header.status)  # type: ignore[union-attr]
        assert detail is not None
        assert table_form(detail) == record["detail_decoded"]


def _extent(conversation: Conversation, side: Side, data: bytes) -> tuple[int, str]:
    """Bytes of the first frame, or why there is none."""
    try:
        return conversation.extent(side, data, 0, len(data)), ""
    except DecodeError as err:
        return 0, err.kind


def _check_layout(spans: list[Span], length: int) -> None:
    """Every byte has a meaning, or is a zero that pads."""
    assert [span.offset for span in spans] == [0, *accumulate(span.length for span in spans)][:-1]
    assert sum(span.length for span in spans) == length
    strays = [span for span in spans if span.path.endswith("(not referenced)")]
    assert not strays, f"bytes that mean nothing: {strays}"


def _check_equal(expect: Mapping[str, Any], found: Any) -> None:
    for key, value in expect.items():
        assert found.get(key) == value, f"{key}: {found.get(key)!r} instead of {value!r}"


def _check_way_back(record: Vector, data: bytes, reading: Reading, side: Side) -> None:
    protocol, schema = schema_of(record)
    frame = read_frame(schema, data, 0, len(data)).frame
    raw = data[16 : 16 + int.from_bytes(data[13:16], "big")]
    envelope = encode_frame(msgspec.structs.replace(frame, header=raw or None), side)
    assert envelope == data, "the envelope is not the same bytes again"
    again = encode_frame(frame, side)
    assert read_frame(schema, again, 0, len(again)).frame == frame, "not the same frame again"
    assert isinstance(reading.fields, Mapping)
    message = protocol.from_json(reading.message, side, dict(reading.fields))
    assert message == frame, "not the same frame from its JSON"


def _check_header(record: Vector, data: bytes) -> None:
    expected = record["expect"]["header"]
    known: tuple[type[Table], ...] = (*LATEST.tables, *UNCARRIED)
    cls = {table.__name__: table for table in known}[expected["table"]]
    _check_layout(annotate_root(cls, data, 0, len(data), cls.__name__), len(data))
    table = _decoded(cls, data)
    assert table_form(table) == expected["fields"]
    assert table_from_json(cls, expected["fields"]) == table
    assert decode_root(cls, encode_root(table)) == table


def _decoded(cls: type[Table], data: bytes) -> Table:
    try:
        table: Table = decode_root(cls, data)
        assert table == read_root(cls, data, exact=True).value
    except DecodeError as err:
        raise AssertionError(f"no {cls.__name__}: {err}") from err
    return table


def _check_payload(record: Vector, data: bytes) -> None:
    if "error" in record:
        kinds = [defect.kind for defect in records.read_entries(data).defects]
        assert record["error"] in kinds, f"{kinds} instead of {record['error']}"
        return
    expect = record["expect"]
    payload = expect["payload"]
    if "sparse_index" in payload:
        items = list(records.read_sparse_index(data))
        assert [[item.end_offset, item.position] for item in items] == payload["sparse_index"]
        assert b"".join(reference.encode(item) for item in items) == data
    elif "delimiter" in payload:
        try:
            tail = records.read_object_tail(data)
        except DecodeError as err:
            raise AssertionError(str(err)) from err
        assert not any(tail.rest[:-8]), "the footer is filled with zeros"
        found: dict[str, Any] = {"delimiter": tail.delimiter, "sparse_index_pos": tail.sparse_index_pos}
        found |= {"sparse_index_size": tail.sparse_index_size, "footer_magic": tail.rest[-8:].hex()}
        assert found == payload
        assert reference.encode(tail) == data
    else:
        _check_entries(expect, data)


def _check_entries(expect: Mapping[str, Any], data: bytes) -> None:
    batches = records.read_entries(data)
    assert not batches.defects
    forms = [LATEST.batch_form(entry, length) for entry, length in batches.found]
    assert forms == expect["payload"]["entries"]
    spans: list[Span] = []
    at = 0
    for entry, length in batches.found:
        reference.read_fields(type(entry), Cursor(data, at, at + length, spans=spans), "entry")
        at += length
    _check_layout(spans, len(data))
    entries = [LATEST.batch_from_json(form, "entry") for form in forms]
    assert entries == [entry for entry, _ in batches.found]
    again = records.read_entries(b"".join(reference.encode(entry) for entry in entries))
    assert [entry for entry, _ in again.found] == entries
    meta = forms[0]["meta"]
    derived = {
        "count": meta["last_offset_delta"],
        "base_offset": meta["base_offset"],
        "last_offset": max(meta["base_offset"], 0) + meta["last_offset_delta"],
        "properties": {pair["key"]: pair["value"] for pair in meta.get("properties", [])},
    }
    for key, value in derived.items():
        assert expect.get(key, value) == value


def sent_bytes(group: str, record: Vector) -> tuple[bytes, bytes]:
    """Return what the client sends, and what the server does."""
    data = bytes.fromhex(record["hex"])
    match record.get("kind"):
        case "header_only":
            data = encode_frame(SbpFrame(opcode=APPEND, flags=0, stream_id=1, header=data), "client")
        case "payload_only":
            data = encode_frame(SbpFrame(opcode=APPEND, flags=0, stream_id=1, payload=data), "client")
    return data, data


CHECKS = {"": check_vector}
