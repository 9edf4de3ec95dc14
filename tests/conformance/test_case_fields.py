"""The fields that cases name are those that the messages declare: a misspelt one would never be there to differ."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from tests.helpers.kills import PROTOCOLS
from wiretool.codec.message import fields_of
from wiretool.conformance.case import (
    CLOSED,
    MUST,
    NOTHING,
    Case,
    Expect,
    ExpectAll,
    Send,
    case,
    expect,
    expect_all,
    expect_any,
    lenient,
    reply,
    send,
)
from wiretool.conformance.registry import conformance_of
from wiretool.conformance.values import Subset
from wiretool.protocols.base.protocol import Protocol
from wiretool.protocols.base.registry import PROTOCOLS as REGISTERED
from wiretool.protocols.sbp.forms import form_of
from wiretool.protocols.sbp.messages import SbpFrame

#: The parts of a frame in SBP's JSON form; the fields of its message are in the header.
FRAME = frozenset(
    form_of(
        total=4,
        opcode=1,
        flags=0,
        name=None,
        stream_id=0,
        header_format=1,
        header_length=0,
        payload_length=0,
        checksum="",
        header=None,
        payload=None,
    )
)
HEADER = frozenset(("raw_hex", "table", "fields"))


def named_in(each: Case) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield each message of a case with the fields that the case names, of all outcomes."""
    for step in each.steps:
        if isinstance(step, Send):
            yield step.message, step.fields
        elif isinstance(step, Expect | ExpectAll):
            replies = step.outcomes if isinstance(step, Expect) else step.replies
            yield from ((reply.message, reply.fields) for reply in replies if reply.message not in (CLOSED, NOTHING))


def declared_by(protocol: Protocol) -> Mapping[str, set[str]]:
    """Return the fields of each message by name, requests and replies of one name together."""
    found: dict[str, set[str]] = {}
    for cls in protocol.messages:
        found.setdefault(cls.declaration.name, set()).update(field.name for field in fields_of(cls))
    return found


def misspelt(each: Case, protocol: Protocol) -> Iterator[str]:
    """Yield each field of a case that its message does not have."""
    declared = declared_by(protocol)
    for message, fields in named_in(each):
        if SbpFrame not in protocol.messages:
            assert message in declared, f"{each.id}: no message {message}"
            yield from (f"{each.id}: {message}.{name}" for name in fields if name not in declared[message])
            continue
        assert message in protocol.message_names, f"{each.id}: no message {message}"
        yield from (f"{each.id}: {message}.{name}" for name in fields if name not in FRAME)
        yield from (f"{each.id}: {message}.header.{name}" for name in misspelt_in_header(fields, protocol))


def misspelt_in_header(fields: Mapping[str, Any], protocol: Protocol) -> Iterator[str]:
    """Yield what is not of an SBP header: it is bytes, or a table by name with fields."""
    header = parts_of(fields.get("header"))
    yield from (name for name in header if name not in HEADER)
    tables = [cls for cls in protocol.messages if cls.__name__ == header.get("table")]  # one in each schema
    assert tables or not parts_of(header.get("fields")), f"no table {header.get('table')!r}"
    known = {field.name for table in tables for field in fields_of(table)}
    yield from (name for name in parts_of(header.get("fields")) if name not in known)


def parts_of(value: Any) -> Mapping[str, Any]:
    """Return the named parts of an expected value; none of one that is not an object."""
    parts = value.fields if isinstance(value, Subset) else value
    return parts if isinstance(parts, Mapping) else {}


@pytest.mark.parametrize("name", PROTOCOLS)
def test_every_field_of_every_case_is_declared(name: str) -> None:
    part = conformance_of(name)
    assert [found for each in part.cases for found in misspelt(each, part.protocol_in(each.variant))] == []
    assert any(fields for each in part.cases for _, fields in named_in(each))


@pytest.mark.parametrize(
    "step",
    [
        send("KeepAlive", segmnt="a"),
        expect("SegmentCreated", segmnt="a"),
        expect_any(reply("SegmentCreated"), lenient("SegmentCreated", "why", segmnt="a")),
        expect_all(reply("SegmentCreated", segmnt="a")),
    ],
)
def test_a_misspelt_field_is_found(step: Any) -> None:
    (found,) = misspelt(case("pravega/x/1", MUST, "R.", "§1", step), REGISTERED["pravega"])
    assert found.endswith(".segmnt")


def test_a_misspelt_field_of_a_header_is_found() -> None:
    fields: dict[str, Any] = {"respones": []}
    steps = (
        expect("FETCH", header=Subset(table="FetchResponse", fields=Subset(**fields))),
        expect("FETCH", header={"table": "FetchResponse", "feilds": fields}, falgs=3),
    )
    found = list(misspelt(case("sbp/x/1", MUST, "R.", "§1", *steps), REGISTERED["sbp"]))
    assert found == ["sbp/x/1: FETCH.header.respones", "sbp/x/1: FETCH.falgs", "sbp/x/1: FETCH.header.feilds"]
