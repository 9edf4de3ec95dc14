"""A lie: which message of a run is sent otherwise, and how."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.bench.census.play import Reply
from wiretool.faults.adapter import Form

Steps = tuple[str | int, ...]
#: A number from nowhere.
CONSTANT = 12_345
#: What ties a reply to its request: a replaced one keeps it.
TIES = ("request_id", "stream_id", "correlationId")
#: How many fields of one message are changed at once; one field of every message of a kind; and what else is done.
KINDS = ("2 fields", "3 fields", "4 fields", "always", "replace", "double", "drop", "reorder")


@dataclass(slots=True)
class Lie:
    """One lie, and what came of telling it."""

    kind: str
    reply: Reply
    #: The field changes, or those that the other message comes to.
    changes: list[tuple[Steps, Any]] = field(default_factory=list)
    #: The other message of a reply that is replaced, and its fields; of two that are reordered the second.
    other: Reply | None = None
    failure: str = ""
    is_told: bool = False
    #: What was sent.
    form: Form | None = None
    #: How many messages say it.
    count: int = 0

    @property
    def key(self) -> str:
        """What makes it another lie than others of the run."""
        other = self.other.at if self.other else None
        return f"{self.kind} {self.reply.at} {other} {self.failure} {self.changes!r}"

    @property
    def name(self) -> str:
        """The message that is sent in place of the reply."""
        return self.failure or (self.other.record.message if self.other else self.reply.record.message)


def values_in(form: Any, steps: Steps = ()) -> Iterator[tuple[Steps, Any]]:
    """Every value in a form, lists as a whole and their elements."""
    if isinstance(form, Mapping):
        for name, value in form.items():
            yield from values_in(value, (*steps, name))
    elif isinstance(form, list | tuple):
        yield steps, form
        for at, value in enumerate(form):
            yield from values_in(value, (*steps, at))
    else:
        yield steps, form


def pattern_of(steps: Steps) -> str:
    """Return the place, whatever element of a list."""
    return ".".join(str(step) for step in steps if not isinstance(step, int))


def same(one: Any, other: Any) -> bool:
    """Return whether two values are one in JSON."""
    return bool(one == other) and isinstance(one, bool) == isinstance(other, bool)
