"""Cases of scopes (protocols/pravega-controller.md, Methods; facts/pravega-server.md)."""

from wiretool.conformance.case import MUST, OBSERVED, SHOULD, Case, case
from wiretool.conformance.values import AnyOrder, Check, Saved, Text
from wiretool.protocols.pravega_controller.conformance.steps import (
    SCOPE,
    STREAM,
    call,
    info,
    listed,
    made,
    make_scope,
    make_stream,
    seal,
    talk,
)

_METHODS = "protocols/pravega-controller.md, Methods"
_SEEN = "facts/pravega-server.md, Added 23 November 2026"


def _contains(name: str) -> Check:
    return Check(f"a list with {name}", lambda found, seen: any(each in (name, seen.get(name)) for each in found))


CASES: tuple[Case, ...] = (
    case(
        "pravega-controller/scope/1",
        MUST,
        "A new scope exists.",
        _METHODS,
        talk(
            call("checkScopeExists", {"scope": SCOPE}, exists=False),
            make_scope(),
            call("checkScopeExists", {"scope": SCOPE}, exists=True),
        ),
    ),
    case(
        "pravega-controller/scope/2",
        MUST,
        "Creating an existing scope is answered with SCOPE_EXISTS.",
        _METHODS,
        talk(make_scope(), call("createScope", {"scope": SCOPE}, status="SCOPE_EXISTS")),
    ),
    *(
        case(
            f"pravega-controller/scope/{number}",
            MUST,
            f"A scope with {words} in its name is refused.",
            _METHODS,
            talk(call("createScope", {"scope": Text(f"{{scope}}{name}")}, status="INVALID_SCOPE_NAME")),
        )
        for number, words, name in ((3, "a space", "a b"), (4, "an underscore", "_own"), (5, "a slash", "a/b"))
    ),
    case(
        "pravega-controller/scope/6",
        MUST,
        "An empty scope is deleted, and is gone.",
        _METHODS,
        talk(
            make_scope(),
            call("deleteScope", {"scope": SCOPE}, status="SUCCESS"),
            call("checkScopeExists", {"scope": SCOPE}, exists=False),
        ),
    ),
    case(
        "pravega-controller/scope/7",
        MUST,
        "A scope with a stream is not deleted.",
        _METHODS,
        made(
            1,
            call("deleteScope", {"scope": SCOPE}, status="SCOPE_NOT_EMPTY"),
            call("checkStreamExists", info(), exists=True),
        ),
    ),
    case(
        "pravega-controller/scope/8",
        MUST,
        "Deleting a missing scope is answered with SCOPE_NOT_FOUND.",
        _METHODS,
        talk(call("deleteScope", {"scope": SCOPE}, status="SCOPE_NOT_FOUND")),
    ),
    case(
        "pravega-controller/scope/9",
        MUST,
        "A scope is deleted with all its contents.",
        _METHODS,
        made(
            1,
            call("deleteScopeRecursive", {"scope": SCOPE}, status="SUCCESS"),
            call("checkScopeExists", {"scope": SCOPE}, exists=False),
            call("checkStreamExists", info(), exists=False),
        ),
    ),
    case(
        "pravega-controller/scope/10",
        OBSERVED,
        "Deleting a missing scope with all its contents succeeds.",
        "every call against server 0.13.0 (interop tests)",
        talk(call("deleteScopeRecursive", {"scope": SCOPE}, status="SUCCESS")),
    ),
    case(
        "pravega-controller/scope/11",
        MUST,
        "Lists are paged: the token of a page requests the next one, and an empty page ends the list.",
        "protocols/pravega-controller.md, introduction: lists",
        made(
            1,
            make_stream(1, "other"),
            call(
                "listStreamsInScope",
                {"scope": {"scope": SCOPE}, "continuationToken": {"token": ""}},
                status="SUCCESS",
                streams=AnyOrder(*(listed(name) for name in (STREAM, Text("_MARK{stream}"), "other", "_MARKother"))),
                continuationToken={"token": Saved("page")},
            ),
            call(
                "listStreamsInScope",
                {"scope": {"scope": SCOPE}, "continuationToken": {"token": Saved("page")}},
                status="SUCCESS",
                streams=[],
            ),
        ),
    ),
    case(
        "pravega-controller/scope/12",
        SHOULD,
        "The scope of the controller itself is listed.",
        _SEEN,
        talk(call("listScopes", {"continuationToken": {"token": ""}}, scopes=_contains("_system"))),
    ),
    case(
        "pravega-controller/scope/13",
        MUST,
        "A list of the streams of a missing scope is answered with a missing scope.",
        _METHODS,
        talk(
            call(
                "listStreamsInScope",
                {"scope": {"scope": SCOPE}, "continuationToken": {"token": ""}},
                status="SCOPE_NOT_FOUND",
            )
        ),
    ),
    case(
        "pravega-controller/scope/14",
        MUST,
        "Streams of one name in two scopes are two streams.",
        _METHODS,
        made(
            1,
            make_scope(Text("{other}")),
            call("checkStreamExists", info(STREAM, Text("{other}")), exists=False),
            call(
                "createStream",
                {
                    "streamInfo": info(STREAM, Text("{other}")),
                    "scalingPolicy": {
                        "scaleType": "FIXED_NUM_SEGMENTS",
                        "targetRate": 0,
                        "scaleFactor": 0,
                        "minNumSegments": 1,
                    },
                },
                status="SUCCESS",
            ),
            seal(),
            call("checkStreamExists", info(STREAM, Text("{other}")), exists=True),
        ),
    ),
    case(
        "pravega-controller/scope/15",
        MUST,
        "A scope that was deleted can be made again, and is empty.",
        _METHODS,
        made(
            1,
            call("deleteScopeRecursive", {"scope": SCOPE}, status="SUCCESS"),
            make_scope(),
            call("checkStreamExists", info(), exists=False),
        ),
    ),
)
