"""One object read forward as a binary stream: with retries, in bounded memory, and only while it stays the same."""

import io
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from wiretool import limits
from wiretool.errors import RemoteError

T = TypeVar("T")


class TransferError(Exception):
    """A request that failed and may succeed when it is sent again: `why` is the reason in a few words."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class ChangedError(Exception):
    """An object that is not the one any more of which the first bytes were read."""


@dataclass(frozen=True, slots=True)
class ObjectInfo:
    """The size of an object in bytes, -1 where it is unknown, and the name of its version, "" without one."""

    size: int
    version: str
    #: The time of the last change, 0 where it is unknown.
    mtime_ns: int = field(default=0, compare=False)


class RemoteObject(Protocol):
    """An object on a server. Its methods send one request, or a few; none is repeated."""

    def look(self) -> ObjectInfo:
        """Ask for the size and version. TransferError; CaptureError where another attempt is of no use."""
        ...

    def fetch(self, at: int, size: int) -> bytes:
        """Return up to `size` bytes from `at` on, of the version that `look` found; none at the end of the object.

        TransferError and CaptureError as `look`; ChangedError where there is another version.
        """
        ...

    def close(self) -> None:
        """Close the connection."""
        ...


class ObjectStream(io.RawIOBase):
    """Reads an object from its first byte to its last one.

    A request that fails is repeated from the byte where it ended. RemoteError states that byte where
    `limits.REMOTE_ATTEMPTS_MAX` attempts in a row failed, or the object changed.
    """

    def __init__(self, name: str, source: RemoteObject) -> None:
        self.name = name
        self._source = source
        self._at = 0
        self._block = memoryview(b"")
        self._block_bytes = limits.REMOTE_BLOCK_BYTES_MIN
        self._failures = 0
        #: Where the last failure was: enough bytes after it make the next one the first.
        self._failed_at = 0
        self.info = retry(name, source.look)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "bytearray | memoryview") -> int:  # type: ignore[override]
        """Fill the buffer as far as one block goes; 0 at the end. RemoteError as described above."""
        if not self._block:
            self._block = memoryview(self._next_block())
        count = min(len(buffer), len(self._block))
        buffer[:count] = self._block[:count]
        self._block = self._block[count:]
        return count

    def close(self) -> None:
        if not self.closed:
            self._source.close()
        super().close()

    def _next_block(self) -> bytes:
        while self.info.size < 0 or self._at < self.info.size:
            try:
                return self._fetch()
            except TransferError as err:
                self._wait_after(err)
            except ChangedError as err:
                why = "the object changed while it was read; run the command again"
                raise RemoteError(self.name, why, offset=self._at) from err
        return b""

    def _fetch(self) -> bytes:
        data = self._source.fetch(self._at, self._block_bytes)
        if not data and self._at < self.info.size:
            raise TransferError(f"the transfer ended {self.info.size - self._at:,} bytes early")
        self._at += len(data)
        if self._at - self._failed_at >= limits.REMOTE_PROGRESS_BYTES:
            self._failures = 0
        self._block_bytes = min(2 * self._block_bytes, limits.REMOTE_BLOCK_BYTES_MAX)
        return data

    def _wait_after(self, err: TransferError) -> None:
        self._failures += 1
        self._failed_at = self._at
        _wait_after(err, self._failures, self.name, self._at)


def retry(name: str, call: Callable[[], T]) -> T:
    """Return the result of a call, which is repeated after a TransferError; RemoteError after the last attempt."""
    failures = 0
    while True:
        try:
            return call()
        except TransferError as err:
            failures += 1
            _wait_after(err, failures, name, 0)


def _wait_after(err: TransferError, failures: int, name: str, at: int) -> None:
    """Wait before the next attempt, longer each time; RemoteError after the last one."""
    if failures >= limits.REMOTE_ATTEMPTS_MAX:
        why = f"cannot be read: {failures} attempts failed, the last one: {err.why}"
        raise RemoteError(name, why, offset=at or None) from err
    time.sleep(limits.REMOTE_PAUSE_S * 2 ** (failures - 1))
