"""Schemas of records and messages: each real record is valid, and each change of one is not."""

import io
import json
from collections import Counter
from collections.abc import Iterator
from functools import cache
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.examples import needs_protocol
from tests.helpers.strategies import messages
from wiretool.codec.frames.prefix import Prefix
from wiretool.codec.json_text import json_text
from wiretool.codec.jsonform import json_form
from wiretool.codec.message import fields_of
from wiretool.dissect.dissector import read
from wiretool.export.json_schema import make_messages_schema, make_records_schema
from wiretool.export.json_schema.messages import declared_names
from wiretool.protocols.base.registry import PROTOCOLS
from wiretool.sinks.ndjson import json_record

CAPTURES = Path(__file__).parents[3] / "captures"
#: Of each protocol one capture at least; those of errors have damaged frames, gaps and other streams.
SAMPLE = (
    "pravega/txn.pcap",
    "pravega/read.pcap",
    "pravega-draft/blocks.pcap",
    "sbp/pd_malformed.pcap",
    "sbp/rs_errors.pcap",
    "sbp-0.1/s1_streams.pcap",
    "sbp-0.1/pm_s2_batch.pcap",
    "offramp/err_malformed.pcap",
    "offramp/framing.pcap",
    "offramp/err_counts.pcap",
    "offramp/u2k_drop5.pcap",
    "sbp/mixed_noise.pcap",
)
#: Records of one message of one side that are taken from a capture, and records of it that are read.
ALIKE_MAX, READ_MAX = 3, 800
#: Names of frames that no declaration has.
UNDECLARED = ("Unknown", "Fragment", "Empty", "Deflated")
#: Members whose values are those of users.
FREE = ("payload", "append", "events")


@cache
def records_schema() -> dict[str, Any]:
    return make_records_schema(list(PROTOCOLS.values()), "0")


@cache
def of_records() -> jsonschema_rs.Draft202012Validator:
    return jsonschema_rs.Draft202012Validator(records_schema())


@cache
def of_messages(protocol: str) -> jsonschema_rs.Draft202012Validator:
    return jsonschema_rs.Draft202012Validator(make_messages_schema(PROTOCOLS[protocol], "0"))


@cache
def sample() -> list[dict[str, Any]]:
    """Return records of each kind, protocol, message and side."""
    taken: list[dict[str, Any]] = []
    for name in (name for name in SAMPLE if name.partition("/")[0] in PROTOCOLS):
        seen = Counter[tuple[str, ...]]()
        for record in islice(read(CAPTURES / name), READ_MAX):
            key = (record.kind, record.protocol, record.message, record.side, record.error)
            seen[key] += 1
            if seen[key] <= ALIKE_MAX:
                taken.append(json.loads(json_text(json_record(record))))
    return taken


def whole_frames() -> list[dict[str, Any]]:
    """Return the frames of the sample that are valid messages; those of damaged ones are not."""
    return [
        each
        for each in sample()
        if each["kind"] == "frame" and of_messages(each["protocol"]).is_valid(message_of(each))
    ]


def message_of(record: dict[str, Any]) -> dict[str, Any]:
    return {name: record[name] for name in ("protocol", "message", "side", "fields")}


def test_schemas_are_schemas() -> None:
    jsonschema_rs.meta.validate(records_schema())
    for protocol in PROTOCOLS.values():
        jsonschema_rs.meta.validate(make_messages_schema(protocol, "0"))


@needs_protocol("offramp", "sbp")
def test_the_sample_has_everything() -> None:
    assert {each["kind"] for each in sample()} == {"frame", "gap", "problem", "other"}
    assert {each["protocol"] for each in sample() if "protocol" in each} == set(PROTOCOLS)
    assert len(whole_frames()) > 200


def test_each_record_is_valid() -> None:
    for record in sample():
        of_records().validate(record)


def test_frames_of_declared_messages_are_valid_messages() -> None:
    """Leave out damaged messages, which have a problem of the same place beside them."""
    problems = {(each["connection"], each["offset"]) for each in sample() if each["kind"] == "problem"}
    for record in sample():
        is_declared = record["kind"] == "frame" and record["message"] not in UNDECLARED
        if is_declared and (record["connection"], record["offset"]) not in problems:
            of_messages(record["protocol"]).validate(message_of(record))


def test_changed_members_of_records_are_refused() -> None:
    for record in sample():
        for changed in changes({name: record[name] for name in record if name not in ("fields", *FREE)}):
            with_fields = {**({"fields": record["fields"]} if "fields" in record else {}), **changed}
            assert not of_records().is_valid(with_fields), with_fields


