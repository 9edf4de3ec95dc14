"""The choice among the outcomes that a case accepts, by the message that came, live or in a recording."""

from collections.abc import Sequence
from typing import NamedTuple

from wiretool.conformance.case import Incoming, Reply
from wiretool.conformance.values import Bindings, first_difference


class Fit(NamedTuple):
    """The outcome that fits, with the values that it binds; or the reason why none does."""

    outcome: Reply | None
    bindings: Bindings
    why: str = ""


def find_outcome(
    outcomes: Sequence[Reply], name: str, incoming: Incoming | None, bindings: Bindings, *, words: str = ""
) -> Fit:
    """Return the first of the outcomes that fits a message, or the end or silence of that name.

    `words` is the reason where it is not a message.
    """
    if incoming is not None and incoming.problems:
        outcomes = [each for each in outcomes if _allows(each, incoming.problems)]
        if not outcomes:
            return Fit(None, bindings, f"{incoming.name}: {incoming.problems[0]}")
    why = words
    for outcome in outcomes:
        if outcome.message != name:
            continue
        if incoming is None:
            return Fit(outcome, bindings)
        own = bindings.copy()
        difference = _first_difference(outcome, incoming, own)
        if difference is None:
            return Fit(outcome, own)
        why = why or f"{name}.{difference}"
    return Fit(None, bindings, why or f"{name} came")


def _first_difference(outcome: Reply, incoming: Incoming, bindings: Bindings) -> str | None:
    """Return where a message differs from an outcome in the fields that this names, in words."""
    for name, expected in outcome.fields.items():
        difference = first_difference(expected, incoming.fields.get(name), bindings, name)
        if difference is not None:
            return str(difference)
    return None


def _allows(outcome: Reply, problems: Sequence[str]) -> bool:
    """Return whether an outcome allows all problems of a message."""
    return bool(outcome.problem) and all(outcome.problem in each for each in problems)
