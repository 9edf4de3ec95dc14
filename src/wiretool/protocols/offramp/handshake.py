"""What a handshake asks for and agrees to: the path of a stream, who may read it, and the extensions."""

import base64
import binascii
import re
from collections.abc import Mapping, Set
from typing import NamedTuple
from urllib.parse import unquote

from wiretool.codec.message import Message, Side
from wiretool.codec.remembering import remembered
from wiretool.errors import EncodeError, Truncated
from wiretool.protocols.offramp import http
from wiretool.protocols.offramp.messages import HandshakeRequest, HandshakeResponse

_PATH = re.compile(r"/offramp/v2/roads/([^/?#]+)/streams/([^/?#]+)/messages")
DEFAULT_OFFSETS = frozenset({"EARLIEST", "LATEST"})
SENSITIVITIES = frozenset({"PUBLIC", "PII"})
DEFLATE = "permessage-deflate"


class StreamPath(NamedTuple):
    """What the target of a handshake names. `wrong` are the query's parameters that have no lawful value."""

    road: str
    stream: str
    default_offset: str | None
    grants: tuple[str, ...]
    wrong: tuple[str, ...]


def stream_path(target: str) -> StreamPath | None:
    """Return the stream that a target names, None where its path is another; names and values are percent-decoded."""
    return _path_in(target, 0, len(target))


@remembered
def _path_in(target: str, at: int, end: int) -> StreamPath | None:
    path, _, query = target[at:end].partition("?")
    found = _PATH.fullmatch(path)
    if found is None:
        return None
    offsets: list[str] = []
    grants: list[str] = []
    wrong: list[str] = []
    for parameter in query.split("&"):
        name, equals, value = (unquote(part) for part in parameter.partition("="))
        if name == "defaultOffset":
            offsets.append(value)
            if not equals or value not in DEFAULT_OFFSETS or len(offsets) > 1:
                wrong.append(name)
        elif name == "grants":
            given = [grant for grant in value.split(",") if grant]
            grants += given
            if not equals or not SENSITIVITIES.issuperset(given):
                wrong.append(name)
    road, stream = (unquote(part) for part in found.groups())
    return StreamPath(road, stream, offsets[0] if offsets else None, tuple(dict.fromkeys(grants)), tuple(wrong))


def request(
    target: str,
    headers: http.Headers = (),
    *,
    method: str = "GET",
    version: str = "HTTP/1.1",
    body: bytes = b"",
) -> HandshakeRequest:
    """A request, with what its target says of the stream."""
    path = stream_path(target)
    return HandshakeRequest(
        method=method,
        target=target,
        version=version,
        headers=headers,
        body=body,
        road=path and path.road,
        stream=path and path.stream,
        defaultOffset=path and path.default_offset,
        grants=path and path.grants,
    )


def response(
    status: int, headers: http.Headers = (), *, reason: str = "", version: str = "HTTP/1.1", body: bytes = b""
) -> HandshakeResponse:
    """A response, with the extensions that its headers name."""
    extensions = tuple(http.tokens(http.header_values(headers, "Sec-WebSocket-Extensions")))
    return HandshakeResponse(
        status=status, reason=reason, version=version, headers=headers, body=body, extensions=extensions
    )


class Handshake(NamedTuple):
    """An HTTP message, and the lines of its head that are no header."""

    message: HandshakeRequest | HandshakeResponse
    strange: tuple[str, ...]


@remembered
def read_handshake(side: Side, data: bytes, at: int, end: int) -> Handshake:
    """The whole HTTP message `data[at:end]`; DecodeError where it is none."""
    head = http.read_head(side, data, at, end)
    if head is None:
        raise Truncated("bad_http_head", "the head is not whole", offset=at)
    body = http.body_content(head, data, at + head.size, end)
    made: HandshakeRequest | HandshakeResponse
    if side == "client":
        made = request(head.target, head.headers, method=head.method, version=head.version, body=body)
    else:
        made = response(head.status, head.headers, reason=head.reason, version=head.version, body=body)
    return Handshake(made, head.strange)


