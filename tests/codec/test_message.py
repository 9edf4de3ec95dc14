"""Declarations, and what is derived from them first."""

from typing import Annotated

import pytest

from wiretool.codec.message import Doc, IfLeft, Message, Since, Unit, by_type_id, fields_of, message, other_side
from wiretool.codec.types import I32, I64, Text


@message(type_id=8, spec="a specification, §4", sender="client", since=2, failure=True)
class ReadLog(Message, frozen=True, kw_only=True):
    """Ask for bytes."""

    log: Text
    offset: Annotated[I64, Unit("bytes"), Doc("where to begin")]
    limit: Annotated[I32, Since(3), IfLeft(4)] = 7


@message(type_id=8, spec="a specification, §5", sender="server", name="LogRead")
class Other(Message, frozen=True, kw_only=True):
    """The same number again."""


@message(type_id=9, spec="", sender="server")
class NoClause(Message, frozen=True, kw_only=True):
    """Says not where it is from."""


def test_what_a_declaration_says() -> None:
    declared = ReadLog.declaration
    assert (declared.type_id, declared.name, declared.sender) == (8, "ReadLog", "client")
    assert (declared.since, declared.is_failure, declared.spec) == (2, True, "a specification, §4")
    assert Other.declaration.name == "LogRead"


def test_fields_in_the_order_of_the_wire() -> None:
    log, offset, limit = fields_of(ReadLog)
    assert [field.name for field in (log, offset, limit)] == ["log", "offset", "limit"]
    assert (offset.wire.name, offset.unit, offset.doc, offset.is_optional) == ("i64", "bytes", "where to begin", False)
    assert (limit.since, limit.if_left, limit.is_optional, limit.default) == (3, 4, True, 7)


def test_fields_of_a_version() -> None:
    assert [field.name for field in fields_of(ReadLog, 2)] == ["log", "offset"]
    assert fields_of(ReadLog, 3) == fields_of(ReadLog)


def test_a_number_has_one_message_and_a_message_a_clause() -> None:
    assert by_type_id((ReadLog,)) == {8: ReadLog}
    with pytest.raises(AssertionError, match="type 8 is Other and another"):
        by_type_id((ReadLog, Other))
    with pytest.raises(AssertionError, match="NoClause names no clause"):
        by_type_id((NoClause,))


def test_a_field_without_a_wire_type_is_our_mistake() -> None:
    class Bare(Message, frozen=True, kw_only=True):
        number: int

    with pytest.raises(AssertionError, match="field number declares no wire type"):
        fields_of(Bare)


def test_the_other_side() -> None:
    assert (other_side("client"), other_side("server")) == ("server", "client")
