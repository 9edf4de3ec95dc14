"""Locks on folders that a run uses: a killed process holds none, so its folder can be removed.

A process id is not enough: it is the same for each run in a container, and means nothing on another machine.
"""

import errno
import fcntl
import os
from contextlib import suppress
from pathlib import Path

#: A folder is in use while a process holds a lock on this file.
HELD, NOT_YET_HELD = "held", "held.new"
#: Errors of file systems without locks.
NO_LOCKS = (errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS)


def hold(folder: Path) -> int:
    """Lock a folder until the returned open file is closed, by child processes as well.

    The file gets its name when it is locked, so that the folder never looks abandoned.
    """
    held = os.open(folder / NOT_YET_HELD, os.O_CREAT | os.O_RDWR, 0o600)
    with suppress(OSError):  # without locks no folder ever looks abandoned
        fcntl.flock(held, fcntl.LOCK_EX)
    (folder / NOT_YET_HELD).rename(folder / HELD)
    return held


def take(folder: Path) -> int | None:
    """Lock a folder that is used repeatedly, until `release`; None if another process has locked it.

    Child processes do not keep it locked.
    """
    held = os.open(folder / HELD, os.O_CREAT | os.O_RDWR, 0o600)
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(held)
        return None
    except OSError as err:
        if err.errno not in NO_LOCKS:
            raise
    _taken.add(held)
    return held


def release(held: int) -> None:
    """Unlock a folder that `take` has locked."""
    _taken.discard(held)
    os.close(held)


def _close_all() -> None:
    for held in _taken:
        os.close(held)
    _taken.clear()


#: The open files of folders that are taken.
_taken: set[int] = set()
os.register_at_fork(after_in_child=_close_all)


def is_left(folder: Path) -> bool:
    """Return whether a folder was locked and no process has it locked now."""
    try:
        held = os.open(folder / HELD, os.O_RDWR)
    except OSError:  # being created or removed, or another user's
        return False
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(held)
    return True
