"""What a recording says of a load: who appended how much, how often, and how much of it was on the way at a time.

It is told batch by batch and keeps counts alone, however large the recording is.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, chain
from operator import itemgetter
from typing import Any

import numpy as np

from wiretool import limits
from wiretool.batches.batch import Batch, FrameRun
from wiretool.batches.rows import values_of
from wiretool.codec.columns import Integers
from wiretool.load.appended import Appended, appended_by, appended_in
from wiretool.load.flights import Credits, Flights, Tally
from wiretool.load.part import Consumption, LoadPart, load_part, loadable
from wiretool.protocols.base.columns import NO_REPLY, Group
from wiretool.records import Record

#: What happened in the record of a number: whom to tell, and what.
Step = tuple[int, Callable[..., None], tuple[Any, ...]]


@dataclass(slots=True)
class Seen:
    """What was seen of one protocol; where clients only read, an append is a message, a writer a consumer."""

    appends: int = 0
    first_ns: int = 0
    last_ns: int = 0
    #: Of appends: how many were conditional; sizes of their events; how many events each has, or how many messages
    #: each request asked for; how many of a writer, or messages of a consumer, were on the way.
    conditional: int = 0
    sizes: Tally = field(default_factory=Tally)
    counts: Tally = field(default_factory=Tally)
    depths: Tally = field(default_factory=Tally)
    #: Who and where, as far as `limits.STATS_ROWS_MAX` goes; the addresses of clients that append, and of those that
    #: read, with the first and the last time at which each did and how often.
    writers: set[str] = field(default_factory=set)
    segments: set[str] = field(default_factory=set)
    clients: set[str] = field(default_factory=set)
    readers: dict[str, tuple[int, int, int]] = field(default_factory=dict)
    #: Holes in connections of the protocol.
    gaps: int = 0

    def see(self, times_ns: Sequence[int]) -> None:
        """Count appends that were captured then."""
        if not times_ns:
            return
        first, last = min(times_ns), max(times_ns)
        self.first_ns, self.last_ns = (
            (min(first, self.first_ns), max(last, self.last_ns)) if self.appends else (first, last)
        )
        self.appends += len(times_ns)

    def add(self, appended: Appended, client: str) -> None:
        """Count appends of a client."""
        self.see(appended.times_ns)
        self.conditional += appended.conditional
        for count in appended.counts:
            self.counts.note(count)
        for size, times in appended.sizes:
            self.sizes.note(size, times)
        _note(self.clients, [client])
        _note(self.writers, set(appended.writers))
        _note(self.segments, appended.segments)

    def read(self, client: str, times_ns: Sequence[int]) -> None:
        """A client read then."""
        first, last, count = self.readers.get(client, (times_ns[0], times_ns[0], 0))
        if client in self.readers or len(self.readers) < limits.STATS_ROWS_MAX:
            self.readers[client] = min(first, *times_ns), max(last, *times_ns), count + len(times_ns)

    @property
    def readers_at_once(self) -> int:
        """How many read at the same time, at most: who comes again comes by another connection.

        One that appends and read a single time has looked where it goes on.
        """
        spans = [
            (first, last)
            for client, (first, last, count) in self.readers.items()
            if count > 1 or client not in self.clients
        ]
        steps = sorted([(first, -1) for first, _ in spans] + [(last, 1) for _, last in spans])
        return max(accumulate((-step for _, step in steps), initial=0))

    @property
    def span_s(self) -> float:
        """Seconds from the first append to the last."""
        return (self.last_ns - self.first_ns) / 1e9


def _note(known: set[str], names: Iterable[str]) -> None:
    for name in names:
        if len(known) < limits.STATS_ROWS_MAX:
            known.add(name)


class Recorded:
    """What was seen of each protocol that can be loaded; add every batch in order."""

    def __init__(self) -> None:
        self.seen: dict[str, Seen] = {}
        self._loadable = frozenset(loadable())
        self._parts: dict[str, LoadPart] = {}
        self._flights: dict[str, Flights] = {}
        self._credits = Credits()

    def add(self, batch: Batch) -> None:
        """Count what is in a batch."""
        known = self._loadable
        runs = chain.from_iterable(run.apart() for run in batch.runs if run.protocol in known)
        steps = [step for run in runs for step in self._run(run)]
        steps += [step for record in batch.records if record.protocol in known for step in self._record(record)]
        steps.sort(key=itemgetter(0))
        for _, tell, what in steps:
            tell(*what)

    def _of(self, protocol: str) -> tuple[LoadPart, Seen, Flights]:
        if protocol not in self.seen:
            part = self._parts[protocol] = load_part(protocol)
            flights = self._flights[protocol] = Flights(is_cumulative=part.is_cumulative)
            depths = self._credits.depths if part.is_read_only else flights.depths
            self.seen[protocol] = Seen(depths=depths)
        return self._parts[protocol], self.seen[protocol], self._flights[protocol]

    # -- many frames at once -------------------------------------------------------------------------------------------

    def _run(self, run: FrameRun) -> Iterator[Step]:
        part, seen, flights = self._of(run.protocol)
        for group in run.groups:
            numbers = run.frames.numbers[group.rows]
            if isinstance(part.recorded, Consumption):
                yield from self._read(run, group, part.recorded, seen, numbers)
                continue
            appended = appended_in(run, group, part)
            if appended is not None:
                seen.add(appended, run.connections[0].client)
                yield from _sent(flights, appended)
            elif group.name == part.read_message and len(group.rows) and not run.frames.is_server[group.rows[0]]:
                seen.read(run.connections[0].client, run.times[group.rows].tolist())
            if group.reply_to is not None:
                yield from _answered(flights, numbers, group.reply_to)

    def _read(self, run: FrameRun, group: Group, names: Consumption, seen: Seen, numbers: Integers) -> Iterator[Step]:
        times_ns = run.times[group.rows].tolist()
        if times_ns and group.name in (names.message, names.request):
            seen.read(run.connections[0].client, times_ns)
        if group.name == names.message:
            seen.see(times_ns)
            yield from ((n, self._credits.came, (run.connections[0].connection,)) for n in numbers.tolist())
        elif group.name == names.request:
            counts = values_of(group.columns[names.number], run.frames.data)
            yield from self._asked(seen, run.connections[0].connection, numbers.tolist(), counts)
        elif group.name == names.cancel:
            yield from ((n, self._credits.lose, (run.connections[0].connection,)) for n in numbers.tolist())

    # -- one by one ----------------------------------------------------------------------------------------------------

    def _record(self, record: Record) -> Iterator[Step]:
        part, seen, flights = self._of(record.protocol)
        if record.kind == "gap":
            seen.gaps += 1
            lose = self._credits.lose if part.is_read_only else flights.lose
            yield record.n, lose, (record.connection,)
        elif record.kind == "frame" and isinstance(part.recorded, Consumption):
            yield from self._read_one(record, part.recorded, seen)
        elif record.kind == "frame":
            yield from _appended_one(record, part, seen, flights)

    def _read_one(self, record: Record, names: Consumption, seen: Seen) -> Iterator[Step]:
        if record.message in (names.message, names.request):
            seen.read(record.client, [record.time_ns])
        if record.message == names.message:
            seen.see([record.time_ns])
            yield record.n, self._credits.came, (record.connection,)
        elif record.message == names.request:
            counts = [getattr(record.fields, names.number, None)]
            yield from self._asked(seen, record.connection, [record.n], counts)
        elif record.message == names.cancel:
            yield record.n, self._credits.lose, (record.connection,)

    def _asked(self, seen: Seen, connection: int, numbers: Sequence[int], counts: Sequence[Any]) -> Iterator[Step]:
        """Consumers ask for messages; a count that is none was told as a problem."""
        for n, count in zip(numbers, counts, strict=True):
            if isinstance(count, int) and count > 0:
                seen.counts.note(count)
                yield n, self._credits.asked, (connection, count)


def _appended_one(record: Record, part: LoadPart, seen: Seen, flights: Flights) -> Iterator[Step]:
    appended = appended_by(record, part)
    if appended is not None:
        seen.add(appended, record.client)
        yield from _sent(flights, appended)
    elif record.message == part.read_message and record.side == "client":
        seen.read(record.client, [record.time_ns])
    if record.reply_to is not None:
        yield record.n, flights.answered, (record.n, record.reply_to)


def _sent(flights: Flights, appended: Appended) -> Iterator[Step]:
    for n, writer in zip(appended.numbers, appended.writers, strict=True):
        yield n, flights.sent, (n, appended.connection, writer)


def _answered(flights: Flights, numbers: Integers, reply_to: Integers) -> Iterator[Step]:
    rows = np.flatnonzero(reply_to != NO_REPLY)
    for n, asked in zip(numbers[rows].tolist(), reply_to[rows].tolist(), strict=True):
        yield n, flights.answered, (n, asked)
