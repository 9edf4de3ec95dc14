"""Pipes that are read while another program still writes to them, as `tcpdump -U -w -` does."""

import os
import select
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from stat import S_ISCHR, S_ISFIFO, S_ISSOCK
from typing import Any, BinaryIO, cast

from wiretool.errors import UnopenedError


class GrowingInput:
    """A pipe as a binary stream that calls `on_wait` before it waits for more bytes."""

    def __init__(self, stream: Any, name: str, on_wait: Callable[[], None]) -> None:
        self.name = name
        self._stream = stream
        self._read = getattr(stream, "read1", None) or stream.read
        self._on_wait = on_wait

    def read1(self, size: int) -> bytes:
        """Return the bytes that are there, at most `size`; wait where there are none."""
        if not _has_bytes(self._stream):
            self._on_wait()
        data: bytes = self._read(size)
        return data


@contextmanager
def open_growing(
    sources: "Sequence[Path | BinaryIO]", on_wait: Callable[[], None]
) -> "Iterator[list[Path | BinaryIO]]":
    """Give the sources, those that are pipes as streams that call `on_wait` before they wait."""
    with ExitStack() as stack:
        yield [_growing(source, on_wait, stack) for source in sources]


def _growing(source: "Path | BinaryIO", on_wait: Callable[[], None], stack: ExitStack) -> "Path | BinaryIO":
    if not _is_pipe(source):
        return source
    if not isinstance(source, Path):
        return cast(BinaryIO, GrowingInput(source, source.name, on_wait))
    try:
        stream = stack.enter_context(source.open("rb", buffering=0))
    except OSError as err:
        raise UnopenedError(str(source), f"cannot be opened: {err.strerror}; expected a readable pipe") from err
    return cast(BinaryIO, GrowingInput(stream, str(source), on_wait))


def _is_pipe(source: "Path | BinaryIO") -> bool:
    try:
        mode = os.stat(source).st_mode if isinstance(source, Path) else os.fstat(source.fileno()).st_mode
    except OSError:
        return False
    return S_ISFIFO(mode) or S_ISSOCK(mode) or (S_ISCHR(mode) and not isinstance(source, Path))


def _has_bytes(stream: Any) -> bool:
    """Whether a read returns at once; False where the system cannot tell."""
    try:
        return bool(select.select([stream], [], [], 0)[0])
    except (OSError, ValueError):
        return False
