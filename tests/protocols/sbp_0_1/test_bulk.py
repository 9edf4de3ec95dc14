"""The column path of the batch style: it says what the row path says, whichever schema is spoken."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.tables import mutated
from tests.protocols.sbp.talk import Said, in_bulk, one_by_one
from wiretool.codec import reference
from wiretool.codec.flatbuffers import Table
from wiretool.codec.message import Side
from wiretool.protocols.sbp.framing import encode_frame
from wiretool.protocols.sbp.messages import APPEND, FETCH, SbpFrame, Schema
from wiretool.protocols.sbp_0_1 import tables_s1, tables_s2
from wiretool.protocols.sbp_0_1.bulk import BatchBulk
from wiretool.protocols.sbp_0_1.messages import S1, S2
from wiretool.protocols.sbp_0_1.records import (
    BatchMetaS1,
    BatchMetaS2,
    BatchS1,
    BatchS2,
    KeyValue,
    Record,
    RecordMeta,
)
from wiretool.protocols.sbp_0_1.session import BatchConversation

SCHEMAS = pytest.mark.parametrize("schema", [S1, S2], ids=["S1", "S2"])
STATUS = tables_s2.Status(code=1200, message="OK")


def batch(schema: Schema, *bodies: bytes, **meta: Any) -> bytes:
    records = tuple(Record(meta=RecordMeta(offset_delta=at), body=body) for at, body in enumerate(bodies))
    if schema is S1:
        return reference.encode(BatchS1(base_offset=-1, meta=BatchMetaS1(stream_id=1, **meta), records=records))
    properties = (KeyValue(key="k", value="v"),)
    whole = BatchS2(base_offset=7, meta=BatchMetaS2(stream_id=1, properties=properties, **meta), records=records)
    return reference.encode(whole)


def frame(side: Side, header: Table | bytes | None, payload: bytes = b"", **fields: Any) -> tuple[Side, bytes]:
    return side, encode_frame(SbpFrame(header=header, payload=payload, **fields), side)


def append(schema: Schema, stream_id: int, *batches: bytes, lengths: Any = None, behind: bytes = b"") -> Any:
    lengths = [len(each) for each in batches] if lengths is None else lengths
    header: Table
    if schema is S1:
        one = tuple(tables_s1.AppendInfo(stream_id=1, batch_length=length) for length in lengths)
        header = tables_s1.AppendRequest(timeout_ms=9, append_requests=one)
    else:
        span = tables_s2.Range(stream_id=1)
        two = tuple(tables_s2.AppendInfo(range=span, batch_length=length) for length in lengths)
        header = tables_s2.AppendRequest(timeout_ms=9, append_requests=two)
    return frame("client", header, b"".join(batches) + behind, opcode=APPEND, stream_id=stream_id)


def fetched(schema: Schema, stream_id: int, *batches: bytes, lengths: Any = None) -> Any:
    lengths = [len(each) for each in batches] if lengths is None else lengths
    header: Table
    if schema is S1:
        one = tuple(tables_s1.FetchResult(stream_id=1, batch_length=length) for length in lengths)
        header = tables_s1.FetchResponse(fetch_responses=one)
    else:
        two = (tables_s2.FetchResult(stream_id=1, batch_count=len(batches), status=STATUS),)
        header = tables_s2.FetchResponse(fetch_responses=two, status=STATUS)
    return frame("server", header, b"".join(batches), opcode=FETCH, flags=3, stream_id=stream_id)


def fetch(schema: Schema, stream_id: int) -> Any:
    tables = tables_s1 if schema is S1 else tables_s2
    return frame("client", tables.FetchRequest(max_wait_ms=1, min_bytes=2), opcode=FETCH, stream_id=stream_id)


def plain(schema: Schema, count: int) -> Said:
    """Appends that nobody answers, fetches that somebody does."""
    said: list[tuple[Side, bytes]] = []
    for at in range(count):
        batches = [batch(schema, *[b"body %d" % at] * (at % 4)) for _ in range(1 + at % 3)]
        said += [append(schema, 2 * at, *batches), fetch(schema, 2 * at + 1), fetched(schema, 2 * at + 1, *batches)]
    return said


def check(said: Said) -> int:
    """How many frames took the slow way; AssertionError where the two paths differ."""
    expected = one_by_one(BatchConversation(True), said)
    conversation = BatchConversation(True)
    found, slow = in_bulk(conversation, BatchBulk(conversation), said)
    assert found == expected
    return slow


@SCHEMAS
def test_requests_and_answers(schema: Schema) -> None:
    # The first frames fit both schemas, or are what says which it is.
    assert check(plain(schema, 60)) <= 3


@SCHEMAS
def test_odd_payloads(schema: Schema) -> None:
    said = [*plain(schema, 30)]
    one = batch(schema, b"abc")
    slow = check(said)
    plain_ones = [
        append(schema, 900, one, behind=b"more"),
        append(schema, 901, batch(schema)),
        append(schema, 902, one, one, one),
        fetched(schema, 1),
        append(schema, 903, batch(schema, b"\xff", "é".encode())),
    ]
    for plain_one in plain_ones[:3] + plain_ones[4:]:
        assert check([*said[:50], plain_one, *said[50:]]) == slow
    odd_ones = [
        append(schema, 910, one, lengths=[len(one) + 1]),
        append(schema, 911, one, lengths=[len(one) - 1]),
        append(schema, 912, one, lengths=[-1]),
        append(schema, 913, one, lengths=[0]),
        append(schema, 914, one, one, lengths=[2 * len(one)]),
        append(schema, 915, b"\x21" + one[1:]),
        append(schema, 916, one[:-3]),
        append(schema, 917, one[:9] + b"\xff\xff\xff\xff" + one[13:]),
        fetched(schema, 999, one),
        frame("client", None, one, opcode=APPEND, stream_id=918),
        frame("client", b"no table", one, opcode=APPEND, stream_id=919),
    ]
    for odd in odd_ones:
        assert check([*said[:50], odd, *said[50:]]) == slow + 1


@SCHEMAS
def test_a_list_without_elements_says_of_no_batch(schema: Schema) -> None:
    said = [*plain(schema, 30), append(schema, 900, lengths=[], behind=b"bytes")]
    assert check(said) == check(said[:-1])


@SCHEMAS
def test_a_batch_of_many_records(schema: Schema) -> None:
    said = plain(schema, 30)
    many = batch(schema, *[b"x"] * 200)
    assert check([*said, append(schema, 900, many), fetch(schema, 901), fetched(schema, 901, many)]) == check(said)
    more = batch(schema, *[b"x"] * 400)
    assert check([*said, append(schema, 900, more)]) == check(said) + 1


@settings(deadline=None)
@SCHEMAS
@given(data=st.data())
def test_damaged_payloads(schema: Schema, data: st.DataObject) -> None:
    said = [*plain(schema, 12)]
    for at in data.draw(st.lists(st.integers(3, len(said) - 1), max_size=6)):
        side, raw = said[at]
        body = data.draw(mutated(raw[5:]).filter(lambda each: len(each) >= 15))
        said[at] = side, (len(body) + 1).to_bytes(4, "big") + b"\x17" + body
    check(said)
    bodies = data.draw(st.lists(mutated(batch(schema, b"abc", b"def")), min_size=1, max_size=3))
    check([*said, append(schema, 900, *bodies), fetch(schema, 901), fetched(schema, 901, *bodies)])
