"""A key log that another program may still write to."""

import os
from collections.abc import Callable
from pathlib import Path
from stat import S_ISREG
from typing import BinaryIO, NamedTuple

from wiretool.errors import UsageError, why_unreadable
from wiretool.limits import KEYLOG_PIPE_BYTES_MAX, KEYLOG_READ_BYTES_MAX


class _Version(NamedTuple):
    """The file that a path names, and its state."""

    device: int
    inode: int
    size: int
    modified_ns: int

    @property
    def file(self) -> tuple[int, int]:
        """Return the identity of the file, which stays when it is written to."""
        return self.device, self.inode


class GrowingFile:
    """Reads the lines of a file as they are added; `report` takes the problems after the first read, each once."""

    def __init__(self, path: Path, report: Callable[[str], None]) -> None:
        self._path = path
        self._report = report
        self._reported: set[str] = set()
        #: Where the next line begins; what the file was when it was last read.
        self._at = 0
        self._version: _Version | None = None
        #: Whether lines of that version are left, and whether its end was reached once.
        self._has_rest = self._is_loaded = self._is_file = False

    def read_new(self) -> bytes:
        """Return the next lines, of a big file a part; empty if there are none.

        UsageError where it cannot be read. Once its end was reached, that is reported instead, as is a file that was
        truncated or replaced, which is read from its beginning.
        """
        try:
            return self._read()
        except OSError as err:
            self._refuse(why_unreadable(err), err)
            return b""

    def _read(self) -> bytes:
        status = os.stat(self._path)
        version = _Version(status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)
        is_regular = S_ISREG(status.st_mode)
        if version == self._version and not self._has_rest:
            return b""
        if self._is_loaded and not is_regular:
            if self._is_file:
                self._refuse("is not a regular file any more")
            return b""
        self._find_place(version)
        with self._path.open("rb") as file:
            if self._at:
                file.seek(self._at)
            data = file.read(KEYLOG_READ_BYTES_MAX)
            if not is_regular:
                data = self._read_pipe(file, data)
        is_loading = not self._is_loaded
        self._version, self._has_rest = version, is_regular and len(data) == KEYLOG_READ_BYTES_MAX
        self._is_loaded |= not self._has_rest
        self._is_file = is_regular
        end = data.rfind(b"\n") + 1
        if self._has_rest and not end:
            self._refuse(f"{len(data):,} bytes without an end of a line; expected a key log")
            end = len(data)
        self._at += end
        # The last line may lack its end in a file that is complete.
        return data if is_loading and not self._has_rest else data[:end]

    def _read_pipe(self, file: BinaryIO, data: bytes) -> bytes:
        """Return all bytes of a pipe, which cannot be read again. UsageError for one of other bytes, or without end."""
        parts, size = [data], len(data)
        while data:
            if size > KEYLOG_PIPE_BYTES_MAX:
                self._refuse(f"more than {KEYLOG_PIPE_BYTES_MAX:,} bytes in a pipe; expected a file")
                break
            if len(data) == KEYLOG_READ_BYTES_MAX and b"\n" not in data:
                self._refuse(f"{len(data):,} bytes without an end of a line; expected a key log")
                break
            data = file.read(KEYLOG_READ_BYTES_MAX)
            parts.append(data)
            size += len(data)
        return b"".join(parts)

    def _find_place(self, version: _Version) -> None:
        """Begin again where the file is another one, is shorter, or was written again in the same length."""
        before = self._version
        if before is None or version == before:
            return
        if version.file != before.file:
            self._tell("was replaced; the new file is read from its beginning")
        elif version.size < before.size:
            self._tell("was truncated; it is read from its beginning")
        elif version.size > before.size:
            return
        self._at = 0

    def _refuse(self, why: str, cause: OSError | None = None) -> None:
        """Raise UsageError, or report it where secrets were read before."""
        if not self._is_loaded:
            raise UsageError(f"--keylog {self._path}: {why}") from cause
        self._tell(f"{why}; the secrets that were read before stay in use")

    def _tell(self, why: str) -> None:
        if why not in self._reported:
            self._reported.add(why)
            self._report(f"--keylog {self._path}: {why}")
