"""A folder of objects in a store: they are listed, written as a whole, and deleted."""

import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from pyarrow import fs

from wiretool.errors import RemoteError, UnopenedError, UsageError, WiretoolError, why_unreadable
from wiretool.storage.object_stream import TransferError, retry
from wiretool.storage.stores import classify_failure, connect, run_in_thread, shorten_reason
from wiretool.storage.url_path import WEB, UrlPath

T = TypeVar("T")

#: Bytes of a file that are handed to the store at once.
CHUNK_BYTES = 4 * 1024 * 1024
#: The verb of a refusal, as a participle.
_DONE = {"read": "read", "write": "written", "delete": "deleted"}


class StoreFolder:
    """All objects whose names begin with that of a folder. Names are relative to it.

    Its methods raise RemoteError where the store cannot be reached or fails, and UsageError where it refuses. Ctrl-C
    ends the wait for a store at once, save in `upload` and `download`: an object is copied to its end.
    """

    def __init__(self, root: UrlPath) -> None:
        """Connect. UsageError for a web server; UnopenedError for a store that cannot be used at all."""
        if root.scheme in WEB:
            raise UsageError(f"{root}: a web server has no folders; expected object storage, such as s3://BUCKET/NAME")
        self.root = root
        self._store, path = retry(str(root), lambda: connect(root, repeats=True))
        self._path = path.rstrip("/")
        #: A file system has folders, which are to be made, and shows a file while it is written; the other stores
        #: have neither.
        self._is_file_system = root.scheme == "hdfs"

    def url_of(self, name: str) -> UrlPath:
        """Return the URL of an object."""
        return UrlPath(f"{self.root.url.rstrip('/')}/{name}")

    def is_object(self) -> bool:
        """Return whether the folder is an object itself."""
        path = self._path or "/"
        return self._call("read", "", lambda: self._store.get_file_info(path)).type is fs.FileType.File

    def sizes(self) -> dict[str, int]:
        """Return the size of each object, in the order of names; empty where the folder does not exist."""
        selector = fs.FileSelector(self._path or "/", allow_not_found=True, recursive=True)
        infos = self._call("read", "", lambda: self._store.get_file_info(selector))
        start = len(f"{self._path}/".lstrip("/"))
        files = {info.path.lstrip("/")[start:]: info.size or 0 for info in infos if info.type is fs.FileType.File}
        return dict(sorted(files.items()))

    def read(self, name: str) -> bytes:
        """Return the content of a small object."""
        path = self._path_of(name)

        def read() -> bytes:
            with self._store.open_input_file(path) as file:
                return bytes(file.read())

        return self._call("read", name, read)

    def write(self, name: str, data: bytes) -> None:
        """Write an object, which is there as a whole or not at all, also where Ctrl-C ends the wait for it."""
        path = self._path_of(name)
        folder, _, last = path.rpartition("/")
        beside = f"{folder}/.{last}-{uuid.uuid4().hex[:12]}" if self._is_file_system else path

        def write() -> None:
            with self._open(beside) as out:
                out.write(data)
            if beside != path:
                self._store.move(beside, path)

        self._call("write", name, write)

    def upload(self, path: Path, name: str) -> None:
        """Write the content of a file. UsageError where it cannot be read: then the object is to be deleted."""
        chunks = _read_chunks(path)
        try:
            with self._open(self._path_of(name)) as out:
                for data in chunks:
                    out.write(data)
        except (OSError, ValueError) as err:
            raise self._error("write", name, err) from err

    def download(self, name: str, path: Path) -> None:
        """Copy an object to a file. OSError where the file cannot be written."""
        try:
            source = self._store.open_input_stream(self._path_of(name), compression=None)
        except (OSError, ValueError) as err:
            raise self._error("read", name, err) from err
        with source, path.open("wb") as file:
            while data := self._chunk(source, name):
                file.write(data)

    def delete(self, name: str) -> None:
        """Delete an object; one that is not there is as good as deleted."""
        path = self._path_of(name)

        def delete() -> None:
            with suppress(FileNotFoundError):
                self._store.delete_file(path)

        self._call("delete", name, delete)

    def _call(self, verb: str, name: str, call: Callable[[], T]) -> T:
        """Return the result of a call of the store, and name the object in its errors."""
        try:
            return run_in_thread(call)
        except (OSError, ValueError) as err:
            raise self._error(verb, name, err) from err

    def _open(self, path: str) -> "fs.NativeFile":
        if self._is_file_system:
            self._store.create_dir(path.rpartition("/")[0], recursive=True)
        return self._store.open_output_stream(path, compression=None)

    def _chunk(self, source: "fs.NativeFile", name: str) -> bytes:
        try:
            return bytes(source.read(CHUNK_BYTES))
        except (OSError, ValueError) as err:
            raise self._error("read", name, err) from err

    def _path_of(self, name: str) -> str:
        return f"{self._path}/{name}"

    def _error(self, verb: str, name: str, err: Exception) -> WiretoolError:
        url = str(self.url_of(name) if name else self.root)
        if not isinstance(err, OSError):
            return UsageError(f"cannot {verb} {url}: {shorten_reason(err)}")
        reported = classify_failure(url, err, self._path_of(name) if name else self._path)
        if isinstance(reported, TransferError):
            return RemoteError(url, f"cannot be {_DONE[verb]}: {reported.why}")
        assert isinstance(reported, UnopenedError), "stores refuse in no other way"
        return UsageError(f"cannot {verb} {url}: {reported.why.removeprefix('cannot be opened: ')}")


def _read_chunks(path: Path) -> Iterator[bytes]:
    """Yield the content of a file. UsageError where it cannot be read: the store has nothing to do with that."""
    try:
        with path.open("rb") as file:
            while data := file.read(CHUNK_BYTES):
                yield data
    except OSError as err:
        raise UsageError(f"{path}: {why_unreadable(err)}") from err
