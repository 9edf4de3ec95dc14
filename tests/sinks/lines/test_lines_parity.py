"""Lines made of columns are, byte for byte, those that are made of records."""

import pickle
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache
from io import BytesIO
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.dissect.columns.made import SPOKEN, Spoken, files_of, packets_made
from tests.helpers.records import Paper
from wiretool.batches.batch import Batch, FrameRun
from wiretool.batches.rows import records_of
from wiretool.dissect.columns.read import read_batches
from wiretool.dissect.dissector import Source, annotate
from wiretool.errors import CaptureError
from wiretool.filter import History, columns_of, names_for
from wiretool.protocols.base.registry import PROTOCOLS
from wiretool.records import Record
from wiretool.sinks.batch_sink import RowByRow
from wiretool.sinks.choose import sink_for
from wiretool.sinks.lines import parts
from wiretool.sinks.lines.choose import batch_sink_for
from wiretool.sinks.lines.sink import LinesSink
from wiretool.sinks.output import Output
from wiretool.sinks.tally import Tally

FORMS = ("ndjson", "json", "csv")
#: Values that are always found in columns, some in no row or in some rows only, and some that are not.
CHOICES = (
    "",
    "n,kind,time_ns,connection,client,server,side,protocol,message,offset,length",
    "reply_to,packets,append,events,fields,error,why,left_over",
    "reply_to",
    "packets[1],n,packets[0],n,append.segment,append.event_number,append.expected_length",
    "message,events[0].data,n",
    "fields.header.fields.stream_id,fields.header.table,fields.payload.batches,fields.payload.hex,n",
    "n,fields.data,fields.request_id,fields.segment,fields.writer_id,fields.payload,fields.header",
)
NAMES = names_for(PROTOCOLS.values())
#: Characters, about, of a part of a capture that is written in more than one form.
LENGTH_THINNED = 500_000


@pytest.fixture
def all_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few rows go as arrays too, and several stretches are in a batch."""
    monkeypatch.setattr(parts, "PART_ROWS_MIN", 1)
    monkeypatch.setattr(parts, "TEXT_BYTES", 50_000)


@pytest.fixture(params=[(1, 20_000), (4, 300_000)], ids=["all rows", "some rows"])
def sizes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Few rows as arrays or records."""
    monkeypatch.setattr(parts, "PART_ROWS_MIN", request.param[0])
    monkeypatch.setattr(parts, "TEXT_BYTES", request.param[1])


def batches_of(source: Source, protocol: str = "auto") -> list[Batch]:
    out: list[Batch] = []
    try:
        out.extend(read_batches(source, protocol=protocol))
    except CaptureError:
        return out
    return out


def by_lines(batches: Sequence[Batch], form: str, paths: str) -> str:
    paper = Paper()
    sink = batch_sink_for(form, paper, columns=columns_of(paths, NAMES, History()), annotate=annotate)
    assert isinstance(sink, LinesSink)
    sink.begin()
    for batch in batches:
        sink.write(batch)
    sink.end()
    return paper.text


def by_rows(records: Iterable[Record], form: str, paths: str) -> str:
    paper = Paper()
    sink = sink_for(form, paper, columns=columns_of(paths, NAMES, History()), annotate=annotate)
    sink.begin()
    for record in records:
        sink.write(record)
    sink.end()
    return paper.text


def rows_of(batches: Sequence[Batch]) -> list[Record]:
    return [record for batch in batches for record in records_of(batch)]


def check(batches: Sequence[Batch], *paths: str, forms: Sequence[str] = FORMS) -> int:
    """Return the length of all texts; AssertionError where columns and rows give another one."""
    records, length = rows_of(batches), 0
    for form in forms:
        for each in paths:
            lines, rows = by_lines(batches, form, each), by_rows(records, form, each)
            if lines != rows:
                for line, row in zip(lines.split("\n"), rows.split("\n"), strict=False):
                    assert line == row, (form, each)
            assert len(lines) == len(rows)
            length += len(lines)
    return length


def thinned(batch: Batch, chance: Random, share: float = 0.5) -> Batch:
    """Some of the records of a batch."""
    records = [record for record in batch.records if chance.random() < share]
    runs = [_thinned(run, chance, share) for run in batch.runs]
    return Batch(batch.first_n, batch.count, [run for run in runs if run.groups], records)


def _thinned(run: FrameRun, chance: Random, share: float) -> FrameRun:
    kept = [group.take(np.array([chance.random() < share for _ in group.rows], np.bool_)) for group in run.groups]
    return replace(run, groups=[group for group in kept if len(group.rows)])


def fields_in(batches: Sequence[Batch]) -> str:
    """Every field that their groups have."""
    groups = [group for batch in batches for run in batch.runs for group in run.groups]
    return ",".join(sorted({f"fields.{name}" for group in groups for name in group.columns})) or "n"


@pytest.mark.usefixtures("all_rows")
def test_captures(own_capture: tuple[Path, Path | None]) -> None:
    batches = batches_of(own_capture[0])
    chance = Random(own_capture[0].name)
    share = min(0.5, LENGTH_THINNED / max(1, check(batches, "", forms=("ndjson",))))
    some = [thinned(batch, chance, share) for batch in batches]
    check(some, "", chance.choice(CHOICES[1:]), fields_in(batches), forms=("ndjson", "csv"))


