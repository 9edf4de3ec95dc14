"""Conformance cases of the segment store."""

from wiretool.conformance.case import Conformance, flat
from wiretool.protocols.pravega.conformance import (
    admin,
    appends,
    attributes,
    auth,
    blocks,
    conditional,
    failures,
    fields,
    frames,
    greeting,
    indexes,
    merges,
    reads,
    refused_appends,
    segments,
    setups,
    transient,
    truncation,
)
from wiretool.protocols.pravega.conformance.clients import CLIENT_CASES
from wiretool.protocols.pravega.conformance.rules import RULES
from wiretool.protocols.pravega.conformance.steps import hello
from wiretool.protocols.pravega.conformance.table_cases import entries, iteration, tables

CONFORMANCE = Conformance(
    protocol="pravega",
    server="pravega",
    # Stores close the connection after this refusal (§3.7).
    may_end_after=lambda incoming: incoming.name == "InvalidEventNumber",
    cases=(
        *frames.CASES,
        *fields.CASES,
        *greeting.CASES,
        *segments.CASES,
        *truncation.CASES,
        *attributes.CASES,
        *merges.CASES,
        *transient.CASES,
        *setups.CASES,
        *appends.CASES,
        *refused_appends.CASES,
        *blocks.CASES,
        *conditional.CASES,
        *reads.CASES,
        *tables.CASES,
        *entries.CASES,
        *iteration.CASES,
        *failures.CASES,
        *auth.CASES,
        *admin.CASES,
        *indexes.CASES,
    ),
    variants={
        "authorization": {"auth": ("user", "password")},
        "admin": {"has_admin": True},
        "wire-15": {"wire_version": 15},
        "wire-17": {"wire_version": 17},
        #: Segments that nobody uses are unloaded after a minute or two, which takes a case as long.
        "unloads-idle": {"like_real": True},
        #: A server that may be broken by it, and is thrown away afterwards.
        "expendable": {},
    },
    client_cases=CLIENT_CASES,
    rules=RULES,
    greeting=flat(hello()),
    mutants="wiretool.protocols.pravega.conformance.mutants",
)
