"""Probes of the setup of a judged server: its roads, the messages on them, and its user.

A probe shows that a part is absent; a server that breaks the protocol meanwhile is left to the cases.
"""

from collections.abc import Iterator, Mapping, Sequence

from wiretool.conformance.case import (
    NOTHING,
    Case,
    Expect,
    ExpectAll,
    Send,
    Step,
    Steps,
    Verdict,
    expect,
    expect_any,
    final,
    flat,
    not_exercised,
    reply,
)
from wiretool.conformance.values import Check, one_of
from wiretool.protocols.offramp.conformance.steps import (
    BIG,
    KINDS,
    ONE,
    PEOPLE,
    PRIVATE,
    PUBLIC_ONLY,
    QUIET,
    SIX,
    STORED,
    Target,
    Upgrade,
    ask,
    credentials,
    open_stream,
    request,
)

#: The road of the setup `live`.
LIVE = "live"
#: A member of the first payload on each road: without it, the road has other messages than those of the setup.
_MEMBERS: Mapping[str, str] = {
    ONE: "n",
    STORED: "n",
    SIX: "n",
    PRIVATE: "n",
    PUBLIC_ONLY: "n",
    LIVE: "n",
    PEOPLE: "name",
    BIG: "text",
    KINDS: "text",
}
#: Cases whose outcome on a server without the setup shows nothing, and the road whose messages show the setup:
#: silence on an empty road, a road that is served because every name is one, one whose name is encoded, and roads
#: without rights of their own.
_SHOWN_BY: Mapping[str, str] = {
    "offramp/request/2": ONE,
    "offramp/handshake/17": ONE,
    "offramp/handshake/16": ONE,
    "offramp/access/9": PRIVATE,
    "offramp/access/10": PUBLIC_ONLY,
}
_USER = "user"


def _probe_road(road: str) -> Steps:
    """Require that a road exists, with or without access to it."""
    missing = f"the server has no road {road}"
    refused = final("HandshakeResponse", status=one_of(401, 403))
    return (
        ask(road),
        expect_any(refused, not_exercised("HandshakeResponse", missing, status=404), reply("HandshakeResponse")),
        expect_any(reply("CONNECTION"), reply("Close", code=1011), not_exercised("Close", missing, code=1000)),
    )


def _probe_messages(road: str, member: str) -> Steps:
    """Require a message on a road, as the setup has it."""
    has_member = Check(f"an object with {member}", lambda value, _: isinstance(value, dict) and member in value)
    return (
        open_stream(road),
        request(1),
        expect("REBALANCE"),
        expect_any(
            reply("MESSAGE", payload=has_member),
            not_exercised("MESSAGE", f"road {road} has other messages than those of the setup"),
            not_exercised(NOTHING, f"road {road} has no messages; the setup has some"),
        ),
    )


def _probe_silence(road: str) -> Steps:
    """Require a road without messages."""
    why = f"road {road} has messages; the setup has none there"
    return (
        open_stream(road),
        request(1),
        expect("REBALANCE"),
        expect_any(reply(NOTHING), not_exercised("MESSAGE", why), within_s=0.3),
    )


def _probe_user() -> Steps:
    """Require that the user of the setup is known."""
    unknown = not_exercised("HandshakeResponse", "the server does not know the user of the setup", status=401)
    refused = final("HandshakeResponse", status=one_of(403, 404))
    return (
        ask(ONE, "defaultOffset=EARLIEST", credentials()),
        expect_any(unknown, refused, reply("HandshakeResponse")),
        expect_any(reply("CONNECTION"), reply("Close")),
    )


def _road(road: str) -> str:
    return f"road {road}"


def _messages(road: str) -> str:
    return f"messages on {road}"


PROBES: Mapping[str, Sequence[Step]] = {
    **{_road(road): flat(_probe_road(road)) for road in (*_MEMBERS, QUIET)},
    **{_messages(road): flat(_probe_messages(road, member)) for road, member in _MEMBERS.items()},
    _messages(QUIET): flat(_probe_silence(QUIET)),
    _USER: flat(_probe_user()),
}


def required_probes(case: Case) -> Sequence[str]:
    """Return the probes of the roads and of the user that a case depends on."""
    return [name for name in dict.fromkeys(_required(case)) if name in PROBES]


def _required(case: Case) -> Iterator[str]:
    if case.id in _SHOWN_BY:
        yield _messages(_SHOWN_BY[case.id])
    roads: dict[str, str] = {}
    for step in case.steps:
        if isinstance(step, Send) and isinstance(target := step.fields.get("target"), Target):
            roads[step.on] = target.road
            yield _road(target.road)
            if target.road == QUIET:
                yield _messages(QUIET)
            if _has_user(step):
                yield _USER
        elif isinstance(step, Expect | ExpectAll) and step.on in roads and _takes_message(step):
            yield _messages(roads[step.on])


def _takes_message(step: Expect | ExpectAll) -> bool:
    """Return whether a step requires a MESSAGE, as an outcome that passes."""
    outcomes = step.outcomes if isinstance(step, Expect) else step.replies
    return any(each.message == "MESSAGE" and each.verdict is Verdict.PASS for each in outcomes)


def _has_user(step: Send) -> bool:
    """Return whether a handshake gives the user of the setup with its password."""
    asked = step.fields.get("headers")
    return isinstance(asked, Upgrade) and list(credentials()) in asked.given
