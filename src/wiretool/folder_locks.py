"""Folders that are in use as long as somebody holds a lock on a file in them: one that was killed holds none.

The number of a process would not do: in containers each run has the same, and on other machines it says nothing.
"""

import errno
import fcntl
import os
from contextlib import suppress
from pathlib import Path

#: As long as somebody holds a lock on this file the folder is in use.
HELD, NOT_YET_HELD = "held", "held.new"
#: What file systems say that have no locks.
NO_LOCKS = (errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS)


def hold(folder: Path) -> int:
    """Hold a folder: the open file that does it until it is closed, also where a child has inherited it.

    The file gets its name when the lock is on it, so that nobody takes the folder for one left behind.
    """
    held = os.open(folder / NOT_YET_HELD, os.O_CREAT | os.O_RDWR, 0o600)
    with suppress(OSError):  # a file system may have no locks: then nobody takes the folder for one left behind, either
        fcntl.flock(held, fcntl.LOCK_EX)
    (folder / NOT_YET_HELD).rename(folder / HELD)
    return held


def take(folder: Path) -> int | None:
    """Hold a folder that is used again and again, until `release`; None where somebody else holds it.

    No child holds it: one that is left behind is in nobody's way.
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
    """Hold a folder no longer that was taken."""
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
    """Whether nobody holds a folder any more that was held."""
    try:
        held = os.open(folder / HELD, os.O_RDWR)
    except OSError:  # being made, being removed, or somebody else's
        return False
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(held)
    return True
