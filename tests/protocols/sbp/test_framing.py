"""Frames of the newest schema: there and back, every defect by name, and any bytes at all."""

import zlib
from contextlib import suppress
from itertools import accumulate
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.tables import mutated, tables
from wiretool import limits
from wiretool.codec import reference
from wiretool.codec.flatbuffers.declaration import Table
from wiretool.codec.flatbuffers.writer import encode_root
from wiretool.codec.message import Side
from wiretool.errors import DecodeError, EncodeError, OverLimit
from wiretool.protocols.sbp import PROTOCOL
from wiretool.protocols.sbp.framing import LENGTH_BYTES, candidates, encode_frame, extent, read_frame, trust
from wiretool.protocols.sbp.messages import SbpFrame, check_declarations, operations_of
from wiretool.protocols.sbp.records import (
    AppendEntry,
    KeyValue,
    RecordBatchMeta,
    read_entries,
    read_object_tail,
    read_sparse_index,
)
from wiretool.protocols.sbp.schema import LATEST, UNCARRIED
from wiretool.protocols.sbp.tables import (
    AppendRequest,
    HeartbeatRequest,
    ListRangeResponse,
    PlacementDriverCluster,
    RangeServer,
    Status,
    Stream,
    status_detail,
)
from wiretool.protocols.sbp.tables_unserved import Resource, TxnRequest, nested_resource
from wiretool.protocols.sbp.wire import from_json

SIDES: tuple[Side, Side] = ("client", "server")


def entry(payload: bytes = b"hello", **meta: Any) -> bytes:
    raw = encode_frame(SbpFrame(opcode=1, header=RecordBatchMeta(**meta)), "client")
    table = raw[16:-4]
    length = len(table).to_bytes(4, "big")
    return b"\x22" + length + table + len(payload).to_bytes(4, "big") + payload


@st.composite
def frames(draw: st.DrawFn) -> SbpFrame:
    """Frames that a writer of the schema could send."""
    table = draw(st.sampled_from(LATEST.tables))
    declared = table.declaration
    flags = 0 if declared.sender == "client" else draw(st.sampled_from([1, 3]))
    payload = b""
    if declared.name in ("APPEND", "FETCH"):
        payload = b"".join(entry(body) for body in draw(st.lists(st.binary(max_size=9), min_size=1, max_size=2)))
    return SbpFrame(
        opcode=declared.type_id,
        flags=flags,
        stream_id=draw(st.integers(0, 2**32 - 1)),
        header=draw(tables(table)),
        payload=payload,
    )


def kinds(data: bytes) -> list[str]:
    return [defect.kind for defect in read_frame(LATEST, data, 0, len(data)).defects]


def heartbeat(**changes: Any) -> SbpFrame:
    return msgspec.structs.replace(SbpFrame(opcode=3, stream_id=1, header=HeartbeatRequest(client_id="c")), **changes)


def changed(frame: SbpFrame, at: int, value: int) -> bytes:
    data = bytearray(encode_frame(frame, "client"))
    data[at] = value
    return bytes(data)


def test_declarations_are_whole() -> None:
    check_declarations(LATEST)
    names = [operation.name for operation in operations_of(LATEST).values()]
    assert len(set(names)) == len(names) == 21
    assert all(operation.code == code for code, operation in operations_of(LATEST).items())
    assert all(cls.declaration.spec for cls in PROTOCOL.messages)


@given(frames())
def test_frames_with_encoded_headers_are_written_as_by_the_reference(frame: SbpFrame) -> None:
    header = encode_root(frame.header) if isinstance(frame.header, Table) else frame.header
    frame = msgspec.structs.replace(frame, header=header, checksum=zlib.crc32(frame.payload))
    assert encode_frame(frame, "server")[LENGTH_BYTES + 1 :] == reference.encode(frame)


