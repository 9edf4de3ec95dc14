"""Columns of FlatBuffers tables against the reader of one: the same values, or left to it."""

import struct
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.sbp_frames import schemas
from tests.helpers.tables import mutated, tables
from wiretool.batches.rows import values_of
from wiretool.codec.flatbuffers.columns import gather, read_tables
from wiretool.codec.flatbuffers.compiled import read_fast
from wiretool.codec.flatbuffers.declaration import Table, table_form
from wiretool.codec.flatbuffers.writer import encode_root
from wiretool.errors import DecodeError
from wiretool.protocols.sbp import tables as latest
from wiretool.protocols.sbp.records import RecordBatchMeta
from wiretool.protocols.sbp.schema import LATEST, UNCARRIED

TABLES: tuple[type[Table], ...] = (
    *(cls for schema in schemas().values() for cls in schema.tables),
    *UNCARRIED,
    RecordBatchMeta,
)


def check(cls: type[Table], buffers: Sequence[bytes], behind: bytes = b"\xff" * 64) -> list[bool]:
    """Whether each of the buffers was read; AssertionError where that differs from the reader."""
    data = b"\x00" * 16 + b"".join(buffers) + behind
    lengths = np.array([len(each) for each in buffers], np.int64)
    ends = 16 + np.cumsum(lengths)
    found = read_tables(cls, data, ends - lengths, ends)
    rows = np.flatnonzero(found.is_read)
    forms = values_of(found.fields.take(rows), data)
    expected = [_form(cls, buffers[row]) for row in rows.tolist()]
    assert forms == expected
    assert repr(forms) == repr(expected), "in another order"
    assert values_of(found.fields.take(found.is_read), data) == forms
    was_read: list[bool] = found.is_read.tolist()
    return was_read


def _form(cls: type[Table], buffer: bytes) -> dict[str, Any]:
    try:
        value, missing = read_fast(cls, buffer)
    except DecodeError as err:
        raise AssertionError(f"read, but {err}") from err
    assert not missing, "read, but something is missing"
    return table_form(value)


def is_plain(value: Table) -> bool:
    """Whether no text in it is beyond ASCII."""
    return msgspec.json.encode(table_form(value)).isascii()


@given(data=st.data())
def test_whole_tables_are_read(data: st.DataObject) -> None:
    cls = data.draw(st.sampled_from(TABLES[: len(LATEST.tables) - 6]))
    values = data.draw(st.lists(tables(cls), min_size=1, max_size=6))
    was_read = check(cls, [encode_root(value) for value in values])
    for value, is_read in zip(values, was_read, strict=True):
        assert is_read or not is_plain(value)


@given(data=st.data())
def test_damaged_tables_are_left_to_the_reader(data: st.DataObject) -> None:
    cls = data.draw(st.sampled_from(TABLES))
    whole = [encode_root(value) for value in data.draw(st.lists(tables(cls), min_size=1, max_size=4))]
    damaged = [data.draw(mutated(buffer)) for buffer in whole]
    check(cls, damaged + whole, behind=data.draw(st.binary(max_size=8)))


@given(buffers=st.lists(st.binary(max_size=40), max_size=4), cls=st.sampled_from(TABLES))
def test_any_bytes(buffers: list[bytes], cls: type[Table]) -> None:
    check(cls, buffers, behind=b"")


def test_no_buffers() -> None:
    assert check(latest.FetchRequest, []) == []


def test_every_cut_is_left_to_the_reader() -> None:
    whole = encode_root(latest.AppendResponse(status=latest.Status(code=1200, message="OK")))
    was_read = check(latest.AppendResponse, [whole[:length] for length in range(len(whole) + 1)])
    assert was_read[-1]
    assert not any(was_read[: len(whole) - 4])


def test_what_is_required_is_missing() -> None:
    assert check(latest.AppendResponse, [encode_root(latest.AppendResponse(throttle_time_ms=1))]) == [False]


def test_text_beyond_ascii_at_any_place() -> None:
    texts = [b"a" * at + "é".encode() + b"b" * (20 - at) for at in range(20)] + [b"a" * 21, b""]
    values = [latest.Status(code=1, message=text.decode()) for text in texts]
    assert check(latest.Status, [encode_root(value) for value in values]) == [False] * 20 + [True] * 2


def test_shared_offsets_that_grow_without_end_are_left() -> None:
    """A vector of many offsets to one table: more tables than the buffer has bytes are not looked at."""
    meta = b"".join(struct.pack("<I", 4 * (200 - at)) for at in range(200))
    table = struct.pack("<6H", 10, 8, 0, 4, 0, 0)
    root = struct.pack("<I", 16) + table + struct.pack("<iI", 12, 4) + struct.pack("<I", 200) + meta
    entry = struct.pack("<iI", -4, 0) + struct.pack("<HH", 4, 4)
    check(latest.AppendResponse, [root + entry] * 3)


@pytest.mark.parametrize("at", [-5, 0, 3, 4, 99])
def test_gather_stays_inside(at: int) -> None:
    view = np.arange(8, dtype=np.uint8)
    assert gather(view, np.array([at]), ">u4")[0] == int.from_bytes(bytes(view[min(max(at, 0), 4) :][:4]))
    assert gather(view[:2], np.array([at]), ">u4").tolist() == [0]
