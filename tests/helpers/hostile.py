"""Reading of hostile bytes: in time, in bounded memory, and through every sink."""

import json
import time
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from tests.bench.talk import Sent, segments
from tests.helpers.records import Paper
from tests.helpers.truth import check_ledger
from wiretool.dissect.dissector import Dissector, annotate
from wiretool.ledger import Ledger
from wiretool.records import Record
from wiretool.sinks.csv import CsvSink
from wiretool.sinks.ndjson import JsonSink, NdjsonSink
from wiretool.sinks.pump import pump
from wiretool.sinks.sink import Sink
from wiretool.sinks.text import TextSink

#: Far above what any of these takes, far below what a hang or quadratic work would.
SECONDS_MAX = 20.0
MB = 1024 * 1024


def sinks() -> Iterator[tuple[Sink, Paper]]:
    """Every form of output."""
    tree, dump = {"tree": True}, {"dump": True}
    forms: tuple[dict[str, Any], ...] = ({}, {"width": 60, "colour": True}, tree, dump, {**tree, **dump})
    for options in forms:
        paper = Paper()
        yield TextSink(paper, annotate=annotate, **options), paper
    for made in (NdjsonSink, JsonSink, CsvSink):
        paper = Paper()
        yield made(paper), paper


def write_all(records: Sequence[Record]) -> None:
    """Through every sink: text prints, JSON parses."""
    for sink, paper in sinks():
        pump(records, sink, keep=lambda record: True)
        text = paper.text
        if isinstance(sink, TextSink):
            plain = text.replace("\x1b[", "") if sink._colour.is_on else text
            assert all(char.isprintable() or char == "\n" for char in plain)
        elif isinstance(sink, JsonSink):
            assert len(json.loads(text)) == len(records)
        elif isinstance(sink, NdjsonSink):
            assert [json.loads(line)["n"] for line in text.splitlines()] == [record.n for record in records]


@pytest.fixture
def in_time() -> Iterator[None]:
    """The test takes bounded time."""
    begin = time.process_time()
    yield
    assert time.process_time() - begin < SECONDS_MAX


def streamed(sent: Sequence[Sent], port: int, segment_bytes: int = 1_448) -> list[Record]:
    """The records of a conversation in full segments."""
    ledger = Ledger()
    records = list(Dissector(ledger=ledger).records_of(segments(sent, port=port, segment_bytes=segment_bytes)))
    check_ledger(records, ledger)
    return records


def peak_bytes(work: Callable[[], object]) -> int:
    """The most that was allocated at once."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
