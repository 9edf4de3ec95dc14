"""How far the reading of files is, on a terminal."""

import io
import os
import shutil
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from stat import S_ISREG
from typing import TYPE_CHECKING, BinaryIO, TypeGuard, TypeVar, cast

from wiretool.commands.options import tell

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.live import Live

T = TypeVar("T")

#: Seconds in which most files are read: nothing is shown before.
QUICK_S = 0.5
#: What shows the cursor of a terminal again.
SHOW_CURSOR = "\x1b[?25h"
#: Seconds between two drawings of a bar.
REDRAW_S = 0.1
#: How often it is reported that something is under way of which nobody knows how far it is.
WAITING_S = 1.0
#: Seconds after which work is long where stderr is not a terminal.
LONG_S = 3.0


@contextmanager
def counted(sources: Sequence[Path | BinaryIO]) -> Iterator[tuple[list[Path | BinaryIO], list[io.FileIO]]]:
    """The sources with their files opened, and these. What cannot be opened stays a path: its reader says why.

    So does what is no file, a pipe say: nobody knows how much will come out of it.

    A file tells how much of it was read, also by another process.
    """
    with ExitStack() as stack:
        out: list[Path | BinaryIO] = []
        files: list[io.FileIO] = []
        for source in sources:
            try:
                file = stack.enter_context(io.FileIO(source, "rb")) if _is_counted(source) else None
            except OSError:
                file = None
            if file is None:
                out.append(source)
            else:
                files.append(file)
                out.append(cast(BinaryIO, file))  # a raw file has all of one that is used
        yield out, files


def _is_counted(source: Path | BinaryIO) -> TypeGuard[Path]:
    return isinstance(source, Path) and is_file(source)


def is_file(path: Path) -> bool:
    """Whether a capture lies on a disk, so that its size is known and it can be read at any pace."""
    try:
        return S_ISREG(os.stat(path).st_mode)
    except OSError:
        return False


def is_watched() -> bool:
    """Return whether stderr is a terminal, and the program is not one of its background jobs.

    The job in the foreground has the screen: a live display of another one would overwrite its lines.
    """
    if sys.stderr is None or not sys.stderr.isatty():
        return False
    try:
        return os.tcgetpgrp(sys.stderr.fileno()) == os.getpgrp()
    except (AttributeError, OSError):  # no job control: Windows, or a terminal of another session
        return True


def tell_apart(text: str) -> None:
    """Print a line on stderr, on a terminal in place of the line that `report_waiting` writes."""
    if is_watched():
        print("\r\x1b[K", end="", file=sys.stderr)
    tell(text)


@contextmanager
def report_waiting(name: str | Callable[[], str]) -> Iterator[Callable[[], None]]:
    """Report every second on stderr that something is under way, until the block ends or what is given is called.

    Where the name changes it is called, from a thread.

    On a terminal that is one line that is written anew and goes in the end; elsewhere lines, once the work is long.
    """
    done, begun = threading.Event(), time.monotonic()
    pause_s = WAITING_S if is_watched() else LONG_S

    def report() -> None:
        nonlocal pause_s
        while not done.wait(pause_s):
            pause_s = WAITING_S
            text = f"{name if isinstance(name, str) else name()} ({time.monotonic() - begun:.0f} s)"
            if is_watched():
                print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)
            else:
                tell(text)

    thread = threading.Thread(target=report, daemon=True)

    def end() -> None:
        if not done.is_set():
            done.set()
            thread.join()
            if is_watched():
                print("\r\x1b[K", end="", file=sys.stderr, flush=True)

    thread.start()
    try:
        yield end
    finally:
        end()


class LiveDisplay:
    """Shows what changes in one place of the terminal, as long as the program is its job in the foreground."""

    def __init__(self) -> None:
        self._live: Live | None = None

    def show(self, content: "RenderableType") -> None:
        """Draw in place of what was drawn before; nothing while the job is in the background."""
        if not is_watched():
            return
        if self._live is None:
            from rich.console import Console
            from rich.live import Live

            self._live = Live(console=Console(file=sys.stderr, highlight=False), auto_refresh=False, transient=True)
            self._live.start()
        self._live.update(content, refresh=True)

    @property
    def width(self) -> int:
        """Return the number of columns of the terminal."""
        return shutil.get_terminal_size().columns if self._live is None else self._live.console.width

    def close(self) -> None:
        """Erase what was drawn, unless another job has the screen by now."""
        if self._live is None:
            return
        if is_watched():
            self._live.stop()
        else:
            self._live.console.file = io.StringIO()
            self._live.stop()
            print(SHOW_CURSOR, end="", file=sys.stderr, flush=True)
        self._live = None


def shown(steps: Iterable[T], files: Sequence[io.FileIO], name: str = "reading") -> Generator[T]:
    """The steps as they come, with a bar of how much of the files was read, at what rate, and what is left to wait.

    It is there from `QUICK_S` on, and gone when the steps are over or closed.
    """
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TimeRemainingColumn, TransferSpeedColumn

    columns = "{task.description}", BarColumn(), TaskProgressColumn(), TransferSpeedColumn(), TimeRemainingColumn()
    bar, display = Progress(*columns, auto_refresh=False), LiveDisplay()
    task = bar.add_task(name, total=sum(os.fstat(file.fileno()).st_size for file in files))
    next_s = time.monotonic() + QUICK_S
    try:
        for step in steps:
            bar.update(task, completed=sum(file.tell() for file in files))
            if time.monotonic() >= next_s:
                display.show(bar.get_renderable())
                next_s = time.monotonic() + REDRAW_S
            yield step
    finally:
        display.close()
