"""Defects of the mock of the draft."""

from wiretool.conformance.mutation.mutants import Mutant
from wiretool.protocols.pravega_draft.conformance.mutants import append_mutants, frame_mutants, read_mutants

MUTANTS: tuple[Mutant, ...] = (*frame_mutants.MUTANTS, *append_mutants.MUTANTS, *read_mutants.MUTANTS)
