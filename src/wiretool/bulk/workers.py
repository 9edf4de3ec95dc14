"""Reading in bulk by several processes: the same batches, made while packets are read and others are written."""

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, fields
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

#: With so many processes frames are read in one of their own too.
FRAMES_WORKERS = 3


def read_batches_by(
    workers: int,
    captures: Source | Sequence[Source],
    *,
    protocol: str = "auto",
    ports: Mapping[int, str] | None = None,
    ledger: Ledger | None = None,
    notes: Callable[[str], None] | None = None,
) -> Generator[Batch]:
    """What `read_batches` gives, read by up to so many processes, that of the caller among them.

    With two, the other one reads packets; with more, one packets, one frames, and the caller has its own for what it
    makes of them. The ledger is always that of the batches given out so far.
    """
    if workers < 2 or not may_run_apart():
        yield from read_batches(captures, protocol=protocol, ports=ports, ledger=ledger, notes=notes)
    elif workers < FRAMES_WORKERS:
        ledger = Ledger() if ledger is None else ledger
        dissector = BulkDissector(protocol=protocol, ports=ports, ledger=ledger, notes=notes)
        with closing(_tables_apart(captures, ledger.packets)) as tables:
            yield from dissector.batches(tables)
    else:
        yield from _batches_apart(captures, ledger, notes, protocol=protocol, ports=ports)


# -- packets -----------------------------------------------------------------------------------------------------------


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
    captures: Source | Sequence[Source], ledger: Ledger | None, notes: Callable[[str], None] | None, **options: Any
) -> Iterator[Batch]:
    """The batches, read in two processes beside this one; ledger and notes are kept up with them."""
    book = ledger if ledger is not None else Ledger()
    tell = notes or (lambda text: None)
    rows: dict[int, int] = {}
    for step in apart(lambda: _steps(captures, **options)):
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


def _steps(captures: Source | Sequence[Source], **options: Any) -> Iterator[_Step]:
    """What happens in the process that reads frames."""
    notes: list[str] = []
    changes = _Changes()
    dissector = BulkDissector(**options, ledger=changes.ledger, notes=notes.append)
    failure = None
    try:
        with closing(_tables_apart(captures, changes.ledger.packets)) as tables:
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
