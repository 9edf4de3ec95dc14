"""Reading in bulk by several processes: the same batches, made while packets are read and others are written."""

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, fields, replace
from functools import partial
from itertools import zip_longest
from operator import attrgetter
from typing import Any

import numpy as np

from wiretool.batches.batch import Batch, Ends
from wiretool.capture.columns.segments import SegmentTable, read_segment_tables
from wiretool.capture.files.packet_counts import PacketCounts
from wiretool.capture.files.tables_of_files import read_packet_tables
from wiretool.capture.tls.keylog import KeyLog
from wiretool.codec.columns import Integers
from wiretool.dissect.columns.apart import apart, may_run_apart
from wiretool.dissect.columns.read import BulkDissector, read_batches
from wiretool.dissect.dissector import Source, paths_of
from wiretool.errors import CaptureError
from wiretool.ledger import Account, ConnectionAccount, Ledger
from wiretool.protocols.base.plugin_code import failures

#: With so many processes packets are read in one of their own too.
PACKETS_WORKERS = 3


def read_batches_by(
    workers: int,
    captures: Source | Sequence[Source],
    *,
    protocol: str = "auto",
    ports: Mapping[int, str] | None = None,
    ledger: Ledger | None = None,
    notes: Callable[[str], None] | None = None,
    finish: Callable[[Batch], Batch] | None = None,
    keys: KeyLog | None = None,
) -> Generator[Batch]:
    """What `read_batches` gives, read by up to so many processes, that of the caller among them.

    With two, the other one reads; with more, one reads packets and one frames. While the caller is busy with what it
    makes of the batches, the process that reads frames calls `finish` on some of them. The ledger is always that of the
    batches given out so far.
    """
    if workers < 2 or not may_run_apart():
        yield from read_batches(captures, protocol=protocol, ports=ports, ledger=ledger, notes=notes, keys=keys)
        return
    options = {"protocol": protocol, "ports": ports, "keys": KeyLog() if keys is None else keys}
    has_packets_apart = workers >= PACKETS_WORKERS
    yield from _batches_apart(lambda: _steps(captures, has_packets_apart, options), ledger, notes, finish)


# -- packets -----------------------------------------------------------------------------------------------------------


def _read_tables(captures: Source | Sequence[Source], counts: PacketCounts, keys: KeyLog) -> Generator[SegmentTable]:
    """Yield the segments of captures, read here; `keys` gets the secrets in them."""
    yield from read_segment_tables(read_packet_tables(paths_of(captures), keys), counts)


def _tables_apart(captures: Source | Sequence[Source], counts: PacketCounts, keys: KeyLog) -> Generator[SegmentTable]:
    """Yield the segments of captures, read in a process of their own; `counts` and `keys` are kept up with them."""
    with closing(apart(lambda: _counted_tables(captures, keys.report))) as steps:
        for table, now, secrets in steps:
            counts.replace_with(now)
            keys.add(secrets)
            if table is not None:
                yield table
            del table  # what it holds is in memory that the other process waits for


def _counted_tables(
    captures: Source | Sequence[Source], report: Callable[[str], None]
) -> Iterator[tuple[SegmentTable | None, PacketCounts, bytes]]:
    """Yield the segments of captures with the counts up to them and new TLS secrets, and the counts at the end.

    `report` takes the problems of secrets.
    """
    counts, keys, failure = PacketCounts(), KeyLog(report, keeps_new=True), None
    try:
        for table in read_segment_tables(read_packet_tables(paths_of(captures), keys), counts):
            yield table, counts, keys.take_new()
            del table
    except CaptureError as err:
        failure = err
    yield None, counts, b""
    if failure is not None:
        raise failure


# -- frames ------------------------------------------------------------------------------------------------------------


_counts_of = attrgetter(*(field.name for field in fields(Account)))
_names_of = attrgetter("protocol", "tls", "is_decrypted")