@pytest.mark.parametrize("change", [{"stream_id": -1}, {"flags": 256}, {"opcode": "x"}])
def test_values_without_bytes_are_refused_whatever_the_header(change: dict[str, Any]) -> None:
    frame = msgspec.structs.replace(SbpFrame(opcode=3, header=b"raw", checksum=0), **change)
    with pytest.raises(EncodeError):
        encode_frame(frame, "server")


@given(frames())
def test_a_frame_is_the_same_after_the_way_there_and_back(frame: SbpFrame) -> None:
    data = encode_frame(frame, "client")
    assert extent(data, 0, len(data)) == len(data)
    reading = read_frame(LATEST, data, 0, len(data))
    assert reading.frame == msgspec.structs.replace(frame, checksum=zlib.crc32(frame.payload))
    assert not [defect for defect in reading.defects if defect.kind != "empty_append_payload"]
    assert trust(LATEST, data, 0, len(data)) == 4
    assert encode_frame(reading.frame, "client") == data


@given(frames())
def test_json_form_and_back(frame: SbpFrame) -> None:
    data = encode_frame(frame, "client")
    for side in SIDES:
        reading = PROTOCOL.open(False).read(side, data, 0, len(data), 1)
        assert isinstance(reading.fields, dict)
        again = from_json(reading.message, side, reading.fields)
        assert encode_frame(again, side) == data
        assert msgspec.json.decode(msgspec.json.encode(reading.fields)) == reading.fields


@given(frames().flatmap(lambda frame: mutated(encode_frame(frame, "client"))), st.sampled_from(SIDES))
def test_damaged_frames_are_read_all_the_same(data: bytes, side: Side) -> None:
    data = data.ljust(20, b"\0")
    data = (len(data) - 4).to_bytes(4, "big") + b"\x17" + data[5:]
    conversation = PROTOCOL.open(True)
    assert conversation.extent(side, data, 0, len(data)) == len(data)
    spans = conversation.annotate(side, data, 0, len(data))
    assert [span.offset for span in spans] == [0, *accumulate(span.length for span in spans)][:-1]
    assert sum(span.length for span in spans) == len(data)
    assert conversation.trust(side, data, 0, len(data)) in (0, 1, 4)
    reading = conversation.read(side, data, 0, len(data), 1)
    assert isinstance(reading.fields, dict)
    assert reading.fields["total_bytes"] == len(data)
    assert all(0 <= getattr(defect, "offset", 0) <= len(data) for defect in reading.defects)


@given(st.binary(max_size=60), st.sampled_from(SIDES))
def test_any_bytes_are_a_length_or_a_decode_error(data: bytes, side: Side) -> None:
    conversation = PROTOCOL.open(True)
    assert conversation.trust(side, data, 0, len(data)) >= 0
    assert all(0 <= at < len(data) for at in conversation.candidates(side, data, 0, len(data)))
    with suppress(DecodeError):
        length = conversation.extent(side, data, 0, len(data))
        assert length == 0 or 20 <= length <= limits.SBP_FRAME_LENGTH_MAX + 4


@given(st.lists(frames(), max_size=4), st.binary(max_size=20))
def test_every_frame_is_a_candidate(sent: list[SbpFrame], noise: bytes) -> None:
    data, places = noise, []
    for frame in sent:
        places.append(len(data))
        data += encode_frame(frame, "client")
    assert set(places) <= set(candidates(LATEST, data, 0, len(data)))


@pytest.mark.parametrize(
    ("data", "error", "why"),
    [
        (b"\0\0\0\x0f", DecodeError, "length_too_small .* a Frame Length of 15, less than 16"),
        (b"\1\0\0\1", OverLimit, "length_too_large .* a Frame Length of 16777217, more than 16777216"),
        (b"\0\0\0\x10\x16", DecodeError, "bad_magic .* the magic code is 23, not 22"),
    ],
)
def test_where_no_frame_begins(data: bytes, error: type[DecodeError], why: str) -> None:
    with pytest.raises(error, match=why) as first:
        extent(data, 0, len(data))
    with pytest.raises(error) as behind_another:
        extent(b"another" + data, 7, 7 + len(data))
    assert str(behind_another.value) == str(first.value)
    assert extent(data[:3], 0, 3) == 0


