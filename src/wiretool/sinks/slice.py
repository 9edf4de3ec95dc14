"""Cuts packets out of captures: those that carry certain records, or the whole connections of these."""

from collections.abc import Collection, Generator, Iterable, Iterator, Sequence
from ipaddress import ip_address
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np

from wiretool.batches.batch import Batch, Ends, FrameRun
from wiretool.capture.columns.segments import SegmentTable, read_segment_tables
from wiretool.capture.columns.streams import BulkStreams, Fed
from wiretool.capture.files.packet_counts import PacketCounts
from wiretool.capture.files.tables import PacketTable
from wiretool.capture.files.tables_of_files import read_packet_tables
from wiretool.capture.tcp.fragments import Fragment, Fragments
from wiretool.capture.tcp.lent_streams import LentStreams
from wiretool.capture.tcp.retransmit_history import RecentRuns
from wiretool.capture.tcp.segments_of_packets import segment_of
from wiretool.codec.columns import Flags, Integers
from wiretool.codec.message import SIDES, Side
from wiretool.errors import CaptureError
from wiretool.ledger import ConnectionAccount
from wiretool.records import Record
from wiretool.sinks.packets import Packets

#: Who sends no segment that belongs to a connection.
NOBODY = -1
#: Stretches of one sender that are gathered before they are put together.
STRETCHES_LOOSE = 4096


def sender(connection: int, side: Side) -> int:
    """One side of one connection as a number."""
    return 2 * connection + (side == "server")


class Chosen:
    """Which packets are wanted, by who sent them: of each sender stretches from a first to a last packet."""

    def __init__(self, *, whole_connections: bool = False) -> None:
        self._whole = whole_connections
        self._connections: set[int] = set()
        self._stretches: dict[int, Stretches] = {}
        self._hosts: dict[str, bytes] = {}
        #: Source and destination address of each wanted sender.
        self.ways: set[bytes] = set()
        #: How many records were added.
        self.records = 0

    def add(self, batch: Batch) -> None:
        """Want the packets of all records in a batch."""
        self.records += batch.count
        for record in batch.records:
            self._add(record, record.side, np.array([record.packets], np.int64))
        for run in batch.runs:
            self._add_run(run)

    def _add_run(self, run: FrameRun) -> None:
        rows = np.concatenate([np.zeros(0, np.int64), *(group.rows for group in run.groups)])
        senders = 2 * run.connection_of[rows] + run.frames.is_server[rows]
        order = np.argsort(senders, kind="stable")
        rows, senders = rows[order], senders[order]
        pairs = np.stack((run.first_packets[rows], run.last_packets[rows]), 1)
        begins = np.flatnonzero(np.diff(senders, prepend=-1))
        for sender_of, mine in zip(senders[begins].tolist(), np.split(pairs, begins[1:]), strict=False):
            self._add(run.connections[sender_of >> 1], "server" if sender_of & 1 else "client", mine)

    def _add(self, of: Record | Ends, side: Side, pairs: Integers) -> None:
        if not len(pairs):
            return
        sides: tuple[Side, ...] = ("client", "server") if self._whole else (side,)
        for each in sides:
            ends = (of.client, of.server) if each == "client" else (of.server, of.client)
            self.ways.add(self._host(ends[0]) + self._host(ends[1]))
        if self._whole:
            self._connections.add(of.connection)
        else:
            self._stretches.setdefault(sender(of.connection, side), Stretches()).add(pairs)

    def _host(self, end: str) -> bytes:
        """The address in `ip:port`."""
        if end not in self._hosts:
            self._hosts[end] = ip_address(end.rpartition(":")[0].strip("[]")).packed
        return self._hosts[end]

    def add_whole(self, rows: Iterable[ConnectionAccount]) -> int:
        """Want all packets of those of some connections of which any are wanted; return how many these are."""
        chosen = [row for row in rows if any(sender(row.connection, side) in self._stretches for side in SIDES)]
        for row in chosen:
            self._connections.add(row.connection)
            client, server = self._host(row.client), self._host(row.server)
            self.ways |= {client + server, server + client}
        return len(chosen)

    def among(self, numbers: Integers, senders: Integers) -> Flags:
        """Which of these packets (ascending) with these senders are wanted."""
        wanted: Flags = np.isin(senders >> 1, np.fromiter(self._connections, np.int64, len(self._connections)))
        if self._whole:
            return wanted
        order = np.argsort(senders, kind="stable")
        bounds = np.flatnonzero(np.diff(senders[order], prepend=NOBODY - 1))
        for rows in np.split(order, bounds[1:]):
            mine = self._stretches.get(int(senders[rows[0]])) if len(rows) else None
            if mine is not None:
                wanted[rows] |= mine.holds(numbers[rows])
        return wanted


