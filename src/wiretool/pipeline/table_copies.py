"""Tables in object storage, copied to be queried: the files that a query reads, with the manifest that names them."""

import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import msgspec

from wiretool.errors import CaptureError, UsageError, WiretoolError
from wiretool.pipeline.layout import MANIFEST, SEALED, Manifest, read_head, read_manifest, write_manifest
from wiretool.sinks.arrow.files import refused
from wiretool.storage.url_path import WEB, UrlPath

if TYPE_CHECKING:
    from wiretool.storage.folder import StoreFolder

#: Parts of the manifest: other names may lead out of the folder.
_SEALED_FILE = re.compile(rf"{re.escape(SEALED)}/\d{{6}}\.json")
#: How often tables are looked for that a run replaces meanwhile.
TRIES = 3
#: Files that are copied at once: most are small, and the answers of a store take far longer than their transfer.
COPIES_AT_ONCE = 8


def has_tables(root: Path) -> bool:
    """Return whether there are tables with rows in a folder, also in object storage. Errors as those of `copied`."""
    with copied(root, lambda name: False) as folder:
        head = read_head(folder)
        return bool(head.tables or head.sealed)


@contextmanager
def copied(root: Path, is_read: Callable[[str], bool], *, only_schemas: bool = False) -> Iterator[Path]:
    """A local folder with the tables of `root` that are read, by their names; a local `root` itself.

    With `only_schemas` there is one file of each table. Tables that are not read have no files in the manifest of the
    copy. Errors, also those that the block raises, name `root`. RemoteError where the store fails; UsageError where it
    refuses, or the disk is full.
    """
    if not isinstance(root, UrlPath):
        yield root
        return
    if root.scheme in WEB:
        raise UsageError(f"{root}: a web server has no folders; expected tables in object storage or a local folder")
    from wiretool.storage.folder import StoreFolder  # imported here: most tables are local

    with TemporaryDirectory(prefix="wiretool-tables-") as temporary, _named(temporary, root):
        folder = Path(temporary)
        store = StoreFolder(root)
        tries_left = TRIES
        while not _copy_tables(store, folder, is_read, 1 if only_schemas else None, is_last=tries_left == 1):
            tries_left -= 1
        yield folder


def _copy_tables(
    store: "StoreFolder", folder: Path, is_read: Callable[[str], bool], most: int | None, *, is_last: bool
) -> bool:
    """Copy the manifest and the files of tables; return whether all are there: a run may replace them meanwhile.

    With `is_last` files may be missing, which the query reports.
    """
    names = store.sizes()
    _copy(store, [name for name in names if name == MANIFEST or _SEALED_FILE.fullmatch(name)], folder)
    try:
        manifest = _reduced(read_manifest(folder), is_read, most)
    except CaptureError:  # it may have been replaced while it was copied
        if is_last:
            raise
        return False
    files = [file.path for files in manifest.tables.values() for file in files]
    there = [name for name in files if name in names]
    if len(there) < len(files) and not is_last:
        return False
    try:
        _copy(store, there, folder)
    except UsageError:
        if is_last or there == [name for name in there if name in store.sizes()]:
            raise
        return False
    write_manifest(folder, manifest)
    return True


def _reduced(manifest: Manifest, is_read: Callable[[str], bool], most: int | None) -> Manifest:
    """Return a manifest with the files of some tables, `most` of each; the others are there without files."""
    tables = {name: files[:most] if is_read(name) else [] for name, files in manifest.tables.items()}
    return msgspec.structs.replace(manifest, tables=tables)


def _copy(store: "StoreFolder", names: list[str], folder: Path) -> None:
    def copy(name: str) -> None:
        path = folder / name
        with refused(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            store.download(name, path)

    pool = ThreadPoolExecutor(COPIES_AT_ONCE)
    try:
        for done in [pool.submit(copy, name) for name in names]:
            done.result()
    finally:
        pool.shutdown(cancel_futures=True)  # also after an error or Ctrl-C


@contextmanager
def _named(temporary: str, root: UrlPath) -> Iterator[None]:
    """Name the folder in object storage in errors about its copy."""
    try:
        yield
    except WiretoolError as err:
        shown = str(root).rstrip("/")
        err.args = tuple(_renamed(value, temporary, shown) for value in err.args)
        for name, value in vars(err).items():
            setattr(err, name, _renamed(value, temporary, shown))
        raise


def _renamed(value: object, temporary: str, shown: str) -> object:
    return value.replace(temporary, shown) if isinstance(value, str) else value
