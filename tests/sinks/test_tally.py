"""The ledger of what is shown, from both engines."""

from collections.abc import Iterator
from dataclasses import asdict
from itertools import islice
from operator import attrgetter
from pathlib import Path

import pytest

from tests.helpers.examples import needs_protocol
from wiretool.batches.batch import Batch
from wiretool.batches.rows import batch_of, records_of
from wiretool.dissect.columns.read import read_batches
from wiretool.dissect.dissector import read
from wiretool.errors import CaptureError
from wiretool.ledger import ConnectionAccount, Ledger
from wiretool.records import Record
from wiretool.sinks.tally import Tally

CAPTURES = Path(__file__).parents[2] / "captures"
#: With gaps, problems, other streams and several protocols.
SEVERAL = [
    CAPTURES / "pravega/py_bytestream.pcap",
    CAPTURES / "pravega/write.pcap",
    CAPTURES / "sbp/pd_malformed.pcap",
    CAPTURES / "sbp/mixed_noise.pcap",
    CAPTURES / "offramp/u2k_drop5.pcap",
]
names = pytest.mark.parametrize("path", SEVERAL, ids=lambda path: path.stem)


def by_rows(path: Path, count: int | None) -> tuple[list[Record], Ledger]:
    """So many records at most, and their ledger."""
    tally = Tally(may_stop=True)
    records = tally.records(read(path, ledger=tally.reading))
    return list(islice(records, count)), tally.shown


def by_columns(path: Path, count: int | None) -> tuple[list[Record], Ledger]:
    """The same."""
    tally = Tally(may_stop=True)
    batches = tally.batches(read_batches(path, ledger=tally.reading), count=count)
    return [record for batch in batches for record in records_of(batch)], tally.shown


def tiles(book: Ledger) -> bool:
    """Whether each byte is in one place."""
    total = book.total
    return total.payload_bytes == total.frame_bytes + total.problem_bytes + total.other_bytes


@names
@pytest.mark.parametrize("count", [1, 2, 17, 60])
def test_a_reading_that_stops_has_the_ledger_of_what_it_showed(path: Path, count: int) -> None:
    records, book = by_rows(path, count)
    others, of_columns = by_columns(path, count)
    assert [record.n for record in others] == [record.n for record in records] == list(range(1, len(records) + 1))
    assert of_columns.as_json() == book.as_json()
    frames = [record for record in records if record.kind == "frame"]
    assert (book.total.frames, book.total.frame_bytes) == (len(frames), sum(record.length for record in frames))
    assert tiles(book)


@names
def test_what_is_counted_is_what_the_reader_counts(path: Path) -> None:
    """Record by record and batch by batch, all but what no record is about: silent connections and repeated bytes."""
    reading = Ledger()
    one_by_one, many = Tally(may_stop=True), Tally(may_stop=True)
    for record in read(path, ledger=reading):
        one_by_one.add(record)
    for batch in read_batches(path):
        many.add_batch(batch)
    assert one_by_one.shown.as_json() == many.shown.as_json()
    for mine, theirs in zip(by_number(one_by_one.shown), by_number(reading), strict=True):
        assert (mine.connection, mine.client, mine.server) == (theirs.connection, theirs.client, theirs.server)
        assert mine.protocol == theirs.protocol
        assert asdict(mine.account) | {"duplicate_bytes": 0} == asdict(theirs.account) | {"duplicate_bytes": 0}


def by_number(book: Ledger) -> list[ConnectionAccount]:
    """The connections of which there are records, in order."""
    told = [row for row in book.connections if any((row.account.payload_bytes, row.account.problems, row.account.gaps))]
    return sorted(told, key=attrgetter("connection"))


@names
def test_where_all_is_read_it_is_the_ledger_of_the_reader(path: Path) -> None:
    reading = Ledger()
    count = sum(1 for _ in read(path, ledger=reading))
    for limit in (None, count + 1):
        assert by_rows(path, limit)[1].as_json() == reading.as_json()
        assert by_columns(path, limit)[1].as_json() == reading.as_json()


@needs_protocol("offramp")
def test_all_before_a_damage_was_read(tmp_path: Path) -> None:
    cut = tmp_path / "cut.pcap"
    cut.write_bytes(SEVERAL[1].read_bytes()[:-30])
    reading = Ledger()
    with pytest.raises(CaptureError):
        list(read(cut, ledger=reading))
    tally = Tally(may_stop=True)
    with pytest.raises(CaptureError):
        list(tally.records(read(cut, ledger=tally.reading)))
    assert tally.shown.as_json() == reading.as_json()
    tally = Tally(may_stop=True)
    with pytest.raises(CaptureError):
        list(tally.batches(read_batches(cut, ledger=tally.reading)))
    assert tally.shown.as_json() == reading.as_json()


@needs_protocol("offramp")
def test_where_nothing_stops_there_is_one_ledger() -> None:
    tally = Tally(may_stop=False)
    assert tally.shown is tally.reading
    records = list(read(SEVERAL[1]))
    assert list(tally.records(records)) == records
    assert tally.shown.connections == []


@needs_protocol("offramp")
def test_what_is_left_out_is_counted_up_to_the_last_that_is_shown() -> None:
    records = list(read(SEVERAL[1]))

    def odd(batch: Batch) -> Batch:
        kept = [record for record in records_of(batch) if record.n % 2]
        return Batch(batch.first_n, len(kept), (), kept)

    def several() -> Iterator[Batch]:
        for at in range(0, len(records), 10):
            yield batch_of(records[at : at + 10])

    tally = Tally(may_stop=True)
    shown = [record.n for batch in tally.batches(several(), keep=odd, count=12) for record in batch.records]
    assert shown == list(range(1, 24, 2))
    total = tally.shown.total
    assert total.frames + total.problems + total.gaps == 23