class Stretches:
    """Stretches of packets; those that overlap are put together now and then."""

    def __init__(self) -> None:
        self._tidy: Integers = np.zeros((0, 2), np.int64)
        self._loose: list[Integers] = []
        self._loose_count = 0

    @property
    def count(self) -> int:
        """How many are held."""
        return len(self._tidy) + self._loose_count

    def add(self, pairs: Integers) -> None:
        """Further ones: first and last packet of each."""
        self._loose.append(pairs)
        self._loose_count += len(pairs)
        if self._loose_count > STRETCHES_LOOSE + len(self._tidy):
            self._put_together()

    def holds(self, numbers: Integers) -> Flags:
        """Which of these packets lie in one."""
        self._put_together()
        at = np.searchsorted(self._tidy[:, 0], numbers, "right") - 1
        inside: Flags = (at >= 0) & (numbers <= self._tidy[np.maximum(at, 0), 1])
        return inside

    def _put_together(self) -> None:
        if not self._loose:
            return
        pairs = np.concatenate([self._tidy, *self._loose])
        pairs = pairs[np.argsort(pairs[:, 0], kind="stable")]
        reach = np.maximum.accumulate(pairs[:, 1])
        begins = np.flatnonzero(np.append(True, pairs[1:, 0] > reach[:-1]))
        self._tidy = np.stack((pairs[begins, 0], reach[np.append(begins[1:], len(pairs)) - 1]), 1)
        self._loose, self._loose_count = [], 0


def cut(
    sources: Sequence[Path | BinaryIO], chosen: Chosen, packets: Packets, ports: Collection[int]
) -> Generator[None]:
    """Write the packets of the captures that are chosen, in steps; CaptureError behind the last of a damaged capture.

    `ports` are those on which a server is expected: by them the sides of a connection are told apart. What is written
    is whole once this has ended or is closed between two steps. Where nothing at all can be read, nothing is written.
    """
    try:
        yield from _cut(sources, chosen, packets, _Senders(ports))
    except (CaptureError, GeneratorExit):
        if packets.has_begun:
            packets.end()
        raise
    packets.end()


def _cut(sources: Sequence[Path | BinaryIO], chosen: Chosen, packets: Packets, senders: "_Senders") -> Generator[None]:
    for table, segments in _tables(sources):
        rows = segments.numbers - table.first_number
        wanted = rows[chosen.among(segments.numbers, senders.of(segments))]
        packets.write(table, np.union1d(wanted, _fragments(table, rows, chosen.ways)))
        del table, segments  # or two would be held while the next ones are read
        yield


def _tables(sources: Sequence[Path | BinaryIO]) -> Iterator[tuple[PacketTable, SegmentTable]]:
    """Packets, and the segments among them."""
    latest: list[PacketTable] = []

    def noted() -> Iterator[PacketTable]:
        for table in read_packet_tables(sources):
            latest.append(table)
            yield table
            del table

    for segments in read_segment_tables(noted()):
        yield latest.pop(), segments
        del segments


class _Seen(Fragments):
    """Puts nothing together, but knows between whom the last fragment went."""

    way = b""

    def add(self, fragment: Fragment) -> None:
        self.way = fragment.key[0]


def _fragments(table: PacketTable, segments: Integers, ways: Collection[bytes]) -> Integers:
    """Rows of IP fragments with TCP from one of the hosts to the other, of any connection of theirs.

    Of whose segment one is shows only when it is whole, and that is too late; those that make it whole are segments.
    """
    others = np.setdiff1d(np.arange(len(table.starts)), segments, assume_unique=True)
    seen, counts = _Seen(), PacketCounts()
    rows = []
    for row in others.tolist():
        seen.way = b""
        segment_of(table.packet(row), seen, counts)
        if seen.way in ways:
            rows.append(row)
    return np.array(rows, np.int64)


class _Change(NamedTuple):
    """From the segment `row` on, the flow with index `flow` is of this sender."""

    flow: int
    row: int
    sender: int


class _Senders:
    """Follows connections as the reader of their streams does, to tell whose each segment is."""

    def __init__(self, ports: Collection[int]) -> None:
        recent = RecentRuns()
        self._streams = LentStreams(ports, recent)
        self._bulk = BulkStreams(self._streams, recent)

    def of(self, table: SegmentTable) -> Integers:
        """The sender of each segment."""
        flows = {key: flow for flow, key in enumerate(table.keys)}
        now = [self._sender(key) for key in table.keys]
        changes = [_Change(flow, -1, sender) for flow, sender in enumerate(now)]
        for part in self._bulk.read(table):
            if not isinstance(part, Fed):
                continue
            row = part.row
            for key in self._both_ways(table.keys[table.flows[row]]):
                flow = flows.get(key)
                if flow is not None and (sender := self._sender(key)) != now[flow]:
                    now[flow] = sender
                    changes.append(_Change(flow, row, sender))
        return _latest(table, np.array(changes, np.int64).reshape(-1, 3))

    def _sender(self, key: bytes) -> int:
        flow = self._streams.flow_of(key)
        return NOBODY if flow is None else sender(flow.connection.id, flow.side)

    def _both_ways(self, key: bytes) -> tuple[bytes, ...]:
        flow = self._streams.flow_of(key)
        return (key,) if flow is None else (key, flow.peer.key)


def _latest(table: SegmentTable, changes: Integers) -> Integers:
    """For each segment the sender of the last change of its flow up to it."""
    if not len(table):
        return np.zeros(0, np.int64)
    step = len(table) + 1
    places = changes[:, 0] * step + changes[:, 1] + 1
    order = np.argsort(places, kind="stable")
    at = np.searchsorted(places[order], table.flows * step + np.arange(len(table)) + 1, "right") - 1
    senders: Integers = changes[order[at], 2]
    return senders