@dataclass(frozen=True, slots=True)
class _Step:
    """A batch, and what else its reading gave: notes, connections that appeared, and each account that changed.

    Of a connection nothing crosses twice that stays the same, as a batch may have very many of them. The last step may
    be an error.
    """

    batch: Batch | None
    notes: Sequence[str]
    #: Number, client and server of each.
    opened: Sequence[tuple[int, str, str]]
    #: Number, protocol and TLS of each, then its counts.
    changed: Sequence[tuple[Any, ...]]
    packets: PacketCounts
    error: CaptureError | None = None
    #: By run of the batch, the numbers of its connections, which the run does not have while it crosses.
    numbers: Sequence[Integers] = ()


def _batches_apart(
    steps: Callable[[], Iterator[_Step]],
    ledger: Ledger | None,
    notes: Callable[[str], None] | None,
    finish: Callable[[Batch], Batch] | None,
) -> Iterator[Batch]:
    """The batches, read beside this process; ledger and notes are kept up with them."""
    book = _Book(ledger if ledger is not None else Ledger())
    tell = notes or (lambda text: None)
    for step in apart(steps, finish=partial(_pack, finish)):
        book.update(step)
        for note in step.notes:
            tell(note)
        if step.batch is not None:
            yield book.unpack(step.batch, step.numbers)
        if step.error is not None:
            raise step.error
        del step  # what it holds is in memory that others wait for


def _pack(finish: Callable[[Batch], Batch] | None, step: _Step, is_ahead: bool) -> _Step:
    """Return a step as it crosses: its batch finished, if there is time for it, and without what is known there."""
    if step.batch is None:
        return step
    batch = finish(step.batch) if finish is not None and is_ahead else step.batch
    numbers = [np.array([each.connection for each in run.connections], np.int64) for run in batch.runs]
    runs = [replace(run, connections=()) for run in batch.runs]
    return replace(step, batch=replace(batch, runs=runs), numbers=numbers)


class _Book:
    """A ledger that is kept up with steps, and the ends of its connections."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._rows: dict[int, ConnectionAccount] = {}
        self._ends: dict[int, Ends] = {}

    def update(self, step: _Step) -> None:
        """Take over what has changed."""
        for number, client, server in step.opened:
            self._rows[number] = self._ledger.open(number, client, server)
            self._ends[number] = Ends(number, client, server)
        for number, protocol, tls, is_decrypted, *counts in step.changed:
            row = self._rows[number]
            row.protocol, row.tls, row.is_decrypted, row.account = protocol, tls, is_decrypted, Account(*counts)
        self._ledger.packets = step.packets

    def unpack(self, batch: Batch, numbers: Sequence[Integers]) -> Batch:
        """Return a batch with the connections of its runs."""
        runs = [
            replace(run, connections=[self._ends[number] for number in mine.tolist()])
            for run, mine in zip(batch.runs, numbers, strict=True)
        ]
        return replace(batch, runs=runs)


def _steps(captures: Source | Sequence[Source], has_packets_apart: bool, options: Mapping[str, Any]) -> Iterator[_Step]:
    """What happens in the process that reads frames."""
    notes: list[str] = []
    changes = _Changes()
    dissector = BulkDissector(**options, ledger=changes.ledger, notes=notes.append)
    failure = None
    try:
        counts = changes.ledger.packets
        with closing(
            (_tables_apart if has_packets_apart else _read_tables)(captures, counts, options["keys"])
        ) as tables:
            for batch in dissector.batches(tables):
                said, notes[:] = tuple(notes), ()
                yield _Step(batch, said, *changes.take(), changes.ledger.packets)
    except CaptureError as err:
        failure = err
    notes += (f"warning: {each}" for each in failures())
    yield _Step(None, tuple(notes), *changes.take(), changes.ledger.packets, failure)


class _Changes:
    """A ledger, and its accounts as they were last taken."""

    def __init__(self) -> None:
        self.ledger = Ledger()
        self._taken: list[tuple[Any, ...]] = []

    def take(self) -> tuple[Sequence[tuple[int, str, str]], Sequence[tuple[Any, ...]]]:
        """Return the connections that appeared, and the accounts that changed."""
        rows, before = self.ledger.connections, self._taken
        opened = [(row.connection, row.client, row.server) for row in rows[len(before) :]]
        self._taken = [(row.connection, *_names_of(row), *_counts_of(row.account)) for row in rows]
        return opened, [row for row, then in zip_longest(self._taken, before) if row != then]
