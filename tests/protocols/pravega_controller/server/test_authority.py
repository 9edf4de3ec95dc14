"""Who may call, and with which tokens callers go on."""

import base64

import pytest

from wiretool.protocols.pravega.server.tokens import Failure, Permission, TokenChecker
from wiretool.protocols.pravega_controller.server.authority import Authority

CHECKER = TokenChecker(b"secret")
AUTHORITY = Authority("admin", "pass:word", CHECKER)


def basic(account: str) -> str:
    return "Basic " + base64.b64encode(account.encode()).decode()


def test_the_user_is_admitted() -> None:
    assert AUTHORITY.admits(basic("admin:pass:word"))
    assert AUTHORITY.admits(basic("admin:pass:word").replace("Basic", "basic"))


@pytest.mark.parametrize(
    "authorization",
    [None, "", "Basic", basic("admin:"), basic("other:pass:word"), "Basic !!!", "Basic ü", "Bearer x", basic("")],
)
def test_nobody_else_is(authorization: str | None) -> None:
    assert not AUTHORITY.admits(authorization)


def test_a_token_covers_its_streams_for_ten_minutes() -> None:
    token = AUTHORITY.token("s", ["t", "u"], Permission.READ, 1_000_000_000_000)
    assert CHECKER.check(token, "s/t/0.#epoch.0", Permission.READ, 1_599) is None
    assert CHECKER.check(token, "s/u/0.#epoch.0", Permission.READ, 1_000) is None
    assert CHECKER.check(token, "s/t/0.#epoch.0", Permission.READ_UPDATE, 1_000) is Failure.CHECK_FAILED
    assert CHECKER.check(token, "s/other/0.#epoch.0", Permission.READ, 1_000) is Failure.CHECK_FAILED
    assert CHECKER.check(token, "s/t/0.#epoch.0", Permission.READ, 1_601) is Failure.EXPIRED
