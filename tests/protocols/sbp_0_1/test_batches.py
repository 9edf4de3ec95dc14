"""The batch style: S1 and S2 told apart, and record batches in payloads."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.tables import mutated, tables
from wiretool.codec import reference
from wiretool.errors import EncodeError
from wiretool.protocols.sbp.framing import encode_frame, read_frame, trust
from wiretool.protocols.sbp.messages import SbpFrame, Schema, check_declarations, operations_of
from wiretool.protocols.sbp.schema import LATEST
from wiretool.protocols.sbp_0_1 import PROTOCOL, tables_s1, tables_s2
from wiretool.protocols.sbp_0_1.framing import only_fit
from wiretool.protocols.sbp_0_1.messages import S1, S2
from wiretool.protocols.sbp_0_1.records import (
    BatchMetaS1,
    BatchMetaS2,
    BatchS1,
    BatchS2,
    Record,
    RecordMeta,
)
from wiretool.protocols.sbp_0_1.session import BatchConversation
from wiretool.protocols.sbp_0_1.wire import from_json

SCHEMAS = (S1, S2)


def record(body: bytes = b"x", delta: int = 0) -> Record:
    return Record(meta=RecordMeta(offset_delta=delta), body=body)


def batch(*bodies: bytes) -> bytes:
    records = tuple(record(body, at) for at, body in enumerate(bodies))
    return reference.encode(BatchS1(meta=BatchMetaS1(stream_id=1), records=records))


def append(payload: bytes, *lengths: int) -> bytes:
    infos = tuple(tables_s1.AppendInfo(stream_id=1, batch_length=length) for length in lengths)
    header = tables_s1.AppendRequest(append_requests=infos)
    return encode_frame(SbpFrame(opcode=0x1001, stream_id=1, header=header, payload=payload), "client")


def read(data: bytes, schema: Schema = S1) -> tuple[Any, list[str]]:
    reading = read_frame(schema, data, 0, len(data))
    return reading, [defect.kind for defect in reading.defects]


def test_declarations_are_whole() -> None:
    for schema, count in ((S1, 15), (S2, 17)):
        check_declarations(schema)
        assert len(operations_of(schema)) == count
    assert all(cls.declaration.spec for cls in PROTOCOL.messages)


@pytest.mark.parametrize("schema", SCHEMAS, ids=["S1", "S2"])
@given(data=st.data())
def test_headers_there_and_back(schema: Schema, data: st.DataObject) -> None:
    table = data.draw(st.sampled_from(schema.tables))
    frame = SbpFrame(
        opcode=table.declaration.type_id,
        flags=0 if table.declaration.sender == "client" else 3,
        header=data.draw(tables(table)),
        checksum=0,
    )
    raw = encode_frame(frame, "client")
    reading, kinds = read(raw, schema)
    assert reading.frame == frame
    assert set(kinds) <= {"empty_append_payload"}
    assert trust(schema, raw, 0, len(raw)) == 4
    damaged = data.draw(mutated(raw[16:-4]))
    again = encode_frame(msgspec.structs.replace(frame, header=damaged), "client")
    conversation = PROTOCOL.open(True)
    fields = conversation.read("client", again, 0, len(again), 1).fields
    assert isinstance(fields, dict)
    assert sum(span.length for span in conversation.annotate("client", again, 0, len(again))) == len(again)


def test_batches_are_cut_by_their_lengths() -> None:
    first, second = batch(b"a", b"b"), batch()
    reading, kinds = read(append(first + second + b"left over", len(first), len(second)))
    assert kinds == []
    assert [length for _, length in reading.batches.found] == [len(first), len(second)]
    assert S1.batch_form(*reading.batches.found[0])["records"] == [
        {"offset_delta": 0, "body": "a"},
        {"offset_delta": 1, "body": "b"},
    ]


@pytest.mark.parametrize(
    ("payload", "lengths", "kind"),
    [
        (batch(b"a"), (10_000,), "batch_length_exceeds_payload"),
        (batch(b"a"), (-1,), "batch_length_exceeds_payload"),
        (batch(b"a"), (12,), "record_length_mismatch"),
        (batch(b"a")[:-1], (len(batch(b"a")) - 1,), "record_length_mismatch"),
        (b"#" + batch(b"a")[1:], (len(batch(b"a")),), "bad_record_magic"),
        (b"\x22" + bytes(8) + b"\0\0\0\4" + b"\xff" * 4, (17,), "bad_record_meta"),
        (batch() + batch(), (2 * len(batch()),), "record_length_mismatch"),
        (b"", (), "empty_append_payload"),
    ],
)
def test_bad_batches(payload: bytes, lengths: tuple[int, ...], kind: str) -> None:
    _, kinds = read(append(payload, *lengths))
    assert kinds == [kind]


def fetched(payload: bytes) -> bytes:
    status = tables_s2.Status(code=1200)
    results = (tables_s2.FetchResult(stream_id=1, batch_count=2, status=status),)
    header = tables_s2.FetchResponse(fetch_responses=results, status=status)
    return encode_frame(SbpFrame(opcode=0x1002, flags=3, header=header, payload=payload), "server")


def test_s2_finds_where_fetched_batches_end() -> None:
    first, second = batch(b"a", b"b"), batch(b"c")
    reading, kinds = read(fetched(first + second), S2)
    assert kinds == []
    assert [length for _, length in reading.batches.found] == [len(first), len(second)]
    _, kinds = read(fetched(first + b"\x22"), S2)
    assert kinds == ["record_length_mismatch"]


@given(st.lists(st.binary(max_size=6), max_size=3), st.sampled_from(["S1", "S2"]))
def test_batches_there_and_back(bodies: list[bytes], name: str) -> None:
    records = tuple(record(body, at) for at, body in enumerate(bodies))
    made = (
        BatchS1(meta=BatchMetaS1(), records=records) if name == "S1" else BatchS2(meta=BatchMetaS2(), records=records)
    )
    raw = reference.encode(made)
    assert reference.decode(type(made), raw) == (made, len(raw))
    schema = S1 if name == "S1" else S2
    assert schema.batch_from_json(schema.batch_form(made, len(raw)), "batch") == made


@given(st.binary(max_size=60), st.booleans())
def test_any_payload_is_read(payload: bytes, is_fetch: bool) -> None:
    data = fetched(payload) if is_fetch else append(payload, len(payload) // 2, len(payload) // 2)
    conversation = PROTOCOL.open(True)
    conversation.read("server", data, 0, len(data), 1)
    assert sum(span.length for span in conversation.annotate("server", data, 0, len(data))) == len(data)


def of(header: Any) -> bytes:
    return encode_frame(header, "client")


ONLY_S1 = of(
    tables_s1.DeleteStreamsResponse(delete_responses=(tables_s1.DeleteStreamResult(error_code=2, error_message="no"),))
)
ONLY_S2 = of(tables_s2.DeleteStreamsResponse(status=tables_s2.Status(code=1200)))
EITHER = of(tables_s2.HeartbeatRequest(client_id="c"))


def test_a_frame_that_only_one_of_them_makes_tells() -> None:
    assert only_fit(ONLY_S1, 0, len(ONLY_S1)) is S1
    assert only_fit(ONLY_S2, 0, len(ONLY_S2)) is S2
    assert only_fit(EITHER, 0, len(EITHER)) is None


def test_a_connection_is_s1_until_it_shows_s2_and_then_stays() -> None:
    conversation = BatchConversation(True)
    for data, schema, decided in ((EITHER, S1, False), (ONLY_S2, S2, True), (ONLY_S1, S2, True)):
        conversation.read("client", data, 0, len(data), 1)
        assert (conversation.schema, conversation.is_decided) == (schema, decided)
    assert conversation.trust("client", ONLY_S1, 0, len(ONLY_S1)) == 0
    later = BatchConversation(True)
    later.recall(conversation)
    assert later.schema is S2
    later.recall(PROTOCOL.open(True))
    assert later.schema is S1


def test_the_newest_schema_does_not_fit_the_batch_style() -> None:
    for data in (ONLY_S1, ONLY_S2, append(batch(b"a"), len(batch(b"a")))):
        assert trust(LATEST, data, 0, len(data)) == 0
        assert PROTOCOL.open(True).trust("client", data, 0, len(data)) == 4


def test_s1_knows_no_system_error() -> None:
    frame = SbpFrame(opcode=3, flags=7, header=tables_s2.SystemErrorResponse(status=tables_s2.Status(code=1499)))
    data = encode_frame(frame, "server")
    assert read(data, S2)[0].frame == msgspec.structs.replace(frame, checksum=0)
    assert not isinstance(read(data, S1)[0].frame.header, tables_s2.SystemErrorResponse)
    assert trust(S1, data, 0, len(data)) < trust(S2, data, 0, len(data)) == 4


def test_both_names_of_0x3004() -> None:
    for name in ("GET_STREAMS", "DESCRIBE_STREAMS"):
        assert from_json(name, "client", {}).opcode == 0x3004


def test_json_of_either_schema() -> None:
    first = from_json("CREATE_STREAMS", "client", {"header": {"fields": {"stremas": []}}})
    assert first.header == tables_s1.CreateStreamsRequest(stremas=())
    second = from_json("CREATE_STREAMS", "client", {"header": {"fields": {"streams": []}}})
    assert second.header == tables_s2.CreateStreamsRequest(streams=())
    assert from_json("ALLOCATE_ID", "client", {}).opcode == 4
    with pytest.raises(EncodeError, match="did you mean stremas"):
        from_json("CREATE_STREAMS", "client", {"header": {"fields": {"strea": []}}})


@pytest.mark.parametrize(
    ("batches", "why"),
    [
        ([7], r"batches\[0\]: expected an object with meta and records"),
        ([{"meta": {}, "records": 7}], r"batches\[0\]\.records: expected a list"),
        ([{"meta": {}, "records": [7]}], r"batches\[0\]\.records\[0\]: expected an object"),
        ([{"meta": {}, "records": [{"body": 7}]}], r"records\[0\]\.body: expected text"),
    ],
)
def test_json_that_is_no_batch(batches: Any, why: str) -> None:
    with pytest.raises(EncodeError, match=why):
        from_json("APPEND", "client", {"payload": {"batches": batches}})
