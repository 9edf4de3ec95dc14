"""Which messages wait for an answer, and how one says that it failed: a status, a code, a commit that was not saved."""

from wiretool.protocols.base.exchanges import Exchanges, Fields, Match, value_in
from wiretool.protocols.offramp.messages import (
    Close,
    CommitEvent,
    CommitResponseEvent,
    ErrorEvent,
    HandshakeRequest,
    HandshakeResponse,
    Ping,
    RequestEvent,
)

_COMMIT = CommitEvent.declaration.name
_COMMITTED = CommitResponseEvent.declaration.name
_RESPONSE = HandshakeResponse.declaration.name
_ERROR = ErrorEvent.declaration.name
_CLOSE = Close.declaration.name
#: Of a status: from here on it is a failure (RFC 9110 §15); of a close, the codes of an orderly end (RFC 6455 §7.4.1).
_FAILED_MIN = 400
_ORDERLY = (None, 1000, 1001)


def failure(name: str, fields: Fields) -> str | None:
    """The status or code that says so, or the event itself."""
    if name == _COMMITTED:
        return f"{name} success=false" if value_in(fields, "success") is False else None
    if name == _RESPONSE:
        status = value_in(fields, "status")
        return f"HTTP {status}" if isinstance(status, int) and status >= _FAILED_MIN else None
    if name == _CLOSE:
        code = value_in(fields, "code")
        return None if code in _ORDERLY else f"{name} {code}"
    return name if name == _ERROR else None


EXCHANGES = Exchanges(
    asks=frozenset(
        {
            (HandshakeRequest.declaration.name, "client"),
            (_COMMIT, "client"),
            *((cls.declaration.name, side) for cls in (Ping, Close) for side in ("client", "server")),
        }
    ),
    # Only one for less than nothing is answered.
    may_ask=frozenset({(RequestEvent.declaration.name, "client")}),
    failure=failure,
    failures=frozenset({_RESPONSE, _CLOSE, _ERROR}),
    fine={"success": frozenset({1})},
    farewells=frozenset({_CLOSE}),
    matches=(Match(frozenset({_COMMITTED}), frozenset({_COMMIT}), ("correlationId",), ("correlationId",)),),
)
