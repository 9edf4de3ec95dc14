"""Segments as rows that can be dealt out by flow: what reassembly needs, and where the payload stands in its file."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from wiretool.capture.index.build import FileSegments
from wiretool.capture.tcp.closed_flows import way_back
from wiretool.codec.columns import Flags, Integers

#: A row for each TCP segment. `flow` is the key of the connection's pair of endpoints, the same in both directions, as
#: `Segment.flow` has the smaller one of them; `is_back` says that this segment went the other way. `turn_ns` is the
#: latest time up to this packet of its file, `number` counts the packets of that file from 1, `file` is its place among
#: the inputs. The payload is `length` bytes at `at` in the file, or `data` where it does not stand there.
SCHEMA = pa.schema(
    [
        ("flow", pa.binary()),
        ("is_back", pa.bool_()),
        ("turn_ns", pa.int64()),
        ("file", pa.int32()),
        ("number", pa.int64()),
        ("time_ns", pa.int64()),
        ("seq", pa.int64()),
        ("ack", pa.int64()),
        ("flags", pa.int32()),
        ("at", pa.int64()),
        ("length", pa.int32()),
        ("cut", pa.int32()),
        ("mark", pa.int64()),
        ("data", pa.binary()),
    ]
)
#: The rows of a flow in the order in which its packets were captured.
ORDER = ("flow", "turn_ns", "file", "number")
#: The place of a payload that does not stand in its file as it is.
NOWHERE = -1


def rows_of(segments: FileSegments, file: int) -> pa.RecordBatch:
    """The segments of a stretch of a file, in the schema `SCHEMA`."""
    table = segments.table
    flows, is_back = _both_ways(table.keys)
    ends = table.starts + table.lengths
    stands = (ends <= segments.plain) & (segments.base >= 0)
    columns = [
        pa.array(flows, pa.binary()).take(pa.array(table.flows)),
        pa.array(is_back[table.flows]),
        pa.array(segments.turns),
        pa.array(np.full(len(table), file, np.int32)),
        pa.array(table.numbers),
        pa.array(table.times),
        pa.array(table.seqs),
        pa.array(table.acks),
        pa.array(table.flags.astype(np.int32)),
        pa.array(np.where(stands, segments.base + table.starts, NOWHERE)),
        pa.array(table.lengths.astype(np.int32)),
        pa.array(np.minimum(table.cuts, np.iinfo(np.int32).max).astype(np.int32)),
        pa.array(segments.marks.view(np.int64)),
        _carried(table.data, table.starts, ends, ~stands & (table.lengths > 0)),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=SCHEMA)


def _both_ways(keys: Sequence[bytes]) -> tuple[list[bytes], Flags]:
    """For each key that of its flow in both directions, and whether it is the other one of the two."""
    flows = [min(key, way_back(key)) for key in keys]
    return flows, np.array([flow != key for flow, key in zip(flows, keys, strict=True)], np.bool_)


def _carried(data: bytes, starts: Integers, ends: Integers, is_carried: Flags) -> pa.Array:
    """The payloads that travel with their rows."""
    if not is_carried.any():
        return pa.nulls(len(starts), pa.binary())
    spans = zip(is_carried.tolist(), starts.tolist(), ends.tolist(), strict=True)
    return pa.array([data[start:end] if carried else None for carried, start, end in spans], pa.binary())
