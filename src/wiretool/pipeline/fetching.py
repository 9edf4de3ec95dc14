"""Captures in object storage and on web servers: found in folders, and copied to be read at any place."""

import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from io import BufferedReader, BytesIO
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from wiretool.capture.files.reading import recognised
from wiretool.capture.files.source import open_source
from wiretool.errors import CaptureError, RemoteError, UnopenedError, UsageError
from wiretool.pipeline.job import Step
from wiretool.pipeline.layout import MANIFEST, head_in
from wiretool.sinks.arrow.files import refused
from wiretool.storage.url_path import WEB, UrlPath

if TYPE_CHECKING:
    from wiretool.storage.folder import StoreFolder

#: The characters of patterns, and the parts that these form.
_MAGIC = re.compile(r"[*?[]")
_PARTS = re.compile(r"((?:(?<=/)|^)\*\*/|\*+|\?|\[!?[^]]+\])")
#: Bytes of an object that are copied at once.
CHUNK_BYTES = 1024 * 1024
#: Bytes of the name of an object in that of its copy, which may have 255.
NAME_BYTES_MAX = 200


def objects_at(path: UrlPath, tell: Callable[[str], None]) -> Iterator[UrlPath]:
    """Yield an object, or those in a folder however deep: without hidden and empty ones, and tables of wiretool.

    UsageError where there is neither.
    """
    if path.scheme in WEB:
        yield path
        return
    from wiretool.storage.folder import StoreFolder  # imported here: most captures are files

    folder = StoreFolder(path)
    if folder.is_object():
        yield path
        return
    sizes = folder.sizes()
    if not sizes:
        raise UsageError(f"{path}: no such object or folder; expected captures, or folders of them")
    tables = {str(PurePosixPath(name).parent) for name in sizes if _is_manifest(folder, name)}
    for table in sorted(tables):
        tell(f"{path if table == '.' else folder.url_of(table)} holds tables of wiretool pipeline, skipped")
    for name, size in sizes.items():
        pure = PurePosixPath(name)
        if any(part.startswith(".") for part in pure.parts) or tables & set(map(str, pure.parents)):
            continue
        if size:
            yield folder.url_of(name)
        elif not name.endswith("/"):
            tell(f"{folder.url_of(name)} is empty, skipped")


def objects_like(pattern: UrlPath) -> list[UrlPath]:
    """Return the objects whose URLs match a pattern of `glob`. UsageError where none does."""
    from wiretool.storage.folder import StoreFolder

    fixed = _MAGIC.split(pattern.url, maxsplit=1)[0].rpartition("/")[0]
    if fixed.endswith("/"):
        raise UsageError(f"{pattern}: a pattern in the name of a bucket; expected its name")
    folder = StoreFolder(UrlPath(fixed))
    matches = re.compile(_regex(pattern.url.removeprefix(f"{fixed}/")), re.DOTALL).fullmatch
    found = [folder.url_of(name) for name, size in folder.sizes().items() if size and matches(name)]
    if not found:
        raise UsageError(f"{pattern}: no object matches this pattern")
    return found


def _regex(pattern: str) -> str:
    """Return a pattern of `glob` as a regular expression; `*` matches no hidden names."""
    pattern = re.sub(r"((?:(?<=/)|^)\*\*)$", r"\1/*", pattern)  # `a/**` is all in `a` and its folders
    return "".join(map(_regex_of, _PARTS.split(pattern)))


def _regex_of(part: str) -> str:
    if part == "**/":
        return r"(?:(?!\.)[^/]+/)*"
    if part.startswith("*"):
        return r"(?!(?:(?<=/)|^)\.)[^/]*"
    if part == "?":
        return "[^/]"
    if part.startswith("[") and len(part) > 1:
        inner = re.sub(r"([\\[\]^&~|])", r"\\\1", part[1:-1])
        return f"[^/{inner[1:]}]" if inner.startswith("!") else f"[{inner}]"
    return re.escape(part)


def is_unread(path: Path, err: CaptureError) -> bool:
    """Return whether an object could not be read, which shows nothing about its content."""
    return isinstance(path, UrlPath) and isinstance(err, (RemoteError, UnopenedError))


def _is_manifest(folder: "StoreFolder", name: str) -> bool:
    """Return whether an object is the manifest of tables that wiretool has made."""
    if PurePosixPath(name).name == MANIFEST:
        data = folder.read(name)
        with suppress(CaptureError):  # a manifest of something else
            head_in(data, name)
            return True
    return False


def fetched(files: Sequence[Path], folder: Path, watch: Callable[[Step], None]) -> dict[Path, UrlPath]:
    """Copy the objects among files into a folder; return the URL of each copy.

    RemoteError and UnopenedError for an object that cannot be read as a whole; UsageError where the disk is full.
    """
    urls = [file for file in files if isinstance(file, UrlPath)]
    copies: dict[Path, UrlPath] = {}
    for place, url in enumerate(urls):
        watch(Step("fetching captures", place, len(urls)))
        copy = folder / f"{place:06d}-{_last_bytes(PurePosixPath(str(url)).name)}"
        _copy(url, copy)
        copies[copy] = url
    return copies


def _last_bytes(name: str) -> str:
    """Return the end of a name, with its suffix, in as many bytes as a copy may have of it."""
    return os.fsencode(name)[-NAME_BYTES_MAX:].decode("utf-8", "ignore")


def _copy(url: UrlPath, copy: Path) -> None:
    """Copy an object; of one that is not a capture, as its reader reports, only the first bytes."""
    from wiretool.storage.opening import open_url

    with closing(open_url(url)) as stream, closing(BufferedReader(stream, CHUNK_BYTES)) as reader, refused(copy):
        copy.parent.mkdir(exist_ok=True)
        with copy.open("wb") as file:
            data = reader.read(CHUNK_BYTES)
            is_capture = _is_capture(data)
            while data:
                file.write(data)
                data = reader.read(CHUNK_BYTES) if is_capture else b""
        if stream.info.mtime_ns:
            os.utime(copy, ns=(stream.info.mtime_ns, stream.info.mtime_ns))


def _is_capture(first: bytes) -> bool:
    """Return whether a file that begins with these bytes is a capture, also a packed one."""
    try:
        recognised(open_source("", BytesIO(first)))
    except CaptureError:
        return False
    return True
