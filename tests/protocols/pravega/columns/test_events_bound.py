"""Events of appends are looked for no further than they are counted."""

import numpy as np
import pytest

from wiretool.codec.columns import Spans
from wiretool.codec.frames.boundaries import walk_ranges
from wiretool.protocols.pravega.columns.events import EventHeaders, whole_events


@pytest.mark.parametrize("ranges", [1, 60])
def test_zeros_are_no_more_events_than_are_counted(ranges: int) -> None:
    """Eight bytes of zeros look like an empty event."""
    data, size = bytes(ranges * 80_000), 80_000
    begins = np.arange(ranges) * size
    counts = np.arange(ranges) % 3 + 1
    found = walk_ranges(data, begins, begins + size, EventHeaders(counts))
    assert np.bincount(found.range_of, minlength=ranges).tolist() == counts.tolist()
    assert (found.ends == begins + 8 * counts).all()
    spans = Spans(begins, np.full(ranges, size), False)
    rows, starts, ends = whole_events(data, spans, counts, np.ones(ranges, np.bool_))
    assert (len(rows), len(starts), len(ends)) == (0, 0, 0)
