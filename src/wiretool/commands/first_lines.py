"""The first of many similar lines on stderr, and a count of the others."""

from types import TracebackType
from typing import Self

from wiretool.commands.options import tell


class FirstLines:
    """Similar lines, of which only the first ones are printed."""

    def __init__(self, lines_max: int, noun: str) -> None:
        """Print `lines_max` lines; `noun` names the others, as in `and 7 more notes like these`."""
        self._lines_max = lines_max
        self._noun = noun
        self._count = 0

    def __call__(self, text: str) -> None:
        """Print a line, or count it."""
        self._count += 1
        if self._count <= self._lines_max:
            tell(text)

    def end(self) -> None:
        """Print how many lines were only counted; then begin again."""
        if self._count > self._lines_max:
            tell(f"and {self._count - self._lines_max:,} more {self._noun} like these")
        self._count = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, err: BaseException | None, at: TracebackType | None) -> None:
        self.end()
