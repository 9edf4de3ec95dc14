"""A rule: when it acts, and what it does; checked against the declarations before it is used."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Literal

from wiretool import limits
from wiretool.codec.message import SIDES, Side
from wiretool.errors import EncodeError, UsageError
from wiretool.faults.actions import (
    Action,
    Answer,
    Change,
    CutAfter,
    Delay,
    Duplicate,
    Keep,
    Reorder,
    Set,
    Stale,
    Stall,
    WrongChecksum,
    WrongLength,
)
from wiretool.faults.adapter import FaultAdapter, Kind, fault_adapter_of
from wiretool.faults.reach import UNDECLARED, known_of, may_hold
from wiretool.filter.fields import names_for
from wiretool.filter.history import History
from wiretool.filter.judge import Judge, judge_of
from wiretool.filter.names import Names
from wiretool.filter.syntax import Node, parse
from wiretool.protocols.base.protocol import Protocol


@dataclass(frozen=True, slots=True)
class When:
    """Which of the frames that fit: every one, the nth, each so-many-th, or some by chance."""

    kind: Literal["", "nth", "every", "probability"] = ""
    number: float = 1

    def fits(self, count: int, rng: random.Random) -> bool:
        """Whether the frame that is the `count`th to fit, from 1, is one of them."""
        if self.kind == "nth":
            return count == self.number
        if self.kind == "every":
            return count % self.number == 0
        return self.kind == "" or rng.random() < self.number

    @property
    def text(self) -> str:
        """`nth=3`, empty for every one."""
        return f"{self.kind}={self.number:g}" if self.kind else ""


@dataclass(frozen=True, slots=True)
class Rule:
    """What happens to which frames. Two are equal if they do the same, however they were written."""

    expression: str
    when: When
    action: Action
    #: Names of the protocols that it was checked against.
    protocols: tuple[str, ...]
    #: The sides of each protocol whose frames it may act on, and of those the messages where only some will do.
    sides: frozenset[tuple[str, Side]] = field(compare=False)
    kinds: frozenset[tuple[str, Kind]] | None = field(compare=False)
    #: Where it was written: `faults.toml, line 3 (rule 1)`.
    origin: str = field(compare=False)
    _node: Node | None = field(compare=False, repr=False)
    _names: Names = field(compare=False, repr=False)

    @property
    def text(self) -> str:
        """The rule on one line."""
        condition = " ".join(part for part in (self.expression, self.when.text) if part)
        return f"{condition}: {self.action.text}"

    def __str__(self) -> str:
        return self.text

    def judge(self, history: History) -> Judge:
        """The test of its expression on a record; `time` counts by `history`."""
        return (lambda record: True) if self._node is None else judge_of(self._node, self._names, history)


def make_rule(expression: str, when: When, action: Action, protocols: Sequence[Protocol], origin: str) -> Rule:
    """The rule, once everything in it makes sense for one of the protocols; UsageError where nothing does.

    The error says no more than why: whoever read the rule says where it stands.
    """
    names = _names_of(tuple(protocols))
    dialects = [fault_adapter_of(protocol) for protocol in protocols]
    node = parse(expression) if expression else None
    if node is not None:
        judge_of(node, names, History())
    _check_numbers(when, action)
    sides = frozenset(
        (dialect.protocol.name, side) for dialect in dialects for side in SIDES if _may_reach(node, dialect, side)
    )
    if not sides:
        raise UsageError("the condition is never true of any message")
    kinds = _kinds(node, action, dialects)
    if kinds is not None:
        sides &= {(name, side) for name, (side, _) in kinds}
    text = " ".join(expression.split("\n")).strip()
    return Rule(text, when, action, tuple(each.name for each in protocols), sides, kinds, origin, node, names)


@cache
def _names_of(protocols: tuple[Protocol, ...]) -> Names:
    return names_for(protocols)


def _may_reach(node: Node | None, dialect: FaultAdapter, side: Side) -> bool:
    """Whether frames of that side may be meant, those that no declaration names among them."""
    names = [name for sender, name in dialect.kinds if sender == side]
    return any(may_hold(node, known_of(dialect.protocol.name, side, name)) for name in (*names, UNDECLARED))


def _kinds(node: Node | None, action: Action, dialects: Sequence[FaultAdapter]) -> frozenset[tuple[str, Kind]] | None:
    """The messages that the action can be done to; None where it can to any bytes. UsageError where to none."""
    if not isinstance(action, Set | WrongLength | WrongChecksum | Answer | Stale | Keep):
        return None
    fit: set[tuple[str, Kind]] = set()
    errors: list[str] = []
    for dialect in dialects:
        for kind in sorted(dialect.kinds):
            if not may_hold(node, known_of(dialect.protocol.name, *kind)):
                continue
            try:
                dialect.check(action, kind)
                fit.add((dialect.protocol.name, kind))
            except EncodeError as err:
                errors.append(str(err))
    if not fit:
        raise UsageError(_best(errors))
    return frozenset(fit)


def _best(errors: Sequence[str]) -> str:
    """The error that helps most: one that has a suggestion, else the first; and whether there are others."""
    if not errors:
        return "no declared message fits the condition"
    best = next((error for error in errors if "did you mean" in error), errors[0])
    return best if len(set(errors)) == 1 else f"{best} (and so for all {len(errors)} messages that may be meant)"


# -- numbers -----------------------------------------------------------------------------------------------------------


def _check_numbers(when: When, action: Action) -> None:
    """UsageError for a number that means nothing."""
    if when.kind in ("nth", "every") and when.number < 1:
        raise UsageError(f"{when.text}: counted from 1")
    if when.kind == "probability" and not 0 < when.number <= 1:
        raise UsageError(f"{when.text}: above 0, and 1 at most")
    if isinstance(action, Delay | Stall):
        _check_duration(action.duration_ns)
    elif isinstance(action, Reorder):
        _check_duration(action.within_ns)
    elif isinstance(action, Duplicate) and not 1 <= action.copies <= limits.FAULT_COPIES_MAX:
        raise UsageError(f"{action.text}: 1 to {limits.FAULT_COPIES_MAX} copies")
    elif isinstance(action, CutAfter) and action.count < 0:
        raise UsageError(f"{action.text}: no frame has less than 0 bytes")
    elif isinstance(action, WrongLength) and not action.by:
        raise UsageError("wrong length 0 would be the right one")
    elif isinstance(action, Stale) and action.by < 1:
        raise UsageError(f"{action.text}: at least 1 lower")
    elif isinstance(action, Set | Answer):
        _check_changes(action.changes)


def _check_duration(duration_ns: int | None) -> None:
    if duration_ns is not None and not 0 < duration_ns <= limits.FAULT_DURATION_NS_MAX:
        raise UsageError(f"a duration of {duration_ns} ns; above 0, and {limits.FAULT_DURATION_NS_MAX} at most")


def _check_changes(changes: Sequence[Change]) -> None:
    places = [change.steps for change in changes]
    for place in places:
        if places.count(place) > 1:
            raise UsageError(f"{'.'.join(map(str, place))} is set twice")
