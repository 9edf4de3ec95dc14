"""The wire types: read, written, in JSON, and refused."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.strategies import attempt, tiles, values
from wiretool import limits
from wiretool.codec.cursor import Cursor, Span
from wiretool.codec.types import (
    Bool,
    Int,
    ListOf,
    NamedByte,
    RestBytes,
    SizedBytes,
    Text16,
    Uuid,
    WireType,
    uuid_text,
    uuid_texts,
)
from wiretool.errors import DecodeError, EncodeError, OverLimit, Truncated

I64 = Int("i64", "q")
WIRES: tuple[WireType, ...] = (
    Int("i8", "b"),
    Int("u8", "B"),
    Int("i16", "h"),
    Int("u16", "H"),
    Int("i32", "i"),
    Int("u32", "I"),
    I64,
    Bool(),
    Uuid(),
    Text16(),
    RestBytes(),
    SizedBytes(),
    SizedBytes(negative_is_empty=True),
    ListOf(I64),
    ListOf(Text16(), negative_is_empty=True),
    NamedByte({0: "NO", 7: "YES"}, kind="bad-answer"),
)
wires = pytest.mark.parametrize("wire", WIRES, ids=lambda wire: wire.name)


def written(wire: WireType, value: Any) -> bytes:
    out = bytearray()
    wire.write(value, out, "f")
    return bytes(out)


@wires
@given(data=st.data())
def test_a_value_comes_back(wire: WireType, data: st.DataObject) -> None:
    value = data.draw(values(wire))
    raw = written(wire, value)
    assert len(raw) >= wire.size_min
    cursor = Cursor(raw)
    assert wire.read(cursor, "f") == value
    assert cursor.left == 0
    assert wire.from_json(wire.to_json(value), "f") == value


@wires
@given(raw=st.binary(max_size=40))
def test_any_bytes_are_a_value_or_an_error_and_spans_tile_them(wire: WireType, raw: bytes) -> None:
    spans: list[Span] = []
    cursor = Cursor(raw, spans=spans)
    _, err = attempt(lambda: wire.read(cursor, "f"))
    assert err is None or 0 <= err.offset <= len(raw)
    assert tiles(spans, 0, cursor.at)


@wires
@pytest.mark.parametrize("value", [None, 5.5, {}, [[]], 2**70, "\N{SNOWMAN} is no hex"], ids=repr)
def test_what_is_no_value_is_refused(wire: WireType, value: Any) -> None:
    if isinstance(wire, Text16) and isinstance(value, str):
        return
    with pytest.raises(EncodeError):
        wire.from_json(value, "f")
    with pytest.raises(EncodeError):
        written(wire, value)


@pytest.mark.parametrize(
    ("wire", "low", "high"), [(WIRES[0], -128, 127), (WIRES[1], 0, 255), (I64, -(2**63), 2**63 - 1)]
)
def test_a_number_outside_its_range_is_refused(wire: Int, low: int, high: int) -> None:
    assert written(wire, low) + written(wire, high)
    for value in (low - 1, high + 1, True):
        with pytest.raises(EncodeError, match="takes a whole number from"):
            written(wire, value)


def test_any_byte_but_zero_is_true() -> None:
    assert [Bool().read(Cursor(bytes((byte,))), "f") for byte in (0, 1, 0xFF)] == [False, True, True]


def test_a_uuid_keeps_the_order_of_its_text() -> None:
    assert written(Uuid(), "01234567-89AB-cdef-fedc-ba9876543210").hex() == "0123456789abcdeffedcba9876543210"
    assert Uuid().from_json("0123456789ABCDEFFEDCBA9876543210", "f") == "01234567-89ab-cdef-fedc-ba9876543210"
    with pytest.raises(EncodeError, match="'no' is not a UUID"):
        written(Uuid(), "no")


def test_uuid_texts_are_remembered_within_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "WRITERS_MAX", 4)
    for number in range(20):
        uuid_text(number.to_bytes(16, "big"))
    assert len(uuid_texts) <= 4


def test_a_text_too_long_is_refused() -> None:
    assert len(written(Text16(), "x" * 65_535)) == 65_537
    with pytest.raises(EncodeError, match="65,535 bytes at most, this one 65536"):
        written(Text16(), "\0" * 32_768)


def test_a_broken_text_says_where() -> None:
    cursor = Cursor(b"..\x00\x03a\xc3(", 2)
    with pytest.raises(DecodeError, match="bad-utf at byte 5") as caught:
        Text16().read(cursor, "M.f")
    assert (caught.value.path, cursor.at) == ("M.f", 2)


def test_counted_bytes_with_a_negative_count() -> None:
    raw = b"\xff\xff\xff\xffabc"
    cursor = Cursor(raw)
    assert SizedBytes(negative_is_empty=True).read(cursor, "f") == b""
    assert cursor.at == 4
    with pytest.raises(DecodeError, match=r"bad-nested-length at byte 4 .*a length of -1"):
        SizedBytes().read(Cursor(raw), "f")
    with pytest.raises(Truncated, match=r"bad-nested-length at byte 4 .*expected 4 bytes, 3 left"):
        SizedBytes().read(Cursor(b"\0\0\0\x04abc"), "f")


def test_a_list_ends_where_the_bytes_do() -> None:
    with pytest.raises(Truncated, match=r"truncated-field at byte 12 \(f\[1\]\): expected 8 bytes, 0 left"):
        ListOf(I64).read(Cursor(b"\0\0\0\x02" + bytes(8)), "f")


@pytest.mark.parametrize(("count", "error"), [(b"\x7f\xff\xff\xff", OverLimit), (b"\xff\xff\xff\xff", DecodeError)])
def test_a_count_that_cannot_be(count: bytes, error: type[DecodeError]) -> None:
    with pytest.raises(error, match="bad-count"):
        ListOf(I64).read(Cursor(count), "f")


def test_a_list_that_grows_takes_a_negative_count_for_none() -> None:
    assert ListOf(I64, negative_is_empty=True).read(Cursor(b"\xff\xff\xff\xff"), "f") == ()


def test_a_byte_that_names_nothing() -> None:
    wire = NamedByte({0: "NO", 7: "YES"}, kind="bad-answer")
    assert wire.read(Cursor(b"\x07"), "f") == "YES"
    with pytest.raises(DecodeError, match=r"bad-answer at byte 0 .*1 names nothing"):
        wire.read(Cursor(b"\x01"), "f")
    with pytest.raises(EncodeError, match="expected one of NO, YES, got 'MAYBE'"):
        wire.from_json("MAYBE", "f")
