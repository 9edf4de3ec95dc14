"""Captures out of arrays: columns of packets become the bytes of a pcap file, tens of megabytes at a time.

The packets are those of tests/bench/segments.py, but for the TCP checksum: as where the network card computes it.
"""

import struct
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tests.bench.segments import (
    ACK,
    ADDRESSES,
    CLIENT_MAC,
    CLIENT_PORT_FIRST,
    FIN,
    PACKET_INTERVAL_US,
    PORTS,
    SERVER_IP,
    SERVER_MAC,
    START_TIME_S,
    SYN,
)

Array = np.ndarray[Any, Any]

FILE_HEADER = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262_144, 1)
#: Record header, Ethernet, IPv4 and TCP with timestamps, without gaps between the fields.
HEADERS = np.dtype(
    [
        *[(name, "<u4") for name in ("seconds", "micros", "captured", "length")],
        *[("target_mac", "S6"), ("source_mac", "S6"), ("ether_type", ">u2")],
        *[("version", "u1"), ("service", "u1"), ("ip_bytes", ">u2"), ("packet_id", ">u2"), ("fragment", ">u2")],
        *[("hops", "u1"), ("ip_protocol", "u1"), ("ip_checksum", ">u2"), ("source_ip", ">u4"), ("target_ip", ">u4")],
        *[("source_port", ">u2"), ("target_port", ">u2"), ("seq", ">u4"), ("ack", ">u4")],
        *[("data_offset", "u1"), ("flags", "u1"), ("window", ">u2"), ("tcp_checksum", ">u2"), ("urgent", ">u2")],
        *[("padding", ">u2"), ("option", "u1"), ("option_bytes", "u1"), ("clock", ">u4"), ("echo", ">u4")],
    ]
)
RECORD_BYTES, LINK_BYTES, IP_BYTES, TCP_BYTES = 16, 14, 20, 32
CLIENT_SEQ, SERVER_SEQ = 1_000_000, 2_000_000_000


class Packets(NamedTuple):
    """Columns of packets in the order of the file, and the bytes that their payloads are ranges of."""

    connection: Array
    is_server: Array
    flags: Array
    start: Array
    end: Array
    data: Array


def running_sums(keys: Array, amounts: Array, totals: Array) -> Array:
    """Return, for each row, the sum of the amounts of earlier rows with its key, from `totals` on.

    `totals` holds one number for each key, and the amounts are added to it.
    """
    order = np.argsort(keys, kind="stable")
    sorted_keys, sums = keys[order], np.cumsum(amounts[order]) - amounts[order]
    is_first = np.ones(len(keys), bool)
    is_first[1:] = sorted_keys[1:] != sorted_keys[:-1]
    firsts = np.flatnonzero(is_first)
    counts = np.diff(firsts, append=len(keys))
    out = np.empty(len(keys), np.int64)
    out[order] = sums - np.repeat(sums[firsts], counts) + totals[sorted_keys]
    np.add.at(totals, keys, amounts)
    return out


def place(data: Array, at: Array, rows: Array) -> None:
    """Write each structure of `rows` into `data` (bytes) at its place."""
    raw = rows.view(np.uint8).reshape(len(rows), -1)
    data[at[:, None] + np.arange(raw.shape[1])] = raw


class PacketWriter:
    """Writes the packets of up to `connections` connections; remembers their sequence numbers and the time."""

    def __init__(self, write: Callable[[bytes], object], connections: int, server_port: int) -> None:
        if connections > PORTS * ADDRESSES:
            raise ValueError(f"connections is {connections}; expected {PORTS * ADDRESSES} at most")
        self._write = write
        self._server_port = server_port
        numbers = np.arange(connections)
        self._sent = {False: CLIENT_SEQ + numbers, True: SERVER_SEQ + numbers}
        self._count = 0
        write(FILE_HEADER)

    def write(self, packets: Packets) -> None:
        """Write packets after those before them."""
        sizes = packets.end - packets.start
        heads = np.zeros(len(sizes), HEADERS)
        self._fill_times(heads, sizes)
        self._fill_ip(heads, packets, sizes)
        self._fill_tcp(heads, packets, sizes)
        raw, data, step = heads.tobytes(), packets.data.data, HEADERS.itemsize
        ranges = zip(range(0, len(raw), step), packets.start.tolist(), packets.end.tolist(), strict=True)
        pieces: list[bytes | memoryview] = []
        for at, start, end in ranges:
            pieces += (raw[at : at + step], data[start:end])
        self._write(b"".join(pieces))
        self._count += len(sizes)

    def _fill_times(self, heads: Array, sizes: Array) -> None:
        micros = (self._count + np.arange(len(sizes))) * PACKET_INTERVAL_US
        heads["seconds"], heads["micros"] = START_TIME_S + micros // 1_000_000, micros % 1_000_000
        heads["captured"] = heads["length"] = LINK_BYTES + IP_BYTES + TCP_BYTES + sizes

    def _fill_ip(self, heads: Array, packets: Packets, sizes: Array) -> None:
        address, port = np.divmod(packets.connection, PORTS)
        client_ip, server_ip = 0x0A000001 + (address << 8), int.from_bytes(SERVER_IP, "big")
        is_server = packets.is_server
        heads["target_mac"] = np.where(is_server, CLIENT_MAC, SERVER_MAC)
        heads["source_mac"] = np.where(is_server, SERVER_MAC, CLIENT_MAC)
        heads["ether_type"], heads["version"], heads["fragment"] = 0x0800, 0x45, 0x4000
        heads["hops"], heads["ip_protocol"] = 64, 6
        heads["ip_bytes"] = IP_BYTES + TCP_BYTES + sizes
        heads["packet_id"] = (self._count + np.arange(len(sizes))) % 65_536
        heads["source_ip"] = np.where(is_server, server_ip, client_ip)
        heads["target_ip"] = np.where(is_server, client_ip, server_ip)
        client_port = CLIENT_PORT_FIRST + port
        heads["source_port"] = np.where(is_server, self._server_port, client_port)
        heads["target_port"] = np.where(is_server, client_port, self._server_port)
        words = heads.view(np.uint8).reshape(len(sizes), -1)[:, RECORD_BYTES + LINK_BYTES :][:, :IP_BYTES]
        pairs = words[:, 0::2].astype(np.int64) * 256 + words[:, 1::2]
        heads["ip_checksum"] = -pairs.sum(axis=1) % 0xFFFF

    def _fill_tcp(self, heads: Array, packets: Packets, sizes: Array) -> None:
        is_server, connection = packets.is_server, packets.connection
        advance = sizes + (packets.flags & (SYN | FIN) != 0)
        by_client = running_sums(connection, np.where(is_server, 0, advance), self._sent[False])
        by_server = running_sums(connection, np.where(is_server, advance, 0), self._sent[True])
        heads["seq"] = np.where(is_server, by_server, by_client) % 2**32
        heads["ack"] = np.where(packets.flags & ACK != 0, np.where(is_server, by_client, by_server), 0) % 2**32
        heads["data_offset"], heads["flags"], heads["window"] = TCP_BYTES // 4 << 4, packets.flags, 512
        heads["padding"], heads["option"], heads["option_bytes"] = 0x0101, 8, 10
        heads["clock"] = heads["echo"] = self._count + np.arange(len(sizes))
