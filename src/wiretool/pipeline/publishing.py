"""A folder of tables in object storage, where nothing can be renamed: the manifest is written last.

The files of a run have names of their own, so that those of an earlier run stay whole until the new manifest is there.
Readers go by the manifest. The files of the earlier run are deleted after that.
"""

import re
import signal
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory

import msgspec

from wiretool.errors import CaptureError, RemoteError, Stopped, UsageError, WiretoolError
from wiretool.pipeline.layout import (
    MANIFEST,
    NAMES,
    File,
    Manifest,
    head_in,
    manifest_bytes,
    message_tables,
    read_manifest,
)
from wiretool.pipeline.private import is_inside
from wiretool.pipeline.staging import staged
from wiretool.processes import held_interrupts
from wiretool.storage.folder import StoreFolder
from wiretool.storage.url_path import UrlPath
from wiretool.units import counted

#: Names of files that runs write: those of tables, and a manifest that is not in its place yet.
_FILE = re.compile(r"([^/]+)/(?:[^/]+/)*part-[0-9a-f]{12}(?:-\d+)+\.\w+")
_PART_OF_MANIFEST = re.compile(rf"\.{re.escape(MANIFEST)}-[0-9a-f]{{12}}")


@contextmanager
def made_in(root: Path, inputs: Sequence[Path], tell: Callable[[str], None]) -> Iterator[Path]:
    """A new local folder whose tables take the place of those in `root` when the block ends well.

    For a local folder as `staged`; for one in object storage as `published`.
    """
    with published(root, inputs, tell) if isinstance(root, UrlPath) else staged(root, inputs, tell) as folder:
        yield folder


@contextmanager
def published(root: UrlPath, inputs: Sequence[Path], tell: Callable[[str], None]) -> Iterator[Path]:
    """A temporary folder whose tables are uploaded when the block ends well.

    UsageError where `root` holds anything but the tables of an earlier run, or an input. RemoteError where the store
    fails: then the tables of the earlier run are as they were. `tell` reports files that a killed run has left.
    """
    target = StoreFolder(root)
    earlier = _earlier_files(target, inputs, tell)
    with TemporaryDirectory(prefix="wiretool-tables-") as temporary:
        folder = Path(temporary)
        yield folder
        _publish(folder, target, earlier, tell)


class Upload:
    """The tables of a run that workers write to object storage, each file as `part-RUN-...`."""

    def __init__(self, target: StoreFolder, earlier: set[str], undo: ExitStack, tell: Callable[[str], None]) -> None:
        #: Every file has it in its name.
        self.run = uuid.uuid4().hex[:12]
        self._target = target
        self._earlier = earlier
        self._undo = undo
        self._tell = tell
        undo.callback(self._delete_own, frozenset())

    def finish(self, manifest: Manifest) -> None:
        """Write the manifest, then delete files of the earlier run and of tasks that were tried again."""
        _replace(self._target, manifest_bytes(manifest), self._undo, sorted(self._earlier), self._tell)
        self._delete_own(frozenset(_names(manifest)))

    def _delete_own(self, kept: frozenset[str]) -> None:
        """Delete files of this run, as far as the store does it."""
        with suppress(WiretoolError):
            own = [name for name in self._target.sizes() if f"/part-{self.run}-" in name]
            _delete(self._target, [name for name in own if name not in kept])


@contextmanager
def uploaded(root: UrlPath, inputs: Sequence[Path], tell: Callable[[str], None]) -> Iterator[Upload]:
    """The upload of a run, of which nothing stays unless it is finished. Errors as those of `published`."""
    target = StoreFolder(root)
    earlier = _earlier_files(target, inputs, tell)
    with ExitStack() as undo:
        yield Upload(target, earlier, undo, tell)


def upload_part(folder: Path, names: Sequence[str], root: UrlPath) -> None:
    """Write files of a local folder to object storage. Errors as those of `StoreFolder`."""
    target = StoreFolder(root)
    for name in names:
        target.upload(folder / name, name)