def test_changed_fields_of_messages_are_refused() -> None:
    for record in whole_frames():
        message = message_of(record)
        is_table = record["protocol"].startswith("sbp")
        for fields in changes(record["fields"]):
            assert not of_messages(record["protocol"]).is_valid({**message, "fields": fields}), fields
            if is_table or record["protocol"].startswith("pravega-controller"):
                assert not of_records().is_valid({**record, "fields": fields}), fields
        for fields in changes_within(record["fields"]):
            assert not of_messages(record["protocol"]).is_valid({**message, "fields": fields}), fields


def changes(value: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield an object without one of its members, with an unknown one, and with one of another type."""
    yield {**value, "unknown": 1.5}
    for name in value:
        if not is_optional(name, value):
            yield {each: value[each] for each in value if each != name}
        if name not in FREE:
            yield {**value, name: other_type(value[name])}


def is_optional(name: str, value: dict[str, Any]) -> bool:
    return name in ("reply_to", "left_over") or (name == "protocol" and value["kind"] != "frame")


def changes_within(value: Any) -> Iterator[Any]:
    """Yield a value with a deeper value of another type, or an object in it with an unknown member."""
    if isinstance(value, dict):
        for name in value:
            if name not in FREE and isinstance(value[name], dict | list):
                yield from ({**value, name: each} for each in deeper(value[name]))
    if isinstance(value, list):
        for index, each in enumerate(value):
            yield from ([*value[:index], changed, *value[index + 1 :]] for changed in deeper(each))


def deeper(value: Any) -> Iterator[Any]:
    yield other_type(value)
    if isinstance(value, dict):
        yield {**value, "unknown": 1.5}
        yield from ({**value, name: other_type(value[name])} for name in value if name not in FREE)
    yield from changes_within(value)


def other_type(value: Any) -> Any:
    """Return a value of a type that nothing has that may have this one."""
    return {"unknown": 1.5} if value is None else [1.5] if isinstance(value, str | int | float) else 1.5


@pytest.mark.parametrize("name", [name for name in PROTOCOLS if isinstance(PROTOCOLS[name].frames, Prefix)])
@settings(max_examples=60)
@given(data=st.data())
def test_any_message_is_valid(name: str, data: st.DataObject) -> None:
    message = data.draw(st.sampled_from(PROTOCOLS[name].messages).flatmap(messages))
    fields = json.loads(json_text(json_form(message)))
    of_messages(name).validate({"message": message.declaration.name, "fields": fields})


@pytest.mark.parametrize("name", PROTOCOLS)
def test_each_type_describes_its_values(name: str) -> None:
    """Only a value that may be any JSON has an empty schema."""
    for classes in declared_names(PROTOCOLS[name]).values():
        for field in (field for cls in classes for field in fields_of(cls)):
            is_any = not field.wire.json_schema(lambda cls: {"$ref": cls.__name__})
            assert is_any == (field.wire.name == "any JSON"), field.name


@pytest.mark.parametrize(
    ("changed", "is_valid"),
    [
        ({}, True),
        ({"high_version": 17}, True),
        ({"high_version": 2**31}, False),
        ({"low_version": "5"}, False),
        ({"unknown": 1}, False),
    ],
)
def test_numbers_stay_within_their_width(changed: dict[str, Any], is_valid: bool) -> None:
    fields = {"high_version": 15, "low_version": 5, **changed}
    assert of_messages("pravega").is_valid({"message": "Hello", "fields": fields}) == is_valid


def test_damaged_captures_are_valid() -> None:
    """A changed byte makes frames of HTTP/2 that are shown raw, and segments before the first byte of a flow."""
    seen = set[str]()
    capture = (CAPTURES / "pravega/read.pcap").read_bytes()
    for seed in (191, 361, 501, 641):
        for record in islice(read(io.BytesIO(damaged(capture, seed))), READ_MAX // 2):
            shown = json.loads(json_text(json_record(record)))
            of_records().validate(shown)
            is_raw = shown.get("fields", {}).keys() == {"type", "flags", "stream_id", "data"}
            seen |= {"raw"} if is_raw else {"before"} if record.offset < 0 else set()
    assert seen == {"raw", "before"}


def damaged(capture: bytes, seed: int) -> bytes:
    """Return a capture with some other bytes."""
    random, changed = Random(seed), bytearray(capture[:150_000])
    for _ in range(random.choice((3, 30, 200))):
        changed[random.randrange(400, len(changed))] = random.choice((0, 255, random.randrange(256)))
    return bytes(changed)


def test_fields_of_damaged_frames_end_before_the_damage() -> None:
    hello = next(each for each in sample() if each.get("message") == "Hello")
    assert of_records().is_valid({**hello, "fields": {"high_version": 15}})
    assert not of_records().is_valid({**hello, "fields": {"low_version": 5}})
    assert not of_messages("pravega").is_valid({"message": "Hello", "fields": {"high_version": 15}})
