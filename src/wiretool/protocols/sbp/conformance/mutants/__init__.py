"""Defects of the mock placement driver and the mock range server."""

from wiretool.conformance.mutation.mutants import Mutant
from wiretool.protocols.sbp.conformance.mutants import (
    appends,
    fetches,
    frames,
    members,
    operations,
    placement,
    replicas,
    streams,
)

_PARTS = (frames, operations, members, streams, placement, replicas, appends, fetches)

MUTANTS: tuple[Mutant, ...] = tuple(mutant for part in _PARTS for mutant in part.MUTANTS)
