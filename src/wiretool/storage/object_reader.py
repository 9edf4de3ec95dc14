"""One object read at any place, by ranges: with the retries of a stream, and only while it stays the same."""

import io

from wiretool import limits
from wiretool.storage.object_stream import ObjectStream, RemoteObject


class ObjectReader(ObjectStream):
    """A stream that can seek. Errors are those of `ObjectStream`.

    Reading on takes larger ranges each time, none of which goes past `end`, up to which bytes are expected to be read.
    """

    def __init__(self, name: str, source: RemoteObject) -> None:
        super().__init__(name, source)
        self.end = self.info.size

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at - len(self._block)

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go to a byte; nothing is read."""
        target = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self.tell(), io.SEEK_END: self.info.size}[whence]
        skipped = target - self.tell()
        if 0 <= skipped <= len(self._block):
            self._block = self._block[skipped:]
        else:
            self._block = memoryview(b"")
            self._at = self._failed_at = target
            self._block_bytes = limits.REMOTE_BLOCK_BYTES_MIN
        return target

    def _fetch(self) -> bytes:
        if self._at < self.end:
            self._block_bytes = min(self._block_bytes, self.end - self._at)
        return super()._fetch()
