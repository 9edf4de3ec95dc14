"""The segments of one connection in one table, of which some are to be fed one by one."""

from dataclasses import dataclass

import numpy as np

from wiretool.capture.columns.segments import SegmentTable
from wiretool.capture.tcp.direction import Flow
from wiretool.capture.tcp.segments_of_packets import ACK
from wiretool.codec.columns import Flags, Integers

#: Flags of a segment that does more than carry bytes: all but PSH and those of congestion.
_FLAGS = 0x17


@dataclass(frozen=True, slots=True)
class Way:
    """One direction of a connection: its flow's key, and positions among the rows of both, each in order."""

    key: bytes
    every: Integers
    #: Those with payload.
    payloads: Integers
    #: Those that do more than carry bytes, and those that do not follow on the payload before them.
    odd: Integers
    breaks: Integers


@dataclass(slots=True)
class ConnectionRows:
    """The segments of two flows that are each other's way back, in one table; positions are indices into `rows`."""

    rows: Integers
    ways: tuple[Way, ...]
    #: The position up to which all was emitted, that of the next segment that is to be fed, and up to which all are.
    at: int = 0
    stop: int = 0
    fed_to: int = 0


def connection_rows(table: SegmentTable, rows: Integers, stop: int = 0) -> ConnectionRows:
    """Return the segments of the connection that has these rows, the first of which to be fed is at a position."""
    is_odd = (table.flags[rows] & _FLAGS != ACK) | (table.cuts[rows] > 0)
    flows = table.flows[rows]
    ways = (_way(table, rows, is_odd, flow) for flow in sorted({int(flows.min()), int(flows.max())}))
    return ConnectionRows(rows, tuple(ways), stop=stop)


def _way(table: SegmentTable, rows: Integers, is_odd: Flags, flow: int) -> Way:
    every = np.flatnonzero(table.flows[rows] == flow)
    mine = rows[every]
    has_payload = table.lengths[mine] > 0
    payloads, carriers = every[has_payload], mine[has_payload]
    expected = (table.seqs[carriers] + table.lengths[carriers]) & 0xFFFF_FFFF
    breaks = payloads[1:][table.seqs[carriers[1:]] != expected[:-1]]
    return Way(table.keys[flow], every, payloads, every[is_odd[every]], breaks)


def stop_on(table: SegmentTable, group: ConnectionRows, way: Way, flow: Flow | None) -> int:
    """Return the position of the next segment of a flow that must be fed; the number of rows where there is none."""
    never = len(group.rows)
    if flow is None or not flow.is_plain or not flow.connection.is_understood:
        return _next(way.every, group.at, never)
    payload = _next(way.payloads, group.at, never)
    if payload < never and table.seqs[group.rows[payload]] != flow.seq:
        stop = payload
    else:
        stop = _next(way.breaks, payload + 1, never)
    return min(stop, _next(way.odd, group.at, never))


def _next(positions: Integers, at: int, never: int) -> int:
    """Return the first of the positions that is not before `at`, or `never`."""
    index = int(np.searchsorted(positions, at))
    return int(positions[index]) if index < len(positions) else never
