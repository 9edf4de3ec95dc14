"""Statistics of batches are those of their records, row for row, however little is remembered."""

from io import BytesIO
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.analysis.engines import by_columns, by_rows, numbers_of
from tests.bench.columns.captures import Recipe, write_by_packets, write_in_arrays
from tests.bench.pravega_appends import make_capture
from tests.dissect.columns.made import FORMS, HARMS, Spoken, any_spoken, files_of, packets_made
from tests.helpers.records import a_record
from wiretool import limits
from wiretool.analysis import stats_bulk
from wiretool.analysis.stats import OTHERS, ConnectionRow, Stats
from wiretool.analysis.stats_bulk import BatchCounter
from wiretool.batches.rows import batch_of, records_of
from wiretool.capture.files import tables
from wiretool.dissect.columns.read import read_batches
from wiretool.records import Record

#: Packets of a table: one for a whole capture, and so few that most requests and replies are in several.
MANY, FEW = 65_536, 50


def test_captures(own_capture: tuple[Path, Path | None], monkeypatch: pytest.MonkeyPatch) -> None:
    rows = by_rows(own_capture[0])
    for count in (MANY, FEW):
        monkeypatch.setattr(tables, "TABLE_PACKETS", count)
        assert by_columns(own_capture[0]) == rows


@pytest.mark.parametrize("count", [MANY, 1000, FEW])
@pytest.mark.parametrize(("connections", "frames", "events"), [(1, 6, 1), (3, 1, 2), (40, 20, 1)])
def test_appends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int, connections: int, frames: int, events: int
) -> None:
    path = tmp_path / "made.pcap"
    make_capture(path, 2000, frames, 40, events, connections=connections)
    monkeypatch.setattr(tables, "TABLE_PACKETS", count)
    assert by_columns(path) == by_rows(path)


@pytest.mark.parametrize("joined", [1, 700, 1_000_000])
@pytest.mark.parametrize("small", [{}, {"REQUESTS_OPEN_MAX": 300, "STATS_ROWS_MAX": 4}])
def test_joined_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, joined: int, small: dict[str, int]) -> None:
    """However many batches are counted together, the numbers are the same."""
    path = tmp_path / "made.pcap"
    make_capture(path, 2000, 3, 40, 1, connections=7)
    for name, most in small.items():
        monkeypatch.setattr(limits, name, most)
    monkeypatch.setattr(tables, "TABLE_PACKETS", FEW)
    monkeypatch.setattr(stats_bulk, "JOINED_RECORDS", joined)
    stats = Stats()
    counter = BatchCounter(stats)
    for batch in read_batches(path):
        counter.add(batch)
    counter.flush()
    assert numbers_of(stats) == by_rows(path)


@pytest.mark.parametrize("count", [MANY, FEW])
@pytest.mark.parametrize(
    "small",
    [
        {"REQUESTS_OPEN_MAX": 1},
        {"REQUESTS_OPEN_MAX": 37},
        {"REQUESTS_OPEN_MAX": 300},
        {"STATS_ROWS_MAX": 1},
        {"STATS_ROWS_MAX": 3},
        {"CONNECTIONS_MAX": 2},
        {"REQUESTS_OPEN_MAX": 50, "STATS_ROWS_MAX": 4, "CONNECTIONS_MAX": 4},
    ],
)
def test_little_is_remembered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int, small: dict[str, int]
) -> None:
    """The limits are those of statistics alone: both ways read the same records."""
    path = tmp_path / "made.pcap"
    make_capture(path, 1200, 9, 40, 1, connections=6)
    monkeypatch.setattr(tables, "TABLE_PACKETS", count)
    batches = list(read_batches(path))
    for name, value in small.items():
        monkeypatch.setattr(limits, name, value)
    rows, columns = Stats(), Stats()
    counter = BatchCounter(columns)
    for batch in batches:
        counter.add(batch)
        counter.flush()
        rows.add_all(records_of(batch))
    assert columns.as_json() == rows.as_json()
    assert columns.about.known == rows.about.known
    assert list(columns.about.known) == list(rows.about.known)
    assert len(rows.messages) <= limits.STATS_ROWS_MAX + 2
    if limits.STATS_ROWS_MAX < 6:
        assert OTHERS in rows.connections


@given(
    connections=st.lists(any_spoken(each=(1, 9, 40), mtu=(536, 1460, 30_000), troubles_max=2), min_size=1, max_size=4),
    harms=st.frozensets(st.sampled_from(HARMS), max_size=2),
    form=st.sampled_from(FORMS),
    count=st.sampled_from([MANY, FEW]),
    seed=st.integers(0, 2**32),
)
def test_made_captures(connections: list[Spoken], harms: frozenset[str], form: str, count: int, seed: int) -> None:
    raw = files_of(packets_made(connections, harms, seed), form, seed)
    rows = by_rows([BytesIO(each) for each in raw])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tables, "TABLE_PACKETS", count)
        assert by_columns([BytesIO(each) for each in raw]) == rows


