"""Columns of a batch as Arrow arrays."""

import binascii
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from wiretool.codec.columns import Bytes, Integers

#: A factor with bits in all places: half a UUID times it, plus the other half, is nearly always unique to the UUID.
_MIXER = np.int64(0x1E37_79B9_7F4A_7C15)


def numbers_of(values: Integers, has: Any = None) -> pa.Array:
    """Whole numbers as int64, truths as bool; null where `has` says so."""
    return pa.array(values, mask=None if has is None else ~has)


def choices_of(codes: Integers, values: Sequence[Any], kind: pa.DataType | None = None) -> pa.Array:
    """The value of each code, null for -1."""
    if not len(values):
        return pa.nulls(len(codes), kind or pa.string())
    indices = pa.array(codes, mask=codes < 0)
    return pa.array(list(values), kind).take(indices)


def coded_of(codes: NDArray[Any], values: Sequence[str | None]) -> pa.Array:
    """Text by its code as a dictionary array, null for -1 and where the value is none."""
    none = np.array([value is None for value in values], np.bool_)
    mask = codes < 0
    if none.any():
        mask |= none[codes]
    indices = pa.array(codes.astype(np.int32, copy=False), pa.int32(), mask=mask if mask.any() else None)
    words = pa.array(["" if value is None else value for value in values], pa.string())
    return pa.DictionaryArray.from_arrays(indices, words)


def spans_of(data: bytes | pa.Buffer, starts: Integers, lengths: Integers, kind: pa.DataType) -> pa.Array:
    """`data[starts[i] : starts[i] + lengths[i]]` as strings or binaries; the data must be below 2 GiB."""
    count, ends = len(starts), starts + lengths
    if not count:
        return pa.array([], kind)
    places = np.arange(0, 2 * count, 2)
    if (starts[1:] < ends[:-1]).any():  # out of order, or over one another
        order = np.argsort(starts, kind="stable")
        starts, ends = starts[order], ends[order]
        if (starts[1:] < ends[:-1]).any():
            back = np.argsort(order)
            spans = zip(starts[back].tolist(), ends[back].tolist(), strict=True)
            return pa.array([bytes(memoryview(data)[start:end]) for start, end in spans], kind)
        at, places = places, np.empty(count, np.int64)
        places[order] = at
    # Between the beginning of one span and its end: every other string is what stands between two of them.
    bounds = np.stack((starts, ends), 1).reshape(-1).astype(np.int32)
    buffers = [None, pa.py_buffer(bounds), data if isinstance(data, pa.Buffer) else pa.py_buffer(data)]
    every = pa.Array.from_buffers(kind, 2 * count - 1, buffers)
    return every.take(pa.array(places))


def coded_uuids_of(raw: Bytes) -> pa.Array:
    """UUIDs of 16 bytes each as their canonical text, each text once: a dictionary array."""
    kinds, codes = distinct_uuids(raw)
    return pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32)), uuid_texts(kinds))


def distinct_uuids(raw: Bytes) -> tuple[Bytes, Integers]:
    """Return the different ones among UUIDs of 16 bytes each, and the index there of each row."""
    halves = np.ascontiguousarray(raw).view(np.int64)
    begins = np.flatnonzero(np.append(True, (halves[1:] != halves[:-1]).any(1))[: len(halves)])
    heads = halves[begins]
    # Sorting one number for both halves is several times faster than sorting 16 bytes.
    _, firsts, of_head = np.unique(heads[:, 0] * _MIXER + heads[:, 1], return_index=True, return_inverse=True)
    if (heads[firsts][of_head] != heads).any():
        _, firsts, of_head = np.unique(heads.view("V16")[:, 0], return_index=True, return_inverse=True)
    return raw[begins[firsts]], np.repeat(of_head, np.diff(begins, append=len(halves)))


def uuid_texts(raw: Bytes) -> pa.Array:
    """UUIDs of 16 bytes each as their canonical text: 36 characters, with dashes at four places."""
    digits = np.frombuffer(binascii.hexlify(raw.tobytes()), np.uint8).reshape(-1, 32)
    text = np.full((len(raw), 36), ord("-"), np.uint8)
    at = 0
    for start, stop in ((0, 8), (9, 13), (14, 18), (19, 23), (24, 36)):
        text[:, start:stop] = digits[:, at : at + stop - start]
        at += stop - start
    bounds = np.arange(len(raw) + 1, dtype=np.int32) * 36
    return pa.Array.from_buffers(pa.string(), len(raw), [None, pa.py_buffer(bounds), pa.py_buffer(text)])


def hex_of(data: bytes) -> pa.Buffer:
    """The bytes in hex: what stood at `i` stands at `2 * i`, twice as long."""
    return pa.py_buffer(binascii.hexlify(data))
