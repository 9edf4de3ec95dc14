"""A systematic part of a run: each kind of message after each other one, on the same objects.

Most seeds use names of their own. A bug that needs two of their messages shows only where both act on one object.
"""

import random
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from wiretool.fuzz.mutations.base import MutationContext
from wiretool.fuzz.mutations.order import SameObjects, joined, on, relabelled
from wiretool.fuzz.seeds.places import Place, SeedPlaces
from wiretool.fuzz.sequences.sequence import Change, Finish, FuzzSequence, Reset, Sending, Step

#: Messages of a sequence that is made of two.
MESSAGES_MAX = 24
#: Phases in which a message of each kind is the first of a pair, besides those where it waits or is refused.
PHASES = 5
#: The share of pairs of seeds while there are also sequences to be continued.
FRESH_SHARE = 0.7
#: Sequences with something new that wait to be continued.
WAITING_MAX = 512

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
        self._places: dict[str, dict[str, list[Place]]] = {}
        for (message, _), found in (SeedPlaces() if places is None else places).by_kind(seeds).items():
            for place in found if message else ():
                self._places.setdefault(place.sequence.setup, {}).setdefault(message, []).append(place)
        self._turns = self._all()
        #: Continuations of sequences that showed something new.
        self._waiting: deque[Iterator[FuzzSequence]] = deque()

    def next(self) -> FuzzSequence | None:
        """Return the next sequence; None at the end."""
        if (not self._waiting or self._rng.random() < FRESH_SHARE) and (found := next(self._turns, None)) is not None:
            return found
        while self._waiting:
            if (found := next(self._waiting[0], None)) is not None:
                return found
            self._waiting.popleft()
        return next(self._turns, None)

    def note_novel(self, sequence: FuzzSequence) -> None:
        """A sequence has shown something new: each kind of message comes after it, too."""
        at = max((at for at, step in enumerate(sequence.steps) if isinstance(step, Sending)), default=None)
        if at is not None and len(self._waiting) < WAITING_MAX:
            self._waiting.append(self._continued(Place(sequence, at)))

    def _continued(self, first: Place) -> Iterator[FuzzSequence]:
        seconds = [places[0] for places in self._places.get(first.sequence.setup, {}).values()]
        self._rng.shuffle(seconds)
        for second in seconds:
            yield from self._joined(Pairs.continue_with, first, second)

    def _all(self) -> Iterator[FuzzSequence]:
        for round_ in range(2 + PHASES):
            jobs = [
                (join, first, second)
                for of_setup in self._places.values()
                for first in _chosen(of_setup, round_)
                for second in (places[0] for places in of_setup.values())
                for join in JOINS
            ]
            self._rng.shuffle(jobs)
            for join, first, second in jobs:
                yield from self._joined(join, first, second)

    def _joined(self, join: Join, first: Place, second: Place) -> Iterator[FuzzSequence]:
        steps = join(self, first, second)
        if steps is not None and sum(isinstance(step, Sending) for step in steps) <= MESSAGES_MAX:
            yield first.sequence.with_steps(tuple(steps), Change(SameObjects.name, first.sending.message))

    def _renamed(self, place: Place, first: Place) -> FuzzSequence:
        """Return the session of a place on the objects of the session of the first one."""
        head = first.sequence.steps[: first.at + 1]
        steps = self._context(place.sequence.setup).renamer.onto(place.sequence.steps, head)
        return replace(place.sequence, steps=tuple(steps))

    # -- joins ---------------------------------------------------------------------------------------------------------

    def continue_with(self, first: Place, second: Place) -> list[Step] | None:
        """Return the session up to a message, and the other session on the same connection."""
        head = first.sequence.steps[: first.at + 1]
        return [*head, *self._rest(first, second, head)]

    def repeat_and_continue(self, first: Place, second: Place) -> list[Step] | None:
        """Return the session with the message a second time, and the other session on the same connection."""
        head = [*first.sequence.steps[: first.at + 1], *self._repeated(first)]
        return [*head, *self._rest(first, second, head)]

    def reconnect(self, first: Place, second: Place) -> list[Step] | None:
        """Return the session, finished, reset or left open, and the other session on a new connection."""
        head = first.sequence.steps[: first.at + 1]
        connection = first.sending.connection
        ends: tuple[list[Step], ...] = ([], [Finish(connection)], [Reset(connection)])
        end = self._rng.choice(ends)
        return [*head, *end, *relabelled(self._renamed(second, first), first.sequence, is_same=False)]

    def insert(self, first: Place, second: Place) -> list[Step] | None:
        """Return the session with one message of the other session in the middle; None for a session of one message."""
        if first.at + 1 == len(first.sequence.steps):
            return None
        steps, connection = self._renamed(second, first).steps, first.sending.connection
        context = self._context(first.sequence.setup)
        streams = context.streams
        call = [steps[second.at]] if streams is None else streams.call_up_to(steps, second.at)
        moved = [on(step, second.sending.connection, connection) for step in call]
        head, rest = first.sequence.steps[: first.at + 1], first.sequence.steps[first.at + 1 :]
        if streams is None:
            return [*head, *moved, *rest]
        return streams.inserted(head, [moved], rest, connection, context.protocol)

    def _repeated(self, first: Place) -> list[Step]:
        """Return the message once more; one of a call with those before it, on the next stream."""
        head = first.sequence.steps[: first.at + 1]
        streams = self._context(first.sequence.setup).streams
        return [first.sending] if streams is None else self._appended(head, streams.call_up_to(head, first.at), first)

    def _appended(self, head: Sequence[Step], steps: Sequence[Step], first: Place) -> list[Step]:
        """Return steps that come after others on the connection of the first place, with streams of their own."""
        context = self._context(first.sequence.setup)
        if context.streams is None:
            return list(steps)
        return context.streams.appended(head, steps, first.sending.connection, context.protocol)

    def _rest(self, first: Place, second: Place, head: Sequence[Step]) -> list[Step]:
        """Return the other session for the same connection, without the message that opens a connection in both."""
        other = self._renamed(second, first)
        at = next(at for at, step in enumerate(other.steps) if isinstance(step, Sending))
        is_opened = at < second.at and other.sendings[0].message == first.sequence.sendings[0].message
        steps = other.steps[:at] + other.steps[at + 1 :] if is_opened else other.steps
        rest = joined(steps, first.sequence, {second.sending.connection: first.sending.connection})
        return self._appended(head, rest, first)


JOINS: tuple[Join, ...] = (Pairs.continue_with, Pairs.repeat_and_continue, Pairs.reconnect, Pairs.insert)


def _chosen(of_setup: dict[str, list[Place]], round_: int) -> Iterator[Place]:
    """Yield one place for each kind of message.

    In round 0 it waits for its reply, in round 1 it is accepted, in round 2 it is refused, and in later ones it is
    accepted in further phases.
    """
    for places in of_setup.values():
        wanted = [place for place in places if (place.is_late, place.is_refused) == (round_ == 0, round_ == 2)]
        phases = {place.phase: place for place in reversed(wanted)}
        names = list(dict.fromkeys(place.phase for place in wanted))
        at = max(0, round_ - 2)
        if at < len(names):
            yield phases[names[at]]
