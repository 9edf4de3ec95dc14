"""The part of a protocol in fuzzing: mutations of its own, and problems that real servers show, too.

This is the interface module of the engine: `protocols/NAME/fuzz.py` declares a `FuzzPart` in `FUZZ`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from importlib.util import find_spec

from wiretool.fuzz.mutations.base import Mutation


@dataclass(frozen=True, slots=True)
class FuzzPart:
    """The part of one protocol."""

    mutations: tuple[Mutation, ...] = ()
    #: Problems of replies that a server may show, by the name of the reply: the beginnings of their texts, without
    #: numbers.
    allowed: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@cache
def fuzz_part_of(protocol: str) -> FuzzPart:
    """Return the part of a protocol; an empty one where it declares none."""
    module = f"wiretool.protocols.{protocol.replace('-', '_').replace('.', '_')}.fuzz"
    if find_spec(module) is None:
        return FuzzPart()
    part: FuzzPart = import_module(module).FUZZ
    return part
