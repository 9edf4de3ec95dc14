"""Conformance cases of servers of the newest schema: placement driver and range server."""

from wiretool.conformance.case import Conformance, flat
from wiretool.protocols.sbp.conformance import (
    connections,
    fetches,
    framing,
    members,
    operations,
    placement,
    ranges,
    streams,
)
from wiretool.protocols.sbp.conformance.clients import CLIENT_CASES
from wiretool.protocols.sbp.conformance.rules import RULES
from wiretool.protocols.sbp.conformance.steps import alive

_CHAPTERS = (framing, connections, operations, members, streams, placement, ranges, fetches)

CONFORMANCE = Conformance(
    protocol="sbp",
    server="sbp",
    cases=tuple(case for chapter in _CHAPTERS for case in chapter.CASES),
    variants={
        # Placement driver and range server at endpoints of their own.
        "apart": {"range_servers": 1, "followers": 1},
        # The same, each for one case: a placement driver that knows no range server at the beginning.
        "no-servers": {"range_servers": 1},
        "full-disk": {"range_servers": 1},
        "silent-server": {"range_servers": 1},
        "unknown-server": {"range_servers": 1},
    },
    # Servers that are being stopped say GOAWAY at any time.
    ignore=frozenset(("GOAWAY",)),
    greeting=flat(alive(1)),
    may_end_after=lambda incoming: incoming.name == "GOAWAY",
    rules=RULES,
    client_cases=CLIENT_CASES,
    mutants="wiretool.protocols.sbp.conformance.mutants",
)
