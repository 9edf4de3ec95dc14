"""Objects of web servers, read in one response, which is continued by a range where it is cut."""

import re
from email.utils import parsedate_to_datetime
from urllib.parse import unquote
from urllib.request import getproxies, proxy_bypass

from urllib3 import BaseHTTPResponse, PoolManager, ProxyManager, Retry, Timeout
from urllib3.exceptions import HTTPError, LocationValueError, MaxRetryError, ProtocolError, ProxyError
from urllib3.util import make_headers, parse_url

from wiretool import limits
from wiretool.errors import RemoteError, UnopenedError
from wiretool.storage.object_stream import ChangedError, ObjectInfo, TransferError
from wiretool.storage.url_path import redact

#: Redirections from one URL to another.
REDIRECTS_MAX = 5
#: Statuses of answers that may be others when asked again.
RETRIED = frozenset({408, 425, 429, 500, 502, 503, 504})
#: An answer of a proxy that passes on no connections without credentials.
_PROXY_DENIED = re.compile(r"Tunnel connection failed: 407\b")
_RANGE = re.compile(r"bytes (\d+)-\d+/(\d+|\*)")


class WebObject:
    """An object that a web server sends, with or without support of ranges."""

    def __init__(self, url: str, name: str) -> None:
        self._url = url
        self._name = name
        self._response: BaseHTTPResponse | None = None
        self._at = 0
        self._info: ObjectInfo | None = None
        try:
            self._pool = _make_pool(url, name)
        except (LocationValueError, ValueError) as err:
            raise UnopenedError(name, f"not a URL: {redact(str(err).replace(url, name))}") from err

    def look(self) -> ObjectInfo:
        """Begin to read: the headers have the size, and a version where the server names one."""
        response = self._send(0)
        self._info = _parse_info(response)
        self._response, self._at = response, 0
        return self._info

    def fetch(self, at: int, size: int) -> bytes:
        """Return what has arrived, at least a byte. Errors as those of `RemoteObject`."""
        if self._response is None or self._at != at:
            self._resume(at)
        assert self._response is not None, "fetch before look"
        try:
            data = self._response.read1(min(size, limits.REMOTE_BLOCK_BYTES_MIN))
        except (HTTPError, OSError) as err:
            self.close()
            raise TransferError(extract_reason(err)) from err
        self._at += len(data)
        if not data:
            self.close()
        return data

    def close(self) -> None:
        """Close the connection."""
        if self._response is not None:
            self._response.close()
            self._response = None

    def _send(self, at: int) -> BaseHTTPResponse:
        """Ask for the object from a byte on; the answer is a success in any case."""
        headers = {"Accept-Encoding": "identity", "User-Agent": "wiretool"}
        if at:
            headers["Range"] = f"bytes={at}-"
        try:
            response = self._pool.request(
                "GET", self._url, headers=headers, preload_content=False, decode_content=False
            )
        except (HTTPError, OSError) as err:
            why = extract_reason(err)
            if _PROXY_DENIED.search(why):
                raise self._refusal(407, at) from err
            raise TransferError(why) from err
        if response.status in (200, 206):
            return response
        response.close()
        raise self._refusal(response.status, at)

    def _refusal(self, status: int, at: int) -> Exception:
        if status in RETRIED:
            return TransferError(f"HTTP status {status}")
        if at and status in (404, 410, 412, 416):
            return ChangedError()
        if status in (404, 410):
            return UnopenedError(self._name, f"no such object (HTTP status {status})")
        if status == 407:
            why = "the proxy requires credentials (HTTP status 407); expected http_proxy=http://USER:PASSWORD@HOST:PORT"
            return UnopenedError(self._name, why)
        if status in (401, 403):
            why = f"access denied (HTTP status {status}); expected a public or signed URL"
            return UnopenedError(self._name, why)
        return RemoteError(self._name, f"HTTP status {status}; expected 200", offset=at or None)

    def _resume(self, at: int) -> None:
        """Ask for the rest; a server without ranges sends all again, of which the first part is skipped."""
        assert self._info is not None, "fetch before look"
        if not self._info.version:
            why = "the transfer was cut, and cannot be continued: the server names no version (ETag or Last-Modified)"
            raise RemoteError(self._name, why, offset=at)
        self.close()
        response = self._send(at)
        start = _parse_start(response)
        if not _is_same(_parse_info(response), self._info) or start not in (0, at):
            response.close()
            raise ChangedError
        self._response, self._at = response, start
        try:
            while self._at < at and (data := response.read1(min(at - self._at, limits.REMOTE_BLOCK_BYTES_MIN))):
                self._at += len(data)
        except (HTTPError, OSError) as err:
            self.close()
            raise TransferError(extract_reason(err)) from err
        if self._at < at:
            self.close()
            raise TransferError(f"the transfer ended at byte {self._at:,}")


