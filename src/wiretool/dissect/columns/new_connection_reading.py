"""Reads connections that begin in a table, without a watch for each: the first frames, before `plain_reading`.

Many of them end there, too.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from wiretool.batches.batch import Ends, FrameRun
from wiretool.capture.columns.new_connections import NewConnections
from wiretool.capture.columns.plain_runs import PlainSegments
from wiretool.codec.columns import Flags, Integers
from wiretool.codec.frames.boundaries import FrameBoundaries
from wiretool.codec.frames.resync import RIVAL_FRAMES
from wiretool.codec.message import SIDES, Side
from wiretool.dissect.columns.joined_flows import JoinedFlows, join_flows, note_rests, place_frames
from wiretool.dissect.columns.numbering import Numbers
from wiretool.dissect.columns.pace import TINY_BYTES, Pace
from wiretool.dissect.columns.pending_output import PendingOutput
from wiretool.dissect.columns.placing import PlacedFrames
from wiretool.dissect.columns.steady_watches import SteadyWatches
from wiretool.dissect.columns.watch import EndedBulkWatch
from wiretool.dissect.dissector import Connections
from wiretool.ledger import ConnectionAccount
from wiretool.protocols.base.columns import NewFrames, ProtocolColumns, columns_of
from wiretool.protocols.base.conversation import Conversation
from wiretool.protocols.base.protocol import Protocol
from wiretool.protocols.base.recognise import are_refused


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
    is_left = np.ones(len(plain.connections), np.bool_)
    for protocol, is_middle, members in _by_protocol(plain, connections):
        columns, indices = columns_of(protocol), np.array(members, np.int64)
        found = None if columns is None else _find_frames(columns, new, indices, pace)
        if columns is None or found is None:
            continue
        frames, owner, count = found.placed.frames, found.placed.owner, len(indices)
        if is_middle:
            read = columns.read_middle(frames, owner, count, _in_first_payloads(columns, found))
        else:
            read = columns.read_new(frames, owner, count)
        is_read = read.is_read & found.is_complete & (read.may_go_on | ~new.goes_on[indices])
        accounts = _open_accounts(protocol, found, is_read, new, connections, numbers)
        _go_on(columns, found, is_read, read, new, accounts, steady)
        _add_output(protocol, found, is_read, read, plain, output)
        is_left[indices[is_read]] = False
    return new.segments(is_left)


class _Members(NamedTuple):
    """The indices of connections of a protocol; `is_middle`: their beginning is missing."""

    protocol: Protocol
    is_middle: bool
    indices: list[int]


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


def _by_protocol(plain: PlainSegments, connections: Connections) -> Iterable[_Members]:
    """Return the connections by the protocol that the first payload proves, or may prove in mid-stream."""
    found: dict[tuple[str, bool], _Members] = {}
    others: dict[tuple[str, ...], list[Conversation]] = {}
    rows = zip(plain.connections, plain.first_rows(), strict=True)
    for index, (connection, (row, is_server)) in enumerate(rows):
        ports, side = (connection.client_port, connection.server_port), SIDES[is_server]
        data = plain.table.payload(row)
        if connection.opened:
            protocol = connections.protocol_of_start(*ports, side, data)
        else:
            protocol = _expected_in_middle(connections.expected_on(*ports), others, side, data)
        if protocol is not None:
            members = _Members(protocol, not connection.opened, [])
            found.setdefault((protocol.name, members.is_middle), members).indices.append(index)
    return found.values()


def _expected_in_middle(
    expected: Sequence[Protocol], others: dict[tuple[str, ...], list[Conversation]], side: Side, data: bytes
) -> Protocol | None:
    """Return the first protocol that is expected, if it is read in mid-stream, and no other one fits.

    `others` keeps new conversations of the other protocols, by their names.
    """
    if not expected:
        return None
    first, columns = expected[0], columns_of(expected[0])
    if columns is None or not columns.middle_header_bytes:
        return None
    names = tuple(each.name for each in expected[1:])
    if names not in others:
        others[names] = [each.open(False) for each in expected[1:]]
    return first if are_refused(others[names], side, data) else None


def _in_first_payloads(columns: ProtocolColumns, found: _FoundFrames) -> Flags:
    """Return whether each frame is whole in the first payload of its flow.

    Connections are not complete of which such a payload is not frames throughout, or has very many.
    """
    flows, boundaries, placed = found.flows, found.boundaries, found.placed
    ends = flows.pieces.ends[np.searchsorted(flows.flow_of, np.arange(len(flows.begins)))]
    mine = boundaries.frame_ends <= ends[boundaries.range_of]
    counts = np.bincount(boundaries.range_of[mine], minlength=len(ends))
    done = flows.begins.copy()
    done[boundaries.range_of[mine]] = boundaries.frame_ends[mine]  # of several the last one stays
    rests = ends - done
    is_odd = (counts == 0) | (counts >= RIVAL_FRAMES) | ((rests > 0) & (rests < columns.middle_header_bytes))
    found.is_complete[flows.owner[is_odd]] = False
    of_side = np.zeros((len(found.indices), 2), np.int64)
    of_side[flows.owner, flows.is_server.astype(np.int64)] = ends
    in_first: Flags = placed.frames.ends <= of_side[placed.owner, placed.frames.is_server.astype(np.int64)]
    return in_first


def _find_frames(columns: ProtocolColumns, new: NewConnections, indices: Integers, pace: Pace) -> _FoundFrames | None:
    """Find the frames of some connections; None where there are so many that they must be read in parts."""
    data, flows = join_flows(new.plain, indices, np.full(len(indices), -1))
    found = columns.find_boundaries(data, flows.begins, flows.stops, flows.is_server, flows.pieces.ends[:-1])
    if pace.is_much(len(found.starts), int(np.count_nonzero(np.diff(found.starts) < TINY_BYTES))):
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
    slots = np.full(len(found.indices), -1)
    connections = [new.plain.connections[index] for index in found.indices[mine].tolist()]
    slots[mine] = steady.open(connections, accounts, columns, read, mine)
    flows = found.flows._replace(slots=slots, indices=2 * slots[found.flows.owner] + found.flows.is_server)
    note_rests(found.data, flows, found.boundaries, goes_on, steady)
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
