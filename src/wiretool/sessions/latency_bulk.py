"""Many times at once, in the buckets of latency.py."""

from collections.abc import Iterator

import numpy as np

from wiretool.codec.columns import Integers
from wiretool.sessions.latency import PRECISION

#: So many cells are gone through one after another.
FEW_CELLS = 8
#: What `Latencies.add_counted` takes: the least, the greatest, and how many are in each bucket.
Times = tuple[int, int, list[tuple[int, int]]]


def buckets_of(values: Integers) -> Integers:
    """The bucket of each number, none below 0; as `bucket_of`."""
    low_bits = PRECISION.bit_length() - 2
    # A float64 has the exponent of its leading bit, plus 1023, in front of 52 bits: as `frexp`, which takes longer.
    lengths = ((values >> low_bits).astype(np.float64).view(np.int64) >> 52) - 1022
    shift = np.maximum(lengths + (low_bits - PRECISION.bit_length()), 0)
    buckets: Integers = shift * (2 * PRECISION) + (values >> shift)
    return buckets


def bounds_of(values: Integers, cell: Integers, cells: int) -> tuple[Integers, Integers]:
    """The least and the greatest of the values of each cell; every cell has one."""
    if cells == 1:
        return values.min(keepdims=True), values.max(keepdims=True)
    if cells <= FEW_CELLS:
        each = [values[cell == index] for index in range(cells)]
        return np.array([one.min() for one in each]), np.array([one.max() for one in each])
    least, most = np.full(cells, np.iinfo(np.int64).max), np.full(cells, np.iinfo(np.int64).min)
    np.minimum.at(least, cell, values)
    np.maximum.at(most, cell, values)
    return least, most


def firsts_of(cell: Integers, cells: int) -> Integers:
    """The place of the first value of each cell, any where it has none."""
    if cells <= FEW_CELLS:
        return np.array([(cell == index).argmax() for index in range(cells)], np.int64)
    firsts = np.zeros(cells, np.int64)
    firsts[cell[::-1]] = np.arange(len(cell) - 1, -1, -1)
    return firsts


def spread(times_ns: Integers, cell: Integers, cells: int) -> Iterator[Times]:
    """How the times of each cell are spread; one below nothing counts as none."""
    if not cells:
        return
    times_ns = np.maximum(times_ns, 0)
    least, most = bounds_of(times_ns, cell, cells)
    buckets = buckets_of(times_ns)
    width = int(buckets.max()) + 1
    codes, counts = counts_of(cell * width + buckets, cells * width)
    firsts = np.searchsorted(codes, np.arange(cells + 1) * width).tolist()
    pairs = list(zip((codes % width).tolist(), counts.tolist(), strict=True))
    for index in range(cells):
        yield int(least[index]), int(most[index]), pairs[firsts[index] : firsts[index + 1]]


def counts_of(codes: Integers, size: int) -> tuple[Integers, Integers]:
    """The codes that there are, ascending, and how often each; all are below `size`."""
    if size > 4 * len(codes) + 1024:
        return np.unique(codes, return_counts=True)
    counts = np.bincount(codes, minlength=size)
    found = np.flatnonzero(counts)
    return found, counts[found]
