"""Members of JSON objects: what each type takes, and what it says of the rest."""

from typing import Annotated, Any

import pytest

from wiretool.codec.cursor import Cursor
from wiretool.codec.json_types import (
    Anything,
    Boolean,
    Int32,
    JsonBytes,
    JsonInt,
    JsonList,
    JsonName,
    JsonSet,
    JsonText,
    JsonType,
    JsonValue,
    String,
    bytes_from,
    from_members,
    shorten,
    to_members,
)
from wiretool.codec.message import Message, fields_of, message
from wiretool.errors import DecodeError, EncodeError


@message(type_id=1, name="SAMPLE", spec="a test", sender="both")
class Sample(Message, frozen=True, kw_only=True):
    """Some of everything."""

    type: Annotated[str, JsonName("SAMPLE")] = "SAMPLE"
    number: Int32
    words: Annotated[tuple[str, ...], JsonList(JsonText())] = ()
    flag: Boolean
    extra: Anything
    maybe: Annotated[str | None, JsonText(nullable=True)] = None
    always: Annotated[str | None, JsonText(nullable=True, omits_null=False)] = None
    name: String


MEMBERS = {"type": "SAMPLE", "number": 1, "words": ["a"], "flag": True, "extra": None, "name": "x", "unknown": 7}


def test_members_make_a_message_and_back() -> None:
    sample = from_members(Sample, MEMBERS)
    assert sample == Sample(number=1, words=("a",), flag=True, extra=None, name="x")
    expected = {**MEMBERS, "always": None}
    del expected["unknown"]
    assert to_members(sample) == expected
    assert list(to_members(sample)) == ["type", "number", "words", "flag", "extra", "always", "name"]


@pytest.mark.parametrize(
    ("change", "kind", "why"),
    [
        ({"number": None}, "missing_field", r"SAMPLE\.number\): is null"),
        ({"number": True}, "bad_field_type", "expected a whole number, got true"),
        ({"number": 1.0}, "bad_field_type", "expected a whole number, got 1.0"),
        ({"number": 2**31}, "out_of_range", "2147483648 is not an int32"),
        ({"number": -(2**31) - 1}, "out_of_range", "-2147483649 is not an int32"),
        ({"words": "ab"}, "bad_field_type", 'expected an array, got "ab"'),
        ({"words": ["a", None]}, "bad_field_type", r"SAMPLE\.words\[1\]\): expected a string, got null"),
        ({"flag": 0}, "bad_field_type", "expected true or false, got 0"),
        ({"type": "OTHER"}, "bad_field_type", 'expected "SAMPLE", got "OTHER"'),
        ({"maybe": 1}, "bad_field_type", "expected a string, got 1"),
        ({"name": {"x": "y" * 100}}, "bad_field_type", r"expected a string, got \{.*\.\.\. \(109 characters\)"),
    ],
)
def test_members_of_the_wrong_kind(change: dict[str, Any], kind: str, why: str) -> None:
    with pytest.raises(DecodeError, match=why) as caught:
        from_members(Sample, {**MEMBERS, **change})
    assert caught.value.kind == kind


@pytest.mark.parametrize("name", ["number", "flag", "extra", "name"])
def test_members_that_are_missing(name: str) -> None:
    members = {key: value for key, value in MEMBERS.items() if key != name}
    with pytest.raises(DecodeError, match=rf"missing_field at byte 0 \(SAMPLE\.{name}\): is not there"):
        from_members(Sample, members)


def test_a_set_is_sorted_and_has_each_once() -> None:
    wire = JsonSet(JsonInt(32))
    assert wire.parse([3, 1, 3], "x") == (1, 3)
    assert wire.to_json((1, 3)) == [1, 3]
    assert wire.name == "set of int32"
    assert JsonList(JsonInt(32), nullable=True).to_json(None) is None


def test_values_from_json_are_held_to_the_same() -> None:
    assert JsonInt(64).from_json(7, "x") == 7
    with pytest.raises(EncodeError, match='x: expected a whole number, got "7"'):
        JsonInt(64).from_json("7", "x")
    with pytest.raises(EncodeError, match="x: is null"):
        JsonText().from_json(None, "x")
    with pytest.raises(EncodeError, match=r"SAMPLE\.number: 2147483648 is not an int32"):
        to_members(Sample(number=2**31, flag=True, extra=None, name=""))


def test_a_member_has_no_bytes_of_its_own() -> None:
    for field in fields_of(Sample):
        assert isinstance(field.wire, JsonType)
    with pytest.raises(AssertionError, match="x is a member of a JSON object"):
        JsonValue().read(Cursor(b""), "x")
    with pytest.raises(AssertionError, match="x is a member of a JSON object"):
        JsonValue().write(1, bytearray(), "x")


def test_values_are_shown_as_json() -> None:
    assert shorten([None, True, "é"]) == r'[null, true, "\u00e9"]'
    assert shorten(b"x") == "b'x'"
    assert shorten("x" * 100) == '"' + "x" * 49 + "... (102 characters)"


@pytest.mark.parametrize(("raw", "form"), [(b"", ""), ("é".encode(), "é"), (b"\xff\0", {"hex": "ff00"})])
def test_bytes_are_text_or_hex(raw: bytes, form: Any) -> None:
    assert (JsonBytes().to_json(raw), bytes_from(form)) == (form, raw)
    assert JsonBytes().from_json(form, "x") == JsonBytes().from_json(raw, "x") == raw


@pytest.mark.parametrize("form", [1, None, {"hex": "0"}, {"hex": 1}, {"hex": "00", "more": 1}, "\ud800"])
def test_other_forms_are_not_bytes(form: Any) -> None:
    with pytest.raises(ValueError, match=r"text or hex|hexadecimal|surrogates"):
        bytes_from(form)
    with pytest.raises(EncodeError, match=r"x: expected text or hex, got |x: is null"):
        JsonBytes().from_json(form, "x")
