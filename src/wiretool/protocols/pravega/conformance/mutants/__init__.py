"""Defects of the mock segment store."""

from wiretool.conformance.mutation.mutants import Mutant
from wiretool.protocols.pravega.conformance.mutants import (
    append_mutants,
    block_mutants,
    condition_mutants,
    connection_mutants,
    frame_mutants,
    life_mutants,
    merge_mutants,
    read_mutants,
    segment_mutants,
    setup_mutants,
    table_mutants,
    table_page_mutants,
    token_mutants,
)

MUTANTS: tuple[Mutant, ...] = (
    *frame_mutants.MUTANTS,
    *connection_mutants.MUTANTS,
    *segment_mutants.MUTANTS,
    *life_mutants.MUTANTS,
    *merge_mutants.MUTANTS,
    *setup_mutants.MUTANTS,
    *append_mutants.MUTANTS,
    *condition_mutants.MUTANTS,
    *block_mutants.MUTANTS,
    *read_mutants.MUTANTS,
    *table_mutants.MUTANTS,
    *table_page_mutants.MUTANTS,
    *token_mutants.MUTANTS,
)
