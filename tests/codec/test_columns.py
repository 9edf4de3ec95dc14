"""Columns are messages: for every declared class that has them, on whole, cut, longer and random bytes."""

from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.strategies import messages
from wiretool.batches.rows import values_of
from wiretool.codec.columns import begins_of, gathered, has_columns, has_high_bytes, read_columns
from wiretool.codec.message import Message
from wiretool.codec.reference import decode, encode
from wiretool.errors import DecodeError
from wiretool.protocols.base.registry import PROTOCOLS

CLASSES = list(dict.fromkeys(cls for each in PROTOCOLS.values() for cls in each.messages if has_columns(cls)))


def check(cls: type[Message], parts: list[bytes]) -> list[bool]:
    """AssertionError where the columns of some messages are not what each decodes to; which of them could be read."""
    data, starts, ends = b"", [], []
    for part in parts:
        data += b"\x01"  # something stands between them
        starts.append(len(data))
        data += part
        ends.append(len(data))
    decoded = read_columns(cls, data, np.array(starts, np.int64), np.array(ends, np.int64))
    columns = {name: column.take(decoded.is_read) for name, column in decoded.columns.items()}
    values = {name: iter(values_of(column, data)) for name, column in columns.items()}
    for row, (start, end) in enumerate(zip(starts, ends, strict=True)):
        if decoded.is_read[row]:
            expected, stop = decode(cls, data, start, end)
            assert cls(**{name: next(each) for name, each in values.items()}) == expected
            assert int(decoded.stops[row]) == stop
    return [bool(each) for each in decoded.is_read]


def is_plain(cls: type[Message], raw: bytes) -> bool | None:
    """Whether these bytes decode to no text but ASCII; None for a NUL, which may be one byte there or two."""
    try:
        message, _ = decode(cls, raw, 0, len(raw))
    except DecodeError:
        return False
    fields: list[Any] = [getattr(message, name) for name in message.__struct_fields__]
    texts = [value for value in fields if isinstance(value, str)]
    if not all(map(str.isascii, texts)):
        return False
    return None if any("\0" in text for text in texts) else True


@cache
def bodies(cls: type[Message]) -> st.SearchStrategy[list[bytes]]:
    """Whole, cut, longer and random bytes of a class."""
    whole = messages(cls).map(encode)
    cut = st.tuples(whole, st.floats(0, 1)).map(lambda drawn: drawn[0][: int(drawn[1] * len(drawn[0]))])
    longer = st.tuples(whole, st.binary(max_size=20)).map(b"".join)
    return st.lists(st.one_of(whole, cut, longer, st.binary(max_size=60)), max_size=8)


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: f"{cls.__module__.split('.')[2]}-{cls.__name__}")
@given(st.data())
@settings(max_examples=30)  # of up to eight bodies each, of every class
def test_columns_are_messages(cls: type[Message], data: st.DataObject) -> None:
    parts = data.draw(bodies(cls))
    for is_read, part in zip(check(cls, parts), parts, strict=True):
        assert is_plain(cls, part) in (is_read, None)


def test_many_classes_have_columns() -> None:
    assert len(CLASSES) > 50


def test_nothing_is_read_where_there_is_nothing() -> None:
    for cls in CLASSES:
        decoded = read_columns(cls, b"", np.zeros(2, np.int64), np.zeros(2, np.int64))
        assert decoded.is_read.tolist() == [is_plain(cls, b"")] * 2


@given(st.binary(max_size=40), st.lists(st.integers(0, 60), max_size=20), st.sampled_from([">u2", ">i4", ">u8", "V16"]))
def test_gathered(data: bytes, at: list[int], kind: str) -> None:
    found = gathered(data, np.array(at, np.int64), kind)
    size = np.dtype(kind).itemsize
    assert len(found) == len(at)
    for value, place in zip(found, at, strict=True):
        if place + size <= len(data):
            assert value == np.frombuffer(data[place : place + size], kind)[0]


@given(st.binary(max_size=60), st.lists(st.tuples(st.integers(0, 60), st.integers(0, 20)), max_size=12))
def test_high_bytes(data: bytes, spans: list[tuple[int, int]]) -> None:
    starts, lengths = np.array(spans, np.int64).reshape(-1, 2).T
    expected = [
        start + length <= len(data) and any(byte > 127 for byte in data[start : start + length])
        for start, length in spans
    ]
    assert has_high_bytes(data, starts, lengths).tolist() == expected


@given(st.lists(st.integers(-1, 1)))
def test_stretches_of_equal_values(values: list[int]) -> None:
    expected = [at for at, value in enumerate(values) if not at or value != values[at - 1]]
    assert begins_of(np.array(values, np.int64)).tolist() == expected
