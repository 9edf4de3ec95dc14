"""The temporary folder of a run of bench, which the next run removes if this one is killed."""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from wiretool.folder_locks import hold, is_left

#: How the names of all such folders begin.
PREFIX = "wiretool-bench-"


@contextmanager
def working_folder(tell: Callable[[str], None]) -> Iterator[Path]:
    """Make a folder that is removed after the block; first remove those of killed runs, and `tell` which."""
    remove_left(tell)
    with tempfile.TemporaryDirectory(prefix=PREFIX) as name:
        held = hold(Path(name))
        try:
            yield Path(name)
        finally:
            os.close(held)


def remove_left(tell: Callable[[str], None]) -> None:
    """Remove the folders of this user that no process holds; a folder without a lock is still being made."""
    for folder in sorted(Path(tempfile.gettempdir()).glob(f"{PREFIX}*")):
        if _is_own(folder) and is_left(folder):
            shutil.rmtree(folder, ignore_errors=True)
            tell(f"{folder} removed: left by a killed run")


def _is_own(folder: Path) -> bool:
    """Return whether it is a folder, not a link to one, of this user."""
    try:
        return not folder.is_symlink() and folder.is_dir() and folder.stat().st_uid == os.getuid()
    except OSError:  # another run is removing it
        return False