def write_many(path: Path, kind: str, connections: int) -> None:
    """Write a capture of connections with frames of a few packets each, in turn."""
    match kind:
        case "short" | "appends":
            with path.open("wb") as file:
                write_in_arrays(file, Recipe(kind, connections, connections * (1 if kind == "short" else 6)))
        case _:
            write_by_packets(path, Recipe(kind, connections, connections * 6))


@pytest.mark.parametrize("kind", ["short", "appends", "sbp", "mixed-sbp"])
@pytest.mark.parametrize(
    "small",
    [
        {},
        {"CONNECTIONS_MAX": 40},
        {"REQUESTS_OPEN_MAX": 30, "STATS_ROWS_MAX": 50, "CONNECTIONS_MAX": 7},
    ],
)
def test_many_connections_and_many_flushes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, small: dict[str, int]
) -> None:
    """Rows that get their numbers after each part of the batches, or at the end, are those of records one by one."""
    path = tmp_path / "many.pcap"
    write_many(path, kind, 80)
    monkeypatch.setattr(tables, "TABLE_PACKETS", 60)
    batches = list(read_batches(path))
    assert len(batches) > 5
    for name, value in small.items():
        monkeypatch.setattr(limits, name, value)
    rows = Stats()
    for batch in batches:
        rows.add_all(records_of(batch))
    for joined, is_flushed in ((1, True), (1, False), (400, False), (1_000_000, False)):
        monkeypatch.setattr(stats_bulk, "JOINED_RECORDS", joined)
        columns = Stats()
        counter = BatchCounter(columns)
        for batch in batches:
            counter.add(batch)
            if is_flushed:
                counter.flush()
        counter.flush()
        assert numbers_of(columns) == numbers_of(rows)
    assert rows.total.replies.count


def test_a_connection_costs_a_row_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither batches nor keys that are forgotten make it more."""
    path = tmp_path / "many.pcap"
    write_many(path, "appends", 100)
    monkeypatch.setattr(tables, "TABLE_PACKETS", 60)
    batches = list(read_batches(path))
    monkeypatch.setattr(limits, "CONNECTIONS_MAX", 9)
    monkeypatch.setattr(stats_bulk, "JOINED_RECORDS", 1)
    asked: list[int] = []
    connection_row = Stats.connection_row

    def counted_row(stats: Stats, number: int, *names: str) -> ConnectionRow:
        asked.append(number)
        return connection_row(stats, number, *names)

    monkeypatch.setattr(Stats, "connection_row", counted_row)
    counter = BatchCounter(Stats())
    for batch in batches:
        counter.add(batch)
    counter.flush()
    assert len(batches) > 9
    assert sorted(asked) == list(range(100))


def test_a_row_has_the_first_protocol_that_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also the one of all connections that have no row of their own."""
    monkeypatch.setattr(limits, "STATS_ROWS_MAX", 1)
    problem = {"kind": "problem", "message": "", "fields": {}, "length": 3}
    records = [
        a_record(n=1, connection=0, protocol="", **problem),
        a_record(n=2, connection=1, protocol="", **problem),
        a_record(n=3, connection=2, protocol="sbp", **problem),
        a_record(n=4, connection=1, protocol="pravega"),
        a_record(n=5, connection=0, protocol="pravega"),
    ]
    rows, columns = Stats(), Stats()
    rows.add_all(records)
    counter = BatchCounter(columns)
    counter.add(batch_of(records[:2]))
    counter.flush()
    counter.add(batch_of(records[2:]))
    counter.flush()
    assert columns.as_json() == rows.as_json()
    assert [row.protocol for row in columns.connections.values()] == ["pravega", "sbp"]


def test_appends_are_counted_as_arrays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is made into records again where nothing is out of the ordinary."""
    path = tmp_path / "made.pcap"
    frames = make_capture(path, 2000, 6, 40, 1, connections=2)
    singles = list[int]()
    add = Stats.add

    def add_one(stats: Stats, record: Record) -> None:
        singles.append(record.n)
        add(stats, record)

    monkeypatch.setattr(Stats, "add", add_one)
    stats = Stats()
    counter = BatchCounter(stats)
    for batch in read_batches(path):
        counter.add(batch)
    counter.flush()
    assert stats.total.frames == frames
    assert len(singles) < 50
