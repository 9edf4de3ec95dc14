"""Defects in what answers a handshake."""

from collections.abc import Callable, Set
from typing import Any

from wiretool.conformance.mutation.mutants import Mutant, Patcher
from wiretool.protocols.offramp import handshake, http
from wiretool.protocols.offramp.conformance.steps import KEY
from wiretool.protocols.offramp.handshake import Deflate
from wiretool.protocols.offramp.messages import ConnectionEvent, HandshakeRequest
from wiretool.protocols.offramp.server import consumer, deflate, link, mock, pii, roads, upgrade
from wiretool.protocols.offramp.server.deflate import Negotiated

#: Which status stands for which other one where they are confused.
_SWAPPED = {400: 404, 404: 400}


def _refuses(when: Callable[[HandshakeRequest], bool], status: int) -> Callable[[Patcher], None]:
    """Return a patch that refuses requests for a reason of its own."""

    def apply(patcher: Patcher) -> None:
        def replace(decided: Callable[..., Any]) -> Callable[..., Any]:
            def wrong(asked: HandshakeRequest, path: Any, is_road: bool, access: Any, now_ns: int, **kept: Any) -> Any:
                if when(asked):
                    return upgrade.Verdict(upgrade.refusal(status, asked, now_ns))
                return decided(asked, path, is_road, access, now_ns, **kept)

            return wrong

        patcher.wrap(mock, "decided", replace)

    return apply


def _lets_in(when: Callable[[HandshakeRequest, Any], bool]) -> Callable[[Patcher], None]:
    """Return a patch that upgrades requests which the rules refuse."""

    def apply(patcher: Patcher) -> None:
        def replace(decided: Callable[..., Any]) -> Callable[..., Any]:
            def wrong(asked: HandshakeRequest, path: Any, is_road: bool, access: Any, now_ns: int, **kept: Any) -> Any:
                if path is not None and is_road and when(asked, path):
                    return upgrade.upgraded(asked, path, now_ns, **kept)
                return decided(asked, path, is_road, access, now_ns, **kept)

            return wrong

        patcher.wrap(mock, "decided", replace)

    return apply


def _refused_in_silence(patcher: Patcher) -> None:
    """Upgrade callers that are refused, and send nothing after the upgrade."""

    def replace(decided: Callable[..., Any]) -> Callable[..., Any]:
        def wrong(asked: HandshakeRequest, path: Any, is_road: bool, access: Any, now_ns: int, **kept: Any) -> Any:
            verdict = decided(asked, path, is_road, access, now_ns, **kept)
            if verdict.response.status not in (401, 403, 404) or not _has(asked, "Sec-WebSocket-Key"):
                return verdict
            return upgrade.upgraded(asked, path, now_ns, **kept, close=1011)

        return wrong

    patcher.wrap(mock, "decided", replace)
    patcher.wrap(
        link.OfframpLink,
        "_fail",
        lambda fail: lambda self, code, why: None if why == "refused after the upgrade" else fail(self, code, why),
    )


def _has(asked: HandshakeRequest, name: str) -> bool:
    return bool(http.header_values(asked.headers, name))


def _accept_is_constant(patcher: Patcher) -> None:
    patcher.wrap(upgrade, "accept_of", lambda accept_of: lambda key: accept_of(KEY))


def _accept_of_bare_key(patcher: Patcher) -> None:
    patcher.set(upgrade, "_GUID", b"")


def _connection_missing(patcher: Patcher) -> None:
    patcher.wrap(
        link.OfframpLink,
        "say",
        lambda say: lambda self, event: None if isinstance(event, ConnectionEvent) else say(self, event),
    )


def _connection_twice(patcher: Patcher) -> None:
    def replace(say: Callable[..., None]) -> Callable[..., None]:
        def wrong(self: Any, event: Any) -> None:
            say(self, event)
            if isinstance(event, ConnectionEvent):
                say(self, event)

        return wrong

    patcher.wrap(link.OfframpLink, "say", replace)


def _begins(*, at_end: bool) -> Callable[[Patcher], None]:
    def apply(patcher: Patcher) -> None:
        def replace(init: Callable[..., None]) -> Callable[..., None]:
            def wrong(self: Any, *given: Any, **kept: Any) -> None:
                init(self, *given, **{**kept, "starts_at_end": at_end})

            return wrong

        patcher.wrap(consumer.Consumer, "__init__", replace)

    return apply


def _statuses_swapped(patcher: Patcher) -> None:
    patcher.wrap(
        upgrade,
        "refusal",
        lambda refusal: lambda status, asked, now_ns: refusal(_SWAPPED.get(status, status), asked, now_ns),
    )


def _without(header: str) -> Callable[[Patcher], None]:
    """Return a patch that leaves a header out of refusals."""

    def apply(patcher: Patcher) -> None:
        def replace(response: Callable[..., Any]) -> Callable[..., Any]:
            return lambda status, headers=(), **kept: response(
                status, tuple(each for each in headers if each[0] != header), **kept
            )

        patcher.wrap(handshake, "response", replace)

    return apply


