"""What captures there are for a stream, looked at again and again: how far each can be read now, and what was lost."""

import errno
import logging
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from glob import glob
from pathlib import Path
from stat import S_ISREG
from typing import BinaryIO

from wiretool.capture.files.reading import check_to_seek
from wiretool.capture.files.source import PACKINGS
from wiretool.capture.index.build import FileIndex, Joint, extended, index_of
from wiretool.capture.index.fingerprint import seal_of
from wiretool.errors import CaptureError, UsageError, system_reason
from wiretool.pipeline.spark.source_options import SourceOptions, is_pattern
from wiretool.pipeline.spark.stream_offsets import Offset, Reached, as_in, moved

#: What tells whether a file is as it was: inode, bytes and time.
Stamp = tuple[int, int, int]
#: Where warnings go: Spark's workers print them, and keep them where it is told to.
LOG = logging.getLogger("wiretool.wirecap")


def lost(name: str, why: str, *, is_strict: bool) -> None:
    """Tell that packets are lost: as a CaptureError, or as a warning."""
    if is_strict:
        raise CaptureError(name, why)
    LOG.warning("%s %s", name, why)


@dataclass(frozen=True, slots=True)
class Found:
    """A capture that is there, as it was when it was looked at; the seal is of all that can be read of it."""

    path: str
    stamp: Stamp
    index: FileIndex
    seal: str

    @property
    def size(self) -> int:
        """Bytes that can be read."""
        return sealed_bytes(self.index)

    @property
    def is_same(self) -> bool:
        """Whether it has not been written anew since."""
        return seal_of(Path(self.path), self.size) == self.seal

    def reached(self, until: Joint) -> Reached | None:
        """It as far as one of its joints; None where it is not what it was."""
        index, is_all = self.index, until == self.index.tail
        size = self.size if is_all else until.at
        seal = self.seal if is_all else seal_of(Path(self.path), size)
        if not self.is_same:
            return None
        return Reached(self.path, index.inode, index.kind, index.is_packed, size, seal, until)


def sealed_bytes(index: FileIndex) -> int:
    """How much of its file an index is of: a packed one is read as a whole."""
    return index.size if index.is_packed else index.end


