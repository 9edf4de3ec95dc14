"""Reads connections that begin and end within one table, without a watch for each."""

from typing import NamedTuple

import numpy as np

from wiretool.batches.batch import Ends, FrameRun
from wiretool.bulk.numbering import Numbers
from wiretool.bulk.pace import TINY_BYTES, Pace
from wiretool.bulk.pending_output import PendingOutput
from wiretool.bulk.placing import Pieces, PlacedFrames, brought, in_order
from wiretool.bulk.watch import EndedBulkWatch
from wiretool.capture.plain_runs import PlainSegments
from wiretool.capture.whole_connections import WholeConnections
from wiretool.codec.columns import Flags
from wiretool.dissect import Connections
from wiretool.protocols.bulk import ProtocolColumns
from wiretool.protocols.bulks import columns_of
from wiretool.protocols.conversation import Protocol
from wiretool.watch import SIDES


def read_whole_connections(
    whole: WholeConnections, connections: Connections, numbers: Numbers, pace: Pace, output: PendingOutput
) -> PlainSegments:
    """Read the connections that a protocol can read so; return the segments of the others."""
    plain = whole.plain
    protocols = _protocols(plain, connections)
    is_left = np.ones(len(protocols), np.bool_)
    for name, protocol in {each.name: each for each in protocols if each is not None}.items():
        columns = columns_of(name)
        is_mine = np.array([each is protocol for each in protocols], np.bool_)
        frames = None if columns is None else _frames_of(columns, plain.only(is_mine), pace)
        if columns is None or frames is None:
            continue
        is_read = _read(protocol, columns, frames, connections, numbers, output)
        is_left[np.flatnonzero(is_mine)[is_read]] = False
    return whole.segments(is_left)


def _protocols(plain: PlainSegments, connections: Connections) -> list[Protocol | None]:
    """Return the protocol that the first payload of each connection proves."""
    found = []
    for connection, (row, is_server) in zip(plain.connections, plain.first_rows(), strict=True):
        ports = connection.client_port, connection.server_port
        found.append(connections.protocol_of_start(*ports, SIDES[is_server], plain.table.payload(row)))
    return found


class _WholeFrames(NamedTuple):
    """The frames of some connections, and which connections have complete frames only."""

    plain: PlainSegments
    placed: PlacedFrames
    is_complete: Flags


def _frames_of(columns: ProtocolColumns, plain: PlainSegments, pace: Pace) -> _WholeFrames | None:
    """Return the frames; None where there are so many that they must be read in parts."""
    table, rows, is_server = plain.table, plain.rows, plain.is_server
    data = b"".join(table.payloads(rows))
    ends, sizes = np.cumsum(table.lengths[rows]), plain.sizes
    stops = np.cumsum(sizes)
    begins = stops - sizes
    found = columns.find_boundaries(data, begins, stops, is_server, ends[:-1])
    if pace.is_much([(len(found.starts), int(np.count_nonzero(np.diff(found.starts) < TINY_BYTES)))]):
        return None
    is_complete = np.ones(len(plain.connections), np.bool_)
    is_complete[plain.connection_of[found.is_broken | (found.ends != stops)]] = False
    packets, flow_of = table.numbers[rows], np.repeat(np.arange(len(begins)), np.diff(plain.bounds))
    pieces = Pieces(ends, packets, table.times[rows], packets)
    of_flow = is_server, plain.connection_of, -begins
    starts, frame_ends = found.starts, found.frame_ends
    # Numbers of their own: nothing else is emitted at the packets of these connections.
    placed = in_order(data, brought(pieces, flow_of, *of_flow, starts, frame_ends), starts, frame_ends, Numbers())
    return _WholeFrames(plain, placed, is_complete)


def _read(
    protocol: Protocol,
    columns: ProtocolColumns,
    of: _WholeFrames,
    connections: Connections,
    numbers: Numbers,
    output: PendingOutput,
) -> Flags:
    """Read the frames; return the connections that were read."""
    plain, placed, is_complete = of
    count = len(plain.connections)
    groups, is_read = columns.read_whole(placed.frames, placed.owner, count)
    is_read &= is_complete
    if not is_read.any():
        return is_read
    if not is_read.all():
        groups = [group.take(is_read[placed.owner[group.rows]]) for group in groups]
    ends = [Ends(each.id, each.client, each.server) for each in plain.connections]
    frames, offsets, first, last, times, owner, _ = placed
    output.runs.append(FrameRun(ends, owner, protocol.name, frames, offsets, first, last, times, groups))
    counts = np.bincount(owner, minlength=count).tolist()
    sizes = np.bincount(plain.connection_of, plain.sizes, count).astype(np.int64).tolist()
    for index in np.flatnonzero(is_read).tolist():
        connection = plain.connections[index]
        row = connections.open_account(connection)
        row.protocol = protocol.name
        row.account.frames = counts[index]
        row.account.frame_bytes = row.account.payload_bytes = sizes[index]
        connection.reader = EndedBulkWatch(row, numbers.take)
    return is_read
