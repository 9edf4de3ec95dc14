"""Conformance cases of Offramp servers.

A server in the usual setup has the roads of `roads.py`, and the user `user` with the password `pass`.
"""

from collections.abc import Sequence
from typing import Any

from wiretool.conformance.case import Conformance, Incoming, expect, flat
from wiretool.protocols.offramp.conformance import (
    access,
    closes,
    commits,
    deflate,
    framing,
    handshake,
    malformed,
    messages,
    rebalances,
    requests,
)
from wiretool.protocols.offramp.conformance.clients import CLIENT_CASES
from wiretool.protocols.offramp.conformance.probes import PROBES, required_probes
from wiretool.protocols.offramp.conformance.roads import VARIANTS
from wiretool.protocols.offramp.conformance.rules import RULES
from wiretool.protocols.offramp.conformance.steps import ask_for


def _auto_reply(incoming: Incoming) -> Sequence[tuple[str, dict[str, Any]]]:
    """Answer pings, as every client has to."""
    return [("Pong", {"payload": incoming.fields["payload"]})] if incoming.name == "Ping" else ()


def _may_end_after(incoming: Incoming) -> bool:
    """Return whether a response refuses the upgrade (RFC 9112 §9.6), or it is a Close (RFC 6455 §7.1.1)."""
    return incoming.name == "Close" or (incoming.name == "HandshakeResponse" and incoming.fields["status"] != 101)


CONFORMANCE = Conformance(
    protocol="offramp",
    server="offramp",
    cases=(
        *handshake.CASES,
        *access.CASES,
        *deflate.CASES,
        *framing.CASES,
        *closes.CASES,
        *malformed.CASES,
        *requests.CASES,
        *messages.CASES,
        *commits.CASES,
        *rebalances.CASES,
    ),
    rules=RULES,
    client_cases=CLIENT_CASES,
    variants=VARIANTS,
    probes=PROBES,
    required_probes=required_probes,
    auto_reply=_auto_reply,
    may_end_after=_may_end_after,
    greeting=flat((ask_for("/offramp/v2/garbage"), expect("HandshakeResponse"))),
    mutants="wiretool.protocols.offramp.conformance.mutants",
)