def test_the_longest_frame_is_taken() -> None:
    assert extent(b"\1\0\0\0\x17", 0, 5) == limits.SBP_FRAME_LENGTH_MAX + 4


def append(payload: bytes) -> bytes:
    return encode_frame(heartbeat(opcode=0x1001, header=None, payload=payload), "client")


DEFECTS = [
    (encode_frame(heartbeat(), "client"), []),
    (encode_frame(heartbeat(opcode=0x7777), "client"), ["unknown_opcode"]),
    (encode_frame(heartbeat(opcode=0), "client"), ["unknown_opcode"]),
    (encode_frame(heartbeat(payload=b"x", checksum=1), "client"), ["checksum_mismatch"]),
    (encode_frame(heartbeat(checksum=1), "client"), []),
    (encode_frame(heartbeat(flags=0xF8), "client"), []),
    (encode_frame(heartbeat(header_format=2), "client"), ["unsupported_header_format"]),
    (encode_frame(heartbeat(header_format=2, header=None), "client"), []),
    (encode_frame(heartbeat(header=b"abc"), "client"), ["bad_flatbuffer_header"]),
    (encode_frame(heartbeat(header=None), "client"), []),
    (encode_frame(heartbeat(opcode=0x2001, header=None), "client"), ["bad_flatbuffer_header"]),
    (encode_frame(heartbeat(opcode=4, header=None), "client"), []),
    (changed(heartbeat(header=None), 15, 1), ["header_length_overflow"]),
    (changed(heartbeat(header=b"abcd"), 14, 1), ["header_length_overflow"]),
    (PROTOCOL.encode(HeartbeatRequest(range_server=RangeServer()), "client"), ["missing_required_field"]),
    (PROTOCOL.encode(AppendRequest(), "client"), ["empty_append_payload"]),
    (append(b"\x22abc"), ["record_length_mismatch"]),
    (append(b"#" + entry()[1:]), ["bad_record_magic"]),
    (append(b"\x22" + bytes(8)), ["bad_record_meta"]),
]


@pytest.mark.parametrize(("data", "expected"), DEFECTS, ids=range(len(DEFECTS)))
def test_defects(data: bytes, expected: list[str]) -> None:
    assert kinds(data) == expected


def test_a_key_without_its_value_is_no_meta() -> None:
    payload = entry(properties=(KeyValue(key="k"),))
    (defect,) = read_entries(payload).defects
    assert (defect.kind, defect.why) == (
        "bad_record_meta",
        "RecordBatchMeta.properties[0].value is required and not there",
    )


def test_what_is_missing_is_named_and_the_rest_is_shown() -> None:
    frame = SbpFrame(opcode=0x2001, flags=3, header=ListRangeResponse(status=Status(code=1200)))
    data = encode_frame(frame, "server")
    reading = PROTOCOL.open(True).read("server", data, 0, len(data), 1)
    assert isinstance(reading.fields, dict)
    assert reading.fields["header"] == {
        "table": "ListRangeResponse",
        "fields": {"status": {"code": 1200}, "throttle_time_ms": 0},
    }
    assert "ListRangeResponse.ranges is required" in str(reading.defects[0])


def test_a_header_that_runs_over_is_shown_as_far_as_it_is_there() -> None:
    data = changed(heartbeat(header=b"abc"), 13, 0xFF)
    reading = PROTOCOL.open(True).read("client", data, 0, len(data), 1)
    assert isinstance(reading.fields, dict)
    assert reading.fields["header"] == {"raw_hex": b"abc".hex()}
    assert reading.fields["header_length"] == 0xFF0003
    assert reading.message == "HEARTBEAT"


