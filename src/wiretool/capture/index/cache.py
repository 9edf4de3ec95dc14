"""Keeps the index of a capture beside it, so that its bytes are visited once.

Whoever can put a file beside a capture could hide packets with it. So an index is only taken from a file of our own, to
which nobody else may write, and only for the very file that it was made of: its size, times, inode and owner, and what
stands at its beginning, at its end and at places in between.
"""

import os
import stat
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import BinaryIO
from zlib import crc32

import msgspec

from wiretool.capture.index.split_points import FileIndex
from wiretool.limits import INDEX_CACHE_BYTES_MAX

#: Bytes of a capture that is worth a file beside it: a smaller one is indexed in a few hundredths of a second.
KEPT_BYTES_MIN = 16 * 1024 * 1024
#: Of what is written here, and of what an index means: another number where any of it changes.
VERSION = 2
MAGIC = b"wiretool-index"
#: How many places of a capture are looked at, its beginning and its end among them, and bytes of each.
SAMPLES, SAMPLE_BYTES = 32, 4096
_OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH


class Binding(msgspec.Struct, frozen=True):
    """Which file an index is of."""

    device: int
    inode: int
    size: int
    mtime_ns: int
    #: The system sets it, whatever a program says: nobody can know it before the file is there.
    ctime_ns: int
    owner: int
    samples: str


class Kept(msgspec.Struct, frozen=True):
    """The content of the file after its first line; that has the version and the checksum of the rest."""

    every_bytes: int
    of: Binding
    index: FileIndex


def cache_path(path: Path) -> Path:
    """Return where the index of a capture is kept."""
    return path.with_name(f".{path.name}.wiretool-index")


def cached(path: Path, file: BinaryIO, found: os.stat_result, every_bytes: int) -> FileIndex | None:
    """Return the index that is kept of an open file, if it is of this very file and of these joints."""
    body = without_checksum(read_own(cache_path(path), found.st_mtime_ns))
    try:
        kept = msgspec.json.decode(body, type=Kept)
    except (msgspec.DecodeError, RecursionError):
        return None
    index = kept.index
    is_same = (index.size, index.mtime_ns, index.inode) == (found.st_size, found.st_mtime_ns, found.st_ino)
    return index if is_same and kept.every_bytes == every_bytes and kept.of == _binding(file, found) else None


def _binding(file: BinaryIO, found: os.stat_result) -> Binding:
    return Binding(
        found.st_dev,
        found.st_ino,
        found.st_size,
        found.st_mtime_ns,
        found.st_ctime_ns,
        found.st_uid,
        _samples(file, found.st_size),
    )


def _samples(file: BinaryIO, size: int) -> str:
    """Return a digest of bytes from all over an open file."""
    digest = blake2b(digest_size=16)
    last = max(size - SAMPLE_BYTES, 0)
    for at in range(SAMPLES):
        file.seek(last * at // (SAMPLES - 1))
        digest.update(file.read(SAMPLE_BYTES))
    return digest.hexdigest()


def read_own(place: Path, mtime_ns: int = 0) -> bytes:
    """Return what is kept; nothing where that is a link, or somebody else may have written it.

    And nothing where the capture may have been written again in the same tick of the clock.
    """
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    with suppress(OSError), open(os.open(place, flags), "rb") as file:
        found = os.fstat(file.fileno())
        is_own = found.st_uid == os.geteuid() and not found.st_mode & _OTHERS_MAY_WRITE
        is_small = stat.S_ISREG(found.st_mode) and found.st_size <= INDEX_CACHE_BYTES_MAX
        if is_own and is_small and found.st_mtime_ns > mtime_ns:
            return file.read()
    return b""


def without_checksum(raw: bytes) -> bytes:
    """Return the content of a file after its first line; nothing where that does not fit it."""
    line, _, body = raw.partition(b"\n")
    return body if line == _line(body) else b""


def with_checksum(body: bytes) -> bytes:
    """Return the content of a file, with the line that it begins with."""
    return _line(body) + b"\n" + body


def _line(body: bytes) -> bytes:
    return b"%s %d %08x" % (MAGIC, VERSION, crc32(body))


def keep(path: Path, file: BinaryIO, found: os.stat_result, index: FileIndex, every_bytes: int) -> None:
    """Write an index down, whole or not at all; where that is not possible, or not worth it, it is not."""
    if index.size >= KEPT_BYTES_MIN:
        body = msgspec.json.encode(Kept(every_bytes, _binding(file, found), index))
        write_own(cache_path(path), with_checksum(body))


def write_own(place: Path, content: bytes) -> None:
    """Write a small file of this user, as a whole or not at all; not where the system does not take it."""
    if len(content) > INDEX_CACHE_BYTES_MAX:
        return
    part = place.with_name(f"{place.name}.{os.getpid()}")
    with suppress(OSError):
        # No link of somebody else is followed, and no file of theirs is written to.
        opened = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            with open(opened, "wb") as out:
                out.write(content)
            part.replace(place)
        finally:
            part.unlink(missing_ok=True)
