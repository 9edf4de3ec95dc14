"""The table of packets: what each packet of a capture is, and what its headers say, as Arrow columns."""

from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np
import pyarrow as pa

from wiretool.capture.columns.header_columns import NONE, Heads, heads_of
from wiretool.capture.files.tables import PacketTable
from wiretool.codec.columns import Flags, Integers
from wiretool.sinks.arrow.arrays import choices_of, spans_of

#: A row for each packet, in the order of its file; `number` counts them there from 1. `length` is what it had on the
#: wire, `captured` what of it is in the file (`data`); `protocol` is IP's number. None is unsigned: Spark has no such.
SCHEMA = pa.schema(
    [
        ("time", pa.timestamp("us")),
        ("time_ns", pa.int64()),
        ("file", pa.string()),
        ("number", pa.int64()),
        ("link_type", pa.int32()),
        ("length", pa.int32()),
        ("captured", pa.int32()),
        ("ip_version", pa.int32()),
        ("src", pa.string()),
        ("src_port", pa.int32()),
        ("dst", pa.string()),
        ("dst_port", pa.int32()),
        ("protocol", pa.int32()),
        ("seq", pa.int64()),
        ("ack", pa.int64()),
        ("flags", pa.int32()),
        ("payload_length", pa.int32()),
        ("data", pa.binary()),
    ]
)


class PacketColumns:
    """The columns of the packets of one table, each made when it is asked for."""

    def __init__(self, table: PacketTable, file: str) -> None:
        self.table = table
        self.file = file
        self._made: dict[str, pa.Array] = {}

    def __len__(self) -> int:
        return len(self.table.starts)

    def column(self, name: str) -> pa.Array:
        """One of them, of all packets."""
        if name not in self._made:
            self._made[name] = _MAKERS[name](self)
        return self._made[name]

    def batch(self, names: Sequence[str], is_wanted: Flags | None = None) -> pa.RecordBatch:
        """Some columns of the packets that are wanted; all of them unless told otherwise."""
        fields = [SCHEMA.field(name) for name in names]
        if is_wanted is None or is_wanted.all():
            return pa.RecordBatch.from_arrays([self.column(name) for name in names], schema=pa.schema(fields))
        mask = pa.array(is_wanted)
        arrays = [self._data(is_wanted) if name == "data" else self.column(name).filter(mask) for name in names]
        return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields))

    def _data(self, is_wanted: Flags) -> pa.Array:
        """Of these packets only: most of what a table is."""
        return spans_of(self.table.data, self.table.starts[is_wanted], self.table.lengths[is_wanted], pa.binary())

    @cached_property
    def heads(self) -> Heads:
        """What the headers say."""
        return heads_of(self.table)


def _small(values: Integers) -> pa.Array:
    """Numbers of 32 bits, null where there is none."""
    return pa.array(values.astype(np.int32), mask=values == NONE)


def _large(values: Integers) -> pa.Array:
    return pa.array(values, mask=values == NONE)


#: How each column is made.
_MAKERS: dict[str, Callable[[PacketColumns], pa.Array]] = {
    "time": lambda of: pa.array(of.table.times // 1000).cast(pa.timestamp("us")),
    "time_ns": lambda of: pa.array(of.table.times),
    "file": lambda of: pa.repeat(pa.scalar(of.file, pa.string()), len(of)),
    "number": lambda of: pa.array(np.arange(of.table.first_number, of.table.first_number + len(of), dtype=np.int64)),
    "link_type": lambda of: pa.array(of.table.links.astype(np.int32)),
    # What a file says of the wire is not held against any bound.
    "length": lambda of: pa.array(np.minimum(of.table.wire_lengths, np.iinfo(np.int32).max).astype(np.int32)),
    "captured": lambda of: pa.array(of.table.lengths.astype(np.int32)),
    "ip_version": lambda of: _small(of.heads.versions),
    "src": lambda of: choices_of(*of.heads.sources()),
    "src_port": lambda of: _small(of.heads.source_ports),
    "dst": lambda of: choices_of(*of.heads.targets()),
    "dst_port": lambda of: _small(of.heads.target_ports),
    "protocol": lambda of: _small(of.heads.protocols),
    "seq": lambda of: _large(of.heads.seqs),
    "ack": lambda of: _large(of.heads.acks),
    "flags": lambda of: _small(of.heads.flags),
    "payload_length": lambda of: _small(np.minimum(of.heads.payload_lengths, np.iinfo(np.int32).max)),
    "data": lambda of: spans_of(of.table.data, of.table.starts, of.table.lengths, pa.binary()),
}
