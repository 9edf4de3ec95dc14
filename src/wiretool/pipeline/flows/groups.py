"""Small flows read together: those whose only connection begins, and goes on in good order."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from wiretool.batches.batch import Batch
from wiretool.capture.columns.segments import SegmentTable
from wiretool.capture.tcp.closed_flows import way_back
from wiretool.capture.tcp.segments_of_packets import Segment
from wiretool.capture.tcp.stream_events import Connection
from wiretool.codec.columns import Flags, Integers
from wiretool.dissect.columns.read import BulkDissector
from wiretool.ledger import ConnectionAccount
from wiretool.pipeline.flows.deduplicate import Once
from wiretool.pipeline.flows.parts import Part, Rows
from wiretool.pipeline.flows.payloads import Payloads
from wiretool.pipeline.flows.positions import Places
from wiretool.pipeline.flows.segments import connection_number, data_of, taken_once

#: Segments and payload bytes of flows that are read together; a flow with more bytes is read by itself.
GROUP_SEGMENTS, GROUP_BYTES = 16_384, 4 * 1024 * 1024


class GroupRecords(NamedTuple):
    """The records of flows, numbered from 1 in the order of the flows: the number of records of each.

    `is_left`: this flow must be read by itself.
    """

    batch: Batch
    counts: Integers
    is_left: Flags


class FlowGroup:
    """Small whole flows that wait to be read."""

    def __init__(self) -> None:
        self.parts: list[Part] = []
        self._segments = self._bytes = 0

    @property
    def is_full(self) -> bool:
        """Return whether there are enough of them."""
        return self._segments >= GROUP_SEGMENTS or self._bytes >= GROUP_BYTES

    def takes(self, part: Part) -> bool:
        """Return whether a flow has so few bytes that it can wait here: a group is one table, whatever it has."""
        return int(part.rows.lengths.sum()) <= GROUP_BYTES

    def add(self, part: Part) -> None:
        """Add a flow, all of whose rows are in this part."""
        self.parts.append(part)
        self._segments += part.rows.size
        self._bytes += int(part.rows.lengths.sum())

    def read(
        self,
        places: Places,
        payloads: Payloads,
        note_opened: Callable[[Connection, ConnectionAccount], None],
        **options: Any,
    ) -> GroupRecords:
        """Read the flows that can be read together; `options` are those of dissect.Connections."""
        count = len(self.parts)
        rows, index_of = _joined(self.parts)
        index_of_key = {part.flow: index for index, part in enumerate(self.parts)}
        flow_of: dict[int, int] = {}
        counts = np.zeros(count, np.int64)
        opened: list[tuple[Connection, ConnectionAccount]] = []

        def name(segment: Segment) -> int:
            index = index_of_key.get(segment.flow)
            if index is None:
                index = index_of_key[way_back(segment.flow)]
            number = connection_number(self.parts[index].flow, segment)
            flow_of[number] = index
            return number

        def note(connection: Connection, account: ConnectionAccount) -> None:
            opened.append((connection, account))
            note_opened(connection, account)

        dissector = BulkDissector(name=name, opened=note, **options)
        batch = dissector.read_whole(_table_of(self.parts, rows, index_of, places, payloads))
        is_left = np.ones(count, np.bool_)
        for connection, account in opened:
            index = flow_of[connection.id]
            counts[index], is_left[index] = account.account.frames, False
        return GroupRecords(batch, counts, is_left)


def _joined(parts: Sequence[Part]) -> tuple[Rows, Integers]:
    """Return the rows of all parts without copies, and the index of the part of each."""
    every = [part.rows for part in parts]
    files = np.concatenate([rows.files for rows in every])
    if (files != files[0]).any():
        every = [taken_once(rows, Once()) for rows in every]
    *columns, data = zip(*every, strict=True)
    joined = Rows._make([*map(np.concatenate, columns), pa.concat_arrays(data)])
    return joined, np.repeat(np.arange(len(every)), [rows.size for rows in every])


def _table_of(
    parts: Sequence[Part], rows: Rows, index_of: Integers, places: Places, payloads: Payloads
) -> SegmentTable:
    data, starts = data_of(rows, payloads)
    return SegmentTable(
        data,
        places.add(rows.files, rows.numbers),
        rows.times,
        2 * index_of + rows.is_back,
        [key for part in parts for key in (part.flow, way_back(part.flow))],
        rows.seqs,
        rows.acks,
        rows.flags,
        starts,
        rows.lengths,
        rows.cuts,
    )
