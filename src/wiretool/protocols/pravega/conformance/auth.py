"""Cases of delegation tokens (protocols/pravega.md §4.3)."""

from collections.abc import Iterator, Mapping
from typing import Any

from wiretool.conformance.case import (
    CLOSED,
    MUST,
    OBSERVED,
    SHOULD,
    Case,
    Reply,
    Steps,
    case,
    expect,
    expect_any,
    expect_close,
    reply,
    send,
)
from wiretool.conformance.values import Bindings, Saved, Text, Value, one_of
from wiretool.protocols.pravega.conformance.failures import PLAIN, TABLES, Request
from wiretool.protocols.pravega.conformance.steps import (
    MISSING,
    NO_EVENT,
    SEGMENT,
    WRITER,
    ask,
    hello,
    rid,
    several,
    still_open,
)
from wiretool.protocols.pravega.server.tokens import Permission, TokenChecker

#: The key that a standalone server signs tokens with, unless it is told otherwise (captures/pravega-server/README.md).
KEY = b"secret"
_TOKENS = "protocols/pravega.md §4.3"
_AUTH = "authorization"
_CHECK_FAILED, _EXPIRED = 0, 1
#: Tokens of the cases that have expired ended so many seconds after they were made.
_ENDED_S = 1


class Token(Value):
    """A token for a resource, which may have names in braces; in a capture one that this key signed for the same."""

    def __init__(
        self,
        resource: str,
        permission: Permission = Permission.READ_UPDATE,
        *,
        key: bytes = KEY,
        expires_s: int | None = None,
    ) -> None:
        self._resource = Text(resource)
        self._permission = permission
        self._checker = TokenChecker(key)
        self._expires_s = expires_s

    def resolve(self, bindings: Bindings) -> str:
        claims = {self._resource.resolve(bindings): self._permission}
        return self._checker.issue("segmentstoreresource", claims, 0, self._expires_s)

    def matches(self, value: Any, bindings: Bindings) -> bool:
        if not bindings.is_passive:
            return bool(value == self.resolve(bindings))
        claims = (self._checker._claims(value) if isinstance(value, str) else None) or {}  # a cut message has none
        has_ended = "exp" in claims and claims["exp"] - claims.get("iat", 0) <= _ENDED_S
        if has_ended is not (self._expires_s is not None):
            return False
        return any(
            given == self._permission.name and self._resource.matches(claim, bindings)
            for claim, given in claims.items()
        )

    def describe(self, bindings: Bindings) -> str:
        return f"a token for {self._permission.name} on {self._resource.describe(bindings)}"


_STREAM = "prn::/scope:{scope}/stream:{stream}"
_ALL = Token("*")
_READ_ONLY = Token(_STREAM, Permission.READ)
_SCOPE = Token("prn::/scope:{scope}")
#: A token that expired in 1970.
_OLD = Token("*", expires_s=_ENDED_S)


def refused(number: Any, code: int = _CHECK_FAILED) -> Reply:
    """Return the refusal of a token."""
    request_id = rid(number) if isinstance(number, int) else number
    return reply("AuthTokenCheckFailed", request_id=request_id, error_code=code)


def _requests() -> Iterator[Request]:
    """The requests whose token is checked, but for ReadSegment, whose refusal has another id."""
    yield "CreateSegment", "segment", {"target_rate": 0, "scale_type": 0}
    yield from (of for of, _ in PLAIN if of[0] != "ReadSegment")
    yield "MergeSegmentsBatch", "target_segment_id", {"source_segment_ids": []}
    yield "CreateTableSegment", "segment", {}
    yield from TABLES


def _without_token() -> Iterator[Case]:
    for name, (message, field, others) in several("pravega/auth/1", tuple(_requests())):
        yield case(
            name,
            MUST,
            f"{message} without a token, or with an invalid one, is refused, and the connection stays open.",
            _TOKENS,
            *(
                (
                    send(message, request_id=rid(at), delegation_token=token, **{field: MISSING, **others}),
                    expect_any(refused(at)),
                )
                for at, token in enumerate(("", "abc", "a.b.c"), 5)
            ),
            still_open(),
            variant=_AUTH,
        )


