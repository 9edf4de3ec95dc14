"""All mutations, by name."""

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Protocol, TypeVar

from wiretool.codec.jsonform import nearest
from wiretool.errors import UsageError
from wiretool.fuzz.mutations import fields, numbers, order, texts
from wiretool.fuzz.mutations.base import Mutation

MUTATIONS: tuple[Mutation, ...] = (*numbers.MUTATIONS, *fields.MUTATIONS, *texts.MUTATIONS, *order.MUTATIONS)


class NamedMutation(Protocol):
    """A mutation of any kind, as `--case` chooses it."""

    name: str


Named = TypeVar("Named", bound=NamedMutation)


def select_mutations(globs: Sequence[str], every: Sequence[Named]) -> tuple[Named, ...]:
    """Return the mutations that fit the globs; `!GLOB` excludes. UsageError for a glob that fits none."""
    names = [each.name for each in every]
    for glob in globs:
        if not any(fnmatchcase(name, glob.lstrip("!")) for name in names):
            raise UsageError(f"--case {glob}: no mutation of that name{nearest(glob, names)}; --list shows all")
    wanted = [glob for glob in globs if not glob.startswith("!")] or ["*"]
    unwanted = [glob[1:] for glob in globs if glob.startswith("!")]
    chosen = tuple(
        each
        for each in every
        if any(fnmatchcase(each.name, glob) for glob in wanted)
        and not any(fnmatchcase(each.name, glob) for glob in unwanted)
    )
    if not chosen:
        raise UsageError(f"--case {' '.join(globs)}: no mutation is left; --list shows all")
    return chosen