def test_the_good_entries_in_front_of_a_bad_one_are_shown() -> None:
    data = encode_frame(SbpFrame(opcode=0x1001, payload=entry(stream_id=7) + b"\x22\0"), "client")
    reading = PROTOCOL.open(True).read("client", data, 0, len(data), 1)
    assert isinstance(reading.fields, dict)
    assert [each["meta"]["stream_id"] for each in reading.fields["payload"]["entries"]] == [7]
    assert [defect.kind for defect in reading.defects] == ["record_length_mismatch"]
    paths = [span.path for span in PROTOCOL.open(True).annotate("client", data, 0, len(data))]
    assert "payload[0].meta.stream_id" in paths
    assert paths[-2:] == ["payload.(padding)", "checksum"]


def test_spans_name_operation_and_flags() -> None:
    data = encode_frame(heartbeat(flags=3, header=None), "server")
    spans = {span.path: span.value for span in PROTOCOL.open(False).annotate("server", data, 0, len(data))}
    assert spans["opcode"] == "0x0003 (HEARTBEAT)"
    assert spans["flags"] == "0x03 (RESPONSE | RESPONSE_END)"
    assert list(spans)[:2] == ["frame_length", "magic"]


@pytest.mark.parametrize("cut", [0, 3, 12, 19])
def test_trust_needs_a_whole_frame(cut: int) -> None:
    data = encode_frame(heartbeat(header=None), "client")
    assert trust(LATEST, data, 0, len(data)) == 4
    assert trust(LATEST, data[:cut], 0, cut) == 0
    assert trust(LATEST, data + b"\0", 0, len(data) + 1) == 0


@pytest.mark.parametrize(
    ("frame", "points"),
    [
        (heartbeat(payload=b"x", checksum=7), 0),
        (heartbeat(header=b"abc"), 0),
        (heartbeat(header=HeartbeatRequest(client_id="c"), opcode=0x2001), 0),
        (heartbeat(flags=0xF8), 1),
        (heartbeat(checksum=7), 1),
        (heartbeat(header_format=3), 1),
        (heartbeat(opcode=0x7777), 1),
        (heartbeat(opcode=0x2001, header=None), 1),
        (heartbeat(opcode=0x1001, header=None, payload=b"\x22abc"), 1),
        (SbpFrame(opcode=0x2001, flags=3, header=ListRangeResponse(status=Status(code=1200))), 4),
        (SbpFrame(opcode=0x2001, flags=3, header=ListRangeResponse(ranges=())), 0),
    ],
)
def test_trust(frame: SbpFrame, points: int) -> None:
    data = encode_frame(frame, "client")
    assert trust(LATEST, data, 0, len(data)) == points


def test_a_header_alone_makes_a_frame() -> None:
    data = PROTOCOL.encode(HeartbeatRequest(client_id="c"), "client")
    assert read_frame(LATEST, data, 0, len(data)).frame == heartbeat(checksum=0)


@pytest.mark.parametrize(
    ("message", "why"),
    [
        (Stream(), "Stream: no frame carries it"),
        (TxnRequest(), "TxnRequest: no frame carries it"),
        (SbpFrame(opcode=1, header=bytes(2**24)), "a header takes 16,777,215 bytes at most"),
        (SbpFrame(opcode=1, payload=bytes(2**24)), "a frame takes 16777216 bytes at most, this one 16777232"),
        (SbpFrame(opcode=70_000), "SbpFrame.opcode: u16 takes"),
    ],
)
def test_what_no_frame_carries(message: Any, why: str) -> None:
    with pytest.raises(EncodeError, match=why):
        encode_frame(message, "client")


