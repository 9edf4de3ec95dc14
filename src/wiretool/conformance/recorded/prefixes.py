"""Beginnings that cases share: where one does not match a connection, no case with this beginning is tried there."""

from collections.abc import Hashable, Mapping
from dataclasses import fields, is_dataclass
from types import FunctionType
from typing import Any

from wiretool.conformance.case import Case, Conformance, Send
from wiretool.conformance.values import Value


class FailedPrefixes:
    """The beginnings of cases that do not match a connection, by their numbers."""

    def __init__(self, part: Conformance) -> None:
        self._part = part
        self._numbers: dict[Hashable, int] = {}
        self._failed: set[tuple[int, int]] = set()

    def prefixes_of(self, case: Case) -> list[int]:
        """Return a number for each beginning of a case, the shortest first; cases share it if they begin alike."""
        sent = {step.message for step in case.steps if isinstance(step, Send)}
        number = self._number((case.variant, case.ignore, self._part.ignore - sent))
        found = []
        for step in case.steps:
            number = self._number((number, _key(step)))
            found.append(number)
        return found

    def has_failed(self, prefixes: list[int], connection: int) -> bool:
        """Return whether one of the beginnings is known not to match a connection."""
        return any((number, connection) in self._failed for number in prefixes)

    def add(self, prefix: int, connection: int) -> None:
        """Note that a beginning does not match a connection."""
        self._failed.add((prefix, connection))

    def _number(self, key: Hashable) -> int:
        return self._numbers.setdefault(key, len(self._numbers))


def _key(value: Any) -> Hashable:
    """Return a key that only equal steps, values and placeholders share; another object has only itself."""
    if isinstance(value, FunctionType):
        cells = tuple(_key(cell.cell_contents) for cell in value.__closure__ or ())
        return (value.__code__, cells, _key(value.__defaults__), _key(value.__kwdefaults__))
    if is_dataclass(value) and not isinstance(value, type):
        return (type(value), *(_key(getattr(value, each.name)) for each in fields(value)))
    if isinstance(value, Value):
        return (type(value), _key(vars(value)))
    if isinstance(value, Mapping):
        return (Mapping, *((name, _key(each)) for name, each in value.items()))
    if isinstance(value, list | tuple):
        return (type(value), *(_key(each) for each in value))
    return (type(value), value) if isinstance(value, Hashable) else id(value)