def _any_road(patcher: Patcher) -> None:
    patcher.set(roads.Roads, "has", lambda self, name: True)


def _version_unchecked(patcher: Patcher) -> None:
    def replace(answer: Callable[..., Any]) -> Callable[..., Any]:
        def wrong(self: Any, asked: HandshakeRequest) -> Any:
            target = asked.target.replace("/offramp/v3/", "/offramp/v2/")
            return answer(self, handshake.request(target, asked.headers, method=asked.method, version=asked.version))

        return wrong

    patcher.wrap(mock.OfframpMock, "answer", replace)


def _password_unchecked(patcher: Patcher) -> None:
    patcher.wrap(
        handshake,
        "_authorities",
        lambda authorities: lambda given, users: frozenset({"*"}) if given else authorities(given, users),
    )


def _access(status: Callable[[tuple[str, ...], Set[str], Set[str]], int]) -> Callable[[Patcher], None]:
    """Return a patch of who may read what: a status for the grants, the authorities, and what these hold."""

    def apply(patcher: Patcher) -> None:
        def wrong(grants: tuple[str, ...], authorities: Set[str], road: Any) -> int:
            held = {grant for name, each in road.items() if name in authorities for grant in each}
            return status(grants, authorities, held)

        patcher.set(handshake, "_access_status", wrong)

    return apply


def _status(is_held: bool) -> int:
    return 101 if is_held else 403


def _road_not_decoded(patcher: Patcher) -> None:
    patcher.set(handshake, "unquote", lambda text: text)


def _subprotocol_agreed(patcher: Patcher) -> None:
    def replace(upgraded: Callable[..., Any]) -> Callable[..., Any]:
        def wrong(asked: HandshakeRequest, *given: Any, **kept: Any) -> Any:
            verdict = upgraded(asked, *given, **kept)
            offered = list(http.tokens(http.header_values(asked.headers, "Sec-WebSocket-Protocol")))
            if not offered:
                return verdict
            headers = (*verdict.response.headers, ("Sec-WebSocket-Protocol", offered[0]))
            return verdict._replace(response=handshake.response(101, headers))

        return wrong

    patcher.wrap(upgrade, "upgraded", replace)


def _not_http_is_our_fault(patcher: Patcher) -> None:
    def replace(refuse: Callable[..., None]) -> Callable[..., None]:
        def wrong(self: Any, err: Any) -> None:
            if self._phase is link.Phase.HTTP:
                self._send_message(upgrade.refusal(500, None, self._server.now_ns))
                self._hang_up(str(err))
            else:
                refuse(self, err)

        return wrong

    patcher.wrap(link.OfframpLink, "_refuse", replace)


def _pii_untouched(patcher: Patcher) -> None:
    patcher.set(roads, "blanked", lambda payload, paths: payload)


def _pii_not_nested(patcher: Patcher) -> None:
    patcher.wrap(
        roads,
        "blanked",
        lambda blanked: lambda payload, paths: blanked(payload, [path for path in paths if "." not in path]),
    )


def _pii_not_in_arrays(patcher: Patcher) -> None:
    patcher.wrap(
        pii,
        "_blanked_at",
        lambda at: lambda value, names: value if isinstance(value, list) else at(value, names),
    )


def _pii_always_blanked(patcher: Patcher) -> None:
    def replace(init: Callable[..., None]) -> Callable[..., None]:
        def wrong(self: Any, *given: Any, **kept: Any) -> None:
            init(self, *given, **{**kept, "sees_pii": False})

        return wrong

    patcher.wrap(consumer.Consumer, "__init__", replace)


# -- extensions --------------------------------------------------------------------------------------------------------


def _offer_echoed(patcher: Patcher) -> None:
    def replace(negotiate: Callable[..., Negotiated]) -> Callable[..., Negotiated]:
        def wrong(offers: list[str]) -> Negotiated:
            agreed = negotiate(offers)
            return agreed if agreed.answer or not offers else Negotiated(Deflate(False, False), offers[0])

        return wrong

    patcher.wrap(upgrade, "negotiate", replace)


def _windows_not_named(patcher: Patcher) -> None:
    patcher.wrap(
        upgrade,
        "negotiate",
        lambda negotiate: (
            lambda offers: negotiate(offers)._replace(answer="permessage-deflate" if negotiate(offers).answer else "")
        ),
    )


def _server_window_ignored(patcher: Patcher) -> None:
    patcher.set(deflate, "_BITS_MAX", "10")


