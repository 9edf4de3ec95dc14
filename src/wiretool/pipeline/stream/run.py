"""A folder that is watched: what comes into it is made into tables, batch by batch, each exactly once.

A batch takes what is new. It writes its tables beside those that are there, and what is open of flows into the
checkpoint; then its commit says that it is done, and its tables are put in place. Whoever dies before the commit has
done nothing; who dies after it finds by it what is left to do.
"""

import os
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import msgspec

from wiretool.capture.index.build import NO_TIME
from wiretool.errors import CaptureError, UsageError
from wiretool.ledger import Account
from wiretool.pipeline.flows.task import Files, port_names
from wiretool.pipeline.inputs import name_of
from wiretool.pipeline.job import Job
from wiretool.pipeline.layout import FRAMES, File, Manifest
from wiretool.pipeline.staging import STAGING
from wiretool.pipeline.stream.batch import Silence, Task, Told
from wiretool.pipeline.stream.checkpoint import Checkpoint, Commit, Stream, StreamOptions, opened, remove_folder
from wiretool.pipeline.stream.following import Following
from wiretool.pipeline.stream.plan import Plan, Stretch, fill_batch, overlap, planned
from wiretool.pipeline.stream.publish import Published, in_batch
from wiretool.sinks.arrow.files import refused

#: The least time between two looks at the folder; how often a batch is made anew whose captures were taken away.
LOOK_S = 0.25
TRIES = 3
#: After so much packet time nothing is sent again of a connection that has ended: twice the longest life of a segment.
ENDED_NS = 60 * 1_000_000_000
NEVER = (1 << 63) - 1
#: Makes the tables of a batch in a folder: the task, what is read, its earliest turn, the folder.
Engine = Callable[[Task, Sequence[Stretch], int, Path], list[Told]]


@dataclass(frozen=True, slots=True)
class StreamJob:
    """What is watched, what is made of it and where; times in seconds."""

    job: Job
    checkpoint: Path
    engine: str
    #: Into how many parts flows are dealt in a new stream, unless the job says it.
    parts: int = 1
    interval_s: float = 5.0
    idle_s: float = 600.0
    delay_s: float = 5.0
    is_once: bool = False
    is_finished: bool = False

    @property
    def folder(self) -> Path:
        """The one that is watched."""
        return self.job.captures[0]


class Made(NamedTuple):
    """A batch: its number, what it took and came to, the latest turn that it took, and how long it was made.

    Records are frames, and what is said of gaps and problems between them.
    """

    batch: int
    packets: int
    bytes: int
    records: int
    open: int
    newest_ns: int
    seconds: float


class Ears(NamedTuple):
    """Who is told what."""

    #: What became of captures.
    tell: Callable[[str], None]
    #: What is uncertain about connections.
    note: Callable[[str], None]
    #: Each batch that is in place.
    made: Callable[[Made], None]
    #: The number and the packets of each batch, while it is made.
    making: Callable[[int, int], AbstractContextManager[object]] = lambda batch, packets: nullcontext()


def run_stream(job: StreamJob, engine: Engine, ears: Ears) -> Manifest:
    """Make tables of what is in the folder, and of what comes into it, until there is nothing more or forever.

    UsageError and CaptureError where the checkpoint, the tables or the folder are not what they should be: all batches
    before are in place then.
    """
    check_places(job.folder, job.job.root, job.checkpoint)
    options = StreamOptions(job.job.protocol, port_names(job.job), job.job.has_events)
    wanted = Stream(name_of(job.folder.resolve()), name_of(job.job.root.resolve()), options, job.job.splits)
    with opened(job.checkpoint, wanted, job.parts) as checkpoint:
        return _Run(job, engine, checkpoint, ears).run()


def pause(seconds: float) -> None:
    """Wait for what comes next."""
    time.sleep(seconds)


def check_places(folder: Path, root: Path, checkpoint: Path) -> None:
    """UsageError where one of the three is in another one: one would be taken for the other."""
    if not os.path.isdir(folder):
        raise UsageError(f"{folder} is not a readable folder; expected a folder in which captures arrive")
    places = {"the captures": folder, "the tables": root, "the checkpoint": checkpoint}
    for name, place in places.items():
        for other, around in places.items():
            if name != other and place.resolve().is_relative_to(around.resolve()):
                raise UsageError(f"{name} ({place}) would be in the folder of {other} ({around}): give each its own")


