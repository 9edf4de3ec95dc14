"""A folder of tables that appears whole or not at all, in place of that of an earlier run."""

import os
import shutil
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from wiretool.errors import UsageError, WiretoolError, write_error
from wiretool.folder_locks import hold, is_left
from wiretool.pipeline.layout import MANIFEST, read_head
from wiretool.sinks.arrow.files import reason, refused

#: What of the name of a folder says that it is not whole yet; readers of tables leave such names out.
STAGING = ".wiretool-staging"
#: In such a folder: the tables that are made, and those that they take the place of.
NEW, OLD = "new", "old"


def _tell_nobody(text: str) -> None:
    """For runs that nobody watches."""


@contextmanager
def staged(root: Path, inputs: Sequence[Path], tell: Callable[[str], None] = _tell_nobody) -> Iterator[Path]:
    """A new folder that takes the place of `root` when the block ends well, and is removed otherwise.

    Where `root` is a link, the folder that it leads to is meant. UsageError where it holds anything but the tables of
    an earlier run, or cannot be made. What is removed that a killed run has left is told.
    """
    place = Path(os.path.realpath(root))
    with refused(root):
        _clear_up(place, tell)
    check_root(root, inputs)
    with refused(root):
        place.parent.mkdir(parents=True, exist_ok=True)
    staging = _made_beside(place, root)
    try:
        with refused(root):
            held = hold(staging)
            (staging / NEW).mkdir()
        try:
            yield staging / NEW
            with refused(root):
                _put_in_place(staging, place)
        finally:
            os.close(held)
    finally:
        with refused(root):
            _clear(staging, place)


def _made_beside(place: Path, root: Path) -> Path:
    """A folder with a name that no other run has, where renaming it to its place is possible."""
    staging = place.parent / f"{_beginning(place)}{uuid.uuid4().hex[:12]}"
    try:
        staging.mkdir()
    except OSError as err:
        why = f"tables are made beside it first, and {place.parent} takes no folder for them"
        raise write_error(f"cannot write {root}: {why}: {reason(err)}", err) from err
    return staging


def _beginning(place: Path) -> str:
    return f".{place.name}{STAGING}-"


def _clear_up(place: Path, tell: Callable[[str], None]) -> None:
    """Take away what runs have left that were killed; tables that one was just replacing get their place again."""
    for left in sorted(place.parent.iterdir()) if place.parent.is_dir() else ():
        if left.name.startswith(_beginning(place)) and not left.is_symlink() and is_left(left):
            _clear(left, place)
            tell(f"{left} removed: left by a killed run")


def _clear(staging: Path, place: Path) -> None:
    """Remove a staging folder, but for the tables that were to be replaced where there are no others."""
    if not place.exists():
        with suppress(FileNotFoundError):
            (staging / OLD).rename(place)
    shutil.rmtree(staging, ignore_errors=True)


def check_root(root: Path, inputs: Sequence[Path]) -> None:
    """UsageError where tables cannot be put there: it is a file or closed, has other things in it, or an input."""
    with refused(root):
        if not root.exists():
            return
        is_folder = root.is_dir()
    if not is_folder:
        raise UsageError(f"cannot write {root}: not a folder; expected a folder for tables")
    place = root.resolve()
    if why := _why_it_stays(place):
        raise UsageError(f"cannot write {root}: it is {why}, and cannot be replaced: give a folder in it")
    for path in inputs:
        if path.resolve().is_relative_to(place):
            raise UsageError(f"{path} is readand is in {root}, which would be replaced; expected another folder")
    with refused(root):
        is_empty = not any(root.iterdir())
    if not is_empty and not is_ours(root):
        is_there = os.path.lexists(root / MANIFEST)
        has = (
            f"its {MANIFEST} is not of wiretool, damaged or unreadable"
            if is_there
            else f"it has no {MANIFEST} of wiretool"
        )
        raise UsageError(
            f"{root} holds files that wiretool pipeline has not written ({has}); "
            "expected a new or empty folder, or tables of an earlier run"
        )
    if not is_empty and read_head(root).stream:
        raise UsageError(f"{root} holds the tables of a stream; expected another folder")


def _why_it_stays(place: Path) -> str:
    """What a folder is that no other one can take the place of; "" for any other."""
    if os.path.ismount(place):
        return "where a file system begins"
    with suppress(OSError):  # the current folder may be gone
        if place.samefile(Path.cwd()):
            return "the current folder"
    return ""


def is_ours(folder: Path) -> bool:
    """Whether a folder holds tables that a run of ours has made."""
    with suppress(WiretoolError):
        read_head(folder)
        return True
    return False


def _put_in_place(staging: Path, place: Path) -> None:
    """Rename the new folder to its place; the old one goes with the staging folder, or returns if that fails."""
    if place.exists():
        place.rename(staging / OLD)
    (staging / NEW).rename(place)
