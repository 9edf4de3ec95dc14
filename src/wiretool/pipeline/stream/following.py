"""The captures in a folder that is watched: how far each was read, and how far it can be read now."""

import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import msgspec

from wiretool.capture.index import FileIndex, Joint, extended, index_of, is_continued
from wiretool.capture.seals import seal_of
from wiretool.errors import CaptureError, UsageError
from wiretool.pipeline.inputs import UNREADABLE, files_in, name_of, unpack
from wiretool.pipeline.layout import Input
from wiretool.sinks.arrow.files import reason

#: A joint about every so many bytes: batches are cut there.
JOINT_BYTES = 8 * 1024 * 1024
#: How long a packed capture that is not whole is waited for.
SETTLED_S = 10.0
_START = Joint(0, 1)
#: What tells whether a file is as it was.
Stamp = tuple[int, int, int]


class Followed(msgspec.Struct):
    """A capture that is followed, as it was when it was looked at last; its place among all of them is for ever."""

    #: What it is called in tables, and where it is.
    name: str
    path: bytes
    index: FileIndex
    #: What tells all that is known of it from other files (see `seals`): inodes and names are used again.
    seal: str = ""
    #: Up to there it was read, in batches that are done.
    since: Joint = _START
    #: A packed capture is read from a copy, which is called so in the folder for them.
    copy: str = ""
    #: Nothing more comes of it: it was taken away, or written anew.
    is_over: bool = False
    damage: str = ""

    @property
    def has_more(self) -> bool:
        """Whether there are packets that were not read."""
        return self.since.number < self.index.tail.number

    @property
    def input(self) -> Input:
        """It as the manifest has it, as far as it was read."""
        index, packets = self.index, self.since.number - 1
        return Input(self.name, index.size, index.mtime_ns, packets, index.first_ns, self.since.before_ns, self.damage)

    def read_to(self, joint: Joint) -> None:
        """Note that it was read so far; what was before is of no use any more."""
        self.since = joint
        joints = tuple(known for known in self.index.joints if known.number > joint.number)
        self.index = replace(self.index, joints=joints)


