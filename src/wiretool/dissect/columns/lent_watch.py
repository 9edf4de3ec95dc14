"""A watch whose state others own for a while, in arrays."""

from collections.abc import Sequence
from typing import NamedTuple

from wiretool.codec.frames.splitter import Mark
from wiretool.codec.message import SIDES
from wiretool.dissect.connection import Watch


class Unfinished(NamedTuple):
    """The offset and extent of the unfinished frame of a side, its bytes, and when they came.

    `is_in_step`: the next byte that is held or comes is the first of a frame.
    """

    offset: int
    need: int
    rest: bytes
    marks: list[Mark]
    is_in_step: bool


class LentWatch(Watch):
    """Lends what whole frames change to who reads them together with those of other connections."""

    def lend(self) -> tuple[int, Sequence[Unfinished]]:
        """Return the latest packet in which a frame began, and what each side holds; `take_back` gets both again."""
        sides = []
        for side in SIDES:
            splitter = self._splitters[side]
            rest, marks = splitter.holds()
            sides.append(Unfinished(splitter.offset, splitter.wanted, rest, marks, splitter.is_in_step))
            if rest:
                splitter.pass_to(splitter.offset, b"", [], 0)
                self.note_unfinished()
        return self._latest_packet, sides

    def take_back(self, latest: int, sides: Sequence[Unfinished]) -> None:
        """Go on from what `lend` gave, after more bytes and frames were read."""
        self._latest_packet = latest
        has_rest = False
        for side, (offset, need, rest, marks, is_in_step) in zip(SIDES, sides, strict=True):
            if is_in_step:
                self._splitters[side].pass_to(offset, rest, marks, need)
                has_rest |= bool(rest)
        if has_rest:
            self.note_unfinished()

    def note_groups(self, numbers: Sequence[int], packets: Sequence[int]) -> None:
        """Note the first record and packet of each group of frames that was emitted together."""
        self._stretches.extend(numbers, packets)

    def count(self, payload_bytes: int, frames: int, frame_bytes: int) -> None:
        """Count bytes of flows, and frames that were read together with those of others."""
        self._account.payload_bytes += payload_bytes
        self._account.frames += frames
        self._account.frame_bytes += frame_bytes

    def note_latest(self, packet: int) -> None:
        """Note a packet in which a frame begins."""
        self._latest_packet = max(self._latest_packet, packet)
