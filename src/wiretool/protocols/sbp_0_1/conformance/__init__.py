"""Conformance cases of servers of the batch style, in both of its schemas."""

from wiretool.conformance.case import Conformance, flat
from wiretool.protocols.sbp.conformance.steps import alive
from wiretool.protocols.sbp_0_1.conformance import batches_s1, connections, metadata_s1, servers_s2
from wiretool.protocols.sbp_0_1.conformance.rules import RULES
from wiretool.protocols.sbp_0_1.conformance.steps import protocol_of
from wiretool.protocols.sbp_0_1.messages import S1, S2

_CHAPTERS = (connections, metadata_s1, batches_s1, servers_s2)

CONFORMANCE = Conformance(
    protocol="sbp-0.1",
    server="sbp-0.1",
    cases=tuple(case for chapter in _CHAPTERS for case in chapter.CASES),
    variants={
        # Placement manager and data node at endpoints of their own.
        "apart": {"range_servers": 1},
        "S2": {"schema": "S2"},
        "S2-apart": {"schema": "S2", "range_servers": 1},
    },
    revisions={"": protocol_of(S1), "apart": protocol_of(S1), "S2": protocol_of(S2), "S2-apart": protocol_of(S2)},
    # Servers that are being stopped say GOAWAY at any time.
    ignore=frozenset(("GOAWAY",)),
    greeting=flat(alive(1)),
    may_end_after=lambda incoming: incoming.name == "GOAWAY",
    rules=RULES,
    mutants="wiretool.protocols.sbp_0_1.conformance.mutants",
)
