"""Where the packets of flows stand in the captures, and how records of several flows count in each by itself."""

import numpy as np

from wiretool.codec.columns import NO_INTEGERS, Integers


class Places:
    """The file and the number in it of each packet; packets count up from 1."""

    def __init__(self) -> None:
        self._files: list[Integers] = [NO_INTEGERS]
        self._numbers: list[Integers] = [NO_INTEGERS]
        self._count = 0
        #: Single packets from before all of those, in order; and how many of them there were.
        self._kept, self._before = NO_INTEGERS, 0

    def add(self, files: Integers, numbers: Integers) -> Integers:
        """Take in the next packets, with their files' places among the inputs; by what they count here."""
        self._files.append(files)
        self._numbers.append(numbers)
        first, self._count = self._count + 1, self._count + len(files)
        return np.arange(first, self._count + 1)

    def keep(self, packets: Integers) -> None:
        """Forget all packets but these; what else is among them is no matter."""
        is_known = (packets > self._before) & (packets <= self._count)
        packets = np.unique(packets[is_known | np.isin(packets, self._kept)])
        self._files, self._numbers = [self.files(packets)], [self.numbers(packets)]
        self._kept, self._before = packets, self._count

    def files(self, packets: Integers) -> Integers:
        """The places of their files among the inputs."""
        return _joined(self._files)[self._rows(packets)]

    def numbers(self, packets: Integers) -> Integers:
        """Their numbers in those files, from 1."""
        return _joined(self._numbers)[self._rows(packets)]

    def _rows(self, packets: Integers) -> Integers:
        if not self._before:
            return packets - 1
        later = packets - self._before - 1 + len(self._kept)
        return np.where(packets > self._before, later, np.searchsorted(self._kept, packets))


def _joined(parts: list[Integers]) -> Integers:
    """The parts as one, also from now on."""
    if len(parts) > 1:
        parts[:] = [np.concatenate(parts)]
    return parts[0]


class Bases:
    """The numbers of records of several flows in one row, one flow behind the other."""

    def __init__(self, first: int = 1) -> None:
        """The numbers from the first on are of a flow in which that is number 1."""
        self._firsts = [first]

    def add(self, first: int) -> None:
        """Those from this one on are of the next flow."""
        self._firsts.append(first)

    @property
    def is_plain(self) -> bool:
        """Whether the numbers are those of one flow already."""
        return self._firsts == [1]

    def own(self, numbers: Integers, of: Integers) -> Integers:
        """Numbers as their flows count them; `of` are numbers of records of the same flows."""
        firsts = np.array(self._firsts, np.int64)
        return numbers - firsts[np.searchsorted(firsts, of, "right") - 1] + 1
