"""The path of an object by its URL, which engines pass on like that of a file."""

import re
import sys
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
#: Parameters of queries that grant access: of signed URLs of Amazon, Google and Azure, and tokens of web servers.
_SECRET = re.compile(
    r"([?&;#](?:x-(?:amz|goog)-(?:signature|credential|security-token)|awsaccesskeyid|googleaccessid|signature|sig|"
    r"\w*token)=)[^&;#\s']*",
    re.IGNORECASE,
)
#: The user or token before the host of a URL, also of one without its scheme; a password may have slashes.
_USER = re.compile(r"([a-z][a-z0-9+.-]+://|\A)(?:[^/?#\s':]*:(?!//|\d+(?:/|$))[^?#\s']*|[^/?#\s']+)@", re.IGNORECASE)
#: Schemes in which the name before the host is not secret: a container of Azure, a user of HDFS.
_NAMES_BEFORE_HOST = ("abfs", "abfss", "hdfs")
#: Schemes whose URLs have a bucket in the place of a host and port.
_WITHOUT_PORTS = ("s3", "gs")


class UrlPath(_LocalPath):
    """The URL of an object in place of a path, which the file system does not have.

    Its text has no secrets: it lacks the query of a web server, which may have a signature that grants access.
    """

    url: str
    #: Size in bytes and version of the object when it was first opened, as in `ObjectInfo`; None before that.
    first_opened: tuple[int, str] | None = None

    def __new__(cls, url: str) -> "UrlPath":
        self: UrlPath = super().__new__(cls, _hide_secrets(url))  # type: ignore[assignment, unused-ignore]
        self.url = url
        return self

    def __init__(self, url: str) -> None:
        if sys.version_info >= (3, 12):
            super().__init__(_hide_secrets(url))

    @property
    def scheme(self) -> str:
        """Return the scheme in small letters."""
        return self.url.partition(":")[0].lower()

    def __str__(self) -> str:
        return _hide_secrets(self.url)

    def __fspath__(self) -> str:
        return str(self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UrlPath) and other.url == self.url

    def __hash__(self) -> int:
        return hash(self.url)

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self.url, self.first_opened)

    @property
    def version(self) -> str:
        """Return the version of the object when it was opened first; empty where the server names none, or before."""
        return self.first_opened[1] if self.first_opened else ""

    @property
    def is_comparable(self) -> bool:
        """Return whether a change of the object can be noticed when it is opened again."""
        return self.first_opened not in (None, (-1, ""))

    def absolute(self) -> "UrlPath":
        """Return the URL, which depends on no folder."""
        return self

    def resolve(self, strict: bool = False) -> "UrlPath":
        """Return the URL, which has no links."""
        return self


def _restored(url: str, first_opened: tuple[int, str] | None) -> UrlPath:
    path = UrlPath(url)
    path.first_opened = first_opened
    return path


def redact(text: str) -> str:
    """Return a text without the secrets of URLs in it: `***` in place of users, tokens and signatures."""
    return _SECRET.sub(r"\1***", _USER.sub(_redact_user, text))


def _redact_user(found: re.Match[str]) -> str:
    scheme, is_name = found[1], ":" not in found[0].partition("://")[2]
    return found[0] if is_name and scheme[:-3].lower() in _NAMES_BEFORE_HOST else f"{scheme}***@"


def _hide_secrets(url: str) -> str:
    """Return a URL as it is shown."""
    return redact(_QUERY.sub("", url) if url.partition(":")[0].lower() in WEB else url)


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
        f"{redact(text)}: unknown scheme {found[1]}; expected {', '.join(STORES[:-1])}, {STORES[-1]}, https or http, "
        f"or ./{found[1]}:/... for a local file"
    )


def check_named(text: str, rest: str) -> None:
    """Raise UsageError for a URL without a host or bucket, or with a user, token or password, which is not sent."""
    place = _QUERY.sub("", rest).partition("/")[0]
    scheme = text.partition(":")[0].lower()
    if not place and scheme != "hdfs":
        raise UsageError(f"{_hide_secrets(text)}: no bucket or host; expected SCHEME://NAME/PATH")
    user, at, _ = place.rpartition("@")
    has_user = at and (":" in user or scheme not in _NAMES_BEFORE_HOST)
    if has_user or (scheme in _WITHOUT_PORTS and ":" in place):
        why = "a user, token or password in a URL; expected credentials in the environment, or a signed URL"
        raise UsageError(f"{_hide_secrets(text)}: {why}")
