"""Defects of the mock Offramp server."""

from wiretool.conformance.mutation.mutants import Mutant
from wiretool.protocols.offramp.conformance.mutants import frames, groups, handshakes, streams

MUTANTS: tuple[Mutant, ...] = (*handshakes.MUTANTS, *frames.MUTANTS, *streams.MUTANTS, *groups.MUTANTS)