@cache
def spoken_batches(protocol: str) -> Sequence[Batch]:
    """A conversation in a protocol."""
    packets = packets_made([Spoken(protocol, each=12, acks=True)], frozenset(), 1, 150)
    return [batch for raw in files_of(packets, "nano", 1) for batch in batches_of(BytesIO(raw))]


@pytest.mark.usefixtures("sizes")
@pytest.mark.parametrize("protocol", SPOKEN)
@pytest.mark.parametrize("paths", CHOICES)
def test_each_protocol(protocol: str, paths: str) -> None:
    batches = spoken_batches(protocol)
    check(batches, paths)
    check([thinned(batch, Random(1)) for batch in batches], paths)


@given(
    connections=st.lists(
        st.builds(Spoken, st.sampled_from(SPOKEN), each=st.sampled_from([1, 9, 40]), mtu=st.sampled_from([60, 1460])),
        min_size=1,
        max_size=4,
    ),
    paths=st.sampled_from(CHOICES),
    seed=st.integers(0, 2**32),
)
def test_made_captures(connections: list[Spoken], paths: str, seed: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parts, "PART_ROWS_MIN", 2)
        for raw in files_of(packets_made(connections, frozenset(), seed), "pcap", seed):
            check(batches_of(BytesIO(raw)), paths)


@pytest.mark.parametrize("paths", ["", "n,message,fields.request_id,packets,append.segment"])
@pytest.mark.parametrize("form", FORMS)
def test_what_is_in_columns_does_not_go_one_by_one(form: str, paths: str, monkeypatch: pytest.MonkeyPatch) -> None:
    packets = packets_made([Spoken("pravega", each=12)], frozenset(), 1, 4000)
    batches = batches_of(BytesIO(files_of(packets, "nano", 1)[0]))
    asked: list[int] = []
    line = LinesSink._line

    def asking(sink: LinesSink, record: Record) -> str:
        asked.append(record.n)
        return line(sink, record)

    monkeypatch.setattr(LinesSink, "_line", asking)
    by_lines(batches, form, paths)
    groups = [group for batch in batches for run in batch.runs for group in run.groups]
    assert sum(len(group.rows) for group in groups if len(group.rows) >= parts.PART_ROWS_MIN) > 1000
    small = sum(len(group.rows) for group in groups if len(group.rows) < parts.PART_ROWS_MIN)
    assert len(asked) == sum(len(batch.records) for batch in batches) + small


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("protocol", ["sbp", "pravega"])
def test_lines_made_in_another_process(form: str, protocol: str) -> None:
    """Their batches count the same frames, and have no fields any more."""
    batches = spoken_batches(protocol)
    maker = batch_sink_for(form, Paper(), columns=None, annotate=annotate)
    assert isinstance(maker, LinesSink)
    rendered = [pickle.loads(pickle.dumps(maker.render(batch))) for batch in batches]
    assert by_lines(rendered, form, "") == by_rows(rows_of(batches), form, "")
    assert not any(group.columns for batch in rendered for run in batch.runs for group in run.groups)
    tallies = [Tally(may_stop=True), Tally(may_stop=True)]
    for tally, each in zip(tallies, (batches, rendered), strict=True):
        for batch in each:
            tally.add_batch(batch)
    assert tallies[0].shown.as_json() == tallies[1].shown.as_json()
    assert tallies[0].seen == tallies[1].seen > 0


@pytest.mark.parametrize("form", FORMS)
def test_no_records(form: str) -> None:
    assert by_lines([], form, "") == by_rows([], form, "")
    assert by_lines([Batch(1, 0, (), ())], form, "n") == by_rows([], form, "n")


@pytest.mark.parametrize("paths", ["time", "n,time", 'fields["offset"]', "(n)"])
def test_what_is_told_in_turn_or_spelt_otherwise_goes_by_rows(paths: str) -> None:
    sink = batch_sink_for("csv", Paper(), columns=columns_of(paths, NAMES, History()), annotate=annotate)
    assert isinstance(sink, RowByRow)


def test_where_somebody_is_watching_each_record_comes_at_once() -> None:
    output = Output(BytesIO(), at_once=True)
    assert isinstance(batch_sink_for("ndjson", output, columns=None, annotate=annotate), RowByRow)


@pytest.mark.parametrize("encoding", ["ascii", "utf-16-le", "utf-8"])
def test_the_encoding_of_the_output_holds(encoding: str) -> None:
    packets = packets_made([Spoken("pravega", each=12)], frozenset(), 1, 400)
    batches = batches_of(BytesIO(files_of(packets, "nano", 1)[0]))
    file = BytesIO()
    with Output(file, encoding=encoding) as output:
        sink = batch_sink_for("ndjson", output, columns=None, annotate=annotate)
        for batch in batches:
            sink.write(batch)
    assert file.getvalue() == by_rows(rows_of(batches), "ndjson", "").encode(encoding)
