"""Numbers for records that are not emitted in their order: provisional ones first, the final ones with their batch."""

import zlib
from bisect import bisect_right
from collections.abc import Sequence

import numpy as np

from wiretool.codec.columns import NO_INTEGERS, Integers, begins_of

#: A provisional number is the packet at which a record is emitted, its rank there, and its place after a frame: the
#: defects of one stand after it. They grow in the order of the final ones.
PACKET_SHIFT, RANK_SHIFT = 32, 8
RANK_MASK, PLACE_MASK = (1 << (PACKET_SHIFT - RANK_SHIFT)) - 1, (1 << RANK_SHIFT) - 1
#: Batches whose numbers are kept as they are; those of older ones, which few ask for, are packed.
BATCHES_OPEN = 8
_NOTHING = (NO_INTEGERS, NO_INTEGERS)


class Numbers:
    """Gives provisional numbers, and turns them into final ones, which count from 1."""

    def __init__(self) -> None:
        #: The number of the next record.
        self.next = 0
        self._step = 1 << RANK_SHIFT
        self._last = 0
        #: The packet at which records were emitted last, and the first number of it that is free.
        self._packet, self._free = 0, 0
        #: The same of packets at which more records will be emitted, after those of others.
        self._left: dict[int, int] = {}
        self._count = 0
        self._settled: list[Settled] = []
        self._firsts: list[int] = []

    @property
    def count(self) -> int:
        """The last of the final numbers so far."""
        return self._count

    def at_packet(self, number: int) -> None:
        """Emit the next records at this packet, after earlier ones of it."""
        self.next, self._step, self._last = self.first_free(number), 1 << RANK_SHIFT, 1 << 63
        self._turn_to(number, self.next)

    def at_frame(self, provisional: int) -> None:
        """Emit a frame with that number next, and its defects after it."""
        self.next, self._step, self._last = provisional, 1, provisional | PLACE_MASK

    def take(self) -> int:
        """The number of the next record."""
        number = self.next
        self.next = min(number + self._step, self._last)
        if self._step > 1:
            self._free = self.next
        return number

    def leave(self, packet: int) -> None:
        """Expect more records at this packet, though not next."""
        self._left[packet] = self.first_free(packet)

    def leave_frames(self, numbers: Integers, packets: Integers) -> None:
        """Expect more records at these packets, beside the frames with these numbers; both grow."""
        if not len(numbers):
            return
        last = np.searchsorted(numbers, packets + 1 << PACKET_SHIFT) - 1
        is_there = (last >= 0) & (numbers[last] >> PACKET_SHIFT == packets)
        for packet, number in zip(packets[is_there].tolist(), numbers[last[is_there]].tolist(), strict=True):
            self._left[packet] = (number | PLACE_MASK) + 1

    def _turn_to(self, packet: int, free: int) -> None:
        """Emit records at a packet from now on, of which a number is the first free one."""
        if self._packet in self._left:
            self._left[self._packet] = max(self._left[self._packet], self._free)
        self._packet, self._free = packet, free

    def first_free(self, packet: int) -> int:
        """Return the number of the next record emitted at a packet: the last one, one left, or a later one."""
        return self._free if packet == self._packet else self._left.get(packet, packet << PACKET_SHIFT)

    def begun(self, first: int, last: int) -> list[int]:
        """Return the packets among these at which records were emitted."""
        return [packet for packet in {self._packet, *self._left} if first <= packet <= last]

    def used_to(self, provisional: int) -> None:
        """Note that frames were emitted up to this number."""
        self._turn_to(provisional >> PACKET_SHIFT, (provisional | PLACE_MASK) + 1)

    def settle(self, provisional: Integers) -> tuple[int, Integers]:
        """The first of the final numbers of all records of a batch, and that of each; what comes has later ones."""
        if self._left:
            last = int(provisional.max(initial=0))
            self._left = {packet: free for packet, free in self._left.items() if free > last}
        first = self._count + 1
        numbers = np.arange(first, first + len(provisional))
        if (provisional[1:] < provisional[:-1]).any():
            order, in_order = np.argsort(provisional, kind="stable"), numbers
            numbers = np.empty(len(provisional), np.int64)
            numbers[order] = in_order
            provisional = provisional[order]
        self._count += len(provisional)
        if len(provisional):
            self._firsts.append(int(provisional[0]))
            self._settled.append(Settled(provisional, first))
            for old in self._settled[-BATCHES_OPEN - 1 : -BATCHES_OPEN]:
                old.pack()
        return first, numbers

    def keep(self, provisional: Integers) -> None:
        """Forget the final numbers of all frames that were settled but these; what else is among them is no matter."""
        wanted = np.unique(provisional)
        places = np.searchsorted(np.array(self._firsts, np.int64), wanted, "right")
        found = [_NOTHING] + [
            each.among(wanted[places == place])
            for place, each in enumerate(self._settled, 1)
            if (places == place).any()
        ]
        kept, numbers = (np.concatenate(column) for column in zip(*found, strict=True))
        self._firsts, self._settled = [], []
        if len(kept):
            self._firsts, self._settled = [int(kept[0])], [Settled.of(kept, numbers)]

    def final(self, provisional: Integers) -> Integers:
        """The final numbers of frames that were settled."""
        out = np.zeros(len(provisional), np.int64)
        if not len(provisional):
            return out
        oldest, latest = bisect_right(self._firsts, provisional.min()), bisect_right(self._firsts, provisional.max())
        if oldest == latest:
            return self._settled[latest - 1].final(provisional)
        batch_of = np.searchsorted(np.array(self._firsts), provisional, "right")
        for batch in np.unique(batch_of).tolist():
            mine = np.flatnonzero(batch_of == batch)
            out[mine] = self._settled[batch - 1].final(provisional[mine])
        return out


