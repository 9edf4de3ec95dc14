"""Finds connections whose protocol has columns: `capture/columns/streams.py` reads only these together."""

from wiretool.capture.tcp.stream_events import Connection, Side
from wiretool.dissect.columns.recognition import can_recognise
from wiretool.dissect.columns.watch import BulkWatch
from wiretool.dissect.dissector import Connections
from wiretool.protocols.base.columns import columns_of


class ColumnProtocols:
    """The protocols with columns among those that are expected or in use, by the keys of flows."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def is_start(self, key: bytes, side: Side, data: bytes) -> bool:
        """Return whether a first payload, or some first ones, prove a protocol whose connections are read together."""
        ports = _ports_of(key)
        if can_recognise(self._connections.expected_on(*ports)):
            return True
        protocol = self._connections.protocol_of_start(*ports, side, data)
        return protocol is not None and columns_of(protocol) is not None

    def is_expected(self, key: bytes) -> bool:
        """Return whether a protocol with columns is expected on the ports of a connection, by its client's flow."""
        expected = self._connections.expected_on(*_ports_of(key))
        return bool(expected) and columns_of(expected[0]) is not None

    def is_single(self, key: bytes, connection: Connection | None) -> bool:
        """Return whether the protocol of a connection has no columns, or of a new one each that is expected."""
        watch = None if connection is None else connection.reader
        if watch is not None:
            return isinstance(watch, BulkWatch) and watch.is_single
        ports = _ports_of(key)
        expected = self._connections.expected_on(*ports) or self._connections.expected_on(*ports[::-1])
        return bool(expected) and all(columns_of(protocol) is None for protocol in expected)


def _ports_of(key: bytes) -> tuple[int, int]:
    """Return the ports of sender and receiver in the key of a flow."""
    return int.from_bytes(key[-4:-2], "big"), int.from_bytes(key[-2:], "big")
