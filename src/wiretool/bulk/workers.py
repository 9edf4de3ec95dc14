"""Reading in bulk by several processes: the same batches, made while packets are read and others are written."""

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, fields, replace
from functools import partial
from operator import attrgetter
from typing import Any

from wiretool.batches.batch import Batch
from wiretool.bulk.apart import apart, may_run_apart
from wiretool.bulk.read import BulkDissector, read_batches
from wiretool.capture.merging import read_packet_tables
from wiretool.capture.packet_counts import PacketCounts
from wiretool.capture.segments import SegmentTable, read_segment_tables
from wiretool.dissect import Source, paths_of
from wiretool.errors import CaptureError
from wiretool.ledger import Account, ConnectionAccount, Ledger

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
) -> Generator[Batch]:
    """What `read_batches` gives, read by up to so many processes, that of the caller among them.

    With two, the other one reads; with more, one reads packets and one frames. While the caller is busy with what it
    makes of the batches, the process that reads frames calls `finish` on some of them. The ledger is always that of the
    batches given out so far.
    """
    if workers < 2 or not may_run_apart():
        yield from read_batches(captures, protocol=protocol, ports=ports, ledger=ledger, notes=notes)
        return
    options = {"protocol": protocol, "ports": ports}
    has_packets_apart = workers >= PACKETS_WORKERS
    yield from _batches_apart(lambda: _steps(captures, has_packets_apart, options), ledger, notes, finish)


# -- packets -----------------------------------------------------------------------------------------------------------


def _read_tables(captures: Source | Sequence[Source], counts: PacketCounts) -> Generator[SegmentTable]:
    """Yield the segments of captures, read here."""
    yield from read_segment_tables(read_packet_tables(paths_of(captures)), counts)


def _tables_apart(captures: Source | Sequence[Source], counts: PacketCounts) -> Generator[SegmentTable]:
    """Yield the segments of captures, read in a process of their own; `counts` is kept up with them."""
    with closing(apart(lambda: _counted_tables(captures))) as steps:
        for table, now in steps:
            counts.replace_with(now)
            if table is not None:
                yield table
            del table  # what it holds is in memory that the other process waits for


def _counted_tables(captures: Source | Sequence[Source]) -> Iterator[tuple[SegmentTable | None, PacketCounts]]:
    """Yield the segments of captures with the counts up to them, and the counts at the end."""
    counts, failure = PacketCounts(), None
    try:
        for table in read_segment_tables(read_packet_tables(paths_of(captures)), counts):
            yield table, counts
            del table
    except CaptureError as err:
        failure = err
    yield None, counts
    if failure is not None:
        raise failure


# -- frames ------------------------------------------------------------------------------------------------------------


_counts_of = attrgetter(*(field.name for field in fields(Account)))


@dataclass(frozen=True, slots=True)
class _Step:
    """A batch, and what else its reading told: notes, and each account that changed. The last step may be an error."""

    batch: Batch | None
    notes: Sequence[str]
    accounts: Sequence[ConnectionAccount]
    packets: PacketCounts
    error: CaptureError | None = None


def _batches_apart(
    steps: Callable[[], Iterator[_Step]],
    ledger: Ledger | None,
    notes: Callable[[str], None] | None,
    finish: Callable[[Batch], Batch] | None,
) -> Iterator[Batch]:
    """The batches, read beside this process; ledger and notes are kept up with them."""
    book = ledger if ledger is not None else Ledger()
    tell = notes or (lambda text: None)
    rows: dict[int, int] = {}
    for step in apart(steps, finish=None if finish is None else partial(_finish, finish)):
        for account in step.accounts:
            place = rows.setdefault(account.connection, len(book.connections))
            book.connections[place : place + 1] = [account]
        book.packets = step.packets
        for note in step.notes:
            tell(note)
        if step.batch is not None:
            yield step.batch
        if step.error is not None:
            raise step.error
        del step  # what it holds is in memory that others wait for


def _finish(finish: Callable[[Batch], Batch], step: _Step) -> _Step:
    return step if step.batch is None else replace(step, batch=finish(step.batch))


def _steps(captures: Source | Sequence[Source], has_packets_apart: bool, options: Mapping[str, Any]) -> Iterator[_Step]:
    """What happens in the process that reads frames."""
    notes: list[str] = []
    changes = _Changes()
    dissector = BulkDissector(**options, ledger=changes.ledger, notes=notes.append)
    failure = None
    try:
        counts = changes.ledger.packets
        with closing((_tables_apart if has_packets_apart else _read_tables)(captures, counts)) as tables:
            for batch in dissector.batches(tables):
                said, notes[:] = tuple(notes), ()
                yield _Step(batch, said, changes.take(), changes.ledger.packets)
    except CaptureError as err:
        failure = err
    yield _Step(None, tuple(notes), changes.take(), changes.ledger.packets, failure)


class _Changes:
    """A ledger, and which of its accounts are not as they were last taken."""

    def __init__(self) -> None:
        self.ledger = Ledger()
        self._taken: dict[int, tuple[Any, ...]] = {}

    def take(self) -> list[ConnectionAccount]:
        """The accounts that changed."""
        changed = []
        for row in self.ledger.connections:
            now = row.protocol, *_counts_of(row.account)
            if self._taken.get(row.connection) != now:
                self._taken[row.connection] = now
                changed.append(row)
        return changed
