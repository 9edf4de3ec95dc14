"""The captures that a pipeline reads: files, and all that are in folders."""

import errno
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from stat import S_ISREG
from types import MappingProxyType

from wiretool import limits
from wiretool.capture.columns.segments import segments_of
from wiretool.capture.files.packet_counts import PacketCounts
from wiretool.capture.files.reading import check_to_seek, opened
from wiretool.capture.files.source import open_source
from wiretool.capture.files.tables_of_files import read_packet_tables
from wiretool.capture.index.build import NO_TIME, FileIndex, Joint, index_of
from wiretool.capture.tcp.fragments import Fragments
from wiretool.capture.tcp.silent_connections import note_connections
from wiretool.errors import CaptureError, UsageError
from wiretool.pipeline.fetching import is_unread, objects_at
from wiretool.pipeline.layout import MANIFEST, Input
from wiretool.pipeline.staging import is_ours
from wiretool.sinks.arrow.files import reason, refused
from wiretool.storage.url_path import UrlPath
from wiretool.units import size_text

#: How the damage of a file begins that cannot be read, of which the index is that.
UNREADABLE = "cannot be read: "
#: What the system says of names behind which there is nothing.
NOWHERE = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)
#: The ends of the names of captures, and of packed ones.
_SUFFIXES, _PACKED_SUFFIXES = (".pcap", ".pcapng"), (".gz", ".zst")
#: The number of skipped files that are named.
SKIPPED_NAMED_MAX = 3
_UNREAD = FileIndex(0, 0, 0, b"", "", (), Joint(0, 1), NO_TIME, NO_TIME, "", is_packed=False)


@dataclass(frozen=True, slots=True)
class Capture:
    """A capture by the name it was given, where it is read, and what is where in it there.

    The name is text in any case: bytes that are no UTF-8 are escaped. Size and time are those of the file that was
    given, as it was when it was indexed.
    """

    name: str
    path: Path
    index: FileIndex
    damage: str
    size: int
    mtime_ns: int

    @property
    def input(self) -> Input:
        """It as the manifest has it."""
        index = self.index
        return Input(self.name, self.size, self.mtime_ns, index.packets, index.first_ns, index.last_ns, self.damage)


def captures_in(paths: Sequence[Path], tell: Callable[[str], None]) -> list[Path]:
    """The files, and those in folders however deep, each once, by path.

    UsageError for what is not there, CaptureError for a named pipe or a device. Of what is in a folder hidden files
    are left out, and empty ones, tables of ours and what is no file, of which it is told. What the system does not let
    us look at is among the files.
    """
    found: dict[Path, Path] = {}
    for path in paths:
        for file in _files_at(path, tell):
            found.setdefault(file.resolve(), file)
    if not found:
        raise UsageError(f"no captures in {', '.join(map(str, paths))}: give capture files, or folders that hold some")
    return sorted(found.values(), key=str)


def _files_at(path: Path, tell: Callable[[str], None]) -> Iterable[Path]:
    if isinstance(path, UrlPath):
        return objects_at(path, tell)
    return files_in(path, tell) if os.path.isdir(path) else [_file(path)]


def _file(path: Path) -> Path:
    if not is_there(path):
        raise UsageError(f"{path}: no such file; expected capture files, or folders of them")
    check_to_seek(path)
    return path


def is_there(path: Path) -> bool:
    """Whether there is such a file or folder; true also of what is closed to us: who opens it tells why."""
    try:
        path.stat()
    except OSError as err:
        return err.errno not in NOWHERE
    except ValueError:  # a name with a null byte
        return False
    return True


def files_in(folder: Path, tell: Callable[[str], None]) -> Iterator[Path]:
    """The files in a folder however deep, but for what `captures_in` leaves out."""
    closed: list[OSError] = []
    for where, folders, names in os.walk(folder, onerror=closed.append):
        if MANIFEST in names and is_ours(Path(where)):
            tell(f"{where} holds tables of wiretool pipeline, skipped")
            folders.clear()
            continue
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for path in (Path(where, name) for name in sorted(names) if not name.startswith(".")):
            if _is_wanted(path, tell):
                yield path
    yield from (Path(err.filename) for err in closed)


def _is_wanted(path: Path, tell: Callable[[str], None]) -> bool:
    try:
        stat = path.stat()
    except OSError as err:  # who opens it tells why; links that lead to themselves were never captures
        return err.errno != errno.ELOOP
    if not S_ISREG(stat.st_mode):
        tell(f"{path} is not a file, skipped")
    elif not stat.st_size:
        tell(f"{path} is empty, skipped")
    return S_ISREG(stat.st_mode) and stat.st_size > 0


