"""Java's modified UTF-8, against the rules of java.io.DataInput.readUTF."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.strategies import attempt
from wiretool.codec.mutf8 import decode_modified_utf8, encode_modified_utf8
from wiretool.errors import DecodeError


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_text_comes_back(text: str) -> None:
    assert decode_modified_utf8(encode_modified_utf8(text)) == text


@given(st.binary())
def test_any_bytes_are_text_or_an_error(raw: bytes) -> None:
    _, err = attempt(lambda: decode_modified_utf8(raw))
    assert err is None or (err.kind == "bad-utf" and 0 <= err.offset < len(raw))


@pytest.mark.parametrize(
    ("text", "raw"),
    [
        ("", ""),
        ("a\0b", "61c08062"),
        ("\x7f\x80", "7fc280"),
        ("\u07ff\u0800", "dfbfe0a080"),
        ("\uffff", "efbfbf"),
        ("\U0001f600", "eda0bdedb880"),
        ("\ud83d", "eda0bd"),
    ],
)
def test_bytes_of_text(text: str, raw: str) -> None:
    assert encode_modified_utf8(text).hex() == raw
    assert decode_modified_utf8(bytes.fromhex(raw)) == text


@pytest.mark.parametrize(("raw", "text"), [("00", "\0"), ("c181", "A"), ("e08181", "A"), ("c0af", "/")])
def test_what_no_writer_makes_is_read_all_the_same(raw: str, text: str) -> None:
    assert decode_modified_utf8(bytes.fromhex(raw)) == text


@pytest.mark.parametrize(
    ("raw", "offset"), [("f09f9880", 0), ("61c3", 1), ("c328", 0), ("61e282", 1), ("e28228", 0), ("80", 0), ("ff", 0)]
)
def test_what_is_no_character(raw: str, offset: int) -> None:
    with pytest.raises(DecodeError, match="begins no character") as caught:
        decode_modified_utf8(bytes.fromhex(raw))
    assert caught.value.offset == offset