class _Run:
    def __init__(self, job: StreamJob, engine: Engine, checkpoint: Checkpoint, ears: Ears) -> None:
        self._job = job
        self._engine = engine
        self._checkpoint = checkpoint
        self._ears = ears
        last = checkpoint.last
        self._following = self._followed()
        self._published = Published(job.job, checkpoint.stream, job.engine)
        self._published.clear(last.staging, ears.tell)
        if last.batch >= 0:
            self._published.publish(last, self._following.inputs)
            self._published.clear("", ears.tell)
        self._published.check(last.batch + 1)
        checkpoint.clear()
        self._has_taps = last.has_taps
        #: Whether there is to be another look.
        self._is_looking = True

    def _followed(self) -> Following:
        """What the last commit knows of captures."""
        checkpoint = self._checkpoint
        captures = checkpoint.last.captures
        return Following(
            self._job.folder, checkpoint.copies, captures, self._ears.tell, is_patient=not self._job.is_once
        )

    def run(self) -> Manifest:
        """Until there is nothing more, or forever."""
        while True:
            began = time.monotonic()
            has_more = self._step()
            if has_more:
                continue
            if self._job.is_once:
                break
            pause(max(LOOK_S, self._job.interval_s - (time.monotonic() - began)))
        if self._job.is_finished:
            self._following.finish()
            self._batch(Plan({}, self._checkpoint.last.turn_ns), Silence(NEVER, NEVER))
        return self._published.manifest

    def _step(self) -> bool:
        """Look, and make a batch of what is new; whether there is more than a batch takes."""
        for left in reversed(range(TRIES)):
            if self._is_looking:
                self._following.look()
            self._is_looking = not self._job.is_once
            try:
                plan = self._planned()
                if plan is None:
                    self._published.note(self._following.inputs)
                    return False
                self._batch(plan, self._silence(max(plan.turn_ns, self._checkpoint.last.turn_ns)))
            except CaptureError:  # it may have been taken away: the next look shows it
                if not left:
                    raise
                self._is_looking = True
            else:
                return self._job.is_once or fill_batch(self._following.captures)
        return False

    def _planned(self) -> Plan | None:
        self._has_taps = self._has_taps or overlap(self._following.captures)
        waits = self._has_taps and not self._job.is_once
        return planned(self._following, self._following.reached_ns(self._job.delay_s) if waits else None)

    def _silence(self, turn_ns: int) -> Silence:
        return Silence(turn_ns - int(self._job.idle_s * 1e9), turn_ns - ENDED_NS)

    def _batch(self, plan: Plan, silence: Silence) -> None:
        """Make a batch, and put it in place."""
        began = time.monotonic()
        checkpoint, following, last = self._checkpoint, self._following, self._checkpoint.last
        packets, size = plan.packets(following.captures), plan.bytes(following.captures)
        token = f"{last.batch + 1:08d}-{uuid.uuid4().hex[:12]}"
        with self._ears.making(last.batch + 1, packets), self._staging(last.batch + 1, token) as staging:
            told = self._engine(self._task(token, silence), list(plan.stretches(following)), last.turn_ns, staging)
            if not following.is_as_planned(plan.until):
                raise CaptureError(str(self._job.folder), "a capture was rewritten while it was read")
            for place, joint in plan.until.items():
                following.captures[place].read_to(joint)
            commit = self._commit(staging.name, told, max(plan.turn_ns, last.turn_ns))
            checkpoint.commit(commit)
            self._published.publish(commit, following.inputs)
        for each in told:
            each.done.tell_notes(self._ears.note)
        records = sum(file.rows for file in commit.tables.get(FRAMES, ()))
        newest_ns = plan.turn_ns if plan.until else NO_TIME
        self._ears.made(Made(commit.batch, packets, size, records, commit.open, newest_ns, time.monotonic() - began))

    @contextmanager
    def _staging(self, batch: int, token: str) -> Iterator[Path]:
        """A folder for the tables of a batch; unless that is done, what is in it at the end is of no use."""
        staging = self._job.job.root / f"{STAGING}-{token}"
        with refused(staging):
            staging.mkdir()
        try:
            yield staging
        finally:
            if not self._checkpoint.is_done(batch) or self._published.batches > batch:
                remove_folder(staging)

    def _task(self, token: str, silence: Silence) -> Task:
        following, job = self._following, self._job.job
        paths = [str(path.absolute()) for path in following.paths]
        files = Files(paths, [each.name for each in following.captures])
        states, last = self._checkpoint.states.absolute(), self._checkpoint.last
        return Task(job.options, job.has_events, files, str(states), last.states, token, silence)

    def _commit(self, staging: str, told: Sequence[Told], turn_ns: int) -> Commit:
        batch = self._checkpoint.last.batch + 1
        tables: dict[str, list[File]] = {}
        total = Account()
        for each in told:
            total.add(each.done.total)
            for name, files in each.done.tables.items():
                tables.setdefault(name, []).extend(files)
        return Commit(
            batch,
            staging,
            [msgspec.structs.replace(each) for each in self._following.captures],
            [each.states for each in told],
            turn_ns,
            self._has_taps,
            sum(each.open for each in told),
            in_batch(tables, batch),
            total,
            sum(each.done.connections for each in told),
        )
