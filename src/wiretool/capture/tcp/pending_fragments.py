"""Which IP fragments wait for others: what a reading must know of packets before it to put datagrams together."""

from collections.abc import Iterable

import numpy as np

from wiretool.capture.columns.segments import IPV4_BYTES, ip_starts
from wiretool.capture.files.packet_counts import PacketCounts
from wiretool.capture.files.tables import PacketTable
from wiretool.capture.index.split_points import Place
from wiretool.capture.packets import Packet
from wiretool.capture.tcp.fragments import Fragment, Fragments
from wiretool.capture.tcp.segments_of_packets import EXTENSIONS, TCP, segment_of
from wiretool.codec.columns import Bytes, Flags, Integers, gathered

#: The fragment offset of IPv4, and the flag that more follow.
FRAGMENT_MASK = 0x3FFF
_EXTENSIONS = np.array(sorted(EXTENSIONS), np.uint8)


def rows_with_fragments(table: PacketTable) -> Integers:
    """The packets among which all IP fragments are; those that are hard to tell at a glance are among them."""
    at = ip_starts(table)
    is_hard = (at < 0) & (table.lengths >= IPV4_BYTES)  # a shorter packet has no room for an IP header
    rows = np.flatnonzero(at >= 0)
    is_hard[rows[_may_be_fragments(table.data, at[rows])]] = True
    return np.flatnonzero(is_hard)


def _may_be_fragments(data: bytes, at: Integers) -> Flags:
    """Which of the IP packets at those places are fragments of TCP segments, or have further headers in IPv6."""
    if not len(at):
        return np.zeros(0, np.bool_)
    view: Bytes = np.frombuffer(data, np.uint8)
    version = view[at] >> 4
    is_piece: Flags = (version == 4) & (gathered(data, at + 6, ">u2") & FRAGMENT_MASK != 0)
    if (version == 6).any():
        is_piece |= (version == 6) & np.isin(view[at + 6], _EXTENSIONS)
    if is_piece.any():
        is_piece &= (version == 6) | (view[at + 9] == TCP)
    return is_piece


class Waiting(Fragments):
    """Fragments as the reading puts them together, and where the packets stand of those that wait."""

    def __init__(self) -> None:
        super().__init__()
        self._counts = PacketCounts()
        self._place = Place(0, 0, 0, 0, 0)
        #: By datagram.
        self._places: dict[tuple[bytes, int], list[Place]] = {}
        #: How many wait.
        self.count = 0

    def take(self, packet: Packet, place: Place) -> None:
        """Look at a packet that may be a fragment."""
        self._place = place
        segment_of(packet, self, self._counts)

    def take_rows(self, table: PacketTable, base: int, rows: Iterable[int]) -> None:
        """Look at packets of a table whose data stands at `base` in the file."""
        for row in rows:
            packet = table.packet(row)
            at = base + int(table.starts[row])
            self.take(packet, Place(at, len(packet.data), packet.length, packet.time_ns, packet.link_type))

    def add(self, fragment: Fragment) -> tuple[int, bytes] | None:
        """As Fragments, and note where it stands as long as it waits."""
        whole = super().add(fragment)
        if fragment.key in self._datagrams:
            self._places.setdefault(fragment.key, []).append(self._place)
            self.count += 1
        else:
            self._forget(fragment.key)
        return whole

    def _give_up(self, key: tuple[bytes, int]) -> None:
        super()._give_up(key)
        self._forget(key)

    def _forget(self, key: tuple[bytes, int]) -> None:
        self.count -= len(self._places.pop(key, ()))

    def places(self) -> tuple[Place, ...]:
        """Of those that wait, in the order of the file."""
        return tuple(sorted(place for places in self._places.values() for place in places))
