"""Mutants: named defects of a mock server, to measure whether the cases notice them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import msgspec

from wiretool.codec.jsonform import nearest
from wiretool.conformance.case import Conformance
from wiretool.errors import UsageError

#: Makes the replacement of a function from the function.
Replace = Callable[[Callable[..., Any]], Callable[..., Any]]


class Patcher:
    """Replaces attributes of classes and modules, and puts them back."""

    def __init__(self) -> None:
        self._saved: list[tuple[Any, str, Any]] = []

    def set(self, owner: Any, name: str, value: Any) -> None:
        """Replace an attribute that `owner` itself has."""
        assert name in vars(owner), f"{owner} has no {name} of its own"
        self._saved.append((owner, name, vars(owner)[name]))
        setattr(owner, name, value)

    def wrap(self, owner: Any, name: str, replace: Replace) -> None:
        """Replace a function or method by what `replace` makes of it."""
        self.set(owner, name, replace(vars(owner)[name]))

    def restore(self) -> None:
        """Put everything back, the last replacement first."""
        while self._saved:
            owner, name, value = self._saved.pop()
            setattr(owner, name, value)


@dataclass(frozen=True, slots=True)
class Mutant:
    """One defect: a small patch of the server model."""

    name: str
    #: The defect in one sentence.
    defect: str
    apply: Callable[[Patcher], None]


#: Puts a defect into place.
Apply = Callable[[Patcher], None]


class Mutants(list[Mutant]):
    """Mutants in the making: each is declared in front of the function that applies it."""

    def declare(self, name: str, defect: str) -> Callable[[Apply], Apply]:
        """Return a decorator that adds a mutant."""

        def add(apply: Apply) -> Apply:
            self.append(Mutant(name, defect, apply))
            return apply

        return add


def replaced(message: Any, **fields: Any) -> Any:
    """Return a message, or another structure, with other values."""
    return msgspec.structs.replace(message, **fields)


@contextmanager
def applied(mutant: Mutant | None) -> Iterator[None]:
    """Have a defect in place for the time of a block; None for the clean server."""
    patcher = Patcher()
    try:
        if mutant is not None:
            mutant.apply(patcher)
        yield
    finally:
        patcher.restore()


def mutants_of(part: Conformance) -> Mapping[str, Mutant]:
    """Return the mutants of a protocol by name."""
    if not part.mutants:
        return {}
    every: Sequence[Mutant] = import_module(part.mutants).MUTANTS
    named = {each.name: each for each in every}
    assert len(named) == len(every), "a name of a mutant is used twice"
    return named


def mutant_named(part: Conformance, name: str) -> Mutant:
    """Return a mutant by name. UsageError where there is none, with the nearest name."""
    known = mutants_of(part)
    if not known:
        raise UsageError(f"--mutant {name}: {part.protocol} has no mutants")
    if name not in known:
        raise UsageError(
            f"--mutant {name}: {part.protocol} has no such mutant{nearest(name, known)}; "
            f"`wiretool conform {part.protocol} --mutants` lists them"
        )
    return known[name]
