"""The lines of bench on stderr, without those that depend on how long its setup takes on this machine."""

import re
from collections.abc import Iterable, Iterator

_WAITING = re.compile(r"wiretool: (?:setting up the load|reading back the appended events) \(\d+ s\)\n?")


def without_waiting(lines: Iterable[str]) -> Iterator[str]:
    """Yield the other lines as they come."""
    return (line for line in lines if not _WAITING.fullmatch(line))
