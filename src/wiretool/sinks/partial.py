"""Names of files that are not whole yet."""

from pathlib import Path

#: What such a name ends in.
PART = ".part"


def part_of(path: Path) -> Path:
    """Return where a file is until it is whole."""
    return path.with_name(path.name + PART)
