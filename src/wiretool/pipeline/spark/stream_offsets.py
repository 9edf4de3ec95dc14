"""How far a stream has read each capture, as Spark keeps it in a checkpoint; and whether a file still is that capture.

A name says little: rings use it again, and files are renamed when they are whole. An inode is used again too, and the
first bytes of all files that one program has written may be the same. So a capture is the one that was read as long as
what was read of it ends and begins with the same bytes: with the times of its packets.
"""

import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from wiretool.capture.index.build import NO_TIME, FileIndex, Joint
from wiretool.capture.index.fingerprint import seal
from wiretool.errors import CaptureError, UsageError, system_reason
from wiretool.expectations import json_problem

#: Of what is written here: another number where it changes.
VERSION = 1
START = Joint(0, 1)


class Reached(msgspec.Struct, frozen=True):
    """A capture, as far as it was read: by the name it had then, as it was given."""

    path: str
    inode: int
    kind: str
    is_packed: bool
    #: Bytes of the file that were read, and what these were.
    size: int
    seal: str
    #: Where it goes on.
    joint: Joint

    def index(self, tail: Joint, joints: tuple[Joint, ...] = ()) -> FileIndex:
        """What is known of the capture up to a joint, with those before it that are wanted."""
        return FileIndex(self.size, 0, self.inode, b"", self.kind, joints, tail, NO_TIME, NO_TIME, "", self.is_packed)


class Offset(msgspec.Struct, frozen=True):
    """How far all captures were read, by their numbers: a file that is written anew gets another one."""

    version: int = VERSION
    #: How many captures there have been: the number of the next one.
    met: int = 0
    files: dict[int, Reached] = {}

    def json(self) -> dict[str, Any]:
        """It as Spark wants it."""
        told: dict[str, Any] = msgspec.to_builtins(self, str_keys=True)
        return told


def offset_of(json: Mapping[str, Any]) -> Offset:
    """What Spark has kept; UsageError where it is of another source, or of another version of this one."""
    try:
        offset = msgspec.convert(json, Offset, str_keys=True)
    except msgspec.ValidationError as err:
        why = f"the checkpoint is not one of wirecap ({json_problem(err)}): give the query another one"
        raise UsageError(why) from err
    if offset.version != VERSION:
        raise UsageError(f"the checkpoint is of another version of wirecap ({offset.version}): give another one")
    return offset


# -- whether it is the same --------------------------------------------------------------------------------------------


def is_still(file: BinaryIO, reached: Reached) -> bool:
    """Whether a file that is open is the capture that was read."""
    try:
        return seal(file, reached.size) == reached.seal
    except OSError as err:
        raise _unread(Path(file.name), err) from err


def found_again(reached: Reached) -> BinaryIO | None:
    """The capture by its name, or in the same folder by another one, open; None where it is gone or written anew.

    CaptureError where that cannot be told.
    """
    for path in _candidates(reached):
        try:
            file = path.open("rb")
        except FileNotFoundError:
            continue
        except OSError as err:
            raise _unread(path, err) from err
        if is_still(file, reached):
            return file
        file.close()
    return None


def _candidates(reached: Reached) -> Iterator[Path]:
    path = Path(reached.path)
    yield path
    try:
        with os.scandir(path.parent) as entries:
            others = [entry.path for entry in entries if entry.inode() == reached.inode and entry.name != path.name]
    except OSError as err:  # a storage that is away now may come back
        raise _unread(path.parent, err) from err
    yield from map(Path, sorted(others))


def _unread(path: Path, err: OSError) -> CaptureError:
    return CaptureError(str(path), f"cannot be read: {system_reason(err)}")


def moved(reached: Reached, path: str) -> Reached:
    """The same capture by another name."""
    return msgspec.structs.replace(reached, path=path)


def as_in(index: FileIndex, stat: os.stat_result) -> FileIndex:
    """An index of a file of which all that was indexed is the same, though it may have come to another inode."""
    return replace(index, inode=stat.st_ino, size=index.size if index.is_packed else index.end)