def _earlier_files(target: StoreFolder, inputs: Sequence[Path], tell: Callable[[str], None]) -> set[str]:
    """Return the names of all files of an earlier run, which the manifest names."""
    root = target.root
    for path in inputs:
        if isinstance(path, UrlPath) and path.url.startswith(f"{root.url.rstrip('/')}/"):
            raise UsageError(f"{path} is read and is in {root}, which would be replaced; expected another folder")
    if target.is_object():
        raise UsageError(f"cannot write {root}: an object; expected a folder for tables")
    names = set(target.sizes())
    paths = _named_files(target) if MANIFEST in names else set()
    left = set(filter(_is_of_a_run, names)) - (paths or set())
    if paths is not None and (MANIFEST in names or left == names):
        if left:
            tell(f"{root} holds {counted(len(left), 'file')} of a killed run, which no manifest names")
        return paths
    raise UsageError(
        f"{root} holds objects that wiretool pipeline run has not written; "
        "expected a new or empty folder, or tables of an earlier run"
    )


def _named_files(target: StoreFolder) -> set[str] | None:
    """Return the names of files that the manifest in a folder has; None where it is not that of a run."""
    data = target.read(MANIFEST)
    with suppress(CaptureError):  # a manifest of something else
        head = head_in(data, str(target.url_of(MANIFEST)))
        paths = {file.path for files in head.tables.values() for file in files}
        if not head.stream and all(map(is_inside, paths)):
            return paths
    return None


def _is_of_a_run(name: str) -> bool:
    """Return whether a file has such a name as the files of runs have."""
    found = _FILE.fullmatch(name)
    is_table = found is not None and (found[1] in NAMES or found[1] in message_tables())
    return is_table or _PART_OF_MANIFEST.fullmatch(name) is not None


def _publish(folder: Path, target: StoreFolder, earlier: set[str], tell: Callable[[str], None]) -> None:
    manifest = read_manifest(folder)
    run = uuid.uuid4().hex[:12]
    renamed = msgspec.structs.replace(
        manifest, tables={table: [_renamed(file, run) for file in files] for table, files in manifest.tables.items()}
    )
    with ExitStack() as undo:
        for local, name in zip(_names(manifest), _names(renamed), strict=True):
            undo.callback(_delete, target, [name])
            target.upload(folder / local, name)
        _replace(target, manifest_bytes(renamed), undo, sorted(earlier), tell)


def _replace(
    target: StoreFolder, manifest: bytes, undo: ExitStack, earlier: Sequence[str], tell: Callable[[str], None]
) -> None:
    """Write the manifest and delete the earlier files. Stopped states which tables count."""
    so_far = f"the manifest was being written: {target.root} has the new or the earlier tables: its manifest names them"
    try:
        with held_interrupts():  # a second Ctrl-C ends the wait for the store
            _write_manifest(target, manifest, undo.pop_all())
            so_far = f"the new tables are in {target.root}; files of the earlier run may be left there"
        left = _delete(target, earlier)
    except KeyboardInterrupt as err:
        number = err.number if isinstance(err, Stopped) else signal.SIGINT
        raise Stopped(number, so_far=so_far) from err
    if left:
        tell(f"{target.root}: {left:,} files of the earlier run could not be deleted; the manifest does not name them")


def _write_manifest(target: StoreFolder, data: bytes, undo: ExitStack) -> None:
    """Write the manifest, from which on the new files count: none of them may be deleted then.

    Where the answer of the store is lost, it is asked for the manifest that it has. Nothing is undone in doubt.
    """
    try:
        target.write(MANIFEST, data)
    except RemoteError:
        now = target.read(MANIFEST) if MANIFEST in target.sizes() else b""
        if now != data:
            undo.close()
            raise
    except UsageError:  # the store has refused it
        undo.close()
        raise


def _names(manifest: Manifest) -> list[str]:
    return [file.path for files in manifest.tables.values() for file in files]


def _renamed(file: File, run: str) -> File:
    """Return a file by a name that no other run has: `part-RUN-00000.parquet`."""
    path = PurePosixPath(file.path)
    return msgspec.structs.replace(file, path=str(path.with_name(path.name.replace("part-", f"part-{run}-", 1))))


def _delete(target: StoreFolder, names: Sequence[str]) -> int:
    """Delete files that no manifest names; return the number of those that the store does not delete."""
    left = 0
    for name in names:
        try:
            target.delete(name)
        except WiretoolError:
            left += 1
    return left
