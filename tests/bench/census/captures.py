"""The captures of a census: each content once, the smallest first."""

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.conftest import HERE, SHARED

OWN = HERE.parent / "captures"
#: Bytes of a capture that is played often; larger ones take seconds for each lie.
SIZE_MAX = 700_000
SIZE_QUICK_MAX = 100_000


def captures_in(folders: Sequence[Path], size_max: int = SIZE_MAX) -> list[Path]:
    """Return the captures of folders, each content once."""
    found: dict[bytes, Path] = {}
    for path in sorted(_files(folders), key=lambda each: (each.stat().st_size, str(each))):
        if path.stat().st_size <= size_max:
            found.setdefault(hashlib.sha256(path.read_bytes()).digest(), path)
    return list(found.values())


def _files(folders: Sequence[Path]) -> Iterator[Path]:
    for folder in folders:
        for pattern in ("*.pcap", "*.pcapng", "*.pcap.gz"):
            yield from (path for path in folder.rglob(pattern) if path.is_file())


def every_folder() -> list[Path]:
    """Return the folders of captures that are there: of the project, and beside it."""
    return [folder for folder in (OWN, SHARED / "captures") if folder.is_dir()]


def halves(paths: Sequence[Path]) -> tuple[list[Path], list[Path]]:
    """Return two halves that do not depend on what else is there: by a digest of the content."""
    first = [path for path in paths if hashlib.sha256(path.read_bytes()).digest()[0] % 2 == 0]
    return first, [path for path in paths if path not in first]
