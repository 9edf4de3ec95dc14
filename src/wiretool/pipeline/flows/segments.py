"""Segment rows of flows as segment tables, and the numbers of the connections in them."""

from collections import Counter
from collections.abc import Iterator
from hashlib import blake2b
from itertools import pairwise

import numpy as np

from wiretool.capture.columns.segments import SegmentTable
from wiretool.capture.files.tables import TABLE_BYTES, TABLE_PACKETS
from wiretool.capture.tcp.closed_flows import way_back
from wiretool.capture.tcp.segments_of_packets import Segment
from wiretool.codec.columns import Integers
from wiretool.pipeline.flows.deduplicate import Once
from wiretool.pipeline.flows.parts import Rows
from wiretool.pipeline.flows.payloads import Payloads
from wiretool.pipeline.flows.positions import Places
from wiretool.pipeline.flows.rows import NOWHERE


def taken_once(rows: Rows, once: Once) -> Rows:
    """Return the rows without copies of other rows."""
    first = once.firsts(rows.files, rows.turns, rows.marks, rows.lengths)
    return rows if first is None else rows.only(first)


class Namer:
    """Gives the connections of a flow their numbers: the same wherever and whenever the flow is read.

    63 bits: of a thousand million connections two have the same with a chance of one in twenty.
    """

    def __init__(self, flow: bytes) -> None:
        self._flow = flow
        self._seen: Counter[tuple[int, int, bool]] = Counter()

    def __call__(self, segment: Segment) -> int:
        """The number of the connection that begins with this segment, the next one of the flow."""
        first = segment.time_ns, segment.seq, segment.flow == self._flow
        again = self._seen[first]
        self._seen[first] += 1
        return connection_number(self._flow, segment, again)


def connection_number(flow: bytes, segment: Segment, again: int = 0) -> int:
    """Return the number of the connection that begins with a segment of a flow, `again` times after the same one."""
    first = segment.time_ns, segment.seq, segment.flow == flow
    return int.from_bytes(blake2b(flow + f"{first} {again}".encode(), digest_size=8).digest(), "big") >> 1


def tables_of(flow: bytes, rows: Rows, places: Places, payloads: Payloads) -> Iterator[SegmentTable]:
    """The segments of a flow as tables of bounded size, their packets numbered by `places`."""
    keys = (flow, way_back(flow))
    sizes = np.cumsum(rows.lengths)
    for start, stop in pairwise(_bounds(sizes)):
        part = rows.cut(start, stop)
        data, starts = data_of(part, payloads)
        yield SegmentTable(
            data,
            places.add(part.files, part.numbers),
            part.times,
            part.is_back.astype(np.int64),
            keys,
            part.seqs,
            part.acks,
            part.flags,
            starts,
            part.lengths,
            part.cuts,
        )


def _bounds(sizes: Integers) -> list[int]:
    """Where tables begin and the last one ends, for payloads that come to so much up to each; each has a row."""
    bounds = [0]
    while bounds[-1] < len(sizes):
        at = bounds[-1]
        done = int(sizes[at - 1]) if at else 0
        full = int(np.searchsorted(sizes, done + TABLE_BYTES, "right"))
        bounds.append(min(max(full, at + 1), at + TABLE_PACKETS, len(sizes)))
    return bounds


def data_of(rows: Rows, payloads: Payloads) -> tuple[bytes, Integers]:
    """Return the payloads, and where each begins."""
    starts = np.zeros(rows.size, np.int64)
    stands = (rows.at != NOWHERE) & (rows.lengths > 0)
    data, starts[stands] = payloads.read(rows.files[stands], rows.at[stands], rows.lengths[stands])
    carried = np.flatnonzero(~stands & (rows.lengths > 0))
    if len(carried):
        lengths = rows.lengths[carried]
        starts[carried] = len(data) + np.cumsum(lengths) - lengths
        data += b"".join(rows.data.take(carried).to_pylist())
    return data, starts
