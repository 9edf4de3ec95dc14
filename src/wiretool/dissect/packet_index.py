"""When the last frames of a connection were told, for a reply that is told late, behind a hole."""

from array import array
from bisect import bisect_right
from collections.abc import Sequence

from wiretool import limits

#: So many are let go together.
TRIMMED = 64


class Stretches:
    """The last stretches of frames that were told together: the number of the first record of each, and its packet.

    The numbers grow. Kept in arrays: there is one for each connection, and thousands may be open.
    """

    __slots__ = ("_numbers", "_packets")

    def __init__(self) -> None:
        self._numbers = array("q")
        self._packets = array("q")

    def add(self, number: int, packet: int) -> None:
        """One more."""
        self._numbers.append(number)
        self._packets.append(packet)
        self._trim()

    def extend(self, numbers: Sequence[int], packets: Sequence[int]) -> None:
        """Some more."""
        self._numbers.extend(numbers)
        self._packets.extend(packets)
        self._trim()

    def packet_of(self, number: int) -> int:
        """The packet of an earlier record, or one shortly before it; 0 where that is long ago."""
        oldest = max(len(self._numbers) - limits.REMEMBERED_STRETCHES_MAX, 0)
        at = bisect_right(self._numbers, number, lo=oldest)
        return self._packets[at - 1] if at > oldest else 0

    def columns(self) -> tuple[Sequence[int], Sequence[int]]:
        """Numbers and packets of those that count."""
        most = limits.REMEMBERED_STRETCHES_MAX
        return self._numbers[-most:], self._packets[-most:]

    def _trim(self) -> None:
        if len(self._numbers) >= limits.REMEMBERED_STRETCHES_MAX + TRIMMED:
            del self._numbers[: -limits.REMEMBERED_STRETCHES_MAX]
            del self._packets[: -limits.REMEMBERED_STRETCHES_MAX]
