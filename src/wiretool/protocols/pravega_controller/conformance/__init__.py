"""Conformance cases of Pravega's controller."""

from collections.abc import Mapping, Sequence
from typing import Any

from wiretool.conformance.case import Conformance, Incoming, expect, flat
from wiretool.protocols.pravega_controller.conformance import (
    groups,
    http2,
    scopes,
    segments,
    streams,
    tokens,
    transactions,
)
from wiretool.protocols.pravega_controller.conformance.rules import RULES
from wiretool.protocols.pravega_controller.conformance.steps import hello


def _auto_reply(incoming: Incoming) -> Sequence[tuple[str, Mapping[str, Any]]]:
    """Acknowledge settings and pings, as every client has to."""
    if incoming.fields.get("ack"):
        return ()
    if incoming.name == "Settings":
        return [("Settings", {"ack": True, "settings": {}})]
    if incoming.name == "Ping":
        return [("Ping", {"ack": True, "opaque_data": incoming.fields["opaque_data"]})]
    return ()


CONFORMANCE = Conformance(
    protocol="pravega-controller",
    server="pravega",
    endpoint="controller",
    cases=(
        *http2.CASES,
        *scopes.CASES,
        *streams.CASES,
        *segments.CASES,
        *transactions.CASES,
        *groups.CASES,
        *tokens.CASES,
    ),
    rules=RULES,
    variants={"auth": {"auth": ("user", "password")}},
    ignore=frozenset({"Settings", "Ping", "WindowUpdate"}),
    auto_reply=_auto_reply,
    may_end_after=lambda incoming: incoming.name == "GoAway",
    greeting=flat((hello(), expect("Settings"))),
    mutants="wiretool.protocols.pravega_controller.conformance.mutants",
)
