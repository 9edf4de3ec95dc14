"""Reading in bulk by several processes: the same batches, made while others are written."""

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from typing import Any

from wiretool.batches.batch import Batch
from wiretool.bulk.apart import apart
from wiretool.bulk.read import BulkDissector, read_batches
from wiretool.capture.merging import read_packet_tables
from wiretool.capture.segments import SegmentTable, read_segment_tables
from wiretool.dissect import Source, paths_of
from wiretool.errors import CaptureError
from wiretool.ledger import ConnectionAccount, Ledger

#: With so many processes packets are read in one of their own too.
READING_WORKERS = 3


@dataclass(frozen=True, slots=True)
class _Step:
    """A batch, and what else its reading told: notes, and each account that changed. The last step may be an error."""

    batch: Batch | None
    notes: Sequence[str]
    accounts: Sequence[ConnectionAccount]
    error: CaptureError | None = None


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

    The ledger is always that of the batches given out so far.
    """
    if workers < 2:
        yield from read_batches(captures, protocol=protocol, ports=ports, ledger=ledger, notes=notes)
        return
    book = ledger if ledger is not None else Ledger()
    tell = notes or (lambda text: None)
    rows: dict[int, int] = {}
    for step in apart(lambda: _steps(workers, captures, protocol=protocol, ports=ports)):
        for account in step.accounts:
            place = rows.setdefault(account.connection, len(book.connections))
            book.connections[place : place + 1] = [account]
        for note in step.notes:
            tell(note)
        if step.batch is not None:
            yield step.batch
        if step.error is not None:
            raise step.error


def _steps(workers: int, captures: Source | Sequence[Source], **options: Any) -> Iterator[_Step]:
    """What happens in the reading process."""

    def tables() -> Iterator[SegmentTable]:
        return read_segment_tables(read_packet_tables(paths_of(captures)))

    notes: list[str] = []
    changes = _Changes()
    dissector = BulkDissector(**options, ledger=changes.ledger, notes=notes.append)
    failure = None
    try:
        for batch in dissector.batches(apart(tables) if workers >= READING_WORKERS else tables()):
            said, notes[:] = tuple(notes), ()
            yield _Step(batch, said, changes.take())
    except CaptureError as err:
        failure = err
    yield _Step(None, tuple(notes), changes.take(), failure)


class _Changes:
    """A ledger, and which of its accounts are not as they were last taken."""

    def __init__(self) -> None:
        self.ledger = Ledger()
        self._taken: dict[int, tuple[Any, ...]] = {}

    def take(self) -> list[ConnectionAccount]:
        """The accounts that changed."""
        changed = []
        for row in self.ledger.connections:
            now = row.protocol, *astuple(row.account)
            if self._taken.get(row.connection) != now:
                self._taken[row.connection] = now
                changed.append(row)
        return changed
