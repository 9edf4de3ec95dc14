"""The connections of one replay."""

import itertools
import random
from collections.abc import Callable, Iterator, Mapping
from math import inf

from wiretool import limits
from wiretool.analysis.dialogues import Dialogue
from wiretool.faults.live import LiveWatch
from wiretool.memory_budget import MemoryBudget
from wiretool.replay.adapter import ReplayAdapter
from wiretool.replay.playing.connection import Line
from wiretool.replay.playing.deferred import Later
from wiretool.replay.playing.id_map import Values
from wiretool.units import size_text


class Lines:
    """The lines by number and by recorded connection. `out` sends bytes on the connection of a number."""

    def __init__(
        self,
        adapters: Mapping[str, ReplayAdapter],
        values: Values,
        later: Later,
        *,
        seed: int,
        numbers: Iterator[int],
        out: Callable[[int, bytes], None],
    ) -> None:
        """Connections have the next of `numbers`, which several replays may share."""
        self._adapters = adapters
        self._values = values
        self._later = later
        self._seed = seed
        self._numbers = numbers
        self._out = out
        self._records = itertools.count(1)
        self.by_number: dict[int, Line] = {}
        self.number_of: dict[Dialogue, int] = {}
        #: From which record on a connection is not replayed as it was, since not all was asked for.
        self.unsaid_from: dict[Dialogue, int] = {}
        #: What these hold of unfinished frames of servers, in bytes.
        self._held: MemoryBudget[int] = MemoryBudget(limits.UNFINISHED_BYTES_MAX)

    def of(self, recorded: Dialogue) -> Line:
        """Return the line of a recorded connection, which has one."""
        return self.by_number[self.number_of[recorded]]

    def add(self, recorded: Dialogue, now_ns: int) -> int:
        """Add a line for a recorded connection, and return its number."""
        number = next(self._numbers)
        adapter = self._adapters[recorded.protocol]
        watch = LiveWatch(number, adapter.protocol, recorded.client, recorded.server, now_ns, self._records.__next__)
        rng = random.Random(f"{self._seed}/replay/{number}")

        def out(data: bytes) -> None:
            self._out(number, data)

        line = self.by_number[number] = Line(recorded, adapter, self._values, watch, out, rng, self._later)
        line.unsaid_from = self.unsaid_from.get(recorded, inf)
        self.number_of[recorded] = number
        return number

    def cut_excess(self, connection: int) -> Iterator[int]:
        """Yield the connections that are cut since the largest unfinished frames on all take too much memory.

        What the server sent on `connection` is counted first.
        """
        self._held.note(connection, self.by_number[connection].unfinished_cost)
        for number in self._held.excess():
            most = f"unfinished frames of more than {size_text(limits.UNFINISHED_BYTES_MAX)} on all connections"
            self.by_number[number].cut(f"the server sends {most}: the connection was closed")
            self._held.note(number, 0)
            yield number
