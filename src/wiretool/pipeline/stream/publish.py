"""The tables of a batch put where everybody sees them: in one step for the manifest, as often as it takes."""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from wiretool.errors import UsageError
from wiretool.ledger import Account
from wiretool.pipeline.flows.task import options_of
from wiretool.pipeline.job import Job
from wiretool.pipeline.layout import (
    FORMAT_SEALED,
    MANIFEST,
    File,
    Head,
    Input,
    Manifest,
    Sealed,
    changed,
    put,
    read_head,
    sealed_of,
    whole,
    write_manifest,
    write_sealed,
)
from wiretool.pipeline.staging import STAGING, check_root
from wiretool.pipeline.stream.checkpoint import Commit, Stream, remove_folder
from wiretool.sinks.arrow.files import refused
from wiretool.sinks.partial import part_of

#: What is left to do where rows are missing.
ANEW = "start again with another checkpoint and other tables"
#: The manifest is written with each batch. So it has no more batches itself, and no more captures that are new: when it
#: has so many they are sealed in a file of their own.
BATCHES_MAX, INPUTS_MAX = 256, 256


class Published:
    """The tables of a stream, and their manifest."""

    def __init__(self, job: Job, stream: Stream, engine: str) -> None:
        """The folder is made if there is none. UsageError where it holds anything but the tables of this stream."""
        self._root = root = job.root
        #: What the manifest says of captures; and what is sealed: captures as they were then, and how many batches.
        self._noted: list[tuple[str, str]] = []
        self._inputs: list[Input] = []
        self._batches = 0
        if os.path.exists(root / MANIFEST):
            self._head = read_head(root)
            if self._head.stream != stream.id:
                raise UsageError(f"{root} holds the tables of another run or stream; expected a new or empty folder")
            for sealed in sealed_of(root, self._head):
                put(self._inputs, sealed.places, sealed.inputs)
                self._batches = sealed.batches
            if not self.batches:  # it may have been begun in another way
                self._head = msgspec.structs.replace(self._head, options=options_of(job), engine=engine)
            self._noted = _noted(self.manifest.inputs)
            self._written = self._stat()
            return
        _clear_beginning(root)
        check_root(root, ())
        total = msgspec.to_builtins(Account())
        self._head = Head((), {}, total, 0, engine, options_of(job), stream=stream.id)
        with refused(root):
            root.mkdir(parents=True, exist_ok=True)
        write_manifest(root, self._head)
        self._written = self._stat()

    @property
    def batches(self) -> int:
        """How many batches are in place."""
        return self._head.batches

    @property
    def manifest(self) -> Manifest:
        """The manifest with all that is sealed, which is read for it; errors as those of `read_manifest`."""
        return whole(self._root, self._head)

    def clear(self, but: str, tell: Callable[[str], None]) -> None:
        """Remove what batches have left that were not done, and tell of it."""
        with refused(self._root):
            for path in self._root.iterdir():
                if path.name.startswith(STAGING) and path.name != but:
                    remove_folder(path)
                    tell(f"{path} removed: left by a killed run")

    def has(self, commit: Commit) -> bool:
        """Whether a batch is in place."""
        return self.batches == commit.batch + 1

    def check(self, batches: int) -> None:
        """UsageError where there are not so many batches in place: what is made next would be taken for another."""
        if self.batches != batches:
            has = f"{self._root} has {self.batches} batches of the stream, and the checkpoint {batches}"
            raise UsageError(f"{has}: they do not belong together any more; {ANEW}")

    def publish(self, commit: Commit, inputs: Sequence[Input]) -> None:
        """Put a batch that is done in place, unless it is there. UsageError where the tables before it are missing.

        The first inputs are its captures; those behind them may be others the next time.
        """
        if self.has(commit):
            return
        self._check_own()
        if self.batches != commit.batch:
            self.check(commit.batch + 1)
        staging = self._root / commit.staging
        with refused(self._root):
            for name in commit.tables:
                self._put(staging / name, self._root / name / batch_folder(commit.batch))
        self._write(self._sealed(self._with(commit, inputs), len(inputs) - len(commit.captures)), inputs)
        remove_folder(staging)

    def note(self, inputs: Sequence[Input]) -> None:
        """Say what is wrong with captures, if that is something else than at the last batch. Errors as of `publish`."""
        if _noted(inputs) == self._noted:
            return
        self._check_own()
        places, new = changed(self._inputs, inputs)
        self._write(msgspec.structs.replace(self._head, inputs=new, places=places), inputs)

    def _write(self, head: Head, inputs: Sequence[Input]) -> None:
        self._head = head
        write_manifest(self._root, head)
        self._noted = _noted(inputs)
        self._written = self._stat()

    def _check_own(self) -> None:
        """UsageError where somebody else has put tables there meanwhile."""
        if self._stat() != self._written and read_head(self._root).stream != self._head.stream:
            raise UsageError(f"{self._root} has got the tables of another run or stream meanwhile: {ANEW}")

    def _stat(self) -> tuple[int, int]:
        """Another one where the manifest is not the one that was written here."""
        with refused(self._root):
            stat = (self._root / MANIFEST).stat()
        return stat.st_ino, stat.st_mtime_ns

    def _put(self, new: Path, place: Path) -> None:
        place.parent.mkdir(exist_ok=True)
        if new.is_dir():
            os.replace(new, place)
        elif not place.is_dir():
            raise UsageError(
                f"{new} is gone, and its rows with it: start again with another checkpoint and other tables"
            )

    def _with(self, commit: Commit, inputs: Sequence[Input]) -> Head:
        before = self._head
        tables = {name: [*before.tables.get(name, ()), *files] for name, files in commit.tables.items()}
        total = Account(**before.total)
        total.add(commit.total)
        places, new = changed(self._inputs, inputs)
        return msgspec.structs.replace(
            before,
            inputs=new,
            places=places,
            tables=dict(sorted({**before.tables, **tables}.items())),
            total=msgspec.to_builtins(total),
            connections=before.connections + commit.connections,
            batches=commit.batch + 1,
            open=commit.open,
        )

    def _sealed(self, head: Head, others: int) -> Head:
        """What is to be written: where that is much it is sealed first, but for so many inputs at the end."""
        until = len(head.inputs) - others
        if head.batches - self._batches < BATCHES_MAX and until - len(head.places) < INPUTS_MAX:
            return head
        sealed = Sealed(head.stream, head.batches, head.tables, head.inputs[:until], head.places)
        write_sealed(self._root, head.sealed, sealed)
        put(self._inputs, sealed.places, sealed.inputs)
        self._batches = head.batches
        return msgspec.structs.replace(
            head, tables={}, inputs=head.inputs[until:], places=(), sealed=head.sealed + 1, format=FORMAT_SEALED
        )


def _noted(inputs: Sequence[Input]) -> list[tuple[str, str]]:
    """The captures, each with what is wrong with it."""
    return [(each.path, each.damage) for each in inputs]


def _clear_beginning(root: Path) -> None:
    """Remove the manifest that was being written when a stream was killed that had only just begun."""
    part = part_of(root / MANIFEST)
    with refused(root):
        if root.is_dir() and os.listdir(root) == [part.name]:
            part.unlink()


def batch_folder(batch: int) -> str:
    """Where the rows of a batch are, under the folder of each table."""
    return f"batch={batch:08d}"


def in_batch(tables: Mapping[str, Sequence[File]], batch: int) -> dict[str, list[File]]:
    """The files of tables by the paths that they will have."""
    folder = batch_folder(batch)
    return {
        name: [File(f"{name}/{folder}/{file.path.removeprefix(name + '/')}", file.rows, file.bytes) for file in files]
        for name, files in tables.items()
    }
