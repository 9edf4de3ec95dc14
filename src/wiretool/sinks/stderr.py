"""Lines on stderr for the user."""

import os
import sys

from wiretool.sinks.printable import printable
from wiretool.sinks.text.wrapping import wrap_lines


def report(text: str) -> None:
    """Print a line on stderr, if there is one: wrapped between words on a terminal, a single line anywhere else."""
    if sys.stderr is not None:
        sys.stderr.write(wrap_lines([printable(text)], _columns()))
        sys.stderr.flush()


def _columns() -> int:
    """Return the width of the terminal that stderr is, 0 where it is a file or a pipe."""
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns
    except (OSError, ValueError):
        return 0
