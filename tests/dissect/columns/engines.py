"""Both ways through a capture, row by row and in columns, and what each of them gives."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import Any, BinaryIO, NamedTuple

import pytest

from wiretool import limits
from wiretool.batches.batch import Batch
from wiretool.batches.rows import records_of
from wiretool.capture.files import tables
from wiretool.dissect.columns.read import read_batches
from wiretool.dissect.dissector import Source, read
from wiretool.errors import CaptureError
from wiretool.ledger import Ledger
from wiretool.records import Record


class Outcome(NamedTuple):
    """All that a reading gives: records, the damage that ended it, the ledger, and what was noted."""

    records: Sequence[Record]
    failure: tuple[str, str, int | None] | None
    ledger: Any
    notes: Sequence[str]


def by_rows(captures: Source | Sequence[Source], **options: Any) -> Outcome:
    """What the row path gives."""
    return _outcome(lambda **told: read(captures, **told), options)


def by_columns(captures: Source | Sequence[Source], **options: Any) -> Outcome:
    """What the column path gives, as records again; checks that the batches number them without a hole."""
    return _outcome(lambda **told: chain.from_iterable(_checked(read_batches(captures, **told))), options)


def _checked(batches: Iterable[Batch]) -> Iterator[list[Record]]:
    first = 1
    for batch in batches:
        records = records_of(batch)
        assert [record.n for record in records] == list(range(first, first + batch.count))
        assert batch.first_n == first
        first += batch.count
        yield records


def _outcome(reading: Callable[..., Iterable[Record]], options: dict[str, Any]) -> Outcome:
    ledger, notes, records = Ledger(), list[str](), list[Record]()
    failure = None
    try:
        for record in reading(ledger=ledger, notes=notes.append, **options):
            records.append(record)
    except CaptureError as err:
        failure = str(err), err.why, err.offset
    return Outcome(records, failure, ledger.as_json(), notes)


def rewound(streams: Sequence[BinaryIO]) -> list[BinaryIO]:
    """The streams, each at its beginning."""
    for stream in streams:
        stream.seek(0)
    return list(streams)


def assert_equal(columns: Outcome, rows: Outcome) -> None:
    """AssertionError at the first record, or count, in which the two differ."""
    if columns.records != rows.records:
        for column, row in zip(columns.records, rows.records, strict=False):
            assert column == row
    assert len(columns.records) == len(rows.records)
    assert columns.failure == rows.failure
    assert columns.ledger == rows.ledger
    assert columns.notes == rows.notes


@contextmanager
def table_packets(count: int) -> Iterator[None]:
    """Tables of so many packets at most."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tables, "TABLE_PACKETS", count)
        yield


@contextmanager
def small_batches() -> Iterator[None]:
    """Batches that end at the first record read by itself, or message that is packed, wherever they can."""
    with pytest.MonkeyPatch.context() as patch:
        for name, most in (("BATCH_RECORDS_MAX", 2), ("BATCH_ITEMS_MAX", 2), ("BATCH_BYTES_MAX", 40_000)):
            patch.setattr(limits, name, most)
        yield
