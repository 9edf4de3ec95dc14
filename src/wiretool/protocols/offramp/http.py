"""The HTTP/1 messages in front of the upgrade: heads, bodies, and how long they are (RFC 9112).

Lenient where servers are: header lines without a space behind the colon, a status line without a reason, line ends
without CR.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from wiretool import limits
from wiretool.codec.message import Side
from wiretool.codec.remembering import remembered
from wiretool.errors import DecodeError, OverLimit

_LINE = re.compile(rb"[^\n]*\n?")
#: How a request may begin; a method is a token.
_METHOD = re.compile(rb"[A-Z][!#$%&'*+.^_`|~0-9A-Za-z-]{0,19}(?: |\Z)")
_REQUEST_LINE = re.compile(r"([A-Z][!#$%&'*+.^_`|~0-9A-Za-z-]{0,19}) ([^\s]+) (HTTP/1\.[01])", re.ASCII)
_STATUS_LINE = re.compile(r"(HTTP/1\.[01]) ([1-9][0-9]{2})(?: ([^\r\n]*))?", re.ASCII)
_HEAD_END = re.compile(rb"\n\r?\n")
_OFFRAMP = re.compile(rb"/offramp/v2/|\nupgrade:[ \t]*websocket", re.IGNORECASE)
#: The head of a response that makes the connection a WebSocket.
_UPGRADED = re.compile(rb"HTTP/1\.[01] 101(?:[^\n]*\n(?!\r?\n))+?upgrade:[ \t]*websocket", re.IGNORECASE)
_CHUNK = re.compile(rb"([0-9A-Fa-f]{1,8})[ \t]*(?:;[^\n]{0,1000})?\r?\n")
_DECIMAL = re.compile(r"[0-9]{1,18}", re.ASCII)

Headers = tuple[tuple[str, str], ...]


class Head(NamedTuple):
    """A parsed head; a request has method and target, a response status and reason."""

    size: int
    version: str
    method: str
    target: str
    status: int
    reason: str
    headers: Headers
    #: Lines that are no header.
    strange: tuple[str, ...]

    def values(self, name: str) -> list[str]:
        """Every value of the headers called `name`, in order."""
        return header_values(self.headers, name)


def header_values(headers: Sequence[tuple[str, str]], name: str) -> list[str]:
    """Every value of the headers called `name`, in order; names have no case."""
    name = name.lower()
    return [value for key, value in headers if key.lower() == name]


def tokens(values: Sequence[str]) -> Iterator[str]:
    """The parts of comma-separated header values."""
    for value in values:
        for part in value.split(","):
            if part.strip():
                yield part.strip()


@remembered
def read_head(side: Side, data: bytes, at: int, end: int) -> Head | None:
    """The head at `data[at]`, or None while it is not whole; DecodeError bad_http_head where it is none."""
    behind = _end_of_head(data, at, min(end, at + limits.HTTP_HEAD_BYTES_MAX))
    if behind < 0:
        _check_first_line(side, data, at, end)
        if end - at >= limits.HTTP_HEAD_BYTES_MAX:
            raise OverLimit("http_head_too_big", f"no end within {limits.HTTP_HEAD_BYTES_MAX} bytes", offset=at)
        return None
    lines = data[at:behind].decode("latin-1").split("\n")[:-2]
    first = lines[0].removesuffix("\r")
    headers, strange = _headers(lines[1:])
    size = behind - at
    if side == "client":
        request = _REQUEST_LINE.fullmatch(first)
        if request is None:
            raise DecodeError("bad_http_head", f"{first[:60]!a} is not a request line", offset=at)
        method, target, version = request.groups()
        return Head(size, version, method, target, 0, "", headers, strange)
    status = _STATUS_LINE.fullmatch(first)
    if status is None:
        raise DecodeError("bad_http_head", f"{first[:60]!a} is not a status line", offset=at)
    version, code, reason = status.groups()
    return Head(size, version, "", "", int(code), reason or "", headers, strange)


def _end_of_head(data: bytes, at: int, end: int) -> int:
    """Where the first empty line behind `at` ends, or -1."""
    bare = data.find(b"\n\n", at, end)
    crlf = data.find(b"\n\r\n", at, end if bare < 0 else bare + 2)
    if crlf >= 0:
        return crlf + 3
    return bare + 2 if bare >= 0 else -1


def begins_head(side: Side, data: bytes) -> bool:
    """Whether these bytes may be the beginning of a head."""
    try:
        _check_first_line(side, data, 0, len(data))
    except DecodeError:
        return False
    return True


def is_other_http(asked: bytes, answered: bytes, is_final: bool) -> bool:
    """Return whether HTTP is of another service, by the bytes of both sides so far.

    A client that asks for a path of Offramp, or for a WebSocket, makes it Offramp, whatever the answer. Without a
    request only an upgrade to a WebSocket does: a refusal of Offramp looks like any other. The request may be captured
    after its response, so only `is_final` tells that there is none. Offramp has no HTTP/2, whose preface is a request
    line of HTTP/1 by design (RFC 9113 §3.4).
    """
    if asked.startswith(b"PRI * HTTP/2.0\r\n"):
        return True
    if _OFFRAMP.search(asked) is not None:
        return False
    if _HEAD_END.search(asked) is not None:
        return True
    return is_final and answered.startswith(b"HTTP/1.") and _UPGRADED.search(answered) is None


def _check_first_line(side: Side, data: bytes, at: int, end: int) -> None:
    """Refuse what no longer can become a head, before 64 KiB of it are waited for."""
    begun = data[at : min(end, at + 24)]
    if side == "client":
        fits = _METHOD.match(begun) is not None
    else:
        fits = begun.startswith(b"HTTP/1.") or b"HTTP/1.".startswith(begun)
    newline = data.find(b"\n", at, min(end, at + limits.HTTP_HEAD_BYTES_MAX))
    if fits and newline >= 0:
        line = data[at:newline].decode("latin-1").removesuffix("\r")
        fits = (_REQUEST_LINE if side == "client" else _STATUS_LINE).fullmatch(line) is not None
    if not fits:
        raise DecodeError("bad_http_head", f"{begun!a} begins no HTTP message", offset=at)


def _headers(lines: list[str]) -> tuple[Headers, tuple[str, ...]]:
    headers: list[tuple[str, str]] = []
    strange: list[str] = []
    for line in (each.removesuffix("\r") for each in lines):
        name, colon, value = line.partition(":")
        if not colon or not name or name != name.strip():
            strange.append(line)
        else:
            headers.append((name, value.strip(" \t")))
    return tuple(headers), tuple(strange)


# -- bodies ----------------------------------------------------------------------------------------------------------


def body_length(head: Head, data: bytes, at: int, end: int, *, answers_head: bool) -> int | None:
    """Bytes of the body that begins at `data[at]`, or of as much as is known to follow; None: until the stream ends.

    `answers_head`: a response to HEAD has none.
    """
    if head.status and (answers_head or head.status < 200 or head.status in (204, 304)):
        return 0
    codings = [coding.lower() for coding in tokens(head.values("Transfer-Encoding"))]
    if codings and codings[-1] == "chunked":
        return _chunked_length(data, at, end)
    lengths = set(tokens(head.values("Content-Length")))
    if codings or not lengths:
        return None if head.status else 0
    length = lengths.pop()
    if lengths or not _DECIMAL.fullmatch(length):
        raise DecodeError("bad_http_head", f"a Content-Length of {length[:40]!a}", offset=at)
    if int(length) > limits.HTTP_BODY_BYTES_MAX:
        raise OverLimit("http_body_too_big", f"a body of {length} bytes", offset=at)
    return int(length)


def _chunked_length(data: bytes, at: int, end: int) -> int:
    """Bytes up to the end of the last chunk, or to one byte behind what is known so far."""
    place = at
    for size, start in _chunks(data, at, end):
        if size == 0:
            return _behind_trailers(data, start, end) - at
        place = start + size + 2
        if place - at > limits.HTTP_BODY_BYTES_MAX:
            raise OverLimit("http_body_too_big", f"a body of more than {limits.HTTP_BODY_BYTES_MAX} bytes", offset=at)
    return max(place, end) + 1 - at


def _chunks(data: bytes, at: int, end: int) -> Iterator[tuple[int, int]]:
    """Size and beginning of each chunk up to the empty one, as far as the bytes go."""
    for _ in range(limits.HTTP_CHUNKS_MAX):
        found = _CHUNK.match(data, at, end)
        if found is None:
            if end - at > 1_100 or b"\n" in data[at:end]:
                raise DecodeError("bad_http_body", "no chunk begins here", offset=at)
            return
        size = int(found.group(1), 16)
        yield size, found.end()
        at = found.end() + size
        if not size or at + 2 > end:
            return
        at += 2 if data[at] == 13 else 1
    raise OverLimit("http_body_too_big", f"more than {limits.HTTP_CHUNKS_MAX} chunks", offset=at)


def _behind_trailers(data: bytes, at: int, end: int) -> int:
    """Where the empty line behind the last chunk ends, or one behind `end`."""
    while True:
        line = _LINE.match(data, at, end)
        if line is None or not line.group().endswith(b"\n"):
            if end - at > limits.HTTP_HEAD_BYTES_MAX:
                raise OverLimit("http_body_too_big", "trailers without end", offset=at)
            return end + 1
        at = line.end()
        if line.group() in (b"\r\n", b"\n"):
            return at


def body_content(head: Head, data: bytes, at: int, end: int) -> bytes:
    """The body in `data[at:end]` without the marks of its chunks."""
    codings = [coding.lower() for coding in tokens(head.values("Transfer-Encoding"))]
    if not codings or codings[-1] != "chunked":
        return data[at:end]
    return b"".join(data[start : min(start + size, end)] for size, start in _chunks(data, at, end) if size)


@remembered
def http_extent(side: Side, data: bytes, at: int, end: int, *, answers_head: bool, is_over: bool) -> int:
    """Bytes of the HTTP message at `data[at]`, 0 while not even its head is whole; DecodeError where it is none.

    A body without length goes on until the stream is over: till then twice what is there is said to be wanted.
    """
    head = read_head(side, data, at, end)
    if head is None:
        return 0
    body = at + head.size
    length = body_length(head, data, body, end, answers_head=answers_head)
    if length is not None:
        return head.size + length
    if end - body > limits.HTTP_BODY_BYTES_MAX:
        raise OverLimit("http_body_too_big", f"a body of more than {limits.HTTP_BODY_BYTES_MAX} bytes", offset=body)
    return end - at if is_over else 2 * (end - at)
