"""The stream behind the data source `wirecap`: captures that grow and rotate, each packet once.

A batch takes of each capture what is between two joints: the checkpoint has both, so a query that is started again
reads the same batch again, and goes on behind it.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from heapq import heapify, heappop, heappush
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from wiretool.capture.index.build import JOINT_BYTES, FileIndex, Joint
from wiretool.capture.index.window import changed
from wiretool.errors import UsageError
from wiretool.pipeline.spark.planning import Part, dealt
from wiretool.pipeline.spark.source import reader_of
from wiretool.pipeline.spark.source_options import SourceOptions, source_options_of
from wiretool.pipeline.spark.stream_looks import Found, Looks, lost
from wiretool.pipeline.spark.stream_offsets import START, Offset, Reached, found_again, is_still, moved, offset_of
from wiretool.pipeline.spark.tables import table_of
from wiretool.storage.url_path import is_url
from wiretool.units import SIZE

try:
    from pyspark.sql.streaming.datasource import ReadLimit, ReadMaxBytes, SupportsTriggerAvailableNow
except ImportError as err:
    raise UsageError(
        "a stream of wirecap requires PySpark 4.2 or newer, as pip install '.[spark]' in a clone of wiretool brings it"
    ) from err

#: The option that only a stream has: how many bytes of captures a batch takes at most, and how many that are.
MAX_BYTES, MAX_BYTES_USUAL = "maxBytesPerTrigger", 256 * 1024 * 1024
#: A batch may be cut at so many places at least.
CUTS = 4
#: Tables that can be read packet by packet.
STREAMED = ("packets", "segments")
#: What is said of packets that were to be read.
GONE = "was deleted or rewritten; its unread packets are lost"


class Stretch(NamedTuple):
    """A part of a capture that a task reads, and the capture as it has to be for that."""

    part: Part
    reached: Reached


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads the columns of a schema from captures as these come."""

    def __init__(self, chosen: SourceOptions, schema: StructType, options: Mapping[str, str], max_bytes: int) -> None:
        self._options = chosen
        self._max_bytes = max_bytes
        self._rows = reader_of(options, schema)
        self._looks = Looks(chosen, max(1, min(chosen.split_bytes, JOINT_BYTES, max_bytes // CUTS)))

    def initialOffset(self) -> dict[str, Any]:
        """Nothing was read; UsageError where what was named is not there."""
        self._looks.check()
        return Offset().json()

    def getDefaultReadLimit(self) -> ReadLimit:
        """What a batch takes at most."""
        return ReadMaxBytes(self._max_bytes)

    def prepareForTriggerAvailableNow(self) -> None:
        """Take what is there when it is looked at next, and then no more."""
        self._looks.hold()

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        """How far the next batch reads: the oldest packets first."""
        now, found = self._looks.look(offset_of(start))
        end = _after(now, found, limit.max_bytes if isinstance(limit, ReadMaxBytes) else None, self._lose)
        return start if end is None else end.json()

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """What is between two offsets, shared out."""
        before = {number: reached.joint for number, reached in offset_of(start).files.items()}
        files = list(offset_of(end).files.items())
        captures = [
            (Path(reached.path), self._between(before.get(number, START), reached)) for number, reached in files
        ]
        shares = dealt(captures, self._options.split_bytes)
        return [InputPartition([_stretch(part, *files[part.place]) for part in share]) for share in shares]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of one partition."""
        for stretch in partition.value or ():
            file = found_again(stretch.reached)
            if file is None:
                self._lose(stretch.part.name)
                continue
            with file:
                part = replace(stretch.part, path=file.name)
                yield from self._rows.read(InputPartition([part]))
                if not is_still(file, stretch.reached):
                    raise changed(part.name, part.span.end)

    def commit(self, end: dict[str, Any]) -> None:
        """A batch is done."""
        self._looks.forget(offset_of(end))

    def _between(self, since: Joint, reached: Reached) -> FileIndex | None:
        """What is to be read of a capture, with joints where it is worth it; None where nothing is."""
        if reached.joint.number <= since.number:
            return None
        file = found_again(reached)
        if file is None:
            self._lose(reached.path)
            return None
        with file:
            is_large = not reached.is_packed and reached.joint.at - since.at > self._options.split_bytes
            inner = self._looks.inner(file, since, reached) if is_large else ()
            return reached.index(reached.joint, (since, *inner))

    def _lose(self, name: str) -> None:
        lost(name, GONE, is_strict=self._options.is_strict)


def stream_reader_of(options: Mapping[str, str], schema: StructType) -> StreamReader:
    """A reader of these columns; UsageError where the table has not got one, or an option makes no sense."""
    own = {name: value for name, value in options.items() if name.lower() != MAX_BYTES.lower()}
    chosen = source_options_of(own)
    if chosen.table not in STREAMED:
        table_of(chosen.table)
        raise UsageError(
            f"the table {chosen.table} requires whole flows, which Spark streams lack; expected {STREAMED[0]} or "
            f"{STREAMED[1]}, or make that table with `wiretool pipeline stream`"
        )
    if urls := [place for place in chosen.given if is_url(place)]:
        raise UsageError(f"{urls[0]}: readStream reads files; expected mounted storage, or spark.read for objects")
    given = {name.lower(): value for name, value in options.items()}
    max_bytes = SIZE.parse(given.get(MAX_BYTES.lower(), str(MAX_BYTES_USUAL)), MAX_BYTES, least=1)
    return StreamReader(chosen, schema, own, round(max_bytes))


def _stretch(part: Part, number: int, reached: Reached) -> Stretch:
    """A part with the number of its capture, as a worker takes it: that may work in another folder."""
    name = os.fsencode(part.name).decode("utf-8", "backslashreplace")
    return Stretch(replace(part, place=number, name=name), moved(reached, part.path))


# -- what a batch takes ------------------------------------------------------------------------------------------------


def _after(now: Offset, found: Sequence[Found], most: int | None, lose: Callable[[str], None]) -> Offset | None:
    """How far captures are read then: so many bytes at most, or one range; None where there is nothing new."""
    numbers = {reached.path: number for number, reached in now.files.items()}
    files, met = dict(now.files), now.met
    taken = _taken(now, found, most)
    for place, until in taken.items():
        reached = found[place].reached(until)
        if reached is None:  # gone since it was looked at
            lose(found[place].path)
            return _after(now, [*found[:place], *found[place + 1 :]], most, lose)
        number = numbers.get(reached.path, met)
        files[number], met = reached, max(met, number + 1)
    return Offset(met=met, files=files) if taken else None


def _taken(now: Offset, found: Sequence[Found], most: int | None) -> dict[int, Joint]:
    """Up to which joint each of the captures is taken, for those of which something is; in the order of time."""
    read = {reached.path: reached.joint for reached in now.files.values()}
    bounds = [_bounds(each.index, read.get(each.path, START)) for each in found]
    heap = [
        (_time_ns(each.index, own[0]), place, 0) for place, (each, own) in enumerate(zip(found, bounds, strict=True))
    ]
    heapify(heap)
    taken: dict[int, Joint] = {}
    size = 0
    while heap:
        _, place, at = heappop(heap)
        index, own = found[place].index, bounds[place]
        if at + 1 == len(own):
            continue
        more = index.size if index.is_packed else own[at + 1].at - own[at].at
        if most is not None and size and size + more > most:
            break
        size += more
        taken[place] = own[at + 1]
        heappush(heap, (own[at + 1].before_ns, place, at + 1))
    return taken


def _bounds(index: FileIndex, since: Joint) -> list[Joint]:
    """The joints from where it was read to on, up to its end."""
    later = [joint for joint in (*index.joints, index.tail) if joint.number > since.number]
    return [since, *later]


def _time_ns(index: FileIndex, since: Joint) -> int:
    """When what is behind a joint was captured, or a little earlier."""
    return index.first_ns if since.number == 1 else since.before_ns