def _life(token: Value) -> list[Steps]:
    """Create a segment, describe it, set a writer up, truncate, seal and delete it, all with one token."""
    steps: tuple[tuple[str, Reply, Mapping[str, Any]], ...] = (
        (
            "CreateSegment",
            reply("SegmentCreated", segment=SEGMENT),
            {"segment": SEGMENT, "target_rate": 0, "scale_type": 0},
        ),
        ("GetStreamSegmentInfo", reply("StreamSegmentInfo", write_offset=0), {"segment_name": SEGMENT}),
        (
            "SetupAppend",
            reply("AppendSetup", writer_id=WRITER, last_event_number=NO_EVENT),
            {"segment": SEGMENT, "writer_id": WRITER},
        ),
        ("TruncateSegment", reply("SegmentTruncated"), {"segment": SEGMENT, "truncation_offset": 0}),
        ("SealSegment", reply("SegmentSealed"), {"segment": SEGMENT}),
        ("DeleteSegment", reply("SegmentDeleted"), {"segment": SEGMENT}),
    )
    return [
        ask(number, message, outcome, delegation_token=token, **fields)
        for number, (message, outcome, fields) in enumerate(steps, 1)
    ]


def _create_with(token: Value, number: int = 1, segment: Any = SEGMENT) -> Steps:
    return ask(
        number,
        "CreateSegment",
        reply("SegmentCreated", segment=segment),
        segment=segment,
        target_rate=0,
        scale_type=0,
        delegation_token=token,
    )