def _make_pool(url: str, name: str) -> PoolManager:
    """Return what sends requests, through the proxy that the environment names for the host of a URL.

    UnopenedError, with the name of the object, where that is not the URL of a proxy; ValueError for a URL that is none.
    """
    host, scheme = parse_url(url).host or "", parse_url(url).scheme or ""
    timeout = Timeout(connect=limits.REMOTE_CONNECT_S, read=limits.REMOTE_SILENCE_S)
    retries = Retry(total=None, connect=0, read=0, status=0, other=0, redirect=REDIRECTS_MAX)
    proxy = getproxies().get(scheme)
    if not proxy or proxy_bypass(host):
        return PoolManager(timeout=timeout, retries=retries)
    try:
        place, user = _split_proxy(proxy)
        headers = make_headers(proxy_basic_auth=user) if user else None
        return ProxyManager(place, proxy_headers=headers, timeout=timeout, retries=retries)
    except (LocationValueError, ValueError) as err:  # a name that is not latin-1 is a ValueError, too
        why = "not the URL of a proxy; expected http://HOST:PORT or http://USER:PASSWORD@HOST:PORT"
        raise UnopenedError(name, f"{scheme}_proxy={redact(proxy)}: {why}") from err


def _split_proxy(proxy: str) -> tuple[str, str]:
    """Return the URL of a proxy without credentials, and `user:password` decoded, which is empty without any."""
    scheme, _, place = proxy.rpartition("://")  # curl, too, takes HOST:PORT
    user, _, host = place.rpartition("@")
    if not host:
        raise ValueError("no host")
    return f"{scheme or 'http'}://{host}", unquote(user)


def _parse_start(response: BaseHTTPResponse) -> int:
    """Return the first byte of an answer; -1 where it names none."""
    if response.status == 200:
        return 0
    found = _RANGE.fullmatch(response.headers.get("Content-Range", ""))
    return int(found[1]) if found else -1


def _parse_info(response: BaseHTTPResponse) -> ObjectInfo:
    """Return the size of the whole object, and its version; a weak ETag names no version of bytes."""
    tag = response.headers.get("ETag", "")
    version = response.headers.get("Last-Modified", "") if tag.startswith("W/") or not tag else tag
    mtime_ns = _parse_time_ns(response.headers.get("Last-Modified", ""))
    if response.status == 206:
        found = _RANGE.fullmatch(response.headers.get("Content-Range", ""))
        return ObjectInfo(int(found[2]) if found and found[2] != "*" else -1, version, mtime_ns)
    length = response.headers.get("Content-Length", "")
    return ObjectInfo(int(length) if length.isdecimal() else -1, version, mtime_ns)


def _is_same(info: ObjectInfo, first: ObjectInfo) -> bool:
    """Return whether two answers are of the same object; one in chunks does not state its size."""
    return info.version == first.version and (info.size == first.size or min(info.size, first.size) < 0)


def _parse_time_ns(text: str) -> int:
    """Return a time of HTTP in ns since 1970; 0 for any other text."""
    try:
        return int(parsedate_to_datetime(text).timestamp()) * 1_000_000_000
    except ValueError:
        return 0


def extract_reason(err: Exception) -> str:
    """Return the reason of a failed request in one line, without the objects that urllib3 names."""
    if isinstance(err, MaxRetryError) and err.reason is not None:
        return extract_reason(err.reason)
    if isinstance(err, ProxyError):
        return f"the proxy: {extract_reason(err.original_error)}"
    if isinstance(err, ProtocolError) and isinstance(err.args[-1], Exception):
        return extract_reason(err.args[-1])
    cause = err.__cause__ or err.__context__
    if isinstance(err, HTTPError) and isinstance(cause, OSError) and not isinstance(err, ProtocolError):
        return str(cause.strerror or cause)
    text = redact(" ".join(str(err).split()))
    return text.partition(">: ")[2] or text.partition("): ")[2] or text
