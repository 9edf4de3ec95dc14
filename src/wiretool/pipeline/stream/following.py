"""The captures in a folder that is watched: how far each was read, and how far it can be read now."""

import os
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import msgspec

from wiretool.capture.index.build import FileIndex, Joint, extended, index_of, is_continued
from wiretool.capture.index.fingerprint import seal_of
from wiretool.errors import CaptureError, UsageError
from wiretool.pipeline.inputs import UNREADABLE, files_in, is_named_capture, name_of, skipped, unpack
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
    #: What tells so many of its bytes, those that are known, from other files (`capture/index/fingerprint.py`): inodes
    #: and names are used again. Of a packed capture they are those of the copy.
    seal: str = ""
    sealed: int = 0
    #: Up to there it was read, in batches that are done.
    since: Joint = _START
    #: A packed capture is read from a copy, which is called so in the folder for them.
    copy: str = ""
    #: It is not there any more, or what is there is another one.
    is_over: bool = False
    damage: str = ""

    @property
    def has_more(self) -> bool:
        """Whether there are packets that were not read."""
        return self.since.number < self.index.tail.number

    @property
    def has_packets(self) -> bool:
        """Whether there is more of it than a head."""
        return self.index.tail.number > 1 and self.sealed > 0

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
        self._no_captures: list[Path] = []
        #: Why files cannot be read.
        self._unread: dict[Path, str] = {}
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

    @property
    def inputs(self) -> list[Input]:
        """Them as the manifest has them, and those that cannot be read."""
        unread = [Input(name_of(path), 0, 0, 0, damage=damage) for path, damage in sorted(self._unread.items())]
        return [*(each.input for each in self.captures), *unread]

    def look(self) -> None:
        """Look at what is there now. UsageError where the folder is gone, or cannot be read."""
        try:
            os.listdir(self._folder)
        except OSError as err:
            raise UsageError(f"{self._folder} cannot be looked into: {reason(err)}") from err
        known = {each.path: each for each in self.captures if not each.is_over}
        stats = _stats_of(files_in(self._folder, _say_nothing), known.keys())
        self._places = {stat.st_ino: path for path, stat in stats.items()}
        for path, stat in stats.items():
            self._look_at(path, stat, known.get(os.fsencode(path)))
        for key, each in known.items():
            if key == each.path and Path(os.fsdecode(key)) not in stats:
                self._let_go(each, "is not there any more")
        self._tell_others()

    def finish(self) -> None:
        """Nothing more comes: say of what is not whole, and of what was waited for, what `pipeline run` says of it."""
        captures = {each.path: each for each in self.captures if not each.is_over}
        stats = _stats_of(files_in(self._folder, self._tell), captures.keys(), self._unlooked)
        for path, stat in stats.items():
            known = captures.get(os.fsencode(path))
            try:
                if known is not None:
                    known.damage = known.damage or _damage_of(known, path, stat)
                    is_empty = known.index.tail.number == 1 and not known.damage
                else:
                    is_other = path in self._others and path not in self._told
                    is_empty = is_other and not index_of(path, cache=False).packets
                if is_empty:
                    self._tell(f"{path} is empty: no packets")
            except CaptureError as err:
                if is_named_capture(path):  # reported with the damaged captures
                    self._told.add(path)
                self._leave_out(path, stat, err)
        self._tell_others()

    def _unlooked(self, path: Path, err: OSError) -> None:
        """Note of what the system does not show; what is no link was taken away just now."""
        if path.is_symlink() or not isinstance(err, FileNotFoundError):
            self._unread[path] = UNREADABLE + reason(err)

    def is_as_planned(self, places: Iterable[int]) -> bool:
        """Whether the captures with these places are still what they were, as far as they are there."""
        captures = [self.captures[place] for place in places]
        return all(
            each.copy or not os.path.exists(self.path_of(each)) or _is_same(each, self.path_of(each))
            for each in captures
        )

    def reached_ns(self, silence_s: float) -> int | None:
        """Up to which turn there are all captures that grew in the last seconds; None where none did."""
        since_s = time.monotonic() - silence_s
        reached = [
            each.index.tail.before_ns
            for each in self.captures
            if not each.copy and self._grown_s.get(each.path, since_s) > since_s
        ]
        return min(reached, default=None)

    def _look_at(self, path: Path, stat: os.stat_result, known: Followed | None) -> None:
        try:
            if known is not None:
                self._go_on(path, known, stat)
            elif not self._is_left_out(path, stat):
                self._begin(path, stat)
        except CaptureError as err:
            self._leave_out(path, stat, err)

    def _go_on(self, path: Path, known: Followed, stat: os.stat_result) -> None:
        """Look at a capture again, if it has changed."""
        index = known.index
        if (index.inode, index.size, index.mtime_ns) == (stat.st_ino, stat.st_size, stat.st_mtime_ns):
            return
        if not known.copy and _is_same(known, path):
            self._extend(known, path, stat)
            return
        elsewhere = self._places.get(index.inode, path)
        if elsewhere != path and not known.copy and _is_same(known, elsewhere):
            known.path = os.fsencode(elsewhere)
        elif not known.copy:
            self._let_go(known, "was rewritten")
        self._begin(path, stat)

    def _extend(self, known: Followed, path: Path, stat: os.stat_result) -> None:
        """Take in what has come to a capture, which may be another file with the same bytes by now."""
        known.path, known.copy, known.is_over = os.fsencode(path), "", False
        same = replace(known.index, inode=stat.st_ino, size=known.index.end, is_packed=False)
        known.index = extended(path, same, every_bytes=JOINT_BYTES)
        self._note(known, path)

    def _begin(self, path: Path, stat: os.stat_result) -> None:
        """Follow a capture from now on, unless it is one that was elsewhere."""
        index = index_of(path, every_bytes=JOINT_BYTES, cache=False, is_growing=True)
        if not index.kind:
            self._others[path] = _stamp(stat), time.monotonic()
            return
        if index.is_packed:
            self._begin_packed(path, stat, index)
        elif (known := self._recognised(path, index)) is not None and self._may_be(known, path):
            self._extend(known, path, stat)
        else:
            self._add(Followed(name_of(path), os.fsencode(path), index), path)

    def _begin_packed(self, path: Path, stat: os.stat_result, index: FileIndex) -> None:
        """Make a copy that is not packed; not where the rest of it may still come."""
        name = f"capture-{len(self.captures):08d}-{stat.st_mtime_ns}"
        copy = self._copies / name
        damage = unpack(path, copy)
        if damage and self._is_patient and not self._has_settled(path, stat):
            copy.unlink(missing_ok=True)
            return
        plain = index_of(copy, every_bytes=JOINT_BYTES, cache=False)
        if damage or plain.damage:
            damage = index_of(path, cache=False).damage or damage
        here = replace(plain, size=index.size, mtime_ns=index.mtime_ns, inode=index.inode, damage=damage)
        known = self._recognised(copy, plain)
        may_be = known is not None and self._may_be(known, path)
        if known is None or (not may_be and not self._has_all(known, plain)):
            self._add(Followed(name_of(path), os.fsencode(path), here, copy=name), copy)
        elif not may_be:
            self._others[path] = _stamp(stat), time.monotonic()
            self._tell_once(path, f"{path} skipped: it is {known.name}, compressed")
            copy.unlink(missing_ok=True)
        else:
            known.path, known.copy, known.is_over, known.index = os.fsencode(path), name, False, here
            known.read_to(known.since)
            self._note(known, copy)

    def _add(self, capture: Followed, path: Path) -> None:
        self.captures.append(capture)
        self._note(capture, path)

    def _note(self, capture: Followed, path: Path) -> None:
        """What there is to be known of a capture after a look at it, or at its copy."""
        capture.sealed = capture.index.end
        capture.seal = seal_of(path, capture.sealed)
        self._grown_s[capture.path] = time.monotonic()
        if capture.damage != capture.index.damage and capture.index.damage:
            self._tell(f"{capture.name} is damaged; the part before the damage is used: {capture.index.damage}")
        capture.damage = capture.index.damage
        self._unread.pop(Path(os.fsdecode(capture.path)), None)

    def _recognised(self, path: Path, index: FileIndex) -> Followed | None:
        """The capture of which these are the first bytes, also of one that is not there any more."""
        for each in self.captures:
            # A file that begins with all of it has no later beginning: so only few are opened.
            if each.has_packets and index.first_ns <= each.index.first_ns and _is_same(each, path):
                return each
        return None

    def _may_be(self, known: Followed, path: Path) -> bool:
        """Whether a file with the bytes of a capture is that one: it is not where it was any more."""
        return os.fsencode(path) == known.path or not self._is_there(known)

    def _is_there(self, known: Followed) -> bool:
        """Whether a capture still is where it was, packed or not; in a folder that is closed to us it is not."""
        path = Path(os.fsdecode(known.path))
        return os.path.exists(path) and (bool(known.copy) or _is_same(known, path))

    def _has_all(self, known: Followed, plain: FileIndex) -> bool:
        """Whether a capture that is still there is as long as another one, which begins with what is known of it."""
        if known.copy:
            return known.index.end >= plain.end
        try:
            return os.stat(known.path).st_size >= plain.end
        except OSError:  # taken away just now
            return False

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

    def _let_go(self, capture: Followed, why: str) -> None:
        """A capture is not there; what was not read of it is lost unless it comes again, or there is a copy."""
        capture.is_over = True
        if capture.has_more and not capture.copy:
            lost = capture.index.tail.number - capture.since.number
            capture.damage = f"byte {capture.since.at}: it {why} before its last packets were read"
            self._tell(f"{capture.name} {why}: {lost:,} packets of it that were not read yet are lost")
            capture.index = replace(capture.index, tail=capture.since)

    def _leave_out(self, path: Path, stat: os.stat_result, err: CaptureError) -> None:
        """Note why a file is not taken; it is looked at again when it has changed."""
        self._others[path] = _stamp(stat), time.monotonic()
        cause = err.__cause__
        if isinstance(cause, FileNotFoundError):
            return
        if isinstance(cause, OSError) or is_named_capture(path):
            self._unread[path] = UNREADABLE + (reason(cause) if isinstance(cause, OSError) else err.reason)
            self._tell_once(path, f"{path} skipped: {self._unread[path]}")
        elif path not in self._told:
            self._told.add(path)
            self._no_captures.append(path)

    def _tell_others(self) -> None:
        """Tell of the files that were found to be no captures."""
        others, self._no_captures = self._no_captures, []
        if others:
            self._tell(skipped(others))

    def _tell_once(self, path: Path, text: str) -> None:
        if path not in self._told:
            self._told.add(path)
            self._tell(text)


