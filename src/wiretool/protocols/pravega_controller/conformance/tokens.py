"""Cases of authorization (protocols/pravega-controller.md, introduction: metadata; facts/pravega-server.md §1)."""

import base64

from wiretool.conformance.case import MUST, OBSERVED, Case, Steps, case
from wiretool.conformance.values import text_matching
from wiretool.protocols.pravega_controller.conformance.steps import (
    SCOPE,
    STREAM,
    answer,
    ask,
    call,
    config,
    failed,
    hello,
    info,
    make_scope,
    make_stream,
    talk,
    whole,
)

_METADATA = "protocols/pravega-controller.md, introduction: metadata"
_MESSAGES = "protocols/pravega-controller.md, Messages: DelegationToken"
#: User and password in the setup with authorization.
USER, PASSWORD = "user", "password"
_JWT = text_matching(r"[\w-]+\.[\w-]+\.[\w-]+")


def credentials(user: str = USER, password: str = PASSWORD, scheme: str = "Basic") -> tuple[str, str]:
    """Return the metadata with a name and a password."""
    return "authorization", f"{scheme} " + base64.b64encode(f"{user}:{password}".encode()).decode()


def _made() -> Steps:
    """Make the scope and the stream of the case, as the user."""
    return (
        hello(),
        ask("createScope", 1, {"scope": SCOPE}, credentials()),
        answer("createScope", 1, {"status": "SUCCESS"}),
        ask("createStream", 3, config(), credentials()),
        answer("createStream", 3, {"status": "SUCCESS"}),
    )


def _with_access(operation: str) -> dict[str, object]:
    return {"scope": SCOPE, "stream": STREAM, "accessOperation": operation}


CASES: tuple[Case, ...] = (
    *(
        case(
            f"pravega-controller/auth/{number}",
            MUST,
            f"A call {words} is UNAUTHENTICATED, and does nothing.",
            _METADATA,
            hello(),
            ask("createScope", 1, {"scope": SCOPE}, *metadata),
            failed(1, "UNAUTHENTICATED"),
            ask("checkScopeExists", 3, {"scope": SCOPE}, credentials()),
            answer("checkScopeExists", 3, {"exists": False}),
            variant="auth",
        )
        for number, words, metadata in (
            (1, "without credentials", [("user-agent", "anonymous")]),
            (2, "with a wrong password", [credentials(password="wrong")]),
            (3, "with an unknown name", [credentials("nobody")]),
            (4, "with credentials of another method", [credentials(scheme="Bearer")]),
        )
    ),
    case(
        "pravega-controller/auth/5",
        MUST,
        "A call with the right name and password is served.",
        _METADATA,
        _made(),
        ask("checkStreamExists", 5, info(), credentials()),
        answer("checkStreamExists", 5, {"exists": True}),
        variant="auth",
    ),
    case(
        "pravega-controller/auth/6",
        MUST,
        "A delegation token is a JSON web token, for reading and for writing.",
        f"{_MESSAGES}; facts/pravega-server.md §5, authorization",
        _made(),
        ask("getDelegationToken", 5, _with_access("READ_WRITE"), credentials()),
        answer("getDelegationToken", 5, {"delegationToken": _JWT}),
        ask("getDelegationToken", 7, _with_access("READ"), credentials()),
        answer("getDelegationToken", 7, {"delegationToken": _JWT}),
        variant="auth",
    ),
    case(
        "pravega-controller/auth/7",
        MUST,
        "The current segments come with a token, unless the request names no operation for it.",
        "protocols/pravega-controller.md, Messages: SegmentRanges, StreamInfo",
        _made(),
        ask("getCurrentSegments", 5, _with_access("UNSPECIFIED"), credentials()),
        answer("getCurrentSegments", 5, {"segmentRanges": whole(), "delegationToken": _JWT}),
        ask("getCurrentSegments", 7, _with_access("NONE"), credentials()),
        answer("getCurrentSegments", 7, {"segmentRanges": whole(), "delegationToken": ""}),
        variant="auth",
    ),
    case(
        "pravega-controller/auth/8",
        OBSERVED,
        "Without authorization, credentials are ignored and tokens are empty.",
        _METADATA,
        talk(make_scope(), make_stream(), call("getDelegationToken", info(), delegationToken="")),
    ),
)
