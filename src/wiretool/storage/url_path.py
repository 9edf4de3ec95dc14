"""The path of an object by its URL, which engines pass on like that of a file."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wiretool.errors import UsageError

if TYPE_CHECKING:
    _LocalPath = Path
else:
    _LocalPath = type(Path())

#: Schemes of object stores, and of web servers.
STORES, WEB = ("s3", "gs", "abfs", "abfss", "hdfs"), ("https", "http")
#: A scheme has two letters at least: one letter is a drive.
_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://(.*)", re.DOTALL)
#: The end of a web URL after its path; signatures of presigned URLs are in it.
_QUERY = re.compile(r"[?#].*", re.DOTALL)


class UrlPath(_LocalPath):
    """The URL of an object in place of a path, which the file system does not have.

    Its text is the URL without the query of a web server, which may have a signature that grants access.
    """

    url: str
    #: The version of the object that was read first, empty before that.
    version: str = ""

    def __new__(cls, url: str) -> "UrlPath":
        self: UrlPath = super().__new__(cls, url)  # type: ignore[assignment, unused-ignore]
        self.url = url
        return self

    @property
    def scheme(self) -> str:
        """Return the scheme in small letters."""
        return self.url.partition(":")[0].lower()

    def __str__(self) -> str:
        return _QUERY.sub("", self.url) if self.scheme in WEB else self.url

    def __fspath__(self) -> str:
        return str(self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UrlPath) and other.url == self.url

    def __hash__(self) -> int:
        return hash(self.url)

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self.url, self.version)

    def absolute(self) -> "UrlPath":
        """Return the URL, which depends on no folder."""
        return self

    def resolve(self, strict: bool = False) -> "UrlPath":
        """Return the URL, which has no links."""
        return self


def _restored(url: str, version: str) -> UrlPath:
    path = UrlPath(url)
    path.version = version
    return path


def is_url(text: str) -> bool:
    """Return whether a text is the URL of an object, not a local path."""
    found = _URL.fullmatch(text)
    return found is not None and found[1].lower() in STORES + WEB


def path_or_url(text: str) -> Path:
    """Return the path that a text names: of an object where it is a URL, of a local file otherwise.

    UsageError for the URL of an unknown scheme, unless there is such a local file, and for one without a name in it.
    """
    found = _URL.fullmatch(text)
    if found is None:
        return Path(text)
    if is_url(text):
        check_named(text, found[2])
        return UrlPath(text)
    if Path(text).exists():
        return Path(text)
    raise UsageError(
        f"{text}: unknown scheme {found[1]}; expected {', '.join(STORES[:-1])}, {STORES[-1]}, https or http, "
        f"or ./{found[1]}:/... for a local file"
    )


def check_named(text: str, rest: str) -> None:
    """Raise UsageError for a URL without a host or bucket, or with a password, which would appear in reports."""
    place = _QUERY.sub("", rest).partition("/")[0]
    if not place and not text.lower().startswith("hdfs:"):
        raise UsageError(f"{text}: no bucket or host; expected SCHEME://NAME/PATH")
    if "@" in place and ":" in place.rpartition("@")[0]:
        shown = text.replace(place.rpartition("@")[0], "***", 1)
        raise UsageError(f"{shown}: a password in a URL; expected credentials in the environment, or a signed URL")
