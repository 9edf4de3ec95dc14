"""Conformance cases of the 2017 draft."""

from wiretool.conformance.case import Conformance, expect, send
from wiretool.protocols.pravega_draft.conformance import appends, frames, reads
from wiretool.protocols.pravega_draft.server.mock import SegmentStart

CONFORMANCE = Conformance(
    protocol="pravega-draft",
    server="pravega-draft",
    cases=(*frames.CASES, *appends.CASES, *reads.CASES),
    variants={
        "prepared": {"segment_starts": {reads.SEALED: SegmentStart(data=reads.SEALED_DATA, is_sealed=True)}},
    },
    greeting=(send("KeepAlive", data=""), expect("KeepAlive", data="")),
    mutants="wiretool.protocols.pravega_draft.conformance.mutants",
)