MUTANTS: tuple[Mutant, ...] = (
    Mutant("accept-constant", "Every handshake gets the accept value of the same key.", _accept_is_constant),
    Mutant("accept-bare", "The accept value is made of the key alone.", _accept_of_bare_key),
    Mutant("connection-missing", "CONNECTION is not sent.", _connection_missing),
    Mutant("connection-twice", "CONNECTION is sent twice.", _connection_twice),
    Mutant("earliest-ignored", "Every stream without commits begins at the latest offset.", _begins(at_end=True)),
    Mutant("latest-ignored", "Every stream without commits begins at the earliest offset.", _begins(at_end=False)),
    Mutant(
        "bad-parameters-taken",
        "Parameters with unknown values are taken as if they were absent.",
        _lets_in(lambda asked, path: bool(path.wrong)),
    ),
    Mutant("statuses-swapped", "400 and 404 are confused.", _statuses_swapped),
    Mutant("road-unchecked", "A road that does not exist is created.", _any_road),
    Mutant("version-unchecked", "The version in the path is not checked.", _version_unchecked),
    Mutant(
        "method-unchecked",
        "POST is upgraded like GET.",
        _lets_in(lambda asked, path: asked.method != "GET"),
    ),
    Mutant(
        "upgrade-unchecked",
        "Upgrade and Connection are not checked.",
        _lets_in(
            lambda asked, path: (
                _has(asked, "Sec-WebSocket-Key")
                and http.header_values(asked.headers, "Sec-WebSocket-Version") == ["13"]
                and _has(asked, "Host")
                and not _has(asked, "Authorization")
                and not path.grants
            )
        ),
    ),
    Mutant(
        "connection-exact",
        "Connection must be `upgrade` and nothing else.",
        _refuses(lambda asked: "," in "".join(http.header_values(asked.headers, "Connection")), 400),
    ),
    Mutant(
        "websocket-version-unchecked",
        "Any version of WebSocket is taken.",
        _lets_in(
            lambda asked, path: (
                http.header_values(asked.headers, "Sec-WebSocket-Version") != ["13"]
                and _has(asked, "Sec-WebSocket-Key")
            )
        ),
    ),
    Mutant("version-not-named", "426 does not name the version that is taken.", _without("Sec-WebSocket-Version")),
    Mutant("allow-missing", "405 does not name the method that is allowed.", _without("Allow")),
    Mutant("realm-missing", "401 has no WWW-Authenticate.", _without("WWW-Authenticate")),
    Mutant(
        "key-missing-late",
        "A missing key is answered with 500.",
        _refuses(lambda asked: _has(asked, "Upgrade") and not _has(asked, "Sec-WebSocket-Key"), 500),
    ),
    Mutant(
        "host-unchecked", "A request without Host is served.", lambda p: p.set(upgrade, "lacks_host", lambda _: False)
    ),
    Mutant("not-http-500", "A request that is not HTTP is answered with 500.", _not_http_is_our_fault),
    Mutant(
        "origin-refused",
        "A request with a foreign origin is refused.",
        _refuses(lambda asked: _has(asked, "Origin"), 400),
    ),
    Mutant("subprotocol-agreed", "The first subprotocol that is offered is agreed to.", _subprotocol_agreed),
    Mutant(
        "unknown-parameter-refused",
        "A parameter that is not known is refused.",
        _refuses(lambda asked: "color=" in asked.target, 400),
    ),
    Mutant("road-not-decoded", "Names in the path are not percent-decoded.", _road_not_decoded),
    Mutant(
        "refused-in-silence",
        "Callers without access and those that ask for an unknown road are upgraded, and nothing follows.",
        _refused_in_silence,
    ),
    Mutant("password-unchecked", "Any name and password are taken.", _password_unchecked),
    Mutant(
        "anonymous-grants",
        "Anonymous callers get the grants that they ask for.",
        _access(lambda grants, names, held: _status(held >= {"PUBLIC", *grants}) if names else 101),
    ),
    Mutant(
        "anonymous-by-authority",
        "Anonymous callers need PUBLIC, as all others do.",
        _access(lambda grants, names, held: _status(held >= {"PUBLIC", *grants}) if names else 401 if grants else 403),
    ),
    Mutant(
        "public-not-needed",
        "A caller with a name needs nothing beside the grants that it asks for.",
        _access(lambda grants, names, held: _status(held >= set(grants)) if names else 401 if grants else 101),
    ),
    Mutant(
        "grants-unchecked",
        "A caller that holds PUBLIC gets every grant.",
        _access(lambda grants, names, held: _status("PUBLIC" in held) if names else 401 if grants else 101),
    ),
    Mutant("pii-untouched", "Payloads are sent as they are stored, without the grant PII, too.", _pii_untouched),
    Mutant("pii-not-nested", "PII below the first level of a payload is sent.", _pii_not_nested),
    Mutant("pii-not-in-arrays", "PII in arrays is sent.", _pii_not_in_arrays),
    Mutant("pii-always-blanked", "PII is blanked for callers with the grant, too.", _pii_always_blanked),
    Mutant("offer-echoed", "The answer to an unsupported extension repeats the offer.", _offer_echoed),
    Mutant("windows-not-named", "The accepted extension lacks its parameters.", _windows_not_named),
    Mutant("server-window-agreed", "A small window of the server is agreed to, and 15 is not.", _server_window_ignored),
)
