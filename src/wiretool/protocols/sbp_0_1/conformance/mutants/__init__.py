"""Defects of the mock placement manager and the mock data node."""

from wiretool.conformance.mutation.mutants import Mutant
from wiretool.protocols.sbp.conformance.mutants import frames
from wiretool.protocols.sbp_0_1.conformance.mutants import batches, metadata, requests

#: Defects of the connections that the servers of all schemas share, less those of a later server alone.
_OF_OTHERS = frozenset(
    (
        "longest-refused",
        "identifiers-unchecked",
        "identifier-never-wraps",
        "identifier-31-bits",
        "pong-cut",
        "pong-by-format",
        "parts-end-silence",
        "replica-never-idle",
        "replica-always-idle",
        "replica-says-goaway",
    )
)
_SHARED = tuple(mutant for mutant in frames.MUTANTS if mutant.name not in _OF_OTHERS)

MUTANTS: tuple[Mutant, ...] = (*_SHARED, *requests.MUTANTS, *metadata.MUTANTS, *batches.MUTANTS)
