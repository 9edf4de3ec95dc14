"""Folders that nobody else may write to, and names of what is in them."""

import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

from wiretool.errors import UsageError

_OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH
_PRIVATE = 0o700


def make_private(folder: Path) -> None:
    """Make a folder that only its owner can look into, unless it is there. UsageError where others may write to it.

    OSError where it cannot be made.
    """
    folder.mkdir(mode=_PRIVATE, parents=True, exist_ok=True)
    check_private(folder)


def check_private(folder: Path) -> None:
    """Check that nobody else may write to a folder. UsageError where somebody may: what is in it may be forged."""
    found = folder.stat()
    if found.st_uid not in (os.geteuid(), 0):
        raise UsageError(
            f"{folder}: belongs to another user (uid {found.st_uid}); expected a folder that you own; "
            "use a new folder, as its owner can change the files"
        )
    if found.st_mode & _OTHERS_MAY_WRITE:
        raise UsageError(
            f"{folder}: other users may write to it (mode {stat.S_IMODE(found.st_mode):04o}); expected {_PRIVATE:04o}; "
            f"use a new folder, or check its files and `chmod 700 {folder}`"
        )


def is_name(text: str) -> bool:
    """Whether a text is the name of one file or folder, and leads nowhere else."""
    return text not in ("", ".", "..") and "/" not in text and "\0" not in text


def is_inside(path: str) -> bool:
    """Whether a relative path stays in its folder by its words alone."""
    return all(is_name(each) for each in path.split("/"))


def paths_outside(root: Path, paths: Iterable[str]) -> Iterator[str]:
    """Yield the relative paths that lead out of their folder, by their words or through a link."""
    real_root = Path(os.path.realpath(root))
    for path in paths:
        if not is_inside(path) or not Path(os.path.realpath(root / path)).is_relative_to(real_root):
            yield path


def is_special(path: Path) -> bool:
    """Return whether the path is there and not a regular file: opening a named pipe would wait for its writer."""
    return os.path.lexists(path) and not stat.S_ISREG(os.lstat(path).st_mode)
