"""What stays of connections that have ended: the account of each, what late segments are held against, and no more."""

import itertools
import tracemalloc
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import TypeVar

import pytest

from tests.bench.pravega_appends import Connection, close_connection, hello
from tests.bench.segments import ACK, PORTS, PSH, handshake, segment, write_pcap
from tests.dissect.columns.engines import table_packets
from wiretool.capture.columns.segments import read_segment_tables
from wiretool.capture.files.reading import read_packets
from wiretool.capture.files.tables_of_files import read_packet_tables
from wiretool.capture.tcp.segments_of_packets import read_segments
from wiretool.dissect.columns.read import BulkDissector
from wiretool.dissect.dissector import Dissector

T = TypeVar("T")

#: Connections until the first look, by when the tables are held that are compared with, and between that and the
#: second; segments of each; connections of a table.
CONNECTIONS, SEGMENTS, TABLE_CONNECTIONS = 800, 8, 100
#: What one may leave: it is some 600 bytes, half of them its account and the names of its ends.
LEFT_BYTES_MAX = 1_000


def make_short_connections(path: Path, connections: int) -> None:
    """Write a capture of connections that say HELLO both ways and end, each before the next one begins."""
    write_pcap(path, itertools.chain.from_iterable(map(short_connection, range(connections))))


def short_connection(index: int) -> Iterator[bytes]:
    """Yield the packets of one of them."""
    client, number = divmod(index, PORTS)
    peer = Connection(number)
    peer.client.ip = bytes((10, 0, 1, client))
    yield from handshake(peer.client, peer.server)
    yield segment(peer.client, peer.server, PSH | ACK, hello(15))
    yield segment(peer.server, peer.client, PSH | ACK, hello(17))
    yield from close_connection(peer)


@pytest.fixture
def short_connections(tmp_path: Path) -> Path:
    path = tmp_path / "short.pcap"
    make_short_connections(path, 2 * CONNECTIONS + TABLE_CONNECTIONS)
    return path


@pytest.fixture(autouse=True)
def traced() -> Iterator[None]:
    tracemalloc.start(1)
    yield
    tracemalloc.stop()


def looking(things: Iterable[T], every: int, sizes: list[int]) -> Iterator[T]:
    """The things as they are; `sizes` gets the bytes in use behind each `every` of them."""
    source = iter(things)
    while some := list(islice(source, every)):
        yield from some
        some.clear()
        sizes.append(tracemalloc.get_traced_memory()[0])


def left_of_each(sizes: list[int]) -> float:
    """Bytes that a connection has left between the two looks."""
    return (sizes[1] - sizes[0]) / CONNECTIONS


def test_row_by_row(short_connections: Path) -> None:
    sizes: list[int] = []
    segments = looking(read_segments(read_packets([short_connections])), CONNECTIONS * SEGMENTS, sizes)
    records = sum(1 for _ in Dissector().records_of(segments))
    assert records == 2 * (2 * CONNECTIONS + TABLE_CONNECTIONS)
    assert left_of_each(sizes) < LEFT_BYTES_MAX


def test_in_columns(short_connections: Path) -> None:
    sizes: list[int] = []
    with table_packets(TABLE_CONNECTIONS * SEGMENTS):
        tables = read_segment_tables(read_packet_tables([short_connections]))
        looked = looking(tables, CONNECTIONS // TABLE_CONNECTIONS, sizes)
        count = sum(batch.count for batch in BulkDissector().batches(looked))
    assert count == 2 * (2 * CONNECTIONS + TABLE_CONNECTIONS)
    assert left_of_each(sizes) < LEFT_BYTES_MAX
