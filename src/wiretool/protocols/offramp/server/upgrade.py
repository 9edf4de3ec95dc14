"""The answer to a handshake: refused in HTTP, or upgraded, with what was agreed."""

import base64
import hashlib
import json
from collections.abc import Mapping, Set
from email.utils import formatdate
from functools import lru_cache
from typing import NamedTuple

from wiretool.protocols.offramp import handshake, http
from wiretool.protocols.offramp.handshake import Deflate, StreamPath
from wiretool.protocols.offramp.messages import HandshakeRequest, HandshakeResponse
from wiretool.protocols.offramp.server.deflate import negotiate

_GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
NOT_WEBSOCKET = b'Can "Upgrade" only to "WebSocket".'
NOT_UPGRADE = b'"Connection" must be "upgrade".'
_REALM = ("WWW-Authenticate", 'Basic realm="Data Highway"')
_WHY: Mapping[int, str] = {
    401: "Authentication is required, or the name or the password is wrong.",
    403: "The road does not grant this.",
    404: "There is no such road, or no such path.",
    413: "The request is too large.",
}
_ACCESS_STATUSES = frozenset({401, 403, 404, 405, 426})


class Access(NamedTuple):
    """Who may read what."""

    #: For each name, the password and the authorities.
    users: Mapping[str, tuple[str, Set[str]]]
    #: For each road that has rules of its own, which authorities hold which sensitivities; `*` is whoever has a name.
    permissions: Mapping[str, Mapping[str, Set[str]]]
    #: The rules of every other road.
    otherwise: Mapping[str, Set[str]] = {"*": frozenset({"PUBLIC", "PII"})}

    def of(self, road: str) -> Mapping[str, Set[str]]:
        """The rules of a road."""
        return self.permissions.get(road, self.otherwise)


class Verdict(NamedTuple):
    """The answer, and what follows it."""

    response: HandshakeResponse
    #: The stream that is read from now on, where there is one.
    path: StreamPath | None = None
    deflate: Deflate | None = None
    #: After the upgrade: the code with which the connection is closed without an event.
    close: int | None = None

    @property
    def is_last(self) -> bool:
        """Whether TCP ends behind the answer."""
        return self.response.status != 101 and "close" in http.header_values(self.response.headers, "Connection")


def decided(
    asked: HandshakeRequest, path: StreamPath | None, is_road: bool, access: Access, now_ns: int, *, deflates: bool
) -> Verdict:
    """The answer with a status for every refusal; `path` is what it asks for, `is_road`: there is a road so named."""
    roads = {path.road: access.of(path.road)} if path is not None and is_road else {}
    status = 400 if lacks_host(asked) else handshake.judge_handshake(asked, roads, access.users)
    if status != 101:
        return Verdict(refusal(status, asked, now_ns))
    return upgraded(asked, path, now_ns, deflates=deflates)


def upgraded(
    asked: HandshakeRequest, path: StreamPath | None, now_ns: int, *, deflates: bool, close: int | None = None
) -> Verdict:
    """101 with what is agreed."""
    offers = http.header_values(asked.headers, "Sec-WebSocket-Extensions") if deflates else []
    agreed = negotiate(offers)
    keys = http.header_values(asked.headers, "Sec-WebSocket-Key")
    tokens = [token.lower() for token in http.tokens(http.header_values(asked.headers, "Connection"))]
    headers = [
        ("Upgrade", "websocket"),
        ("Connection", "upgrade, keep-alive" if "keep-alive" in tokens else "upgrade"),
        ("Sec-WebSocket-Accept", accept_of(keys[0])),
    ]
    if agreed.deflate is not None:
        headers.append(("Sec-WebSocket-Extensions", agreed.answer))
    headers.append(_date(now_ns))
    if asked.version == "HTTP/1.0":
        headers.append(("Connection", "close"))
    return Verdict(handshake.response(101, tuple(headers)), path, agreed.deflate, close)


def accept_of(key: str) -> str:
    """The Sec-WebSocket-Accept for a key (RFC 6455 §4.2.2)."""
    digest = hashlib.sha1(key.encode("latin-1") + _GUID, usedforsecurity=False).digest()
    return base64.b64encode(digest).decode("ascii")


def refusal(status: int, asked: HandshakeRequest | None, now_ns: int, *, has_body: bool = True) -> HandshakeResponse:
    """Return the answer with a status other than 101; it ends the connection, unless only access was refused.

    Without `has_body`, and to HEAD, the answer has no body (RFC 9110 §9.3.2).
    """
    is_head = asked is not None and asked.method == "HEAD"
    body = _body(status, asked, now_ns) if has_body and not is_head else b""
    headers: list[tuple[str, str]] = []
    if status == 401:
        headers.append(_REALM)
    if status == 405:
        headers.append(("Allow", "GET"))
    if status == 426:
        headers.append(("Sec-WebSocket-Version", "13"))
    if body.startswith(b"{"):
        headers.append(("Content-Type", "application/json;charset=UTF-8"))
    headers += [("Content-Length", str(len(body))), _date(now_ns)]
    if status not in _ACCESS_STATUSES or asked is None or _wants_end(asked):
        headers.append(("Connection", "close"))
    return handshake.response(status, tuple(headers), body=body)


def lacks_host(asked: HandshakeRequest) -> bool:
    """Whether the one Host that HTTP/1.1 demands is missing."""
    return asked.version == "HTTP/1.1" and len(http.header_values(asked.headers, "Host")) != 1


def _body(status: int, asked: HandshakeRequest | None, now_ns: int) -> bytes:
    """What the body of a refusal says: the real server's words where it has some, else its form of an error."""
    if status in (405, 426):
        return b""
    if status == 400 and asked is not None:
        path = handshake.stream_path(asked.target)
        names = [token.lower() for token in http.tokens(http.header_values(asked.headers, "Upgrade"))]
        tokens = [token.lower() for token in http.tokens(http.header_values(asked.headers, "Connection"))]
        if "websocket" not in names:
            return NOT_WEBSOCKET
        if "upgrade" not in tokens:
            return NOT_UPGRADE
        why = f"{' and '.join(path.wrong)}: no lawful value" if path is not None and path.wrong else ""
        return _error(why, now_ns) if why else b""
    return _error(_WHY.get(status, ""), now_ns)


def _error(why: str, now_ns: int) -> bytes:
    return json.dumps({"timestamp": now_ns // 1_000_000, "success": False, "message": why}).encode()


def _date(now_ns: int) -> tuple[str, str]:
    return "Date", _text_of_time(now_ns // 1_000_000_000)


@lru_cache(maxsize=64)
def _text_of_time(seconds: int) -> str:
    return formatdate(seconds, usegmt=True)


def _wants_end(asked: HandshakeRequest) -> bool:
    """Whether the client says, or by its version means, that this is the only request."""
    tokens = {token.lower() for token in http.tokens(http.header_values(asked.headers, "Connection"))}
    return "close" in tokens or (asked.version == "HTTP/1.0" and "keep-alive" not in tokens)