CASES: tuple[Case, ...] = (
    *_without_token(),
    case(
        "pravega/auth/31",
        OBSERVED,
        "The refusal of a read has the offset in the place of the request id.",
        f"{_TOKENS} (bug to know); captures/pravega-server auth_bad",
        *(
            (
                send(
                    "ReadSegment",
                    segment=MISSING,
                    offset=5,
                    suggested_length=10,
                    delegation_token=token,
                    request_id=6,
                ),
                expect("AuthTokenCheckFailed", request_id=5, error_code=_CHECK_FAILED),
            )
            for token in ("", "abc", "a.b.c")
        ),
        variant=_AUTH,
    ),
    case(
        "pravega/auth/32",
        SHOULD,
        "A transient segment is created without a token, or with any.",
        _TOKENS,
        *(
            ask(
                number,
                "CreateTransientSegment",
                reply("SegmentCreated", segment=Saved(f"transient{number}")),
                writer_id=WRITER,
                parent_segment=MISSING,
                delegation_token=token,
            )
            for number, token in enumerate(("", "abc", "a.b.c"), 4)
        ),
        variant=_AUTH,
    ),
    case(
        "pravega/auth/33",
        MUST,
        "A token for reading is enough for all but the set-up of a writer.",
        f"{_TOKENS}; captures/pravega-server auth_read_only",
        [
            (
                send("SetupAppend", request_id=rid(3), writer_id=WRITER, segment=SEGMENT, delegation_token=_READ_ONLY),
                expect_any(refused(3)),
            )
            if index == 2
            else step
            for index, step in enumerate(_life(_READ_ONLY))
        ],
        variant=_AUTH,
    ),
    case(
        "pravega/auth/34",
        MUST,
        "A token for a scope is valid for its streams.",
        f"{_TOKENS}; captures/pravega-server auth_scope",
        _life(_SCOPE),
        variant=_AUTH,
    ),
    case(
        "pravega/auth/35",
        MUST,
        "A token for everything, without an end, is enough.",
        f"{_TOKENS}; captures/pravega-server auth_star",
        _life(_ALL),
        variant=_AUTH,
    ),
    case(
        "pravega/auth/36",
        MUST,
        "A token for a stream is valid for its segments.",
        _TOKENS,
        _life(Token(_STREAM)),
        variant=_AUTH,
    ),
    case(
        "pravega/auth/37",
        MUST,
        "An expired token is refused as expired; after a read or an info request the connection stays open.",
        f"{_TOKENS}; captures/pravega-server auth_expired",
        send("ReadSegment", segment=MISSING, offset=5, suggested_length=10, delegation_token=_OLD, request_id=6),
        expect("AuthTokenCheckFailed", request_id=one_of(5, 6), error_code=_EXPIRED),
        ask(2, "GetStreamSegmentInfo", refused(2, _EXPIRED), segment_name=MISSING, delegation_token=_OLD),
        still_open(),
        variant=_AUTH,
    ),
    case(
        "pravega/auth/38",
        SHOULD,
        "SetupAppend with an expired token ends the connection, with a refusal or without.",
        f"{_TOKENS}; captures/pravega-server auth_expired",
        send("SetupAppend", request_id=rid(3), writer_id=WRITER, segment=MISSING, delegation_token=_OLD),
        expect_any(refused(3, _EXPIRED), reply(CLOSED)),
        expect_close(),
        variant=_AUTH,
    ),
    case(
        "pravega/auth/39",
        MUST,
        "Hello and KeepAlive need no token.",
        f"{_TOKENS}; captures/pravega-server auth_free",
        hello(),
        still_open(),
        variant=_AUTH,
    ),
    case(
        "pravega/auth/40",
        MUST,
        "A token for one stream is not valid for another stream of its scope.",
        _TOKENS,
        _create_with(_ALL),
        ask(
            2,
            "GetStreamSegmentInfo",
            refused(2),
            segment_name=SEGMENT,
            delegation_token=Token("prn::/scope:{scope}/stream:{stream}-other"),
        ),
        variant=_AUTH,
    ),
    case(
        "pravega/auth/41",
        MUST,
        "A token for a stream is not valid for another stream whose name begins with the same characters.",
        _TOKENS,
        _create_with(_ALL),
        ask(
            2,
            "GetStreamSegmentInfo",
            refused(2),
            segment_name=Text("{scope}/{stream}x/0.#epoch.0"),
            delegation_token=Token(_STREAM),
        ),
        variant=_AUTH,
    ),
    case(
        "pravega/auth/42",
        MUST,
        "A token that was signed with another key is refused.",
        _TOKENS,
        ask(
            2,
            "GetStreamSegmentInfo",
            refused(2),
            segment_name=MISSING,
            delegation_token=Token("*", key=b"another key"),
        ),
        variant=_AUTH,
    ),
    case(
        "pravega/auth/43",
        MUST,
        "A batch of merged segments needs the right to write to its target.",
        _TOKENS,
        _create_with(_ALL),
        ask(
            2,
            "MergeSegmentsBatch",
            refused(2),
            target_segment_id=SEGMENT,
            source_segment_ids=[],
            delegation_token=_READ_ONLY,
        ),
        ask(
            3,
            "MergeSegmentsBatch",
            reply("SegmentsBatchMerged", target=SEGMENT, merged=[]),
            target_segment_id=SEGMENT,
            source_segment_ids=[],
            delegation_token=_SCOPE,
        ),
        variant=_AUTH,
    ),
    case(
        "pravega/auth/44",
        MUST,
        "The token of a merge must be valid for the source, not for the target.",
        "protocols/pravega.md §5.2 (MERGE_SEGMENTS)",
        _create_with(_ALL),
        _create_with(_ALL, 2, Text("{scope}/{source}/0.#epoch.0")),
        ask(
            3,
            "MergeSegments",
            reply("SegmentsMerged", target=SEGMENT),
            target=SEGMENT,
            source=Text("{scope}/{source}/0.#epoch.0"),
            delegation_token=Token("prn::/scope:{scope}/stream:{source}"),
        ),
        variant=_AUTH,
    ),
    case(
        "pravega/auth/45",
        MUST,
        "A refused request changes nothing.",
        _TOKENS,
        _create_with(_ALL),
        ask(2, "DeleteSegment", refused(2), segment=SEGMENT, delegation_token=""),
        ask(3, "SealSegment", refused(3), segment=SEGMENT, delegation_token="abc"),
        ask(
            4,
            "GetStreamSegmentInfo",
            reply("StreamSegmentInfo", exists=True, is_sealed=False),
            segment_name=SEGMENT,
            delegation_token=_ALL,
        ),
        variant=_AUTH,
    ),
)
