"""The tables of a batch put where everybody sees them: in one step for the manifest, as often as it takes."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from wiretool.errors import UsageError
from wiretool.ledger import Account
from wiretool.pipeline.job import Job
from wiretool.pipeline.layout import MANIFEST, File, Input, Manifest, read_manifest, write_manifest
from wiretool.pipeline.part import options_of
from wiretool.pipeline.staging import STAGING, check_root
from wiretool.pipeline.stream.checkpoint import Commit, Stream, remove_folder
from wiretool.sinks.arrow.files import part_of, refused

#: What is left to do where rows are missing.
ANEW = "begin anew, with another checkpoint and other tables"


class Published:
    """The tables of a stream, and their manifest."""

    def __init__(self, job: Job, stream: Stream, engine: str) -> None:
        """The folder is made if there is none. UsageError where it holds anything but the tables of this stream."""
        self._root = root = job.root
        if (root / MANIFEST).exists() and read_manifest(root).stream == stream.id:
            self.manifest = read_manifest(root)
            self._written = self._stat()
            return
        if (root / MANIFEST).exists():
            raise UsageError(f"{root} holds the tables of another run or stream: give a new or empty folder")
        _clear_beginning(root)
        check_root(root, ())
        total = msgspec.to_builtins(Account())
        self.manifest = Manifest((), {}, total, 0, engine, options_of(job), stream=stream.id)
        with refused(root):
            root.mkdir(parents=True, exist_ok=True)
        write_manifest(root, self.manifest)
        self._written = self._stat()

    def clear(self, but: str) -> None:
        """Remove what batches have left that were not done."""
        with refused(self._root):
            for path in self._root.iterdir():
                if path.name.startswith(STAGING) and path.name != but:
                    remove_folder(path)

    def has(self, commit: Commit) -> bool:
        """Whether a batch is in place."""
        return self.manifest.batches == commit.batch + 1

    def publish(self, commit: Commit, inputs: Sequence[Input]) -> None:
        """Put a batch that is done in place, unless it is there. UsageError where the tables before it are missing."""
        if self.has(commit):
            return
        self._check_own()
        if self.manifest.batches != commit.batch:
            has = f"{self._root} has {self.manifest.batches} batches of the stream, and the checkpoint"
            raise UsageError(f"{has} {commit.batch + 1}: they do not belong together any more; {ANEW}")
        staging = self._root / commit.staging
        with refused(self._root):
            for name in commit.tables:
                self._put(staging / name, self._root / name / batch_folder(commit.batch))
        self.manifest = self._with(commit, inputs)
        write_manifest(self._root, self.manifest)
        self._written = self._stat()
        remove_folder(staging)

    def _check_own(self) -> None:
        """UsageError where somebody else has put tables there meanwhile."""
        if self._stat() != self._written and read_manifest(self._root).stream != self.manifest.stream:
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
                f"{new} is gone, and its rows with it: begin anew, with another checkpoint and other tables"
            )

    def _with(self, commit: Commit, inputs: Sequence[Input]) -> Manifest:
        before = self.manifest
        tables = {name: [*before.tables.get(name, ()), *files] for name, files in commit.tables.items()}
        total = Account(**before.total)
        total.add(commit.total)
        return msgspec.structs.replace(
            before,
            inputs=inputs,
            tables=dict(sorted({**before.tables, **tables}.items())),
            total=msgspec.to_builtins(total),
            connections=before.connections + commit.connections,
            batches=commit.batch + 1,
            open=commit.open,
        )


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
