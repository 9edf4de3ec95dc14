"""Explanations of differences: each names the fields that it covers, and every other field is judged."""

from collections.abc import Callable, Iterable, Sequence
from typing import Generic, NamedTuple, TypeVar

from wiretool.faults.places import Pattern
from wiretool.records import Record
from wiretool.replay.adapter import Excuse, Steps

Scene = TypeVar("Scene")
#: The message itself, which is another one: no field.
ITSELF: Pattern = ()


class Explanation(NamedTuple, Generic[Scene]):
    """Why some fields of a reply may differ."""

    #: As patterns, in which None stands for any element of a list; a field covers what is inside it.
    fields: Sequence[Pattern]
    #: Returns the reason where it applies.
    applies: Callable[[Scene], Excuse | None]

    def covers(self, steps: Steps) -> bool:
        """Return whether a difference lies in one of the fields."""
        place = tuple(None if isinstance(step, int) else step for step in steps)
        return any(place[: len(pattern)] == pattern if pattern else not place for pattern in self.fields)


def explain(explanations: Iterable[Explanation[Scene]], steps: Steps, scene: Scene) -> Excuse | None:
    """Return the reason of the first explanation that covers a place and applies; None where none does."""
    found = (each.applies(scene) for each in explanations if each.covers(steps))
    return next((excuse for excuse in found if excuse is not None), None)


def shown(why: str, record: Record | None, *others: Record | None) -> str:
    """Return a reason with the record that shows it, unless that is one of the exchange itself."""
    if record is None or any(record is other for other in others):
        return why
    return f"{why}; record {record.n} shows it"
