"""The tables of the data source: how each is shared out between tasks, and how one of these is read."""

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import pyarrow as pa

from wiretool.capture.index.ranges import read_span, read_span_packets
from wiretool.pipeline import packets
from wiretool.pipeline.flows import rows
from wiretool.pipeline.packets import PacketColumns
from wiretool.pipeline.spark.planning import Part, planned
from wiretool.pipeline.spark.pushdown import Condition, chosen, mask_of, window_of
from wiretool.pipeline.spark.source_options import SourceOptions


class Table(Protocol):
    """A table that can be read in shares, by different processes."""

    @property
    def schema(self) -> pa.Schema:
        """Its columns."""
        ...

    def shares(self, options: SourceOptions, conditions: Sequence[Condition]) -> list[Any]:
        """What the tasks are to read, each of them as a value that can be sent to another process.

        UsageError and CaptureError for captures that cannot be read.
        """
        ...

    def read(self, share: Any, names: Sequence[str], conditions: Sequence[Condition]) -> Iterator[pa.RecordBatch]:
        """The columns of that name of one share, of the rows for which the conditions hold."""
        ...


def table_of(name: str) -> Table:
    """The table that has that name; UsageError where none has."""
    if name == "packets":
        return PacketsTable()
    if name == "segments":
        return SegmentsTable()
    from wiretool.pipeline.spark.flow_tables import flow_table  # which knows all protocols

    return flow_table(name)


class PacketsTable:
    """A row for each packet."""

    schema = packets.SCHEMA

    def shares(self, options: SourceOptions, conditions: Sequence[Condition]) -> list[list[Part]]:
        """Stretches of captures; what the conditions leave nothing of is left out."""
        paths, optional = options.captures()
        window = window_of(conditions)
        return planned(paths, options.split_bytes, is_strict=options.is_strict, optional=optional, window=window)

    def read(
        self, share: Sequence[Part], names: Sequence[str], conditions: Sequence[Condition]
    ) -> Iterator[pa.RecordBatch]:
        """The packets in the order of their files."""
        for part in share:
            for table in read_span_packets(part.file, part.span):
                columns = PacketColumns(table, part.name)
                yield columns.batch(names, mask_of(conditions, columns.column))


class SegmentsTable(PacketsTable):
    """A row for each TCP segment: where its payload stands, and to which flow it belongs."""

    schema = rows.SCHEMA

    def read(
        self, share: Sequence[Part], names: Sequence[str], conditions: Sequence[Condition]
    ) -> Iterator[pa.RecordBatch]:
        """The segments in the order of their files."""
        for part in share:
            for segments in read_span(part.file, part.span):
                yield chosen(rows.rows_of(segments, part.place), names, conditions)