@pytest.mark.parametrize(
    ("name", "fields", "why"),
    [
        ("HEARTBEET", {}, r"no operation is called 'HEARTBEET' \(did you mean HEARTBEAT\?\)"),
        ("Unknown", {"opcode": -1}, "no operation is called 'Unknown'"),
        ("PING", 7, "PING: expected an object"),
        ("PING", {"stream": 1}, r"PING: has no field 'stream' \(did you mean stream_id\?\)"),
        ("PING", {"stream_id": "1"}, "PING.stream_id: u32 takes"),
        ("PING", {"header": 1}, "PING.header: expected an object"),
        ("PING", {"header": {"table": "Status", "fields": {}}}, "PING.header: expected raw_hex"),
        ("HEARTBEAT", {"header": {"table": "Status", "fields": {}}}, "expected table HeartbeatRequest and fields"),
        ("HEARTBEAT", {"header": {"table": "HeartbeatRequest", "fields": {"x": 1}}}, "has no field 'x'"),
        ("PING", {"payload": 1}, "PING.payload: expected an object with hex or entries"),
        ("PING", {"payload": {"hex": "0"}}, "PING.payload: expected hex"),
        ("APPEND", {"payload": {"entries": 1}}, "APPEND.payload: expected a list"),
        ("APPEND", {"payload": {"entries": [1]}}, r"payload\.entries\[0\]: expected an object with meta"),
        ("APPEND", {"payload": {"entries": [{"meta": {}, "payload": 1}]}}, r"entries\[0\]\.payload: expected text"),
        ("PING", {"checksum": "zz"}, "PING.checksum: expected 8 hex digits"),
        ("PING", {"checksum": "00"}, "PING.checksum: expected 8 hex digits"),
    ],
)
def test_json_that_is_no_frame(name: str, fields: Any, why: str) -> None:
    with pytest.raises(EncodeError, match=why):
        from_json(name, "client", fields)


def test_json_needs_no_more_than_what_is_said() -> None:
    frame = from_json("APPEND", "client", {"payload": {"entries": [{"meta": {"stream_id": 1}, "payload": "x"}]}})
    assert (frame.flags, frame.stream_id, frame.payload) == (0, 0, entry(b"x", stream_id=1))
    assert from_json("PING", "server", {}) == SbpFrame(opcode=1, flags=3)
    assert from_json("Unknown", "client", {"opcode": 0x7777}).opcode == 0x7777


def test_bytes_that_are_no_text_are_hex() -> None:
    batches = read_entries(entry(b"\xff"))
    form = LATEST.batch_form(*batches.found[0])
    assert form["payload"] == {"hex": "ff"}
    assert LATEST.batch_from_json(form, "entry") == batches.found[0][0]


@given(tables(RecordBatchMeta), st.binary(max_size=9))
def test_entries_there_and_back(meta: RecordBatchMeta, payload: bytes) -> None:
    written = AppendEntry(meta=meta, payload=payload)
    form = LATEST.batch_form(written, 0)
    assert LATEST.batch_from_json(form, "entry") == written


@given(st.sampled_from(UNCARRIED).flatmap(lambda cls: tables(cls)))
def test_tables_without_an_operation(table: Any) -> None:
    data = encode_frame(SbpFrame(opcode=1, header=table), "client")[16:-4]
    assert encode_frame(SbpFrame(opcode=1, header=data), "client")[16:-4] == data


def test_nested_buffers() -> None:
    cluster = encode_frame(SbpFrame(opcode=1, header=PlacementDriverCluster(nodes=())), "client")[16:-4]
    assert status_detail(Status(code=1503, detail=cluster)) == PlacementDriverCluster(nodes=())
    assert status_detail(Status(code=1200, detail=cluster)) is None
    with pytest.raises(DecodeError):
        status_detail(Status(code=1503, detail=b"abc"))
    stream = encode_frame(SbpFrame(opcode=1, header=Stream(stream_id=5)), "client")[16:-4]
    assert nested_resource(Resource(type=1, data=stream)) == Stream(stream_id=5)
    assert nested_resource(Resource(type=9, data=stream)) is None


def test_objects() -> None:
    with pytest.raises(DecodeError, match="truncated"):
        list(read_sparse_index(bytes(9)))
    with pytest.raises(DecodeError, match="an object ends with 0x66"):
        read_object_tail(bytes(49))
