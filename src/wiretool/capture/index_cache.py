"""Keeps the index of a capture beside it, so that its bytes are visited once."""

import os
from contextlib import suppress
from pathlib import Path
from stat import S_ISREG
from zlib import crc32

import msgspec

from wiretool.capture.joints import FileIndex
from wiretool.limits import INDEX_CACHE_BYTES_MAX

#: Bytes of a capture that is worth a file beside it: a smaller one is indexed in a few hundredths of a second.
KEPT_BYTES_MIN = 16 * 1024 * 1024
#: Of what is written here, and of what an index means: another number where any of it changes.
VERSION = 1
MAGIC = b"wiretool-index"


class Kept(msgspec.Struct, frozen=True):
    """What is in the file, behind its first line: that has the version and the checksum of the rest."""

    every_bytes: int
    index: FileIndex


def cache_path(path: Path) -> Path:
    """Where the index of a capture is kept."""
    return path.with_name(f".{path.name}.wiretool-index")


def cached(path: Path, stat: os.stat_result, every_bytes: int) -> FileIndex | None:
    """The index that is kept of a file, if it is of this very file and of these joints."""
    raw = _read(cache_path(path), stat.st_mtime_ns)
    line, _, body = raw.partition(b"\n")
    if line != _line(body):
        return None
    try:
        kept = msgspec.json.decode(body, type=Kept)
    except msgspec.DecodeError:
        return None
    index = kept.index
    is_same = (index.size, index.mtime_ns, index.inode) == (stat.st_size, stat.st_mtime_ns, stat.st_ino)
    return index if is_same and kept.every_bytes == every_bytes else None


def _read(place: Path, mtime_ns: int) -> bytes:
    """What is kept; nothing where the capture may have been written again in the same tick of the clock."""
    with suppress(OSError):
        stat = place.stat()
        if S_ISREG(stat.st_mode) and stat.st_size <= INDEX_CACHE_BYTES_MAX and stat.st_mtime_ns > mtime_ns:
            return place.read_bytes()
    return b""


def _line(body: bytes) -> bytes:
    return b"%s %d %08x" % (MAGIC, VERSION, crc32(body))


def keep(path: Path, index: FileIndex, every_bytes: int) -> None:
    """Write an index down, whole or not at all; where that is not possible, or not worth it, it is not."""
    if index.size < KEPT_BYTES_MIN:
        return
    body = msgspec.json.encode(Kept(every_bytes, index))
    if len(body) > INDEX_CACHE_BYTES_MAX - 100:
        return
    place = cache_path(path)
    part = place.with_name(f"{place.name}.{os.getpid()}")
    with suppress(OSError):
        try:
            part.write_bytes(_line(body) + b"\n" + body)
            part.replace(place)
        finally:
            part.unlink(missing_ok=True)
