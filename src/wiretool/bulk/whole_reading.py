"""Reads the first frames of connections that begin in a table, without a watch for each. Many end there, too."""

from typing import NamedTuple

import numpy as np

from wiretool.batches.batch import Ends, FrameRun
from wiretool.bulk.joined_flows import JoinedFlows, join_flows, note_rests, place_frames
from wiretool.bulk.numbering import Numbers
from wiretool.bulk.pace import TINY_BYTES, Pace
from wiretool.bulk.pending_output import PendingOutput
from wiretool.bulk.placing import PlacedFrames
from wiretool.bulk.steady_watches import SteadyWatches
from wiretool.bulk.watch import EndedBulkWatch
from wiretool.capture.plain_runs import PlainSegments
from wiretool.capture.whole_connections import NewConnections
from wiretool.codec.columns import Flags, Integers
from wiretool.codec.hops import FrameBoundaries
from wiretool.dissect import Connections
from wiretool.ledger import ConnectionAccount
from wiretool.protocols.bulk import NewFrames, ProtocolColumns
from wiretool.protocols.bulks import columns_of
from wiretool.protocols.conversation import Protocol
from wiretool.watch import SIDES


def read_new_connections(
    new: NewConnections,
    connections: Connections,
    steady: SteadyWatches,
    numbers: Numbers,
    pace: Pace,
    output: PendingOutput,
) -> PlainSegments:
    """Read the connections that a protocol can read so; return the segments of the others.

    `steady` takes over those that go on.
    """
    plain = new.plain
    protocols = _protocols(plain, connections)
    is_left = np.ones(len(protocols), np.bool_)
    for name, protocol in {each.name: each for each in protocols if each is not None}.items():
        columns = columns_of(name)
        indices = np.flatnonzero(np.array([each is protocol for each in protocols], np.bool_))
        found = None if columns is None else _find_frames(columns, new, indices, pace)
        if columns is None or found is None:
            continue
        read = columns.read_new(found.placed.frames, found.placed.owner, len(indices))
        is_read = read.is_read & found.is_complete & (read.may_go_on | ~new.goes_on[indices])
        accounts = _open_accounts(protocol, found, is_read, new, connections, numbers)
        _go_on(columns, found, is_read, read, new, accounts, steady)
        _add_output(protocol, found, is_read, read, plain, output)
        is_left[indices[is_read]] = False
    return new.segments(is_left)


def _protocols(plain: PlainSegments, connections: Connections) -> list[Protocol | None]:
    """Return the protocol that the first payload of each connection proves."""
    found = []
    for connection, (row, is_server) in zip(plain.connections, plain.first_rows(), strict=True):
        ports = connection.client_port, connection.server_port
        found.append(connections.protocol_of_start(*ports, SIDES[is_server], plain.table.payload(row)))
    return found


class _FoundFrames(NamedTuple):
    """The frames of the connections with these indices, and which of these have no other bytes.

    Those that go on may have an unfinished frame at the end.
    """

    indices: Integers
    data: bytes
    flows: JoinedFlows
    boundaries: FrameBoundaries
    placed: PlacedFrames
    is_complete: Flags


def _find_frames(columns: ProtocolColumns, new: NewConnections, indices: Integers, pace: Pace) -> _FoundFrames | None:
    """Find the frames of some connections; None where there are so many that they must be read in parts."""
    data, flows = join_flows(new.plain, indices)
    found = columns.find_boundaries(data, flows.begins, flows.stops, flows.is_server, flows.pieces.ends[:-1])
    if pace.is_much([(len(found.starts), int(np.count_nonzero(np.diff(found.starts) < TINY_BYTES)))]):
        return None
    is_complete = np.ones(len(indices), np.bool_)
    is_cut = (found.ends != flows.stops) & ~new.goes_on[indices[flows.owner]]
    is_complete[flows.owner[found.is_broken | is_cut]] = False
    # Numbers of their own: nothing else is emitted at the packets of these connections.
    every = np.ones(len(indices), np.bool_)
    return _FoundFrames(indices, data, flows, found, place_frames(data, flows, found, every, Numbers()), is_complete)


def _open_accounts(
    protocol: Protocol,
    found: _FoundFrames,
    is_read: Flags,
    new: NewConnections,
    connections: Connections,
    numbers: Numbers,
) -> list[ConnectionAccount]:
    """Open the accounts of the connections that were read; return those of connections that go on.

    The accounts of the others are complete.
    """
    count, flows = len(is_read), found.flows
    frames = np.bincount(found.placed.owner, minlength=count)
    sizes = np.bincount(flows.owner, flows.sizes, count).astype(np.int64)
    mine = np.flatnonzero(is_read)
    columns = found.indices[mine], new.goes_on[found.indices[mine]], frames[mine], sizes[mine]
    accounts = []
    for index, goes_on, frame_count, size in zip(*(column.tolist() for column in columns), strict=True):
        connection = new.plain.connections[index]
        row = connections.open_account(connection)
        row.protocol = protocol.name
        if goes_on:
            connection.is_understood = True
            accounts.append(row)
            continue
        row.account.frames = frame_count
        row.account.frame_bytes = row.account.payload_bytes = size
        connection.reader = EndedBulkWatch(row, numbers.take)
    return accounts


def _go_on(
    columns: ProtocolColumns,
    found: _FoundFrames,
    is_read: Flags,
    read: NewFrames,
    new: NewConnections,
    accounts: list[ConnectionAccount],
    steady: SteadyWatches,
) -> None:
    """Have `steady` take over the connections that go on."""
    if not accounts:
        return
    goes_on = is_read & new.goes_on[found.indices]
    mine, placed = np.flatnonzero(goes_on), found.placed
    slots = new.plain.slots[found.indices]
    connections = [new.plain.connections[index] for index in found.indices[mine].tolist()]
    steady.open(slots[mine], connections, accounts, columns, read, mine)
    note_rests(found.data, found.flows, found.boundaries, goes_on, steady)
    steady.note_frames(slots, placed, goes_on)


def _add_output(
    protocol: Protocol,
    found: _FoundFrames,
    is_read: Flags,
    read: NewFrames,
    plain: PlainSegments,
    output: PendingOutput,
) -> None:
    frames, offsets, first, last, times, owner, _ = found.placed
    groups = [group.take(is_read[owner[group.rows]]) for group in read.groups] if not is_read.all() else read.groups
    groups = [group for group in groups if len(group.rows)]
    if groups:
        connections = [plain.connections[index] for index in found.indices.tolist()]
        ends = [Ends(each.id, each.client, each.server) for each in connections]
        output.runs.append(FrameRun(ends, owner, protocol.name, frames, offsets, first, last, times, groups))
