"""A folder for what Spark leaves on disk, gone when it ends: also that of a session that was killed."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from wiretool.errors import system_reason, write_error
from wiretool.folder_locks import hold, is_left

PREFIX = "wiretool-spark-"


class Scratch(NamedTuple):
    """A folder, and the open file that says it is in use: whoever inherits that holds the folder, too."""

    path: Path
    held: int


@contextmanager
def scratch(parent: Path | None = None) -> Iterator[Scratch]:
    """A fresh folder, in that for temporary files unless told otherwise; those that nobody holds any more are removed.

    UsageError where it cannot be made.
    """
    parent = Path(tempfile.gettempdir()) if parent is None else parent
    sweep(parent)
    try:
        path = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent))
    except OSError as err:
        raise write_error(f"{parent}: Spark's files cannot be stored there: {system_reason(err)}", err) from err
    try:
        held = hold(path)
        try:
            yield Scratch(path, held)
        finally:
            os.close(held)
    finally:
        shutil.rmtree(path, ignore_errors=True)


def sweep(parent: Path) -> None:
    """Remove the folders of ours that nobody holds any more."""
    for path in parent.glob(f"{PREFIX}*"):
        if not path.is_symlink() and is_left(path):
            shutil.rmtree(path, ignore_errors=True)
