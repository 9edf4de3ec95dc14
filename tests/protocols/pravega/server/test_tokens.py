"""Delegation tokens: those recorded with a real server, and every way to have a bad one."""

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wiretool.codec.compiled import decoder
from wiretool.codec.message import Message
from wiretool.protocols.pravega.commands import BY_CODE
from wiretool.protocols.pravega.failures import AuthTokenCheckFailed
from wiretool.protocols.pravega.framing import HEADER_BYTES, type_at
from wiretool.protocols.pravega.messages import SetupAppend
from wiretool.protocols.pravega.segments import CreateTransientSegment
from wiretool.protocols.pravega.server.tokens import Failure, Permission, TokenChecker, lifetime_s
from wiretool.protocols.pravega.session import SEGMENT_FIELD

PROBES = Path(__file__).with_name("probes.json")
#: The standalone server's own key, and a time at which its recorded tokens held good.
KEY, NOW_S = b"secret", 1_795_241_800
SEGMENT = "scope/stream/0.#epoch.0"
CHECKER = TokenChecker(KEY)


def issued(resource: str, permission: Permission = Permission.READ_UPDATE, ttl_s: int | None = 60) -> str:
    return CHECKER.issue("someone", {resource: permission}, NOW_S, ttl_s)


def recorded() -> Iterator[tuple[str, Message, list[Message], bool]]:
    """Requests with tokens that the real server was sent one at a time, and what came of each."""
    for probe in json.loads(PROBES.read_text()):
        if probe["group"] != "auth":
            continue
        for sent, got in zip(probe["steps"][::2], probe["steps"][1::2], strict=True):
            request = message_in(bytes.fromhex(sent["hex"]))
            if "delegation_token" in request.__struct_fields__ and not isinstance(request, CreateTransientSegment):
                reply = [message_in(bytes.fromhex(got["hex"]))] if got["hex"] else []
                yield probe["name"], request, reply, got["end"] == "fin"


def message_in(data: bytes) -> Message:
    message: Message = decoder(BY_CODE[type_at(data, 0)])(data, HEADER_BYTES, len(data))[0]
    return message


def test_what_the_real_server_made_of_its_tokens() -> None:
    seen = 0
    for name, request, replies, is_closed in recorded():
        said: Any = request
        needed = Permission.READ_UPDATE if isinstance(request, SetupAppend) else Permission.READ
        failure = CHECKER.check(said.delegation_token, getattr(said, SEGMENT_FIELD[type(said)]), needed, NOW_S)
        if is_closed:
            assert failure is Failure.EXPIRED, name
        else:
            codes = [reply.error_code for reply in replies if isinstance(reply, AuthTokenCheckFailed)]
            assert codes == ([] if failure is None else [failure]), name
        seen += 1
    assert seen > 30


def test_it_writes_the_tokens_that_the_real_controller_wrote() -> None:
    seen = 0
    for name, request, _, _ in recorded():
        token = getattr(request, "delegation_token", "")
        if name in ("auth_read_only", "auth_scope", "auth_star"):
            claims = json.loads(urlsafe_b64decode(token.split(".")[1] + "=="))
            resource, permission = next((key, value) for key, value in claims.items() if str(value).startswith("READ"))
            ttl_s = claims["exp"] - claims["iat"] if "exp" in claims else None
            assert CHECKER.issue(claims["sub"], {resource: Permission[permission]}, claims["iat"], ttl_s) == token
            seen += 1
    assert seen > 10


@pytest.mark.parametrize(
    ("claim", "is_covered"),
    [
        ("*", True),
        ("prn::/scope:scope", True),
        ("prn::/scope:scope/stream:stream", True),
        ("scope/stream", True),
        ("scope/", True),
        (SEGMENT, True),
        ("prn::/scope:scop", False),
        ("prn::/scope:scope/stream:strea", False),
        ("scope/stream/0.#epoch.0/more", False),
        ("prn::/", False),
        ("sub", False),
    ],
)
def test_what_a_claim_covers(claim: str, is_covered: bool) -> None:
    failure = CHECKER.check(issued(claim), SEGMENT, Permission.READ_UPDATE, NOW_S)
    assert failure is (None if is_covered else Failure.CHECK_FAILED)


