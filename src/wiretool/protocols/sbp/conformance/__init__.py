"""Conformance cases of servers of the newest schema: placement driver and range server."""

from wiretool.conformance.case import Conformance, flat
from wiretool.protocols.sbp.conformance import connections, framing
from wiretool.protocols.sbp.conformance.steps import alive

CONFORMANCE = Conformance(
    protocol="sbp",
    server="sbp",
    cases=(*framing.CASES, *connections.CASES),
    greeting=flat(alive(1)),
)
