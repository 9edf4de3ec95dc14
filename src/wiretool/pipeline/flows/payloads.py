"""Payloads read again from where they stand in their files, many at a time."""

import os
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

import numpy as np

from wiretool.codec.columns import NO_INTEGERS, Integers
from wiretool.errors import CaptureError, system_reason

#: Payloads of one file that are so near one another are read at once: a call costs more than what is between them.
NEAR_BYTES = 512
#: Files that are held open at once.
OPEN_FILES_MAX = 64


class Spans(NamedTuple):
    """Bytes, and where in them each payload begins."""

    data: bytes
    starts: Integers


class Payloads:
    """Reads payloads of a list of files; a context manager that closes them."""

    def __init__(self, files: Sequence[Path]) -> None:
        self._files = files
        self._open: OrderedDict[int, int] = OrderedDict()

    def __enter__(self) -> "Payloads":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        while self._open:
            os.close(self._open.popitem()[1])

    def read(self, files: Integers, at: Integers, lengths: Integers) -> Spans:
        """`lengths[i]` bytes from `at[i]` on of the file with the place `files[i]`.

        CaptureError where a file is not there any more, or ends before that.
        """
        if not len(at):
            return Spans(b"", NO_INTEGERS)
        order = np.lexsort((at, files))
        spans = self._read_sorted(files[order], at[order], lengths[order])
        starts = np.empty(len(at), np.int64)
        starts[order] = spans.starts
        return Spans(spans.data, starts)

    def _read_sorted(self, files: Integers, at: Integers, lengths: Integers) -> Spans:
        ends = at + lengths
        gaps = at[1:] - ends[:-1]
        breaks = np.flatnonzero((gaps < 0) | (gaps > NEAR_BYTES) | (files[1:] != files[:-1])) + 1
        firsts = np.append(0, breaks)
        lasts = np.append(breaks, len(at)) - 1
        begins, stops = at[firsts], ends[lasts]
        parts = [
            self._bytes(file, begin, stop - begin)
            for file, begin, stop in zip(files[firsts].tolist(), begins.tolist(), stops.tolist(), strict=True)
        ]
        sizes = stops - begins
        base = np.repeat(np.cumsum(sizes) - sizes - begins, lasts - firsts + 1)
        return Spans(b"".join(parts), at + base)

    def _bytes(self, file: int, at: int, size: int) -> bytes:
        path = self._files[file]
        try:
            data = os.pread(self._descriptor(file), size, at)
            while 0 < len(data) < size and (more := os.pread(self._descriptor(file), size - len(data), at + len(data))):
                data += more
        except OSError as err:
            raise CaptureError(str(path), f"cannot be read: {system_reason(err)}", offset=at) from err
        if len(data) < size:
            raise CaptureError(str(path), "ends before a packet that was there: has it been cut?", offset=at)
        return data

    def _descriptor(self, file: int) -> int:
        descriptor = self._open.get(file)
        if descriptor is None:
            if len(self._open) >= OPEN_FILES_MAX:
                os.close(self._open.popitem(last=False)[1])
            descriptor = self._open[file] = os.open(self._files[file], os.O_RDONLY | getattr(os, "O_BINARY", 0))
        self._open.move_to_end(file)
        return descriptor
