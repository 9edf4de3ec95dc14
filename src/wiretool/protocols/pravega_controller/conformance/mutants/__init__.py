"""Defects of the mock controller."""

from wiretool.conformance.mutation.mutants import Mutant
from wiretool.protocols.pravega_controller.conformance.mutants import groups, scopes, segments, transactions, transport

MUTANTS: tuple[Mutant, ...] = (
    *transport.MUTANTS,
    *scopes.MUTANTS,
    *segments.MUTANTS,
    *transactions.MUTANTS,
    *groups.MUTANTS,
)
