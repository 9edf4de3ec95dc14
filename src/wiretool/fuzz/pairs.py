"""A systematic part of a run: each kind of message after each other one, on the same objects.

Most seeds use names of their own. A bug that needs two of their messages shows only where both act on one object.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from wiretool.fuzz.mutations.base import MutationContext
from wiretool.fuzz.mutations.order import SameObjects, new_label, on, relabelled
from wiretool.fuzz.seed_places import Place, SeedPlaces
from wiretool.fuzz.sequence import Change, Connect, Finish, FuzzSequence, Reset, Sending, Step

#: Messages of a sequence that is made of two.
MESSAGES_MAX = 24

#: Makes a sequence of the session up to a message and the one that has another message; None where it does not apply.
Join = Callable[["Pairs", Place, Place], list[Step] | None]


class Pairs:
    """Yields sequences in which a session goes on with the messages of another one."""

    def __init__(
        self,
        seeds: Sequence[FuzzSequence],
        context: Callable[[str], MutationContext],
        rng: random.Random,
        places: SeedPlaces | None = None,
    ) -> None:
        """`places` knows the replies to the messages of the seeds."""
        self._context = context
        self._rng = rng
        self._left: dict[str, dict[str, list[Place]]] = {}
        for (message, _), found in (SeedPlaces() if places is None else places).by_kind(seeds).items():
            for place in found if message else ():
                self._left.setdefault(place.sequence.setup, {}).setdefault(message, []).append(place)
        self._turns = self._all()

    def next(self) -> FuzzSequence | None:
        """Return the next sequence; None at the end."""
        return next(self._turns, None)

    def _all(self) -> Iterator[FuzzSequence]:
        for are_refused in (False, True):
            jobs = [
                (join, first, second)
                for of_setup in self._left.values()
                for first in _chosen(of_setup, are_refused=are_refused)
                for second in _chosen(of_setup, are_refused=False)
                for join in JOINS
            ]
            self._rng.shuffle(jobs)
            for join, first, second in jobs:
                steps = join(self, first, second)
                if steps is not None and sum(isinstance(step, Sending) for step in steps) <= MESSAGES_MAX:
                    change = Change(SameObjects.name, first.sending.message)
                    yield first.sequence.with_steps(tuple(steps), change)

    def _renamed(self, place: Place, first: Place) -> FuzzSequence:
        """Return the session of a place on the objects of the session of the first one."""
        head = first.sequence.steps[: first.at + 1]
        steps = self._context(place.sequence.setup).renamer.onto(place.sequence.steps, head)
        return replace(place.sequence, steps=tuple(steps))

    # -- joins ---------------------------------------------------------------------------------------------------------

    def then(self, first: Place, second: Place) -> list[Step] | None:
        """The session goes on as the other one, on the same connection."""
        head = first.sequence.steps[: first.at + 1]
        return [*head, *self._rest(first, second)]

    def twice(self, first: Place, second: Place) -> list[Step] | None:
        """The message is sent a second time, and the session goes on as the other one."""
        head = first.sequence.steps[: first.at + 1]
        return [*head, first.sending, *self._rest(first, second)]

    def after(self, first: Place, second: Place) -> list[Step] | None:
        """The connection ends, and the other session begins on a new one."""
        head = first.sequence.steps[: first.at + 1]
        end = self._rng.choice((Finish, Reset))(first.sending.connection)
        return [*head, end, *relabelled(self._renamed(second, first), first.sequence, is_same=False)]

    def within(self, first: Place, second: Place) -> list[Step] | None:
        """One message of the other session is sent in the middle of this one."""
        if first.at + 1 == len(first.sequence.steps):
            return None
        step = self._renamed(second, first).steps[second.at]
        moved = on(step, second.sending.connection, first.sending.connection)
        return [*first.sequence.steps[: first.at + 1], moved, *first.sequence.steps[first.at + 1 :]]

    def _rest(self, first: Place, second: Place) -> list[Step]:
        """Return the other session for the same connection, without the message that opens a connection in both."""
        other = self._renamed(second, first)
        opening = [step.message for step in first.sequence.sendings[:1]]
        steps = list(other.steps)
        at = next((at for at, step in enumerate(steps) if isinstance(step, Sending)), None)
        if at is not None and first.sequence.sendings and at < second.at:
            step = steps[at]
            if isinstance(step, Sending) and [step.message] == opening:
                del steps[at]
        label, connection = new_label(first.sequence), first.sending.connection
        labels: dict[int, int] = {second.sending.connection: connection}
        made: list[Step] = []
        for step in steps:
            to = labels.setdefault(step.connection, label + len(labels))
            if not (isinstance(step, Connect) and to == connection):
                made.append(on(step, step.connection, to))
        return made


JOINS: tuple[Join, ...] = (Pairs.then, Pairs.twice, Pairs.after, Pairs.within)


def _chosen(of_setup: dict[str, list[Place]], *, are_refused: bool) -> Iterator[Place]:
    """Yield for each kind of message its first place that was refused, or was not."""
    for places in of_setup.values():
        found = next((place for place in places if place.is_refused == are_refused), None)
        if found is not None:
            yield found
