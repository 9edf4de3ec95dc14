"""Conformance cases of servers of the newest schema: placement driver and range server."""

from wiretool.conformance.case import Conformance, flat
from wiretool.protocols.sbp.conformance import connections, framing, members, operations
from wiretool.protocols.sbp.conformance.steps import alive

CONFORMANCE = Conformance(
    protocol="sbp",
    server="sbp",
    cases=(*framing.CASES, *connections.CASES, *operations.CASES, *members.CASES),
    variants={
        "apart": {"range_servers": 1, "followers": 1},
        "no-servers": {"range_servers": 1},
        "full-disk": {"range_servers": 1},
        "silent-server": {"range_servers": 1},
        "unknown-server": {"range_servers": 1},
    },
    greeting=flat(alive(1)),
)