def indexed(
    files: Sequence[Path],
    given: Sequence[Path],
    tell: Callable[[str], None],
    urls: Mapping[Path, UrlPath] = MappingProxyType({}),
) -> Iterator[Capture]:
    """Each capture with its index; `urls` has those of files that are copies of objects.

    Files in folders that are no captures are skipped, and listed; those that cannot be read, or have the name of a
    capture and are not one, have that as their damage.
    CaptureError for one of either that was given by itself, and where none can be read; UsageError where none is left.
    """
    alone = {path.resolve() for path in given}
    others: list[Path] = []
    unread: list[CaptureError] = []
    for file in files:
        path = urls.get(file, file)
        try:
            index = _index_of(file, path)
        except CaptureError as err:
            if path.resolve() in alone or is_unread(path, err):
                raise
            if isinstance(err.__cause__, OSError):
                unread.append(err)
                yield _capture(file, replace(_UNREAD, damage=UNREADABLE + reason(err.__cause__)), path)
            elif is_named_capture(path):
                unread.append(err)
                yield _capture(file, replace(_UNREAD, damage=UNREADABLE + err.reason), path)
            else:
                others.append(path)
        else:
            if not index.packets and not index.damage:
                tell(f"{path} is empty: no packets")
            yield _capture(file, index, path)
    if others:
        tell(skipped(others))
    if len(others) + len(unread) == len(files):
        raise unread[0] if unread else UsageError("none of the files is a capture; expected pcap or pcapng files")


def is_named_capture(path: Path) -> bool:
    """Return whether a file has the name of a capture."""
    name = path.name.lower()
    for packed in _PACKED_SUFFIXES:
        name = name.removesuffix(packed)
    return name.endswith(_SUFFIXES)


def skipped(others: Sequence[Path]) -> str:
    """Return a line about the files that were skipped: the names of the first ones, and the number of the others."""
    named = ", ".join(map(str, others[:SKIPPED_NAMED_MAX]))
    count = len(others) - SKIPPED_NAMED_MAX
    more = f" and {count:,} other file{'s' * (count > 1)}" if count > 0 else ""
    return f"{named}{more} skipped: {'not captures' if len(others) > 1 else 'not a capture'}"


def _index_of(file: Path, path: Path) -> FileIndex:
    """Return the index of a file; a CaptureError names the object of which it is a copy."""
    try:
        return index_of(file, cache=file is path)
    except CaptureError as err:
        if file is path:
            raise
        raise CaptureError(str(path), err.why, offset=err.offset) from err.__cause__


def _capture(file: Path, index: FileIndex, path: Path) -> Capture:
    return Capture(name_of(path), file, index, index.damage, index.size, index.mtime_ns)


def name_of(path: Path) -> str:
    """What a capture is called in tables: its path, bytes that are no UTF-8 escaped."""
    return os.fsencode(path.absolute()).decode("utf-8", "backslashreplace")


def unpacked(capture: Capture, copy: Path) -> Capture:
    """A packed capture unpacked into a file, to be read at any place; any other as it is.

    What is wrong with it is that of the packed file: the copy of one that ends early may end well.
    """
    if not capture.index.is_packed:
        return capture
    damage = unpack(capture.path, copy)
    return replace(capture, path=copy, index=index_of(copy, cache=False), damage=capture.damage or damage)


def unpack(path: Path, copy: Path) -> str:
    """Write what is packed into a file; return what is wrong with it, as in an index, "" for nothing.

    A file that unpacks to more than `limits` allow is damaged there: what is before is in the copy.
    """
    with ExitStack() as stack:
        name, stream = opened(path, stack)
        left = most = _unpacked_bytes_max(os.fstat(stream.fileno()).st_size)
        source = open_source(name, stream)
        stack.enter_context(refused(copy))
        out = stack.enter_context(copy.open("wb"))
        try:
            for chunk in source.rest():
                out.write(chunk[:left])
                left -= len(chunk)
                if left < 0:
                    return f"byte {most}: it unpacks to more than {size_text(most)}, and is read up to there"
        except CaptureError as err:
            return err.reason
    return ""


def _unpacked_bytes_max(size: int) -> int:
    """Return how many bytes of a packed file of a size are read."""
    return max(limits.UNPACKED_BYTES_FREE, limits.UNPACKED_TIMES_MAX * size)


def _size_of(path: Path) -> int:
    """Return the size of a file or object; -1 where its server does not state it."""
    if not isinstance(path, UrlPath):
        return path.stat().st_size
    with ExitStack() as stack:
        opened(path, stack)
    return path.first_opened[0] if path.first_opened else -1


def packet_counts(paths: Sequence[Path], connections: set[bytes]) -> PacketCounts:
    """Count the packets of captures by kind, as far as they can be read again and `unpack` reads them.

    Their TCP connections are added to those that are given.
    """
    counts, fragments = PacketCounts(), Fragments()
    for path in paths:
        with suppress(CaptureError):
            left = _unpacked_bytes_max(_size_of(path))
            for packets in read_packet_tables([path]):
                note_connections(segments_of(packets, fragments, counts), connections)
                left -= int(packets.starts[-1] + packets.lengths[-1] - packets.starts[0])  # tables share a buffer
                if left < 0:
                    break
    counts.count_lost_fragments(fragments.lost)
    return counts
