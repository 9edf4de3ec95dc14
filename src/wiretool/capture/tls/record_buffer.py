"""The bytes of one side that are not read yet, with the packets that brought them, and the records in them."""

from collections import deque
from typing import NamedTuple

from wiretool.capture.tls.hello import RECORD_HEADER_BYTES, is_record_header

#: Bytes that are dropped from the front at once at least: dropping each record would move the rest of a long flow.
_DROP_BYTES = 64 * 1024


class Arrival(NamedTuple):
    """The packet that brought a byte, and its time."""

    packet: int
    time_ns: int


class _BufferedPacket(NamedTuple):
    """A packet, and how many bytes of the buffer there were with its own."""

    end: int
    arrival: Arrival


class RecordBuffer:
    """A window on the bytes of one side; places count from the first byte that is left."""

    def __init__(self) -> None:
        self._data = bytearray()
        self._at = 0
        #: Bytes before those in `_data`.
        self._dropped = 0
        self._packets: deque[_BufferedPacket] = deque()
        self._last = Arrival(0, 0)

    def __len__(self) -> int:
        return len(self._data) - self._at

    @property
    def first_ns(self) -> int:
        """Return when the first byte arrived that is left; when the last one did, if there is none."""
        end = self._dropped + self._at
        return next((each.arrival.time_ns for each in self._packets if each.end > end), self._last.time_ns)

    @property
    def completing_packet(self) -> int:
        """Return the packet that completes the next record, or the last one if none does."""
        end = self._dropped + self._at + self.record_length()
        return next((each.arrival.packet for each in self._packets if each.end >= end), self._last.packet)

    def append(self, data: bytes, packet: int, time_ns: int) -> None:
        """Add the next bytes."""
        self._data += data
        self._last = Arrival(packet, time_ns)
        self._packets.append(_BufferedPacket(self._dropped + len(self._data), self._last))

    def peek(self, size: int, at: int = 0) -> bytes:
        """Return bytes from a place on, as many of them as are there."""
        return bytes(self._data[self._at + at : self._at + at + size])

    def record_length(self, at: int = 0) -> int:
        """Return the length of the record at a place, with its header; 0 if none can stand there."""
        header = self.peek(RECORD_HEADER_BYTES, at)
        if len(header) < RECORD_HEADER_BYTES or not is_record_header(header, 0):
            return 0
        return RECORD_HEADER_BYTES + int.from_bytes(header[3:], "big")

    def find(self, pattern: bytes, at: int) -> int:
        """Return the first place of some bytes from a place on; -1 if there is none."""
        found = self._data.find(pattern, self._at + at)
        return found - self._at if found >= 0 else -1

    def skip(self, size: int) -> Arrival:
        """Take bytes off the front; return the packet of the last of them."""
        self._at += size
        end = self._dropped + self._at
        while self._packets and self._packets[0].end < end:
            self._packets.popleft()
        arrival = self._packets[0].arrival if self._packets and size else self._last
        if self._at == len(self._data) or self._at >= _DROP_BYTES:
            self._dropped += self._at
            del self._data[: self._at]
            self._at = 0
        return arrival
