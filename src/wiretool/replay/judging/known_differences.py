"""Known differences of a protocol: each declares the messages and fields that it covers, and all others are judged."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

from wiretool.records import Record
from wiretool.replay.adapter import Difference, Excuse

#: Stands, among fields, for another message in the place of the recorded one.
ANOTHER = ""
Types = type | tuple[type, ...]


class Case(NamedTuple):
    """One difference, in the replies that it is between; `request` is the recorded one."""

    difference: Difference
    recorded: Record
    live: Record
    request: Record | None


@dataclass(frozen=True, slots=True)
class KnownDifference:
    """A difference that a protocol allows.

    `fields` names what it covers, a list's elements without their numbers; `explain` says whether the protocol allows
    it there, after what has happened in the live run.
    """

    recorded: Types
    live: Types
    fields: frozenset[str]
    explain: Callable[[Case], Excuse | None]

    def covers(self, case: Case) -> bool:
        """Return whether the difference is in these messages and fields."""
        is_about = isinstance(case.recorded.fields, self.recorded) and isinstance(case.live.fields, self.live)
        return is_about and _is_within(case.difference, self.fields)


def explain(known: Iterable[KnownDifference], case: Case) -> Excuse | None:
    """Return why the first known difference that covers a case allows it; None where it is a finding."""
    found = (each.explain(case) for each in known if each.covers(case))
    return next((excuse for excuse in found if excuse is not None), None)


def _is_within(difference: Difference, fields: frozenset[str]) -> bool:
    names = [step for step in difference.steps if isinstance(step, str)]
    return ANOTHER in fields if not names else any(".".join(names[: at + 1]) in fields for at in range(len(names)))
