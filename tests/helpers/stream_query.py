"""A streaming query of `wirecap` without Spark, and captures for it."""

import json
import pickle
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql.streaming.datasource import ReadAllAvailable

from tests.helpers.captures import packets_of
from wiretool.capture.packets import Packet
from wiretool.pipeline.spark import stream_source
from wiretool.pipeline.spark.source import reader_of, schema_of
from wiretool.pipeline.spark.stream_source import StreamReader, stream_reader_of

Row = tuple[Any, ...]


class Query:
    """What Spark does with a reader: it keeps offsets as text, sends partitions elsewhere, and may end at any time."""

    def __init__(self, path: Path | str, **options: str) -> None:
        self.options = {"path": str(path), **options}
        self.start: str | None = None
        self.begin()

    def begin(self) -> None:
        """Go on as another process, with what the checkpoint has."""
        batch = {name: value for name, value in self.options.items() if name != stream_source.MAX_BYTES}
        self.reader: StreamReader = stream_reader_of(self.options, schema_of(batch))
        if self.start is None:
            self.start = json.dumps(self.reader.initialOffset())

    def end(self, *, is_all: bool = False) -> str:
        """How far the next batch goes."""
        assert self.start is not None
        limit = ReadAllAvailable() if is_all else self.reader.getDefaultReadLimit()
        return json.dumps(self.reader.latestOffset(json.loads(self.start), limit))

    def tasks(self, end: str) -> list[Any]:
        """What workers are sent for the batch up to there."""
        assert self.start is not None
        return [
            pickle.loads(pickle.dumps(each)) for each in self.reader.partitions(json.loads(self.start), json.loads(end))
        ]

    def rows(self, tasks: Sequence[Any]) -> list[Row]:
        """What they give."""
        reader = pickle.loads(pickle.dumps(self.reader))
        batches = [batch for task in tasks for batch in reader.read(task)]
        return [row for batch in batches for row in zip(*(column.to_pylist() for column in batch.columns), strict=True)]

    def done(self, end: str) -> None:
        """The batch is."""
        self.start = end
        self.reader.commit(json.loads(end))

    def batch(self, *, is_all: bool = False) -> list[Row]:
        """The rows of the next batch; none where there is nothing new."""
        end = self.end(is_all=is_all)
        if end == self.start:
            return []
        rows = self.rows(self.tasks(end))
        assert rows
        self.done(end)
        return rows

    def batches(self) -> list[Row]:
        """All that there is."""
        rows: list[Row] = []
        while more := self.batch():
            rows += more
        return rows


def of_batch(path: Path | str, **options: str) -> list[Row]:
    """What `spark.read` gives, without Spark."""
    wanted = {"path": str(path), **options}
    reader = reader_of(wanted, schema_of(wanted))
    table = pa.Table.from_batches(batch for part in reader.partitions() for batch in reader.read(part))
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


def numbers(rows: Sequence[Row]) -> list[int]:
    """Which packets these are."""
    number = schema_of({"path": "x"}).fieldNames().index("number")
    return [row[number] for row in rows]


def some_packets(count: int = 60, start_ns: int = 1_700_000_000_000_000_000) -> list[Packet]:
    return packets_of([bytes([at % 251]) * (60 + at % 40) for at in range(count)], start_ns=start_ns)


def pieces(raw: bytes, rng: random.Random, longest: int) -> Iterator[bytes]:
    while raw:
        size = rng.randint(1, longest)
        yield raw[:size]
        raw = raw[size:]


def appended(path: Path, more: bytes) -> None:
    with path.open("ab") as file:
        file.write(more)
