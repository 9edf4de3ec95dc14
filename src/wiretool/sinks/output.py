"""The file or pipe that text goes to: written in large pieces, or at once where somebody is watching."""

import codecs
import os
import select
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from stat import S_IMODE, S_ISFIFO, S_ISREG
from types import TracebackType
from typing import BinaryIO, Self

from wiretool.errors import OutputError, UsageError, system_reason, write_error
from wiretool.sinks.partial import part_of

#: Characters that are gathered before they are written.
CHUNK = 64 * 1024


class Output:
    """Takes text. What the encoding of the file does not have is written as an escape."""

    def __init__(
        self, file: BinaryIO, *, name: str = "output", encoding: str = "utf-8", at_once: bool = False, own: bool = False
    ) -> None:
        self.name = name
        self._file = file
        self._encoding = encoding
        #: Whether each piece is written as it comes.
        self.at_once = at_once
        self._own = own
        #: Whether what the file held before is still in it: until the first write, or a good end without any.
        self._is_old = own
        #: Whether this is a terminal.
        self.is_terminal = file.isatty()
        self._parts: list[str] = []
        self._size = 0

    def write(self, text: str) -> None:
        """Add text; it is in the file after `flush` at the latest."""
        self._parts.append(text)
        self._size += len(text)
        if self.at_once or self._size >= CHUNK:
            self.flush()

    def write_utf8(self, text: bytes | memoryview) -> None:
        """Add text that is UTF-8 already, a large piece of it."""
        if codecs.lookup(self._encoding).name != "utf-8":
            self.write(str(text, "utf-8"))
            return
        self.flush()
        self._put(text)

    def write_bytes(self, data: bytes) -> None:
        """Add bytes, behind all text given so far."""
        self.flush()
        self._put(data)

    def flush(self) -> None:
        """Write what is gathered."""
        parts, self._parts, self._size = self._parts, [], 0
        self._put("".join(parts).encode(self._encoding, "backslashreplace"))

    def has_reader(self) -> bool:
        """Return whether another program reads the pipe that is written to; always for a file."""
        if not S_ISFIFO(os.fstat(self._file.fileno()).st_mode):
            return True
        poll = select.poll()
        poll.register(self._file, 0)
        return not poll.poll(0)  # errors are always reported: a pipe without readers has one

    def _put(self, data: bytes | memoryview) -> None:
        try:
            if self._is_old and data:
                self._empty()
            if data:
                self._file.write(data)
            self._file.flush()
        except BrokenPipeError:
            raise
        except OSError as err:
            self._forget()
            raise OutputError(f"cannot write {self.name}: {system_reason(err)}") from err

    def _forget(self) -> None:
        """Let what could not be written go nowhere: else closing the file would try again at the end."""
        with suppress(OSError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self._file.fileno())
            os.close(nowhere)

    def _empty(self) -> None:
        self._is_old = False
        if S_ISREG(os.fstat(self._file.fileno()).st_mode):
            self._file.truncate(0)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None or not issubclass(kind, BrokenPipeError):
                self.flush()
            if self._is_old and kind is None:
                self._empty()
        finally:
            if self._own:
                self._file.close()


def open_output(path: Path | None, *, at_once: bool = False, inputs: Sequence[Path] = ()) -> Output:
    """The file at `path`, or stdout for None and `-`; at once where stdout is a terminal.

    UsageError where the file cannot be written, or is one of the `inputs`. A file keeps what it holds until there is
    something to put there: bad input costs nobody the output of the last run.
    """
    if path is None or str(path) == "-":
        if sys.stdout is None:
            raise UsageError("stdout is closed: nothing can be written to it")
        encoding = sys.stdout.encoding or "utf-8"
        return Output(
            sys.stdout.buffer, name="stdout", encoding=encoding, at_once=at_once or sys.stdout.isatty(), own=False
        )
    check_not_read(path, inputs)
    try:
        file = path.open("ab")
    except OSError as err:
        raise write_error(f"cannot write {path}: {system_reason(err)}", err) from err
    return Output(file, name=str(path), at_once=at_once, own=True)


@contextmanager
def open_whole_output(path: Path | None, *, inputs: Sequence[Path] = ()) -> Iterator[Output]:
    """Open the file at `path` as `open_output` does, for output that is useful only when complete.

    The new file takes its name when the block ends without an error. After an error the old file is unchanged, and the
    part that was written is removed. Stdout, pipes and devices, links and files in a folder that takes no others are
    written as they come.
    """
    if path is None or not _is_replaceable(path):
        with open_output(path, inputs=inputs) as out:
            yield out
        return
    check_not_read(path, inputs)
    with ExitStack() as undo:
        undo.callback(_remove_part, path)
        with _part_for(path) as file, Output(file, name=str(path)) as out:
            yield out
        part_of(path).replace(path)
        undo.pop_all()


def _is_replaceable(path: Path) -> bool:
    """Return whether a new file can replace the one at a path."""
    if str(path) == "-" or path.is_symlink() or not os.access(path.parent, os.W_OK):
        return False
    return path.is_file() or not os.path.exists(path)


def _part_for(path: Path) -> BinaryIO:
    """Open the partial file of an output, with the mode of the file at `path`.

    UsageError where one of the two cannot be written.
    """
    try:
        if path.exists():
            path.open("ab").close()
        file = part_of(path).open("wb")
        if path.exists():
            os.fchmod(file.fileno(), S_IMODE(path.stat().st_mode))
    except OSError as err:
        raise write_error(f"cannot write {path}: {system_reason(err)}", err) from err
    return file


def _remove_part(path: Path) -> None:
    """Remove the part of an output; a folder of that name stays."""
    if part_of(path).is_file():
        part_of(path).unlink()


def check_not_read(path: Path, inputs: Iterable[Path]) -> None:
    """UsageError where a file to be written is one of the `inputs`."""
    if any(is_same(given, path) for given in inputs):
        raise UsageError(f"{path} is an input; expected another output")


def is_same(one: Path, other: Path) -> bool:
    """Whether two paths lead to one file, as far as can be seen."""
    return os.path.exists(one) and os.path.exists(other) and os.path.samefile(one, other)
