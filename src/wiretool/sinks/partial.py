"""Names of files that are still being written."""

from pathlib import Path

#: The end of such a name.
PART = ".part"


def part_of(path: Path) -> Path:
    """Return the path of a file while it is being written."""
    return path.with_name(path.name + PART)
