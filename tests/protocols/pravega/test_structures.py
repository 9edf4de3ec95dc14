"""Structures whose layout is written by hand."""

import pytest

from wiretool.codec.cursor import Cursor, Span
from wiretool.errors import DecodeError, EncodeError
from wiretool.protocols.pravega.structures import (
    NONE_I64,
    EventFrame,
    InnerEvent,
    SizedKey,
    SizedValue,
    TableKey,
    TableValue,
    Zeros,
)


def written(wire: SizedKey | SizedValue | EventFrame | Zeros, value: object) -> str:
    out = bytearray()
    wire.write(value, out, "f")  # type: ignore[arg-type]
    return bytes(out).hex()


def test_a_key_with_its_version() -> None:
    raw = "0000000e" + "00000002" + "6b31" + "000000000000002a"
    key = TableKey(data=b"k1", key_version=42)
    assert written(SizedKey(), key) == raw
    assert SizedKey().read(Cursor(bytes.fromhex(raw)), "f") == key


def test_an_empty_key_has_no_version_though_its_size_says_so() -> None:
    raw = "0000000c" + "00000000"
    assert written(SizedKey(), TableKey(data=b"")) == raw
    cursor = Cursor(bytes.fromhex(raw + "00" * 4))
    assert SizedKey().read(cursor, "f") == TableKey(data=b"", key_version=NONE_I64)
    assert cursor.left == 4


def test_an_empty_key_with_a_version_has_no_bytes() -> None:
    with pytest.raises(EncodeError, match=r"f\.key_version: an empty key carries no version"):
        written(SizedKey(), TableKey(data=b"", key_version=7))


def test_a_value() -> None:
    assert written(SizedValue(), TableValue(data=b"v")) == "00000005" + "00000001" + "76"
    assert written(SizedValue(), TableValue(data=b"")) == "00000004" + "00000000"


def test_the_payload_size_is_only_held_against_what_is_left() -> None:
    assert SizedValue().read(Cursor(bytes.fromhex("00000009" + "00000001" + "76")), "f") == TableValue(data=b"v")
    with pytest.raises(DecodeError, match=r"bad-nested-length at byte 0 \(f\.payload_size\): a payload of 10 bytes, 9"):
        SizedValue().read(Cursor(bytes.fromhex("0000000a" + "00000001" + "76")), "f")


def test_a_data_length_must_fit() -> None:
    with pytest.raises(DecodeError, match=r"bad-nested-length at byte 8 \(f\.data\): expected 2 bytes, 1 left"):
        SizedValue().read(Cursor(bytes.fromhex("00000005" + "00000002" + "76")), "f")
    with pytest.raises(DecodeError, match=r"bad-nested-length at byte 8 \(f\.data\): a length of -1"):
        SizedKey().read(Cursor(bytes.fromhex("00000005" + "ffffffff" + "76")), "f")


def test_an_event_inside_a_command() -> None:
    raw = "00000000" + "00000002" + "6162"
    spans: list[Span] = []
    assert written(EventFrame(), InnerEvent(data=b"ab")) == raw
    assert EventFrame().read(Cursor(bytes.fromhex(raw), spans=spans), "f") == InnerEvent(data=b"ab")
    assert [(span.path, span.length) for span in spans] == [("f.type", 4), ("f.data", 6)]
    with pytest.raises(DecodeError, match=r"bad-nested-type at byte 0 \(f\): expected an EVENT \(0\), got type 3"):
        EventFrame().read(Cursor(bytes.fromhex("00000003" + "00000000")), "f")


@pytest.mark.parametrize("wire", [SizedKey(), SizedValue(), EventFrame()], ids=lambda wire: wire.name)
def test_another_thing_is_refused(wire: SizedKey | SizedValue | EventFrame) -> None:
    with pytest.raises(EncodeError, match=r"f: expected a \w+, got 5"):
        written(wire, 5)


def test_zeros_are_counted_and_not_looked_at() -> None:
    assert Zeros().read(Cursor(b"\0\1\2"), "f") == 3
    assert written(Zeros(), 2) == "0000"
    with pytest.raises(EncodeError, match="expected a number of bytes that fits a frame, got -1"):
        written(Zeros(), -1)


def test_an_empty_key_with_nothing_behind_it_is_refused_by_every_reader() -> None:
    with pytest.raises(DecodeError, match="a payload of 12 bytes, 8 left"):
        SizedKey().read(Cursor(bytes.fromhex(written(SizedKey(), TableKey(data=b"")))), "f")
