"""The way of `wiretool pipeline run`: what is told on it, and how it ends."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Timer
from typing import TYPE_CHECKING

from wiretool.commands.first_lines import FirstLines
from wiretool.commands.interrupts import stoppable, told_when_stopped
from wiretool.commands.options import protocols_like, tell
from wiretool.commands.progress import QUICK_S, is_watched, report_waiting
from wiretool.storage.url_path import UrlPath, path_or_url

if TYPE_CHECKING:
    from wiretool.capture.tls.keylog import KeyLog
    from wiretool.pipeline.job import Job, Step
    from wiretool.pipeline.layout import Manifest

    Engine = Callable[[Job, Callable[[str], None], Callable[[Step], None]], Manifest]

#: Lines of what was left out or guessed that are told; the others are counted.
NOTES_MAX = 5
#: Exit code of what is not what it claims to be.
UNSOUND = 3
#: Exit code of a run that had nothing to read.
NOTHING = 1


@dataclass(frozen=True, slots=True)
class PipelineOptions:
    """How captures are read, and what is made of them."""

    protocol: str
    ports: Mapping[int, str]
    has_events: bool
    is_strict: bool
    splits: int
    keys: "KeyLog"


def run_pipeline(captures: Sequence[Path], root: Path, options: PipelineOptions, engine: str, master: str) -> int:
    """Make the tables; the exit code."""
    from wiretool.pipeline.job import Job

    protocols_like(options.protocol)
    splits, secrets = options.splits, secrets_of(captures, options.keys)
    job = Job(captures, root, options.protocol, options.ports, options.has_events, splits, secrets)
    notes = FirstLines(NOTES_MAX, "notes")
    has_tables = isinstance(root, UrlPath) or os.path.exists(root)
    kept = "the tables that were there are as they were" if has_tables else "no tables were made"
    progress = _bar() if is_watched() else _lines("Spark is at work" if engine == "spark" else "reading captures")
    with stoppable("wiretool.pipeline.local"), told_when_stopped(lambda: kept), progress as watch:
        manifest = _engine(engine, master)(job, notes, watch)
    notes.end()
    return told_of(manifest, root, is_strict=options.is_strict, captures=captures)


def secrets_of(captures: Sequence[Path], keys: "KeyLog") -> bytes:
    """Return TLS secrets as the lines of a key log: those of a file, and those that captures begin with."""
    from wiretool.pipeline.inputs import captures_in
    from wiretool.pipeline.secrets import collect_secrets

    return collect_secrets(captures_in(captures, lambda note: None), keys)  # the run reports these notes


def _engine(name: str, master: str) -> "Engine":
    if name == "spark":
        from wiretool.pipeline.spark.run import run_spark

        return partial(run_spark, master=master or None)
    from wiretool.pipeline.local import run_local

    return run_local


def told_of(manifest: "Manifest", root: Path, *, is_strict: bool, captures: Sequence[Path] = ()) -> int:
    """Say what there is now; the exit code."""
    from wiretool.ledger import Account
    from wiretool.pipeline.inputs import UNREADABLE
    from wiretool.sinks.ledger import told
    from wiretool.units import counted

    for each in manifest.inputs:
        if each.damage.startswith(UNREADABLE):
            tell(f"{each.path} {each.damage}; the tables have none of it")
        elif each.damage:
            tell(f"{each.path} is damaged; the tables have the part before the damage: {each.damage}")
    tell(f"{counted(len(manifest.tables), 'table')} in {root}: {told(Account(**manifest.total), manifest.connections)}")
    return unsound(manifest, is_strict=is_strict) or read_nothing(manifest, captures)


def read_nothing(manifest: "Manifest", captures: Sequence[Path] = ()) -> int:
    """Report that there was nothing to read, and return the exit code for that; 0 where there was something.

    Of the captures that were given, those are read again by their URLs whose names lack a signature.
    """
    from wiretool.capture.files.packet_counts import READABLE
    from wiretool.capture.tcp.silent_connections import without_payload
    from wiretool.pipeline.inputs import packet_counts

    if manifest.open or manifest.total["payload_bytes"] or manifest.total["gap_bytes"]:
        return 0
    code = UNSOUND if any(each.damage for each in manifest.inputs) else NOTHING  # as `decode` ends on a damaged one
    connections, packets = manifest.connections, sum(each.packets for each in manifest.inputs)
    if not connections and not packets:
        tell("nothing was read: no packets; expected captures with packets")
        return code
    if not connections:
        known: set[bytes] = set()
        signed = {str(path): path for path in captures if isinstance(path, UrlPath)}
        paths = [signed.get(each.path) or path_or_url(each.path) for each in manifest.inputs]
        counts = packet_counts(paths, known)
        if counts.is_nothing_read:
            tell(f"nothing was read: {counts.summarize()}; expected {READABLE}")
            return UNSOUND
        connections = len(known)
    # Captures that were deleted cannot be read again: the kinds of their packets are unknown.
    tell(f"nothing was read: {without_payload(connections, packets)}; expected captures with payload")
    return code


def unsound(manifest: "Manifest", *, is_strict: bool) -> int:
    """Return the exit code for damaged captures and, with `is_strict`, for problems in them; 0 without any."""
    has_problems = is_strict and manifest.total["problems"]
    return UNSOUND if has_problems or any(each.damage for each in manifest.inputs) else 0


@contextmanager
def _lines(text: str) -> "Iterator[Callable[[Step], None]]":
    """Report each step in turn, and `text` before the first one: a line a second once the work is long."""

    def show(step: "Step") -> None:
        nonlocal text
        if step.total > 1:  # the steps of Spark have no parts
            text = f"{step.name}: {step.done / step.total:.0%}"

    with report_waiting(lambda: text):
        yield show


@contextmanager
def _bar() -> "Iterator[Callable[[Step], None]]":
    """Shows each step in turn, from `QUICK_S` on, also while a step is long."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = "{task.description}", BarColumn(), TaskProgressColumn(), TimeElapsedColumn(), TimeRemainingColumn()
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    task = bar.add_task("", total=None)
    start = Timer(QUICK_S, bar.start)
    start.daemon = True

    def show(step: "Step") -> None:
        if bar.tasks[0].description != step.name:
            bar.reset(task, description=step.name, total=step.total)
        bar.update(task, completed=step.done)

    start.start()
    try:
        yield show
    finally:
        start.cancel()
        start.join()
        bar.stop()
