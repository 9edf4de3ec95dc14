"""Delegation tokens: what the controller gives out and the store checks, a JWT signed with HS512 (RFC 7519, RFC 7518).

One algorithm, fixed, and three dots of text: the standard library's hmac does it, no token names another one.
"""

import hmac
from base64 import b64decode, urlsafe_b64encode
from collections.abc import Mapping
from enum import IntEnum
from typing import Any

import msgspec

_ALGORITHM, _AUDIENCE = "HS512", "segmentstore"
#: What a resource may have in front of its parts, as the controller writes it (TokenVerifierImpl.java).
_PREFIXES = ("prn::", "/scope:", "stream:")
_EVERYTHING = "*"


class Permission(IntEnum):
    """What a token allows on a resource; the higher includes the lower."""

    NONE = 0
    READ = 1
    READ_UPDATE = 2


class Failure(IntEnum):
    """Why a token is refused: the error codes of AuthTokenCheckFailed."""

    CHECK_FAILED = 0
    EXPIRED = 1


class _Header(msgspec.Struct):
    alg: str


class TokenChecker:
    """Signs tokens and checks them with one key, as the controller and its stores do."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def issue(self, subject: str, resources: Mapping[str, Permission], now_s: int, ttl_s: int | None) -> str:
        """A token that gives `subject` those permissions for `ttl_s` seconds; None: for ever.

        Resources as the controller writes them: `prn::/scope:S/stream:T`, `S/T`, `S/` or `*`.
        """
        claims: dict[str, Any] = {"sub": subject, "aud": _AUDIENCE, "iat": now_s}
        claims |= {resource: permission.name for resource, permission in resources.items()}
        if ttl_s is not None:
            claims["exp"] = now_s + ttl_s
        signed = f"{_base64(msgspec.json.encode(_Header(_ALGORITHM)))}.{_base64(msgspec.json.encode(claims))}"
        return f"{signed}.{_base64(self._signature(signed))}"

    def check(self, token: str, resource: str, needed: Permission, now_s: int) -> Failure | None:
        """Why the token does not allow this on a resource (a segment's full name), None where it does.

        EXPIRED only where it is signed well; whether it would have allowed this is not looked at then.
        """
        claims = self._claims(token)
        if claims is None:
            return Failure.CHECK_FAILED
        expires_s = _expiry(claims)
        if expires_s is not None and now_s >= expires_s:
            return Failure.EXPIRED
        is_allowed = any(_permission(given) >= needed and _covers(claim, resource) for claim, given in claims.items())
        return None if is_allowed else Failure.CHECK_FAILED

    def expires_s(self, token: str) -> int | None:
        """When a token expires, in whole seconds of the epoch; None where it does not, or is none of ours."""
        return _expiry(self._claims(token) or {})

    def _claims(self, token: str) -> dict[str, Any] | None:
        """What the token says, None where it is malformed or signed otherwise."""
        signed, _, signature = token.rpartition(".")
        header, _, claims = signed.partition(".")
        try:
            if not hmac.compare_digest(_bytes(signature), self._signature(signed)):
                return None
            if msgspec.json.decode(_bytes(header), type=_Header).alg != _ALGORITHM:
                return None
            return msgspec.json.decode(_bytes(claims), type=dict[str, Any])
        except (ValueError, RecursionError, msgspec.MsgspecError):
            return None

    def _signature(self, signed: str) -> bytes:
        return hmac.digest(self._key, signed.encode(), "sha512")


def lifetime_s(token: str) -> float | None:
    """Seconds from a token's issue to its expiry; None where it does not tell. Its signature is not looked at."""
    try:
        claims = msgspec.json.decode(_bytes(token.split(".")[1]), type=dict[str, Any])
    except (ValueError, IndexError, RecursionError, msgspec.MsgspecError):
        return None
    issued, expires = claims.get("iat"), claims.get("exp")
    if not isinstance(issued, int | float) or not isinstance(expires, int | float):
        return None
    return expires - issued


def _base64(data: bytes) -> str:
    return urlsafe_b64encode(data).decode().rstrip("=")


def _bytes(text: str) -> bytes:
    """ValueError where it is no base64url."""
    return b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)


def _expiry(claims: Mapping[str, Any]) -> int | None:
    expires_s = claims.get("exp")
    return int(expires_s) if isinstance(expires_s, int | float) else None


def _permission(given: Any) -> Permission:
    return Permission.__members__.get(given, Permission.NONE) if isinstance(given, str) else Permission.NONE


def _covers(claim: str, resource: str) -> bool:
    """Whether what the claim names is the resource or contains it."""
    if claim == _EVERYTHING:
        return True
    for prefix in _PREFIXES:
        claim = claim.replace(prefix, "")
    return resource == claim or resource.startswith(claim if claim.endswith("/") else claim + "/")
