"""The options of `wiretool conform`."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ConformOptions:
    """Parsed options, as the command line gives them."""

    protocol: str
    case_globs: Sequence[str] = ()
    levels: Sequence[str] = ()
    only_lists: bool = False
    tests_mutants: bool = False
    mutant: str = ""
    jobs: int = 1
    is_verbose: bool = False
    seed: int = 0
