"""Makes a failing capture as small as possible: fewer packets, fewer bytes, same bucket."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from wiretool.fuzz.decoder.capture import ONE_TABLE_BYTES, STEP_NS, FuzzCapture, TcpPacket

#: Runs, and seconds, that the shrinking of one capture may take.
TRIES_MAX, SECONDS_MAX = 1500, 30.0
#: Payloads that are reduced byte by byte at the end.
BYTEWISE_MAX = 64

#: Returns whether a capture still shows the finding.
FailsStill = Callable[[FuzzCapture], bool]


class CaptureShrinker:
    """Shrinks one capture."""

    def __init__(self, fails: FailsStill, *, tries: int = TRIES_MAX) -> None:
        self._fails = fails
        self.tries_left = tries
        self._give_up_s = time.monotonic() + SECONDS_MAX

    def shrink(self, capture: FuzzCapture) -> FuzzCapture:
        """Return the smallest capture that was found."""
        before = None
        while before != capture and not self._is_over:
            before = capture
            capture = self._without_packets(capture)
            capture = self._without_bytes(capture)
        return self._tidied(capture)

    @property
    def _is_over(self) -> bool:
        return self.tries_left <= 0 or time.monotonic() > self._give_up_s

    def _is_failing(self, capture: FuzzCapture) -> bool:
        if self._is_over:
            return False
        self.tries_left -= 1
        return self._fails(capture)

    def _without_packets(self, capture: FuzzCapture) -> FuzzCapture:
        """Remove several packets at once, then single ones; the bytes after them move up, or leave a gap."""
        size = max(1, len(capture.packets) // 2)
        while size >= 1:
            at = 0
            while at < len(capture.packets):
                smaller = next((each for each in _removed(capture, at, at + size) if self._is_failing(each)), None)
                if smaller is None:
                    at += size
                else:
                    capture = smaller
            size //= 2
        return capture

    def _without_bytes(self, capture: FuzzCapture) -> FuzzCapture:
        """Remove payload bytes of single packets: halves first, single bytes of short ones last."""
        for index in range(len(capture.packets)):
            size = len(capture.packets[index].payload) // 2
            while size >= 1 and not self._is_over:
                capture = self._without_chunks(capture, index, size)
                left = len(capture.packets[index].payload)
                size = min(size // 2, left) if left <= BYTEWISE_MAX or size > 8 else 0
        return capture

    def _without_chunks(self, capture: FuzzCapture, index: int, size: int) -> FuzzCapture:
        at = 0
        while at < len(capture.packets[index].payload):
            smaller = _with_less_payload(capture, index, at, size)
            if self._is_failing(smaller):
                capture = smaller
            else:
                at += size
        return capture

    def _tidied(self, capture: FuzzCapture) -> FuzzCapture:
        """Use plain sequence numbers, one table, and no changes of the clock, where that shows the same."""
        for simplify in (_with_plain_clock, _with_plain_numbers, _in_one_table):
            simpler = simplify(capture)
            if simpler != capture and self._is_failing(simpler):
                capture = simpler
        return capture


def _with_plain_clock(capture: FuzzCapture) -> FuzzCapture:
    return replace(capture, packets=tuple(each._replace(step_ns=STEP_NS) for each in capture.packets))


def _with_plain_numbers(capture: FuzzCapture) -> FuzzCapture:
    return replace(capture, isn=(1000, 5000))


def _in_one_table(capture: FuzzCapture) -> FuzzCapture:
    return replace(capture, table_bytes=ONE_TABLE_BYTES)


def _removed(capture: FuzzCapture, start: int, stop: int) -> Iterator[FuzzCapture]:
    """Yield the capture without some packets: with the stream closed up, then with the gap that they leave."""
    gone, rest = capture.packets[start:stop], capture.packets[stop:]
    if any(each.payload for each in gone) and rest:
        moved = rest
        for packet in gone:
            moved = _moved_up(moved, packet, len(packet.payload))
        if moved != rest:
            yield replace(capture, packets=(*capture.packets[:start], *moved))
    yield replace(capture, packets=(*capture.packets[:start], *rest))


def _with_less_payload(capture: FuzzCapture, index: int, at: int, size: int) -> FuzzCapture:
    packet = capture.packets[index]
    payload = packet.payload[:at] + packet.payload[at + size :]
    smaller = packet._replace(payload=payload, cut=min(packet.cut, len(payload)))
    rest = _moved_up(capture.packets[index + 1 :], packet, len(packet.payload) - len(payload))
    return replace(capture, packets=(*capture.packets[:index], smaller, *rest))


def _moved_up(packets: Sequence[TcpPacket], before: TcpPacket, size: int) -> tuple[TcpPacket, ...]:
    """Return packets of which those that come after `before` in its stream begin `size` bytes earlier."""
    key = before.connection, before.side
    return tuple(
        each._replace(seq=each.seq - size) if (each.connection, each.side) == key and each.seq > before.seq else each
        for each in packets
    )
