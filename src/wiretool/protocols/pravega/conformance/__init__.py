"""Conformance cases of the segment store."""

from wiretool.conformance.case import Conformance, flat
from wiretool.protocols.pravega.conformance import appends
from wiretool.protocols.pravega.conformance.clients import CLIENT_CASES
from wiretool.protocols.pravega.conformance.rules import RULES
from wiretool.protocols.pravega.conformance.steps import hello

CONFORMANCE = Conformance(
    protocol="pravega",
    server="pravega",
    cases=appends.CASES,
    client_cases=CLIENT_CASES,
    rules=RULES,
    greeting=flat(hello()),
    mutants="wiretool.protocols.pravega.conformance.mutants",
)
