"""The answer to a handshake as the original server was recorded to give it: most refusals come after the upgrade."""

import re
from collections.abc import Mapping, Set
from urllib.parse import unquote

from wiretool.protocols.offramp import handshake, http
from wiretool.protocols.offramp.handshake import StreamPath, judge_handshake
from wiretool.protocols.offramp.messages import HandshakeRequest
from wiretool.protocols.offramp.server.deflate import is_lawful
from wiretool.protocols.offramp.server.upgrade import Access, Verdict, lacks_host, refusal, upgraded

#: Searched for, not matched: what stands around it makes no difference.
_TEMPLATE = re.compile(r"/offramp/v([^/]*)/roads/([^/]*)/streams/([^/]*)/messages")
_MAPPING = "/offramp/v"
_VERSION = "2"
_UNKNOWN_ROAD, _FAILED = 1000, 1011
#: An unexceptionable handshake, to ask of the decided rules only what they make of somebody's rights.
_UPGRADE = (
    ("Upgrade", "websocket"),
    ("Connection", "upgrade"),
    ("Sec-WebSocket-Version", "13"),
    ("Sec-WebSocket-Key", "AAAAAAAAAAAAAAAAAAAAAA=="),
)
_OPEN: Mapping[str, Mapping[str, Set[str]]] = {"r": {"*": frozenset({"PUBLIC"})}}


def recorded(
    asked: HandshakeRequest, path: StreamPath | None, is_road: bool, access: Access, now_ns: int, *, deflates: bool
) -> Verdict:
    """The recorded answer; `path` is `path_of` the request, `is_road`: there is a road of its name."""
    status = _status(asked, path, access, deflates=deflates)
    if status != 101 or path is None:
        return Verdict(refusal(status, asked, now_ns))
    close = None
    if not is_road:
        close = _UNKNOWN_ROAD
    elif _version(asked) != _VERSION or _judge(asked, path.grants, {"r": access.of(path.road)}, access) != 101:
        close = _FAILED
    return upgraded(asked, path, now_ns, deflates=deflates, close=close)


def _status(asked: HandshakeRequest, path: StreamPath | None, access: Access, *, deflates: bool) -> int:
    """What is checked before the upgrade, in the order in which it is."""
    headers = asked.headers
    if lacks_host(asked):
        return 400
    if _judge(asked, (), _OPEN, access) == 401:
        return 401
    if not asked.target.startswith(_MAPPING):
        return 404
    if path is not None and path.wrong:
        return 500
    if asked.method != "GET":
        return 405
    upgrades = [value.lower() for value in http.header_values(headers, "Upgrade")]
    connections = [token.lower() for token in http.tokens(http.header_values(headers, "Connection"))]
    if "websocket" not in upgrades or "upgrade" not in connections:
        return 400
    if http.header_values(headers, "Sec-WebSocket-Version")[:1] != ["13"]:
        return 426
    if not http.header_values(headers, "Sec-WebSocket-Key"):
        return 400
    if path is None or (deflates and not is_lawful(http.header_values(headers, "Sec-WebSocket-Extensions"))):
        return 500
    return 101


def _judge(
    asked: HandshakeRequest,
    grants: tuple[str, ...],
    roads: Mapping[str, Mapping[str, Set[str]]],
    access: Access,
) -> int:
    """What the decided rules say to the one who asks, for `grants` on road `r` and with all else in order."""
    credentials = tuple(("Authorization", value) for value in http.header_values(asked.headers, "Authorization"))
    target = "/offramp/v2/roads/r/streams/s/messages?" + "&".join(f"grants={grant}" for grant in grants)
    return judge_handshake(handshake.request(target, (*_UPGRADE, *credentials)), roads, access.users)


def _version(asked: HandshakeRequest) -> str:
    found = _TEMPLATE.search(asked.target.partition("?")[0])
    return found.group(1) if found is not None else ""


def path_of(target: str) -> StreamPath | None:
    """The stream that a target names to the original server; `wrong` are the parameters that it fails on."""
    path, _, query = target.partition("?")
    found = _TEMPLATE.search(path)
    if found is None:
        return None
    offset: str | None = None
    grants: list[str] = []
    wrong: list[str] = []
    for parameter in query.split("&"):
        name, equals, value = parameter.partition("=")
        if name == "defaultOffset" and offset is None and equals:
            offset = value
            if value not in handshake.DEFAULT_OFFSETS:
                wrong.append(name)
        elif name == "grants":
            grants += [value] if value else []
            if not equals or value not in {"", *handshake.SENSITIVITIES}:
                wrong.append(name)
    road, stream = unquote(found.group(2)), unquote(found.group(3))
    return StreamPath(road, stream, offset, tuple(dict.fromkeys(grants)), tuple(wrong))
