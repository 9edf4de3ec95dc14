"""Progress of work in steps, on stderr: a bar on a terminal, else one line a second once the work is long."""

import time
from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypeVar

from wiretool.commands.options import tell
from wiretool.commands.progress import LONG_S, QUICK_S, REDRAW_S, LiveDisplay, is_watched

if TYPE_CHECKING:
    from rich.progress import Progress

T = TypeVar("T")
#: Seconds between two lines where stderr is not a terminal.
LINE_S = 1.0
#: Steps between two looks at the clock.
STRIDE = 256


class StepProgress:
    """Reports how many steps of some work are done; a `total` of 0 is not known."""

    def __init__(self, name: str, unit: str, total: int = 0) -> None:
        self._name, self._unit, self._total = name, unit, total
        self._is_watched = is_watched()
        self._next_s = time.monotonic() + (QUICK_S if self._is_watched else LONG_S)
        self._bar: Progress | None = None
        self._display = LiveDisplay()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, err: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._display.close()

    def update(self, done: int, total: int = 0) -> None:
        """Report the number of steps that are done, if it is time to."""
        now_s = time.monotonic()
        if now_s < self._next_s:
            return
        self._total = total or self._total
        if self._is_watched:
            self._next_s = now_s + REDRAW_S
            self._draw(done)
        else:
            self._next_s = now_s + LINE_S
            of_all = f" of {self._total:,}" if self._total else ""
            tell(f"{self._name}: {done:,}{of_all} {self._unit}")

    def _draw(self, done: int) -> None:
        if self._bar is None:
            self._bar = self._new_bar()
        self._bar.update(self._bar.task_ids[0], completed=done, total=self._total or None)
        self._display.show(self._bar.get_renderable())

    def _new_bar(self) -> "Progress":
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeElapsedColumn, TimeRemainingColumn

        columns = "{task.description}", BarColumn(), MofNCompleteColumn(), self._unit
        times = TimeElapsedColumn(), TimeRemainingColumn()
        bar = Progress(*columns, *times, auto_refresh=False)
        bar.add_task(self._name, total=None)
        return bar


def with_progress(steps: Iterable[T], name: str, unit: str) -> Iterator[T]:
    """Yield the steps and report how many there were."""
    with StepProgress(name, unit) as progress:
        for at, step in enumerate(steps):
            if not at % STRIDE:
                progress.update(at)
            yield step