def completed(value: Message) -> Message:
    """A handshake message with the fields that follow from its others; EncodeError where they were given otherwise."""
    if isinstance(value, HandshakeRequest):
        full: Message = request(
            value.target, value.headers, method=value.method, version=value.version, body=value.body
        )
        derived: tuple[str, ...] = ("road", "stream", "defaultOffset", "grants")
    elif isinstance(value, HandshakeResponse):
        full = response(value.status, value.headers, reason=value.reason, version=value.version, body=value.body)
        derived = ("extensions",)
    else:
        return value
    for name in derived:
        given, follows = getattr(value, name), getattr(full, name)
        if given and given != follows:
            raise EncodeError(f"is {given!r}, but its source has {follows!r}", path=name)
    return full


# -- the answer ------------------------------------------------------------------------------------------------------


def judge_handshake(
    asked: HandshakeRequest,
    roads: Mapping[str, Mapping[str, Set[str]]],
    users: Mapping[str, tuple[str, Set[str]]],
) -> int:
    """The HTTP status that answers a handshake; 101 is the upgrade.

    `roads`: for each road, who holds which sensitivities, `*` standing for everyone who gave a name. `users`: for
    each name, the password and the authorities.
    """
    headers = asked.headers
    if asked.method != "GET":
        return 405
    path = stream_path(asked.target)
    if path is None:
        return 404
    status = _upgrade_status(headers)
    if status != 101:
        return status
    if path.wrong:
        return 400
    authorities = _authorities(http.header_values(headers, "Authorization"), users)
    if authorities is None:
        return 401
    if path.road not in roads:
        return 404
    return _access_status(path.grants, authorities, roads[path.road])


def _upgrade_status(headers: http.Headers) -> int:
    """What RFC 6455 §4.2.1 makes of the upgrade headers."""
    upgrades = [token.lower() for token in http.tokens(http.header_values(headers, "Upgrade"))]
    connections = [token.lower() for token in http.tokens(http.header_values(headers, "Connection"))]
    if "websocket" not in upgrades or "upgrade" not in connections:
        return 400
    if http.header_values(headers, "Sec-WebSocket-Version") != ["13"]:
        return 426
    keys = http.header_values(headers, "Sec-WebSocket-Key")
    return 101 if len(keys) == 1 and _is_key(keys[0]) else 400


def _is_key(text: str) -> bool:
    try:
        return len(base64.b64decode(text, validate=True)) == 16
    except (binascii.Error, ValueError):
        return False


def _authorities(credentials: list[str], users: Mapping[str, tuple[str, Set[str]]]) -> Set[str] | None:
    """The authorities of the caller, none for an anonymous one; None where the credentials are wrong."""
    if not credentials:
        return frozenset()
    scheme, _, encoded = credentials[0].partition(" ")
    try:
        name, colon, password = base64.b64decode(encoded.strip(), validate=True).decode().partition(":")
    except (binascii.Error, ValueError):
        return None
    known = users.get(name)
    if scheme.lower() != "basic" or not colon or known is None or known[0] != password:
        return None
    return {"*", *known[1]}


def _access_status(grants: tuple[str, ...], authorities: Set[str], road: Mapping[str, Set[str]]) -> int:
    """An anonymous caller may read what needs no grant; anyone else needs PUBLIC beside the grants."""
    if not authorities:
        return 401 if grants else 101
    held = {grant for name, grants_held in road.items() if name in authorities for grant in grants_held}
    return 101 if held >= {"PUBLIC", *grants} else 403


# -- extensions ------------------------------------------------------------------------------------------------------


class Deflate(NamedTuple):
    """An agreed permessage-deflate: which side keeps no context. Window sizes mean nothing to a reader."""

    client_resets: bool
    server_resets: bool


def agreed_deflate(answer: HandshakeResponse) -> Deflate | None:
    """What the server's answer says of compression; None: there is none."""
    for extension in answer.extensions:
        name, *parameters = (part.strip().lower() for part in extension.split(";"))
        if name == DEFLATE:
            names = {parameter.partition("=")[0].strip() for parameter in parameters}
            return Deflate("client_no_context_takeover" in names, "server_no_context_takeover" in names)
    return None
