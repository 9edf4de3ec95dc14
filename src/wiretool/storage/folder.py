"""A folder of objects in a store: they are listed, written as a whole, and deleted."""

from pathlib import Path

from pyarrow import fs

from wiretool.errors import PeerError, UnopenedError, UsageError, WiretoolError
from wiretool.storage.object_stream import TransferError
from wiretool.storage.stores import failure, file_system_of, in_thread
from wiretool.storage.url_path import WEB, UrlPath

#: Bytes of a file that are handed to the store at once.
CHUNK_BYTES = 4 * 1024 * 1024


class StoreFolder:
    """All objects whose names begin with that of a folder. Names are relative to it.

    Its methods raise PeerError where the store cannot be reached or fails, and UsageError where it refuses.
    """

    def __init__(self, root: UrlPath) -> None:
        """UsageError for a web server, and for a store that cannot be used at all."""
        if root.scheme in WEB:
            raise UsageError(f"{root}: a web server has no folders; expected object storage, such as s3://BUCKET/NAME")
        self.root = root
        self._store, path = file_system_of(root, repeats=True)
        self._path = path.rstrip("/")
        #: Folders are to be made in a file system; in the other stores they are parts of names.
        self._has_folders = root.scheme == "hdfs"

    def url_of(self, name: str) -> UrlPath:
        """Return the URL of an object."""
        return UrlPath(f"{self.root.url.rstrip('/')}/{name}")

    def is_object(self) -> bool:
        """Return whether the folder is an object itself."""
        try:
            return in_thread(lambda: self._store.get_file_info(self._path)).type is fs.FileType.File
        except (OSError, ValueError) as err:
            raise self._error("read", "", err) from err

    def sizes(self) -> dict[str, int]:
        """Return the size of each object, in the order of names; empty where the folder does not exist."""
        selector = fs.FileSelector(self._path, allow_not_found=True, recursive=True)
        try:
            infos = in_thread(lambda: self._store.get_file_info(selector))
        except (OSError, ValueError) as err:
            raise self._error("read", "", err) from err
        start = len(self._path.lstrip("/")) + 1
        files = {info.path.lstrip("/")[start:]: info.size or 0 for info in infos if info.type is fs.FileType.File}
        return dict(sorted(files.items()))

    def read(self, name: str) -> bytes:
        """Return the content of a small object."""
        try:
            with self._store.open_input_file(self._path_of(name)) as file:
                return bytes(file.read())
        except OSError as err:
            raise self._error("read", name, err) from err

    def write(self, name: str, data: bytes) -> None:
        """Write an object, which is there as a whole or not at all."""
        try:
            with self._opened(name) as out:
                out.write(data)
        except OSError as err:
            raise self._error("write", name, err) from err

    def upload(self, path: Path, name: str) -> None:
        """Write the content of a file, as `write` does. OSError where the file cannot be read."""
        with path.open("rb") as file:
            try:
                with self._opened(name) as out:
                    while data := file.read(CHUNK_BYTES):
                        out.write(data)
            except OSError as err:
                raise self._error("write", name, err) from err

    def download(self, name: str, path: Path) -> None:
        """Copy an object to a file. OSError where the file cannot be written."""
        with path.open("wb") as file:
            try:
                source = self._store.open_input_stream(self._path_of(name), compression=None)
            except OSError as err:
                raise self._error("read", name, err) from err
            with source:
                while data := self._chunk(source, name):
                    file.write(data)

    def delete(self, name: str) -> None:
        """Delete an object; one that is not there is as good as deleted."""
        try:
            self._store.delete_file(self._path_of(name))
        except FileNotFoundError:
            return
        except OSError as err:
            raise self._error("delete", name, err) from err

    def _opened(self, name: str) -> "fs.NativeFile":
        path = self._path_of(name)
        if self._has_folders:
            self._store.create_dir(path.rpartition("/")[0], recursive=True)
        return self._store.open_output_stream(path, compression=None)

    def _chunk(self, source: "fs.NativeFile", name: str) -> bytes:
        try:
            return bytes(source.read(CHUNK_BYTES))
        except OSError as err:
            raise self._error("read", name, err) from err

    def _path_of(self, name: str) -> str:
        return f"{self._path}/{name}"

    def _error(self, verb: str, name: str, err: Exception) -> WiretoolError:
        url = str(self.url_of(name) if name else self.root)
        if not isinstance(err, OSError):
            return UsageError(f"cannot {verb} {url}: {err}")
        reported = failure(url, err)
        if isinstance(reported, TransferError):
            return PeerError(f"cannot {verb} {url}: {reported.why}")
        assert isinstance(reported, UnopenedError), "stores refuse in no other way"
        return UsageError(f"cannot {verb} {url}: {reported.why.removeprefix('cannot be opened: ')}")