class Settled:
    """The numbers of one batch: per packet its first, and single ones where they do not just count up."""

    def __init__(self, provisional: Integers, first: int) -> None:
        packets = provisional >> PACKET_SHIFT
        starts = begins_of(packets)
        packets = packets[starts]
        base = (packets << PACKET_SHIFT) - (starts << RANK_SHIFT)
        plain = np.repeat(base, np.diff(starts, append=len(provisional)))
        plain += np.arange(0, len(provisional) << RANK_SHIFT, 1 << RANK_SHIFT)
        odd = np.flatnonzero(provisional != plain)
        self._arrays: Sequence[Integers] | None = (packets, first + starts, provisional[odd], first + odd)
        self._packed: Sequence[bytes] = ()

    @classmethod
    def of(cls, provisional: Integers, numbers: Integers) -> "Settled":
        """Single frames, in order, with their final numbers."""
        settled = cls(NO_INTEGERS, 0)
        packets = np.unique(provisional >> PACKET_SHIFT)
        settled._arrays = (packets, np.zeros(len(packets), np.int64), provisional, numbers)
        return settled

    def among(self, provisional: Integers) -> tuple[Integers, Integers]:
        """Those of the numbers, in order, that are of packets here, and their final ones."""
        mine = provisional[np.isin(provisional >> PACKET_SHIFT, self._unpacked()[0])]
        return mine, self.final(mine)

    def pack(self) -> None:
        """Keep it in little memory; what asks for it again takes longer."""
        assert self._arrays is not None
        self._packed = [zlib.compress(np.diff(array, prepend=0).tobytes(), 1) for array in self._arrays]
        self._arrays = None

    def _unpacked(self) -> Sequence[Integers]:
        if self._arrays is not None:
            return self._arrays
        return [np.cumsum(np.frombuffer(zlib.decompress(packed), np.int64)) for packed in self._packed]

    def final(self, provisional: Integers) -> Integers:
        packets, firsts, odd, odd_numbers = self._unpacked()
        at = np.searchsorted(packets, provisional >> PACKET_SHIFT)
        numbers: Integers = firsts[at] + (provisional >> RANK_SHIFT & RANK_MASK)
        if len(odd):
            place = np.minimum(np.searchsorted(odd, provisional), len(odd) - 1)
            numbers = np.where(odd[place] == provisional, odd_numbers[place], numbers)
        return numbers
