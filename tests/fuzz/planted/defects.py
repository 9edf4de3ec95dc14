"""Planted defects: their declaration, and the patches that several of them share."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from wiretool.conformance.mutation.mutants import Apply, Mutant, Patcher, mutant_named
from wiretool.conformance.registry import conformance_of

#: Bytes of a buffer that some defects keep.
BUFFER_BYTES = 256 * 1024


@dataclass(frozen=True, slots=True)
class Defect(Mutant):
    """A mutant of the mock for the fuzzer."""

    #: One of the mutants of the conformance cases.
    is_conform: bool = False


class Defects(list[Defect]):
    """Defects of one protocol in the making: each is declared in front of the function that applies it."""

    def declare(self, name: str, defect: str) -> Callable[[Apply], Apply]:
        """Return a decorator that adds a defect."""

        def add(apply: Apply) -> Apply:
            self.append(Defect(name, defect, apply))
            return apply

        return add

    def take(self, protocol: str, *names: str) -> None:
        """Add mutants of the conformance cases."""
        for name in names:
            mutant = mutant_named(conformance_of(protocol), name)
            self.append(Defect(mutant.name, mutant.defect, mutant.apply, is_conform=True))


def run_before(patcher: Patcher, owner: Any, name: str, check: Callable[..., Any]) -> None:
    """Call `check` with the arguments of a function or method before each call of it."""

    def wrap(function: Callable[..., Any]) -> Callable[..., Any]:
        def checked(*arguments: Any, **named: Any) -> Any:
            check(*arguments, **named)
            return function(*arguments, **named)

        return checked

    patcher.wrap(owner, name, wrap)


def state_of(owner: Any, name: str, make: Callable[[], Any]) -> Any:
    """Return state that a defect keeps in an object of the server; it lives as long as that."""
    return vars(owner).setdefault(f"planted_{name}", make())


def hang() -> None:
    """Never return."""
    while True:
        pass


def leak_buffers(patcher: Patcher, link: Any, memory_of: Callable[[Any], Any]) -> None:
    """Keep a buffer for each connection that is lost inside a frame, in an object that `memory_of` finds."""

    def keep(self: Any, *_: Any) -> None:
        if self.held_bytes:
            state_of(memory_of(self), "buffers", list).append(bytearray(BUFFER_BYTES))

    run_before(patcher, link, "lost", keep)