def _is_same(known: Followed, path: Path) -> bool:
    """Whether a file is that capture, as it was or with more behind it. CaptureError where it cannot be read."""
    if not known.has_packets:  # heads are all alike
        return is_continued(path, known.index)
    return seal_of(path, known.sealed) == known.seal


def _damage_of(known: Followed, path: Path, stat: os.stat_result) -> str:
    """What is wrong with a capture if what is there of it is all; "" also where it has grown since it was looked at."""
    index = known.index
    is_looked_at = (index.inode, index.size, index.mtime_ns) == (stat.st_ino, stat.st_size, stat.st_mtime_ns)
    if known.copy or not is_looked_at or index.end == index.size:
        return ""
    return extended(path, index, every_bytes=JOINT_BYTES, is_growing=False).damage


def _stats_of(
    paths: Iterable[Path], known: Collection[bytes], unlooked: Callable[[Path, OSError], None] | None = None
) -> dict[Path, os.stat_result]:
    """The files that are still there, by path, each once; of several names of a file the one that is known.

    Who is `unlooked` takes those that cannot be looked at.
    """
    stats: dict[Path, os.stat_result] = {}
    for path in (each.absolute() for each in paths):
        try:
            stats[path] = path.stat()
        except OSError as err:  # without a name, or taken away just now
            if unlooked is not None:
                unlooked(path, err)
    by_name = sorted(stats, key=lambda path: (os.fsencode(path) not in known, path.is_symlink(), path))
    once = {(stats[path].st_dev, stats[path].st_ino): path for path in reversed(by_name)}
    return {path: stats[path] for path in sorted(once.values())}


def _stamp(stat: os.stat_result) -> Stamp:
    """Another one where the file, or who may read it, has changed."""
    return stat.st_ino, stat.st_size, stat.st_ctime_ns


def _say_nothing(text: str) -> None:
    """Of files that are empty nothing is told: they may grow."""
