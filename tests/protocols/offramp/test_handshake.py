"""What a handshake asks for, how it is answered, and what is agreed."""

from typing import Any

import pytest

from tests.protocols.offramp.talk import TARGET, UPGRADE
from wiretool.codec.jsonform import json_form
from wiretool.errors import EncodeError
from wiretool.protocols.offramp import PROTOCOL
from wiretool.protocols.offramp.handshake import Deflate, agreed_deflate, judge_handshake, request, response

PATH = "/offramp/v2/roads/r/streams/s/messages"
ROADS = {"r": {"*": {"PUBLIC"}, "admin": {"PII"}}, "none": {}}
USERS = {"bob": ("pw:x", {"admin"}), "eve": ("y", set[str]())}


@pytest.mark.parametrize(
    ("target", "found"),
    [
        (PATH, ("r", "s", None, ())),
        (PATH + "?", ("r", "s", None, ())),
        (PATH + "?x=1&defaultOffset=LATEST", ("r", "s", "LATEST", ())),
        (PATH + "?grants=PII&grants=PUBLIC&grants=PII", ("r", "s", None, ("PII", "PUBLIC"))),
        (PATH + "?grants=PII,PUBLIC", ("r", "s", None, ("PII", "PUBLIC"))),
        (PATH + "?%64efaultOffset=EARLIES%54&grants=%50II%2CPUBLIC", ("r", "s", "EARLIEST", ("PII", "PUBLIC"))),
        ("/offramp/v2/roads/%72%2Fx/streams/a%20b/messages", ("r/x", "a b", None, ())),
        (PATH + "/", None),
        ("/x" + PATH, None),
        ("/offramp/v2/roads//streams/s/messages", None),
        ("*", None),
    ],
)
def test_a_target_names_a_stream(target: str, found: Any) -> None:
    asked = request(target)
    grants = found and found[3]
    assert (asked.road, asked.stream, asked.defaultOffset) == (found[:3] if found else (None, None, None))
    assert asked.grants == grants


def status(target: str = PATH, *, method: str = "GET", **changes: str | None) -> int:
    """How a handshake is answered; a change is a header, with _ for -."""
    headers: dict[str, str | None] = dict(UPGRADE)
    headers |= {name.replace("_", "-"): value for name, value in changes.items()}
    pairs = tuple((name, value) for name, value in headers.items() if value is not None)
    return judge_handshake(request(target, pairs, method=method), ROADS, USERS)


@pytest.mark.parametrize(
    ("target", "credentials", "expected"),
    [
        ("", None, 101),
        ("?grants=", None, 101),
        ("?grants=&grants=", None, 101),
        ("?grants=PII", None, 401),
        ("?grants=PII", "Basic Ym9iOnB3Ong=", 101),
        ("?grants=PII", "basic  Ym9iOnB3Ong=", 101),
        ("?grants=PII", "Basic ZXZlOnk=", 403),
        ("", "Basic ZXZlOnk=", 101),
        ("", "Basic ZXZlOng=", 401),
        ("", "Basic eHl6", 401),
        ("", "Basic !", 401),
        ("", "Bearer Ym9iOnB3Ong=", 401),
        ("?grants", None, 400),
        ("?grants=pii", None, 400),
        ("?defaultOffset=latest", None, 400),
        ("?defaultOffset=EARLIES%54", None, 101),
        ("?defaultOffset=%45arliest", None, 400),
        ("?default%4Fffset=now", None, 400),
        ("?defaultOffset=LATEST&defaultOffset=LATEST", None, 400),
    ],
)
def test_who_may_read(target: str, credentials: str | None, expected: int) -> None:
    assert status(PATH + target, Authorization=credentials) == expected


def test_a_road_without_authorities() -> None:
    target = PATH.replace("/r/", "/none/")
    assert status(target) == 101
    assert status(target, Authorization="Basic Ym9iOnB3Ong=") == 403
    assert status(PATH.replace("/r/", "/other/")) == 404


def test_what_makes_an_upgrade() -> None:
    assert status(method="POST") == 405
    assert status("/") == 404
    assert status(Upgrade="WebSocket") == 101
    assert status(Upgrade="h2c, websocket") == 101
    assert status(Upgrade=None) == 400
    assert status(Connection="keep-alive, Upgrade") == 101
    assert status(Connection="close") == 400
    assert status(Sec_WebSocket_Version="8") == 426
    assert status(Sec_WebSocket_Version=None) == 426
    assert status(Sec_WebSocket_Key="c2hvcnQ=") == 400
    assert status(Sec_WebSocket_Key="?") == 400
    assert status(Sec_WebSocket_Protocol="x", Origin="http://elsewhere") == 101


@pytest.mark.parametrize(
    ("value", "agreed"),
    [
        ("permessage-deflate", Deflate(False, False)),
        ("permessage-deflate;client_max_window_bits=8", Deflate(False, False)),
        ("x-other, Permessage-Deflate; server_no_context_takeover; client_max_window_bits=15", Deflate(False, True)),
        ("permessage-deflate;client_no_context_takeover;server_no_context_takeover", Deflate(True, True)),
        ("x-webkit-deflate-frame", None),
        ("", None),
    ],
)
def test_extensions_that_are_agreed(value: str, agreed: Deflate | None) -> None:
    answer = response(101, (("sec-websocket-extensions", value),))
    assert agreed_deflate(answer) == agreed
    assert agreed_deflate(response(101)) is None


def test_handshakes_from_json_are_completed_and_held_to_what_they_say() -> None:
    asked = request(TARGET, UPGRADE)
    form = json_form(asked)
    assert form["headers"][0] == ["Host", "localhost"]
    assert form["road"] == "bookings"
    assert PROTOCOL.from_json("HandshakeRequest", "client", form) == asked
    short = {name: form[name] for name in ("target", "headers")}
    assert PROTOCOL.from_json("HandshakeRequest", "client", short) == asked
    with pytest.raises(EncodeError, match="road: is 'x', but its source has 'bookings'"):
        PROTOCOL.from_json("HandshakeRequest", "client", {**form, "road": "x"})
    with pytest.raises(EncodeError, match=r"headers\[0\]: expected a name and a value"):
        PROTOCOL.from_json("HandshakeRequest", "client", {**form, "headers": [["a"]]})
    with pytest.raises(EncodeError, match=r"no message is called 'HELLO'"):
        PROTOCOL.from_json("HELLO", "client", {})


@pytest.mark.parametrize("body", [{"hex": "0x"}, {"hex": 1}, {"text": "a"}, 7])
def test_bodies_that_are_none(body: Any) -> None:
    with pytest.raises(EncodeError, match="expected text or hex"):
        PROTOCOL.from_json("HandshakeRequest", "client", {"target": "/", "body": body})


def test_bodies_in_json() -> None:
    for form, body in (("é", "é".encode()), ({"hex": "ff00"}, b"\xff\x00")):
        asked = PROTOCOL.from_json("HandshakeRequest", "client", {"target": "/", "body": form})
        assert json_form(asked)["body"] == form
        assert getattr(asked, "body") == body  # noqa: B009