class Following:
    """All captures that are or were there, in the order in which they were found."""

    def __init__(
        self,
        folder: Path,
        copies: Path,
        captures: Sequence[Followed],
        tell: Callable[[str], None],
        *,
        is_patient: bool = True,
    ) -> None:
        """`captures` are those of a run before, `copies` is a folder for what has to be unpacked.

        Who is patient waits some time for the rest of a packed capture.
        """
        self._folder = folder
        self._copies = copies
        self._tell = tell
        self.captures = list(captures)
        self._is_patient = is_patient
        #: Files that are no captures, cannot be read or are not whole: as they were when that was found, and when.
        self._others: dict[Path, tuple[Stamp, float]] = {}
        self._told: set[Path] = set()
        #: When each capture grew last, by its path.
        self._grown_s: dict[bytes, float] = {}
        #: Where each file is now, by its inode.
        self._places: dict[int, Path] = {}

    @property
    def paths(self) -> list[Path]:
        """Where each is read."""
        return [self.path_of(each) for each in self.captures]

    def path_of(self, capture: Followed) -> Path:
        """Where it is read."""
        return self._copies / capture.copy if capture.copy else Path(os.fsdecode(capture.path))

    def look(self) -> bool:
        """Look at what is there now; whether anything is new. UsageError where the folder is gone."""
        if not self._folder.is_dir():
            raise UsageError(f"{self._folder} is no folder, or is not there any more: give one that captures come into")
        known = {each.path: each for each in self.captures if not each.is_over}
        stats = dict(_stats_of(files_in(self._folder, _say_nothing)))
        self._places = {stat.st_ino: path for path, stat in stats.items()}
        news = [self._look_at(path, stat, known.get(os.fsencode(path))) for path, stat in stats.items()]
        for key, each in known.items():
            if key == each.path and Path(os.fsdecode(key)) not in stats:
                self._let_go(each, "is not there any more")
        return any(news)

    def reached_ns(self, silence_s: float) -> int | None:
        """Up to which turn there are all captures that grew in the last seconds; None where none did."""
        since_s = time.monotonic() - silence_s
        reached = [
            each.index.tail.before_ns
            for each in self.captures
            if not each.copy and self._grown_s.get(each.path, since_s) > since_s
        ]
        return min(reached, default=None)

    def forget_copies(self) -> None:
        """Remove the copies of packed captures that were read."""
        for each in self.captures:
            if each.copy and not each.has_more:
                self.path_of(each).unlink(missing_ok=True)

    def _look_at(self, path: Path, stat: os.stat_result, known: Followed | None) -> bool:
        try:
            if known is not None:
                return self._go_on(path, known, stat)
            return not self._is_left_out(path, stat) and self._begin(path, stat)
        except CaptureError as err:
            self._leave_out(path, stat, err)
            return False

    def _go_on(self, path: Path, known: Followed, stat: os.stat_result) -> bool:
        """Look at a capture again, if it has changed."""
        index = known.index
        if (index.inode, index.size, index.mtime_ns) == (stat.st_ino, stat.st_size, stat.st_mtime_ns):
            return False
        if known.copy or not _is_same(path, known):
            elsewhere = self._places.get(index.inode, path)
            if elsewhere != path and _is_same(elsewhere, known):
                known.path = os.fsencode(elsewhere)
            else:
                self._let_go(known, "was written anew")
            return self._begin(path, stat)
        known.index = extended(path, index, every_bytes=JOINT_BYTES)
        known.seal = seal_of(path, known.index.end)
        self._grown_s[known.path] = time.monotonic()
        self._note_damage(known)
        return True

    def _begin(self, path: Path, stat: os.stat_result) -> bool:
        """Follow a capture from now on, unless it is one that has another name now."""
        index = index_of(path, every_bytes=JOINT_BYTES, cache=False, is_growing=True)
        if not index.kind:
            return False
        if (renamed := self._renamed(path, index)) is not None:
            renamed.path = os.fsencode(path)
            return self._go_on(path, renamed, stat)
        capture = Followed(name_of(path), os.fsencode(path), index, seal_of(path, index.end))
        if index.is_packed and not self._unpack(path, stat, capture):
            return False
        self.captures.append(capture)
        self._grown_s[capture.path] = time.monotonic()
        self._note_damage(capture)
        return True

    def _renamed(self, path: Path, index: FileIndex) -> Followed | None:
        """The capture that this file is, if it had another name or was found under this one in passing."""
        for each in self.captures:
            if not each.is_over and each.index.inode == index.inode and _is_same(path, each):
                before = Path(os.fsdecode(each.path))
                if before == path or not before.exists() or before.stat().st_ino != index.inode:
                    return each
        return None

    def _unpack(self, path: Path, stat: os.stat_result, capture: Followed) -> bool:
        """Make the copy of a packed capture; not where the rest of it may still come."""
        capture.copy = f"capture-{len(self.captures):08d}"
        copy = self._copies / capture.copy
        capture.damage = unpack(path, copy)
        if capture.damage and self._is_patient and not self._has_settled(path, stat):
            copy.unlink(missing_ok=True)
            return False
        index = index_of(copy, every_bytes=JOINT_BYTES, cache=False)
        was = capture.index
        capture.index = replace(index, size=was.size, mtime_ns=was.mtime_ns, inode=was.inode, head=was.head)
        if capture.damage:
            self._tell_damage(capture)
        return True

    def _has_settled(self, path: Path, stat: os.stat_result) -> bool:
        stamp, since = self._others.get(path, (None, 0.0))
        if stamp == _stamp(stat):
            return time.monotonic() - since >= SETTLED_S
        self._others[path] = _stamp(stat), time.monotonic()
        return False

    def _is_left_out(self, path: Path, stat: os.stat_result) -> bool:
        """Whether there is nothing new about a file that was not taken."""
        stamp, since = self._others.get(path, (None, 0.0))
        is_waiting = path not in self._told and time.monotonic() - since >= SETTLED_S
        return stamp == _stamp(stat) and not is_waiting

    # -- what is told --------------------------------------------------------------------------------------------------

    def _note_damage(self, capture: Followed) -> None:
        if capture.index.damage and not capture.damage:
            capture.damage = capture.index.damage
            self._tell_damage(capture)

    def _tell_damage(self, capture: Followed) -> None:
        self._tell(f"{capture.name} is damaged, what is sound before is taken: {capture.damage}")

    def _let_go(self, capture: Followed, why: str) -> None:
        """Nothing more comes of a capture; what was not read of it is lost, unless there is a copy."""
        capture.is_over = True
        if capture.has_more and not capture.copy:
            lost = capture.index.tail.number - capture.since.number
            capture.damage = f"byte {capture.since.at}: it {why} before its last packets were read"
            self._tell(f"{capture.name} {why}: {lost:,} packets of it that were not read yet are lost")
            capture.index = replace(capture.index, tail=capture.since)

    def _leave_out(self, path: Path, stat: os.stat_result, err: CaptureError) -> None:
        """Tell once why a file is not taken; it is looked at again when it has changed."""
        self._others[path] = _stamp(stat), time.monotonic()
        cause = err.__cause__
        if path not in self._told and not isinstance(cause, FileNotFoundError):
            self._told.add(path)
            self._tell(f"{path} left out: {UNREADABLE + reason(cause) if isinstance(cause, OSError) else 'no capture'}")


def _is_same(path: Path, known: Followed) -> bool:
    """Whether a file is the capture that is known, as it was or with more behind it. CaptureError as `is_continued`."""
    return is_continued(path, known.index) and seal_of(path, known.index.end) == known.seal


def _stats_of(paths: Iterable[Path]) -> Iterator[tuple[Path, os.stat_result]]:
    """The files that are still there, in their order."""
    for path in sorted(path.absolute() for path in paths):
        with suppress(OSError):  # taken away just now
            yield path, path.stat()


def _stamp(stat: os.stat_result) -> Stamp:
    """Another one where the file, or who may read it, has changed."""
    return stat.st_ino, stat.st_size, stat.st_ctime_ns


def _say_nothing(text: str) -> None:
    """Of files that are empty nothing is told: they may grow."""
