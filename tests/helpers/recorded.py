"""Unpack the recordings of real programs that tests read: tests/recorded/*.tar.zst.

`python -m tests.helpers.recorded FOLDER` packs the folders in FOLDER anew, one archive each.
"""

import hashlib
import sys
import tarfile
from io import BytesIO
from pathlib import Path
from tempfile import mkdtemp

import zstandard

ARCHIVES = Path(__file__).parents[1] / "recorded"
#: Ignored by git, as the rest of it.
CACHE = Path(__file__).parents[2] / ".pytest_cache"


def unpack_recordings() -> Path:
    """Return a folder with the content of all archives in `captures/`; unpack them if no earlier run has done it."""
    archives = sorted(ARCHIVES.glob("*.tar.zst"))
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in archives)).hexdigest()[:16]
    unpacked = CACHE / f"recorded-{digest}"
    if not unpacked.is_dir():
        CACHE.mkdir(exist_ok=True)
        folder = Path(mkdtemp(dir=CACHE))
        for path in archives:
            _unpack(path, folder / "captures")
        try:
            folder.rename(unpacked)
        except OSError:  # another process was faster
            if not unpacked.is_dir():
                raise
    return unpacked


def _unpack(path: Path, folder: Path) -> None:
    with tarfile.open(fileobj=BytesIO(zstandard.ZstdDecompressor().decompress(path.read_bytes()))) as archive:
        for member in archive:
            content = archive.extractfile(member)
            assert content is not None, f"{path}: {member.name} is not a file"
            (folder / member.name).parent.mkdir(parents=True, exist_ok=True)
            (folder / member.name).write_bytes(content.read())


def pack(folder: Path) -> bytes:
    """Return an archive of the captures in a folder and their truth; it depends on names and contents only."""
    packed = BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for path in sorted(each for each in folder.rglob("*") if each.is_file() and each.suffix != ".md"):
            member = tarfile.TarInfo(str(path.relative_to(folder.parent)))
            member.size = path.stat().st_size
            with path.open("rb") as content:
                archive.addfile(member, content)
    return zstandard.ZstdCompressor(level=19).compress(packed.getvalue())


if __name__ == "__main__":
    for each in sorted(path for path in Path(sys.argv[1]).iterdir() if path.is_dir()):
        (ARCHIVES / f"{each.name}.tar.zst").write_bytes(pack(each))
