"""Keeps the indexes of objects in the user's cache folder, so that their bytes are visited once.

An index is taken only for the version of the object that it was made of, by its size and the name that the store gives
it, and only from a file of this user to which no other may write.
"""

import os
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path

import msgspec

from wiretool.capture.index.cache import read_own, with_checksum, without_checksum, write_own
from wiretool.capture.index.split_points import FileIndex
from wiretool.storage.url_path import UrlPath

#: Bytes of an object whose index is worth a file: a smaller one is read in one or two requests.
KEPT_BYTES_MIN = 1024 * 1024


class KeptIndex(msgspec.Struct, frozen=True):
    """The content of a file after its first line."""

    url: str
    version: str
    every_bytes: int
    index: FileIndex


def object_cache_folder() -> Path:
    """Return the folder of all indexes: `wiretool/indexes` in the user's cache folder."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if base else Path.home() / ".cache") / "wiretool" / "indexes"


def object_cache_path(path: UrlPath, every_bytes: int) -> Path:
    """Return the file of an index; URLs that differ in their signature have the same one."""
    return object_cache_folder() / f"{blake2b(f'{every_bytes} {path}'.encode(), digest_size=16).hexdigest()}.index"


def cached_object(path: UrlPath, size: int, every_bytes: int) -> FileIndex | None:
    """Return the index of an object that was opened, if it was kept of this version and with these split points."""
    try:
        kept = msgspec.json.decode(without_checksum(read_own(object_cache_path(path, every_bytes))), type=KeptIndex)
    except (msgspec.DecodeError, RecursionError):
        return None
    is_same = (kept.url, kept.version, kept.every_bytes) == (str(path), path.version, every_bytes)
    return kept.index if is_same and path.version and kept.index.size == size else None


def keep_object(path: UrlPath, index: FileIndex, every_bytes: int) -> None:
    """Write an index, as a whole or not at all; it is not written where that is impossible or not worth it."""
    if index.size < KEPT_BYTES_MIN or not path.version:
        return
    place = object_cache_path(path, every_bytes)
    with suppress(OSError):
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_own(place, with_checksum(msgspec.json.encode(KeptIndex(str(path), path.version, every_bytes, index))))
