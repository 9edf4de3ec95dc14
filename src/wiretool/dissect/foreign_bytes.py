"""Bytes of protocols that wiretool does not read."""

from wiretool.capture.tcp.stream_events import Data


class ForeignBytes:
    """The bytes of one side of a connection with a protocol that is not read."""

    __slots__ = ("first_packet", "last_packet", "length", "offset", "time_ns")

    def __init__(self) -> None:
        self.length = self.offset = self.first_packet = self.last_packet = self.time_ns = 0

    def add(self, item: Data) -> None:
        """Count the bytes of an item."""
        if not self.length:
            self.offset, self.first_packet = item.offset, item.packet
        self.extend(len(item.data), item.packet, item.time_ns)

    def extend(self, size: int, packet: int, time_ns: int) -> None:
        """Count more bytes that follow, up to those of a packet."""
        self.length += size
        self.last_packet, self.time_ns = packet, time_ns
