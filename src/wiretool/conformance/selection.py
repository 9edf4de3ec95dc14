"""Selection of cases by patterns of their ids and by level."""

from collections.abc import Sequence
from fnmatch import fnmatchcase

from wiretool.codec.jsonform import nearest
from wiretool.conformance.case import Case, Conformance, Level
from wiretool.errors import UsageError


def select_cases(part: Conformance, globs: Sequence[str] = (), levels: Sequence[str] = ()) -> list[Case]:
    """Return the cases that any pattern names and no `!` pattern does. UsageError for a pattern without a case."""
    wanted = [glob for glob in globs if not glob.startswith("!")]
    excluded = [glob[1:] for glob in globs if glob.startswith("!")]
    for glob in (*wanted, *excluded):
        check_glob(part, glob)
    known = levels_from(levels)
    return [
        case
        for case in part.cases
        if case.level in known
        and (not wanted or any(fnmatchcase(case.id, glob) for glob in wanted))
        and not any(fnmatchcase(case.id, glob) for glob in excluded)
    ]


def check_glob(part: Conformance, glob: str, option: str = "--case") -> None:
    """UsageError where no case has such an id, with the nearest one."""
    ids = [case.id for case in part.cases]
    if not any(fnmatchcase(each, glob) for each in ids):
        raise UsageError(f"{option} {glob}: {part.protocol} has no such case{nearest(glob, ids)}; --list shows them")


def levels_from(names: Sequence[str]) -> frozenset[Level]:
    """Return the levels of these names, all for none. UsageError for an unknown name."""
    for name in names:
        if name not in list(Level):
            raise UsageError(f"--level {name}: expected must, should or observed{nearest(name, list(Level))}")
    return frozenset(map(Level, names)) if names else frozenset(Level)
