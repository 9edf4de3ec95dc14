"""Where the mock segment store is patched: routes of frames, answers to requests, replies."""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from wiretool.codec.message import Message
from wiretool.conformance.mutation.mutants import Patcher, Replace
from wiretool.protocols.pravega.server import link, store, tables
from wiretool.protocols.pravega.server.link import StoreLink

#: What a link knows of frames: by their first four bytes, then by the phase of the appends.
Routes = dict[bytes, dict[Any, Any]]


# -- frames ------------------------------------------------------------------------------------------------------------


def head_of(cls: type[Message]) -> bytes:
    """Return the first four bytes of the frames of a command."""
    return cls.declaration.type_id.to_bytes(4, "big", signed=True)


def reroute(patcher: Patcher, change: Callable[[Routes], Mapping[bytes, Any]]) -> None:
    """Change what links do with frames, on every port."""

    def replace(routes: Any) -> Any:
        @cache
        def changed(version: int, port: str) -> Mapping[bytes, Any]:
            return change({head: dict(phases) for head, phases in routes(version, port).items()})

        return changed

    patcher.wrap(link, "_routes", replace)


def rehandle(patcher: Patcher, classes: tuple[type[Message], ...], replace: Replace) -> None:
    """Replace how commands are served: a function of the link, the message and the time."""

    def change(routes: Routes) -> Routes:
        for head in map(head_of, classes):
            for phase, (counted, decode, handle, after) in routes.get(head, {}).items():
                routes[head][phase] = (counted, decode, replace(handle), after)
        return routes

    reroute(patcher, change)


def redecode(patcher: Patcher, replace: Replace, *classes: type[Message]) -> None:
    """Replace how commands are decoded, all of them where none is named."""

    def change(routes: Routes) -> Routes:
        for head in map(head_of, classes) if classes else list(routes):
            for phase, (counted, decode, handle, after) in routes.get(head, {}).items():
                routes[head][phase] = (counted, replace(decode), handle, after)
        return routes

    reroute(patcher, change)


def ignored_route(after: Any) -> Any:
    """Return the route of a frame that is dropped."""
    return (("client", "ignored"), lambda data, at, end: (None, end), lambda each, message, now_ns: None, after)


def ignore(patcher: Patcher, *classes: type[Message]) -> None:
    """Drop frames that end the connection."""
    reroute(
        patcher,
        lambda routes: {
            **routes,
            **{head_of(cls): {"idle": ignored_route("idle"), "block": ignored_route("block")} for cls in classes},
        },
    )


# -- answers and replies -----------------------------------------------------------------------------------------------


def reanswer(patcher: Patcher, cls: type[Message], replace: Replace) -> None:
    """Replace the answer to a request: a function of the store, the request and the time."""
    patcher.set(store, "_ANSWERS", {**store._ANSWERS, cls: replace(store._ANSWERS[cls])})


def retable(patcher: Patcher, cls: type[Message], replace: Replace) -> None:
    """Replace the answer to a request about a table: a function of the tables, the table, the request and the time."""
    patcher.set(tables, "_ON_TABLES", {**tables._ON_TABLES, cls: replace(tables._ON_TABLES[cls])})


def rereply(patcher: Patcher, change: Callable[[Any], Any]) -> None:
    """Change the replies of all links; acknowledgements of appends are none of them."""
    patcher.wrap(StoreLink, "reply", lambda send: lambda self, message: send(self, change(message)))


def refail(patcher: Patcher, change: Callable[[Any, Any, Any], Any]) -> None:
    """Change failures: a function of the refusal, the request and the failure."""

    def replace(failure: Any) -> Any:
        return lambda refusal, request: change(refusal, request, failure(refusal, request))

    patcher.wrap(store, "failure", replace)
    patcher.wrap(link, "failure", replace)