def test_levels() -> None:
    for given_, needed, failure in (
        (Permission.READ_UPDATE, Permission.READ, None),
        (Permission.READ, Permission.READ, None),
        (Permission.READ, Permission.READ_UPDATE, Failure.CHECK_FAILED),
        (Permission.NONE, Permission.READ, Failure.CHECK_FAILED),
    ):
        assert CHECKER.check(issued("scope", given_), SEGMENT, needed, NOW_S) is failure


def test_the_second_of_expiry() -> None:
    token = issued("*", ttl_s=10)
    assert CHECKER.expires_s(token) == NOW_S + 10
    assert CHECKER.check(token, SEGMENT, Permission.READ, NOW_S + 9) is None
    assert CHECKER.check(token, SEGMENT, Permission.READ, NOW_S + 10) is Failure.EXPIRED
    assert CHECKER.check(issued("other", ttl_s=10), SEGMENT, Permission.READ, NOW_S + 10) is Failure.EXPIRED
    assert CHECKER.expires_s(issued("*", ttl_s=None)) is None
    assert CHECKER.expires_s("nonsense") is None


@pytest.mark.parametrize(
    ("token", "seconds"),
    [
        (issued("*", ttl_s=60), 60),
        (TokenChecker(b"other").issue("someone", {}, NOW_S, 7), 7),
        (issued("*", ttl_s=None), None),
        ("", None),
        ("a.b.c", None),
        ("a.e30.c", None),
        ("a.W10.c", None),
        ("a.\u00e9.c", None),
    ],
)
def test_how_long_a_token_is_good(token: str, seconds: int | None) -> None:
    assert lifetime_s(token) == seconds


def forged(header: bytes, claims: bytes) -> str:
    """A token of any content, signed with the right key."""
    signed = f"{text(header)}.{text(claims)}"
    return f"{signed}.{text(CHECKER._signature(signed))}"


def text(data: bytes) -> str:
    return urlsafe_b64encode(data).decode().rstrip("=")


@pytest.mark.parametrize(
    "token",
    [
        "",
        "abc",
        "a.b.c",
        "..",
        "\u00e9.\u00e9.\u00e9",
        TokenChecker(b"other").issue("someone", {"*": Permission.READ_UPDATE}, NOW_S, 60),
        issued("*").rpartition(".")[0] + ".",
        issued("*") + ".x",
        issued("*")[:-20] + "\n" + issued("*")[-20:],
        forged(b'{"alg":"none"}', b'{"*":"READ_UPDATE"}'),
        forged(b'{"alg":"HS256"}', b'{"*":"READ_UPDATE"}'),
        forged(b'{"alg":1}', b'{"*":"READ_UPDATE"}'),
        forged(b'{"alg":"HS512","x":' + b"[" * 100_000, b'{"*":"READ_UPDATE"}'),
        forged(b'{"alg":"HS512"}', b'["*"]'),
        forged(b'{"alg":"HS512"}', b'{"*":"WRITE"}'),
        forged(b'{"alg":"HS512"}', b'{"*":["READ_UPDATE"]}'),
        forged(b'{"alg":"HS512"}', b"\xff"),
    ],
)
def test_tokens_that_are_none(token: str) -> None:
    assert CHECKER.check(token, SEGMENT, Permission.READ, NOW_S) is Failure.CHECK_FAILED


@given(at=st.integers(0), char=st.characters(codec="ascii"))
def test_any_changed_character_is_noticed(at: int, char: str) -> None:
    token = issued("*")
    at %= len(token) - 1  # the last one carries bits that are not looked at
    changed = token[:at] + char + token[at + 1 :]
    if changed != token:
        assert CHECKER.check(changed, SEGMENT, Permission.READ, NOW_S) is Failure.CHECK_FAILED


@given(st.text(), st.text())
def test_any_text_is_judged(token: str, resource: str) -> None:
    assert CHECKER.check(token, resource, Permission.READ, NOW_S) is Failure.CHECK_FAILED
