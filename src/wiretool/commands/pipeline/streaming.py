"""The way of `wiretool pipeline stream`: what is told of each batch, and how it ends."""

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from wiretool.commands.first_lines import FirstLines
from wiretool.commands.interrupts import stoppable, told_when_stopped
from wiretool.commands.options import protocols_like, tell
from wiretool.commands.pipeline.running import NOTES_MAX, told_of, unsound
from wiretool.commands.progress import report_waiting
from wiretool.errors import UsageError

if TYPE_CHECKING:
    from wiretool.pipeline.stream.run import Engine, Made, StreamJob

#: Parts of a stream of which nothing else is said: each has files of its own in each batch, so many would be small.
PARTS_MAX = 4
#: A batch that is further behind than that is of captures that were made before.
LIVE_S = 3_600


@dataclass(frozen=True, slots=True)
class PipelineStreamOptions:
    """What was asked for; times as they were written."""

    folder: Path
    output: Path
    checkpoint: Path
    is_once: bool
    is_finished: bool
    is_strict: bool
    interval: str
    idle: str
    delay: str
    protocol: str
    ports: Mapping[int, str]
    has_events: bool
    splits: int


def run_stream_command(options: PipelineStreamOptions, engine: str, master: str) -> int:
    """Make tables until there is no more or somebody stops it; the exit code."""
    from wiretool.pipeline.layout import FRAMES
    from wiretool.pipeline.stream.run import Ears, run_stream

    job = _job(options, engine)
    teller = _Teller()
    with (
        stoppable("wiretool.pipeline.stream.local"),
        told_when_stopped(teller.so_far),
        _engine(engine, master) as make,
    ):
        manifest = run_stream(job, make, Ears(tell, teller.notes, teller, _making))
    if manifest.open:
        counts = f"{manifest.connections:,} closed, {manifest.open:,} still open"
        tell(f"{manifest.rows(FRAMES):,} records in {options.output}; connections: {counts}")
        return unsound(manifest, is_strict=options.is_strict)
    code = told_of(manifest, options.output, is_strict=options.is_strict)
    has_packets = any(each.packets for each in manifest.inputs)
    if options.is_finished or has_packets:
        return code
    return unsound(manifest, is_strict=options.is_strict)  # an empty folder may get captures later


def _job(options: PipelineStreamOptions, engine: str) -> "StreamJob":
    from wiretool.load.planning.schedule import duration_from
    from wiretool.pipeline.job import Job
    from wiretool.pipeline.stream.run import StreamJob

    if options.is_strict and not options.is_once:
        raise UsageError("--strict: requires --once")
    if options.is_finished and not options.is_once:
        raise UsageError("--finish: requires --once")
    protocols_like(options.protocol)
    job = Job([options.folder], options.output, options.protocol, options.ports, options.has_events, options.splits)
    return StreamJob(
        job,
        options.checkpoint,
        engine,
        parts=min(os.cpu_count() or 1, PARTS_MAX),
        interval_s=duration_from(options.interval, option="--interval"),
        idle_s=duration_from(options.idle, option="--idle"),
        delay_s=duration_from(options.delay, option="--delay", may_be_zero=True),
        is_once=options.is_once,
        is_finished=options.is_finished,
    )


@contextmanager
def _engine(name: str, master: str) -> "Iterator[Engine]":
    if name == "spark":
        from wiretool.pipeline.spark.stream import spark_engine

        with ExitStack() as stack:
            with report_waiting("starting Spark"):
                engine = stack.enter_context(spark_engine(master or None))
            yield engine
    else:
        from wiretool.pipeline.stream.local import read_here

        yield read_here


def _making(batch: int, packets: int) -> AbstractContextManager[object]:
    """Reports that a batch is being made, where that is long."""
    return report_waiting(f"making batch {batch} of {packets:,} packets")


class _Teller:
    """A line for each batch."""

    def __init__(self) -> None:
        self._batches = 0
        self.notes = FirstLines(NOTES_MAX, "notes")

    def __call__(self, made: "Made") -> None:
        self._batches += 1
        self.notes.end()
        behind_s = time.time() - made.newest_ns / 1e9
        behind = f", {behind_s:.1f}s after its last packet" if 0 <= behind_s < LIVE_S else ""
        tell(
            f"batch {made.batch}: {made.packets:,} packets ({made.bytes / 1e6:,.1f} MB), {made.records:,} records, "
            f"{made.open:,} open; in {made.seconds:.1f} s{behind}"
        )

    def so_far(self) -> str:
        """What there is when it is stopped."""
        made = "1 batch was" if self._batches == 1 else f"{self._batches:,} batches were"
        return f"{made} written since the start, the tables are complete; the same command continues"
