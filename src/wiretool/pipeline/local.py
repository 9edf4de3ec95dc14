"""Captures to tables on this machine: the same steps as on Spark, with a shuffle of our own."""

import shutil
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path

import pyarrow as pa

from wiretool.capture.files.packet_counts import PacketCounts
from wiretool.capture.index.build import read_range
from wiretool.dissect.columns.apart import apart, may_run_apart
from wiretool.pipeline.fetching import fetched
from wiretool.pipeline.flows.rows import rows_of
from wiretool.pipeline.flows.task import Done, Files, manifest_of, read_part
from wiretool.pipeline.inputs import Capture, captures_in, indexed, unpacked
from wiretool.pipeline.job import Job, Step
from wiretool.pipeline.layout import Manifest, write_manifest
from wiretool.pipeline.publishing import made_in
from wiretool.pipeline.shuffle import Shuffle
from wiretool.storage.url_path import UrlPath

#: Packets of a part, each of which is put in order in memory at some 250 bytes a packet.
PART_PACKETS = 1_000_000
#: Below so many packets a process of its own costs more than it saves.
APART_PACKETS_MIN = 4_096
_ADVICE = "no tables were made: run it again, with more memory if that ran out"


def run_local(job: Job, tell: Callable[[str], None], watch: Callable[[Step], None]) -> Manifest:
    """Make the tables; what they are. They are there when it returns, and nothing of them if it does not.

    `tell` is told what is left out or uncertain. UsageError and CaptureError as the parts have them; Killed where the
    process is that reads packets.
    """
    files = captures_in(job.captures, tell)
    with made_in(job.root, files, tell) as staging:
        work = staging / ".work"
        work.mkdir()
        urls = fetched(files, work, watch)
        copies = {url: copy for copy, url in urls.items()}
        read = [copies[file] if isinstance(file, UrlPath) else file for file in files]
        captures = [
            unpacked(capture, work / f"unpacked-{place}")
            for place, capture in enumerate(indexed(read, job.captures, tell, urls))
        ]
        packets, counts = sum(capture.index.packets for capture in captures), PacketCounts()
        with Shuffle(work, job.splits or max(1, -(-packets // PART_PACKETS))) as shuffle:
            for step in _deal(captures, shuffle, packets, counts):
                watch(step)
            if counts.tcp and (summary := counts.summarize()):
                tell(summary)
            manifest = _read_all(job, captures, shuffle, staging, tell, _counted(counts.tcp, watch))
        shutil.rmtree(work)
        write_manifest(staging, manifest)
    return manifest


def _deal(captures: Sequence[Capture], shuffle: Shuffle, packets: int, counts: PacketCounts) -> Iterator[Step]:
    """Deal out all rows, counting packets; they are read in a process of its own, as that costs about as much."""
    make = partial(_rows, captures)
    is_apart = packets >= APART_PACKETS_MIN and may_run_apart()
    with closing(apart(make, advice=_ADVICE) if is_apart else make()) as items:
        for rows, done, kinds in items:
            shuffle.add(rows)
            counts.add(kinds)
            yield Step("reading packets", done, packets)


def _rows(captures: Sequence[Capture]) -> Generator[tuple[pa.RecordBatch, int, PacketCounts]]:
    """The segment rows of captures, some at a time, how many packets were read by then, and of what kinds."""
    before = done = 0
    for place, capture in enumerate(captures):
        for segments in read_range(capture.path, capture.index, 0, len(capture.index.joints)):
            rows = rows_of(segments, place)
            if rows.num_rows:
                done = before + int(segments.table.numbers[-1])
            yield rows, done, segments.counts
        before += capture.index.packets


def _read_all(
    job: Job,
    captures: Sequence[Capture],
    shuffle: Shuffle,
    staging: Path,
    tell: Callable[[str], None],
    counted: Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]],
) -> Manifest:
    files = Files([str(capture.path) for capture in captures], [capture.name for capture in captures])
    parts: list[Done] = []
    for partition in shuffle.partitions:
        done = read_part(job, files, counted(shuffle.sorted(partition)), staging, f"part-{partition:05d}")
        done.tell_notes(tell)
        parts.append(done)
    return manifest_of(job, "local", [capture.input for capture in captures], parts)


def _counted(
    total: int, watch: Callable[[Step], None]
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return a function that passes rows on, and reports those that were read of `total` in all its calls."""
    done = 0

    def counted(rows: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        nonlocal done
        for batch in rows:
            watch(Step("reading flows", done, total))
            yield batch
            done += batch.num_rows
            watch(Step("reading flows", done, total))

    return counted
