"""Messages of calls: JSON form, protobuf, and the fields that lie there."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.protocols.pravega_controller.talk import body, said
from wiretool.codec.jsonform import fields_from_json, json_form
from wiretool.codec.message import Message, Side, fields_of
from wiretool.errors import DecodeError, EncodeError
from wiretool.protocols.pravega_controller import controller_pb2 as pb
from wiretool.protocols.pravega_controller.calls import CALLS, PREFIX_BYTES, read_body, wire_fields, write_body
from wiretool.protocols.pravega_controller.messages import Data

INFO = {"scope": "sc", "stream": "st", "accessOperation": "UNSPECIFIED"}


def read(method: str, side: Side, value: Any) -> dict[str, Any]:
    return read_body(method, side, value.SerializeToString()).fields


def test_every_field_is_shown_with_its_default() -> None:
    config = pb.StreamConfig(
        streamInfo=pb.StreamInfo(scope="sc", stream="st"),
        scalingPolicy=pb.ScalingPolicy(scaleType=pb.ScalingPolicy.BY_RATE_IN_EVENTS_PER_SEC, minNumSegments=3),
        rolloverSizeBytes=2**62,
    )
    assert read("createStream", "client", config) == {
        "streamInfo": INFO,
        "scalingPolicy": {
            "scaleType": "BY_RATE_IN_EVENTS_PER_SEC",
            "targetRate": 0,
            "scaleFactor": 0,
            "minNumSegments": 3,
        },
        "retentionPolicy": None,
        "tags": None,
        "timestampAggregationTimeout": 0,
        "rolloverSizeBytes": 2**62,
    }


def test_maps_have_their_keys_as_text_in_order() -> None:
    cut = pb.StreamCut(cut={2**32 + 1: 10, 0: 5, -1: 7})
    assert read("truncateStream", "client", cut) == {"streamInfo": None, "cut": {"-1": 7, "0": 5, str(2**32 + 1): 10}}
    mapping = pb.ControllerToBucketMappingResponse(mapping={"host": pb.BucketIds(id=[1, 2])})
    assert read("getControllerToBucketMapping", "server", mapping) == {"mapping": {"host": {"id": [1, 2]}}}


def test_lists_hold_structures() -> None:
    segment = pb.SegmentId(streamInfo=pb.StreamInfo(scope="sc", stream="st"), segmentId=2**32)
    ranges = pb.SegmentRanges(segmentRanges=[pb.SegmentRange(segmentId=segment, minKey=0.5, maxKey=1)])
    wanted = {"segmentId": {"streamInfo": INFO, "segmentId": 2**32}, "minKey": 0.5, "maxKey": 1.0}
    assert read("getCurrentSegments", "server", ranges) == {"segmentRanges": [wanted], "delegationToken": ""}


def test_what_has_no_name_is_a_number_and_what_is_no_json_number_is_text() -> None:
    assert read("createScope", "server", pb.CreateScopeStatus.FromString(b"\x08\x63")) == {"status": 99}
    ranges = pb.SegmentRanges(segmentRanges=[pb.SegmentRange(minKey=math.nan, maxKey=-math.inf)])
    found = read("getCurrentSegments", "server", ranges)["segmentRanges"][0]
    assert (found["minKey"], found["maxKey"]) == ("NaN", "-Infinity")


def test_undeclared_fields_are_kept() -> None:
    value = pb.ScopeInfo(scope="sc").SerializeToString() + b"\xf8\x07\x05"
    assert read_body("createScope", "client", value) == ({"scope": "sc"}, b"\xf8\x07\x05")


@pytest.mark.parametrize("raw", [b"\x0a\x05sc", b"\x0a\x01\xff", b"\xff", b"\x0b"])
def test_other_bytes_are_refused(raw: bytes) -> None:
    with pytest.raises(
        DecodeError,
        match=r"bad_protobuf at byte 5 \(createScope\): the bytes are not a ScopeInfo in",
    ):
        read_body("createScope", "client", raw)


@given(data=st.data())
def test_every_message_comes_back(data: st.DataObject) -> None:
    method, side = data.draw(st.sampled_from(sorted(CALLS)))
    message = data.draw(said(CALLS[method, side].declared))
    raw = write_body(message)
    assert raw[0] == 0
    assert int.from_bytes(raw[1:5], "big") == len(raw) - PREFIX_BYTES
    found = read_body(method, side, raw[PREFIX_BYTES:])
    assert found == (json_form(message), b"")
    assert fields_from_json(type(message), found.fields) == message


@pytest.mark.parametrize(
    ("method", "fields", "why"),
    [
        ("createScope", {"scpoe": "x"}, r"has no field 'scpoe' \(did you mean scope\?\)"),
        ("createScope", {"scope": 1}, "expected a string, got 1"),
        ("getURI", {"segmentId": 2**63}, "is not an int64"),
        ("getURI", {"streamInfo": {"accessOperation": "READE"}}, "expected a number, or one of UNSPECIFIED, NONE"),
        ("truncateStream", {"cut": {"x": 1}}, "expected a whole number"),
        ("truncateStream", {"cut": []}, "expected an object"),
        ("scale", {"newKeyRanges": [{"start": "x"}]}, 'expected a number, got "x"'),
        ("scale", {"newKeyRanges": [None]}, "expected an object, got None"),
        ("createStream", {"tags": {"tag": "x"}}, "expected an array"),
    ],
)
def test_other_fields_are_refused(method: str, fields: dict[str, Any], why: str) -> None:
    with pytest.raises(EncodeError, match=why):
        body(method, "client", fields)


def test_only_messages_of_calls_are_written() -> None:
    with pytest.raises(EncodeError, match="Data is not a message of a call"):
        write_body(Data(stream_id=1))


@pytest.mark.parametrize("text", ["\ud800"])
def test_text_that_protobuf_has_none_for_is_refused(text: str) -> None:
    with pytest.raises(EncodeError):
        body("createScope", "client", {"scope": text})


def test_every_declaration_is_complete() -> None:
    """The fields of a declaration are those of its descriptor, in order."""
    for said_ in CALLS.values():
        cls: type[Message] = said_.declared
        assert [field.name for field in fields_of(cls)] == [field.name for field in said_.protobuf.DESCRIPTOR.fields]


@given(raw=st.binary(max_size=60))
def test_the_fields_of_any_bytes_follow_one_another(raw: bytes) -> None:
    at = 0
    for field in wire_fields(raw):
        assert field.at == at < field.value_at <= field.end <= len(raw)
        at = field.end


def test_the_fields_of_a_message_are_all_of_it() -> None:
    value = pb.SegmentRange(segmentId=pb.SegmentId(segmentId=300), minKey=0.5).SerializeToString()
    assert [(field.number, field.type, field.end) for field in wire_fields(value)] == [(1, 2, 5), (2, 1, len(value))]
