"""The stderr of a server that wiretool starts: copied to its own, and the last lines for an error."""

import fcntl
import os
import tempfile
from contextlib import suppress
from typing import IO

#: Lines that an error has, and bytes of them.
LINES, LINES_BYTES = 5, 1000
#: Bytes that are copied at once; a file that has more of them, all copied, begins again.
COPY_BYTES, FILE_BYTES_MAX = 64 * 1024, 16 * 1024 * 1024
_STDERR = 2


class ServerStderr:
    """A file to which a server writes. A pipe would stop a server that writes much while nothing is read."""

    def __init__(self, *, is_quiet: bool) -> None:
        """`is_quiet`: nothing is copied; the last lines are kept all the same."""
        self._is_quiet = is_quiet
        self.file: IO[bytes] = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 (closed by its owner)
        fcntl.fcntl(self.file, fcntl.F_SETFL, os.O_APPEND)  # mode "a" does not set it
        self._copied = 0
        self._tail = b""

    def copy(self) -> None:
        """Copy to stderr what the server has written since the last call."""
        if self.file.closed:
            return
        number = self.file.fileno()
        while data := os.pread(number, COPY_BYTES, self._copied):
            self._copied += len(data)
            self._tail = (self._tail + data)[-LINES_BYTES:]
            if not self._is_quiet:
                with suppress(OSError):  # a stderr that is closed takes nothing
                    os.write(_STDERR, data)
        if self._copied > FILE_BYTES_MAX:
            os.ftruncate(number, 0)  # the server appends
            self._copied = 0

    def forget(self) -> None:
        """Forget the lines of a server that has ended; those of the next one are its own."""
        self.copy()
        self._tail = b""

    def words(self) -> str:
        """Return the last lines as the end of an error; empty where there are none."""
        self.copy()
        lines = [line for each in self._tail.decode("utf-8", "replace").splitlines() if (line := each.strip())]
        return f"; its stderr ends with: {' / '.join(lines[-LINES:])}" if lines else ""