class Looks:
    """The captures that were asked for, as they were when they were looked at last."""

    def __init__(self, options: SourceOptions, every_bytes: int) -> None:
        """There will be a joint about every so many bytes."""
        self._options = options
        self._named = {str(Path(place)) for place in options.given}
        self._every_bytes = every_bytes
        self._found: dict[str, Found] = {}
        #: What is known to continue what was read.
        self._same: dict[str, tuple[Stamp, str]] = {}
        #: Files that are no captures, or packed and not whole; and whether they were looked at as they are.
        self._refused: dict[str, tuple[Stamp, bool]] = {}
        self._told: set[tuple[str, str]] = set()
        #: Whether nothing that comes from now on is wanted, and what was there then.
        self._is_held = False
        self._held: list[Found] | None = None

    def check(self) -> None:
        """UsageError where a folder or file that was named is not there; of what is closed to us the first look tells.

        CaptureError for a pattern where we may not look.
        """
        from wiretool.pipeline.inputs import is_there  # which knows all tables: only who plans wants it

        for place in self._options.given:
            if not is_pattern(place) and not is_there(Path(place)):
                raise UsageError(f"{place} is not there: expected a folder in which captures arrive, or captures")

    def hold(self) -> None:
        """Of what comes after the next look nothing is told."""
        self._is_held, self._held = True, None

    def look(self, before: Offset) -> tuple[Offset, list[Found]]:
        """What was read, by the names that it has now and without what is gone, and all that can be read.

        CaptureError for a file that was named and is no capture; and for what is damaged or lost, if the reading is
        strict.
        """
        if self._held is not None:
            return before, self._held
        stats = self._stats()
        self._check_unread(before, stats)
        now = self._now(before, stats)
        known = {reached.path: reached for reached in now.files.values()}
        looked = (self._look_at(path, stat, known.get(path)) for path, stat in stats.items())
        found = [each for each in looked if each is not None]
        self._found = {each.path: each for each in found}
        self._same = {path: same for path, same in self._same.items() if path in stats}
        self._refused = {path: refused for path, refused in self._refused.items() if path in stats}
        if self._is_held:
            self._held = found
        return now, found

    def inner(self, file: BinaryIO, since: Joint, reached: Reached) -> tuple[Joint, ...]:
        """The joints between two others of a capture that is open, of which the second is where it is read to."""
        path = Path(file.name)
        found = self._found.get(file.name)
        if found is not None and found.index.tail.number >= reached.joint.number and found.is_same:
            index = found.index
        else:
            start = as_in(reached.index(since), os.fstat(file.fileno()))
            index = extended(path, start, every_bytes=self._every_bytes)
        return tuple(joint for joint in index.joints if since.number < joint.number < reached.joint.number)

    def forget(self, done: Offset) -> None:
        """Joints of what was read are of no use any more."""
        for reached in done.files.values():
            found = self._found.get(reached.path)
            if found is not None and found.index.joints:
                left = tuple(joint for joint in found.index.joints if joint.number > reached.joint.number)
                self._found[reached.path] = replace(found, index=replace(found.index, joints=left))

    # -- files ---------------------------------------------------------------------------------------------------------

    def _stats(self) -> dict[str, os.stat_result]:
        """All files by name, each by one of its names; those without a byte are not there yet."""
        stats: dict[str, os.stat_result] = {}
        names: dict[tuple[int, int], str] = {}
        for path in sorted(set(map(str, self._files()))):
            try:
                stat = os.stat(path)
            except FileNotFoundError:  # taken away just now, or a link to nowhere
                continue
            except OSError as err:
                if err.errno == errno.ELOOP:  # which never was a capture
                    continue
                raise CaptureError(path, f"cannot be looked at: {system_reason(err)}") from err
            if path in self._named:
                check_to_seek(Path(path))
            if not S_ISREG(stat.st_mode) or not stat.st_size:
                continue
            other = names.setdefault((stat.st_dev, stat.st_ino), path)
            if other != path and not os.path.islink(other):
                continue
            stats.pop(other, None)
            names[stat.st_dev, stat.st_ino] = path
            stats[path] = stat
        return stats

    def _files(self) -> Iterator[Path]:
        from wiretool.pipeline.inputs import files_in  # which knows all tables: only who plans wants it

        for place in self._options.given:
            named = map(Path, glob(place, recursive=True) if is_pattern(place) else [place])
            for each in named:
                yield from files_in(each, lambda text: None) if os.path.isdir(each) else [each]

    # -- what was read before ------------------------------------------------------------------------------------------

    def _now(self, before: Offset, stats: dict[str, os.stat_result]) -> Offset:
        """What was read, by the names that it has now."""
        kept = {number: each for number, each in before.files.items() if self._is_here(each, stats)}
        paths = {reached.path for reached in kept.values()}
        others = {stat.st_ino: path for path, stat in stats.items() if path not in paths}
        folders = {os.path.dirname(path) for path in paths}
        for number, reached in before.files.items():
            if number in kept:
                continue
            path = others.get(reached.inode)
            if path is not None and self._continues(path, stats[path], reached):
                kept[number] = moved(reached, path)
            elif reached.path in stats:
                self._tell(reached.path, reached.seal, "was rewritten; its unread packets are lost")
            elif os.path.dirname(reached.path) not in folders:  # all of it may be away, and come back
                kept[number] = reached
        return Offset(met=before.met, files={number: kept[number] for number in before.files if number in kept})

    def _is_here(self, reached: Reached, stats: dict[str, os.stat_result]) -> bool:
        return reached.path in stats and self._continues(reached.path, stats[reached.path], reached)

    def _continues(self, path: str, stat: os.stat_result, reached: Reached) -> bool:
        """Whether a file is the one that was read, as it was or with more behind it; taken for it if it is closed."""
        stamp = _stamp(stat)
        if self._same.get(path) == (stamp, reached.seal):
            return True
        try:
            is_same = seal_of(Path(path), reached.size) == reached.seal
        except CaptureError:
            return path == reached.path
        if is_same:
            self._same[path] = stamp, reached.seal
        return is_same

    def _check_unread(self, before: Offset, stats: dict[str, os.stat_result]) -> None:
        """Tell of captures that are not there any more, or not what they were, before all of them was read."""
        read = {reached.path: reached.joint.number for reached in before.files.values()}
        paths = {stat.st_ino: path for path, stat in stats.items()}
        for path, found in self._found.items():
            packets = found.index.tail.number - read.get(path, 1)
            here = {path, paths.get(found.index.inode, path)} & stats.keys()
            if packets > 0 and not any(_is_found(each, stats[each], found) for each in here):
                why = f"was deleted or rewritten; {packets:,} unread packets are lost"
                lost(path, why, is_strict=self._options.is_strict)

    # -- what can be read ----------------------------------------------------------------------------------------------

    def _look_at(self, path: str, stat: os.stat_result, reached: Reached | None) -> Found | None:
        stamp, found = _stamp(stat), self._found.get(path)
        if found is not None and found.stamp == stamp:
            return found
        if self._is_refused(path, stamp):
            return None
        try:
            index = self._index(path, stat, found, reached)
            seal = seal_of(Path(path), sealed_bytes(index))
        except CaptureError as err:
            self._refuse(path, stamp, err)
            return None
        if index.damage:
            self._note_damage(path, stamp, index)
        return Found(path, stamp, index, seal) if seal and not (index.damage and index.is_packed) else None

    def _index(self, path: str, stat: os.stat_result, found: Found | None, reached: Reached | None) -> FileIndex:
        """How far it can be read now; of what was visited before only the end is visited again."""
        if reached is not None and reached.is_packed:
            if stat.st_size != reached.size:
                self._tell(path, reached.seal, "has grown since it was read; the new packets are not read")
            return as_in(reached.index(reached.joint), stat)
        if found is not None and not found.index.is_packed and found.is_same:
            before = found.index
        elif reached is not None:
            before = reached.index(reached.joint)
        else:
            return index_of(Path(path), every_bytes=self._every_bytes, is_growing=True)
        return extended(Path(path), as_in(before, stat), every_bytes=self._every_bytes)

    def _note_damage(self, path: str, stamp: Stamp, index: FileIndex) -> None:
        """Tell of damage once, as a CaptureError where none is wanted; a packed capture may not be whole yet."""
        err = CaptureError.from_reason(path, index.damage)
        if index.is_packed:
            self._refuse(path, stamp, err)
        elif self._options.is_strict:
            raise err
        else:
            self._tell(path, index.damage, f"is damaged; the part before the damage is used: {index.damage}")

    # -- what cannot ---------------------------------------------------------------------------------------------------

    def _refuse(self, path: str, stamp: Stamp, err: CaptureError) -> None:
        """Leave a file out as long as it is as it is; a CaptureError where that was named, and is no capture."""
        is_closed = isinstance(err.__cause__, OSError)  # which may change with no change of the file
        if not is_closed and path in self._named and not _is_packed(path):
            raise err
        if not is_closed:
            self._refused[path] = stamp, True
        if not isinstance(err.__cause__, FileNotFoundError):
            self._tell(path, err.why, f"is skipped {'for now' if is_closed else 'until it changes'}: {err.why}")

    def _is_refused(self, path: str, stamp: Stamp) -> bool:
        """Whether there is nothing new of a file that was left out; one that is being written is let be until it is."""
        last, was_tried = self._refused.get(path, (stamp, False))
        if last != stamp:
            self._refused[path] = stamp, False
            return True
        return was_tried

    def _tell(self, path: str, key: str, text: str) -> None:
        """Warn, once for each file and key."""
        if (path, key) not in self._told:
            self._told.add((path, key))
            LOG.warning("%s %s", path, text)


def _stamp(stat: os.stat_result) -> Stamp:
    """Another one where the file, its name or who may read it has changed."""
    return stat.st_ino, stat.st_size, stat.st_ctime_ns


def _is_found(path: str, stat: os.stat_result, found: Found) -> bool:
    """Whether a file has all that was found of a capture; taken for it where it cannot be read."""
    try:
        return _stamp(stat) == found.stamp or seal_of(Path(path), found.size) == found.seal
    except CaptureError:
        return True


def _is_packed(path: str) -> bool:
    """Whether a file begins as a packed one does."""
    with suppress(OSError), open(path, "rb") as file:
        head = file.read(4)
        return any(head[: len(magic)] == magic[: len(head)] for magic, _, _ in PACKINGS)
    return False
