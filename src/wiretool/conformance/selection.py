"""Selection of cases by patterns of their ids and by level."""

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import TypeVar

from wiretool.codec.jsonform import nearest
from wiretool.conformance.case import Conformance
from wiretool.conformance.levels import Level
from wiretool.conformance.results import AnyCase
from wiretool.errors import UsageError

#: The word of options and messages for the usual setup, whose name is empty.
DEFAULT_SETUP = "default"

T = TypeVar("T", bound=AnyCase)


def select_cases(cases: Sequence[T], globs: Sequence[str] = (), levels: Sequence[str] = ()) -> list[T]:
    """Return the cases that any pattern names and no `!` pattern does. UsageError where none is left."""
    wanted = [glob for glob in globs if not glob.startswith("!")]
    excluded = [glob[1:] for glob in globs if glob.startswith("!")]
    for glob in (*wanted, *excluded):
        check_glob(cases, glob)
    known = levels_from(levels)
    selected = [
        case
        for case in cases
        if case.level in known
        and (not wanted or any(fnmatchcase(case.id, glob) for glob in wanted))
        and not any(fnmatchcase(case.id, glob) for glob in excluded)
    ]
    if not selected and (globs or levels):
        words = " ".join([*(f"--case {glob}" for glob in globs), *(f"--level {name}" for name in levels)])
        raise UsageError(f"{words}: no case is selected: expected options that leave at least one; --list shows all")
    return selected


def check_glob(cases: Sequence[AnyCase], glob: str) -> None:
    """UsageError where no case has such an id, with the nearest one."""
    ids = [case.id for case in cases]
    if not any(fnmatchcase(each, glob) for each in ids):
        raise UsageError(f"--case {glob}: no case has such an id{nearest(glob, ids)}; --list shows all")


def levels_from(names: Sequence[str]) -> frozenset[Level]:
    """Return the levels of these names, all for none. UsageError for an unknown name."""
    for name in names:
        if name not in list(Level):
            raise UsageError(f"--level {name}: expected must, should or observed{nearest(name, list(Level))}")
    return frozenset(map(Level, names)) if names else frozenset(Level)


def setup_named(text: str) -> str:
    """Return the name of a setup, as cases have it, for that of an option."""
    return "" if text == DEFAULT_SETUP else text


def check_setup(part: Conformance, name: str) -> None:
    """UsageError for a setup that no case requires, with the nearest one; the usual setup is the empty name."""
    if name and name not in part.variants:
        known, hint = (
            ", ".join((DEFAULT_SETUP, *filter(None, part.variants))),
            nearest(name, (DEFAULT_SETUP, *part.variants)),
        )
        raise UsageError(f"--setup {name}: {part.protocol} has no such setup{hint}; expected one of {known}")
