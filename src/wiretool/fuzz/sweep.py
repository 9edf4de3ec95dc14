"""A systematic part of a run: each field of each kind of message takes each odd value once.

Random choices reach deep sessions, but would need minutes until a certain field of a rare message has a certain value.
Each field is swept in a session that the server accepts first, then in others, each in another phase.
"""

import random
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple

from wiretool.codec.cursor import Span
from wiretool.errors import EncodeError
from wiretool.fuzz.mutations.base import MutationContext, region_of
from wiretool.fuzz.mutations.fields import leaves_of, odd_values
from wiretool.fuzz.mutations.numbers import boundaries, is_little, is_number
from wiretool.fuzz.seeds.places import Place, SeedPlaces
from wiretool.fuzz.sequences.sequence import Change, Edit, FuzzSequence, SetField, Splice

NUMBER, FIELD = "number/boundary", "field/value"
#: Phases in which a field is swept.
ROUNDS = 4
#: A number that more than this share of the kinds of messages have belongs to the frame.
SHARED_BY = 0.4

#: A number in the bytes of a message, or the steps to a value in its JSON form with that.
Where = Span | tuple[tuple[str | int, ...], Any]


class _Field(NamedTuple):
    """A field of a message in a seed."""

    place: Place
    where: Where


class Sweep:
    """Yields sequences with one field changed, kinds of messages in turn."""

    def __init__(
        self,
        seeds: Sequence[FuzzSequence],
        context: Callable[[str], MutationContext],
        rng: random.Random,
        mutations: Sequence[str],
        places: SeedPlaces | None = None,
    ) -> None:
        """`mutations` are the names of those in use: a sweep of others is left out. `places` knows the replies."""
        self._context = context
        self._mutations = frozenset(mutations)
        self._rng = rng
        kinds = (SeedPlaces() if places is None else places).by_kind(seeds).values()
        #: The sequences of each round, by kind of message; the next round is the last element.
        self._rounds = [
            [self._changed(of_kind) for of_kind in round_] for round_ in reversed(self._fields_by_round(kinds))
        ]

    def _fields_by_round(self, kinds: Collection[Sequence[Place]]) -> list[list[list[_Field]]]:
        """Return the fields of each round, by kind of message.

        Fields of all frames, such as their length, have the second round, once for each kind. Own fields have the
        first round, and the later ones in other phases.
        """
        fields = [self._fields(of_kind) for of_kind in kinds]
        counts = Counter(name for of_kind in fields for name in of_kind if name[0] == NUMBER)
        shared = {name for name, count in counts.items() if count > SHARED_BY * len(fields)}
        own = [[each for name, each in of_kind.items() if name not in shared] for of_kind in fields]
        framing = [[each[0] for name, each in of_kind.items() if name in shared] for of_kind in fields]
        rounds = [[[each[at] for each in of_kind if at < len(each)] for of_kind in own] for at in range(ROUNDS)]
        return [rounds[0], framing, *rounds[1:]]

    def next(self) -> FuzzSequence | None:
        """Return the next sequence; None at the end."""
        while self._rounds:
            turns = self._rounds[-1]
            while turns:
                at = self._rng.randrange(len(turns))
                found = next(turns[at], None)
                if found is not None:
                    return found
                turns[at] = turns[-1]
                turns.pop()
            self._rounds.pop()
        return None

    def _changed(self, fields: Sequence[_Field]) -> Iterator[FuzzSequence]:
        """Yield the sequences of some fields of one kind of message."""
        changed = [(field.place, *each) for field in fields for each in self._changes(field)]
        self._rng.shuffle(changed)
        seen: set[tuple[int, int, bytes]] = set()
        for (sequence, at, *_), edit, change in changed:
            context = self._context(sequence.setup)
            made = context.edited(Place(sequence, at).sending, (edit,), change)
            if made is not None and (key := (id(sequence), at, made.data)) not in seen:
                seen.add(key)
                yield replace(sequence, steps=(*sequence.steps[:at], made, *sequence.steps[at + 1 :]))

    def _fields(self, places: Sequence[Place]) -> dict[tuple[str, str], list[_Field]]:
        """Return each field of a kind of message in the places where it is swept, at most one of each phase."""
        found: dict[tuple[str, str], dict[tuple[str, bool], _Field]] = {}
        for place in places:
            for mutation, region, where in self._all_fields(place):
                phases = found.setdefault((mutation, region), {})
                if len(phases) < ROUNDS:
                    phases.setdefault((place.phase, place.is_refused), _Field(place, where))
        return {name: list(phases.values()) for name, phases in found.items()}

    def _all_fields(self, place: Place) -> Iterator[tuple[str, str, Where]]:
        context, record = self._context(place.sequence.setup), place.sending.record
        if NUMBER in self._mutations:
            for span in context.spans(place.sending.data):
                if is_number(span):
                    yield NUMBER, region_of(span), span
        if FIELD in self._mutations and record is not None and context.has_fields(record):
            for steps, value in leaves_of(context.adapter.form(record)):
                yield FIELD, _region(steps), (steps, value)

    def _changes(self, field: _Field) -> Iterator[tuple[Edit, Change]]:
        """Yield the odd values of a field."""
        if isinstance(field.where, Span):
            yield from _numbers(field.place.sending.data, field.where)
            return
        steps, value = field.where
        record, context = field.place.sending.record, self._context(field.place.sequence.setup)
        assert record is not None
        for other in odd_values(value):
            try:
                context.check_field(record, SetField(steps, other))
            except EncodeError:
                continue
            yield SetField(steps, other), Change(FIELD, _region(steps))


def _region(steps: Sequence[str | int]) -> str:
    """Return the name of a field by the steps to it, elements of lists all alike."""
    return ".".join("[]" if isinstance(each, int) else each for each in steps)


def _numbers(message: bytes, span: Span) -> Iterator[tuple[Edit, Change]]:
    data = message[span.offset : span.offset + span.length]
    order: Literal["little", "big"] = "little" if is_little(span, data) else "big"
    for other in boundaries(8 * len(data), int.from_bytes(data, order)):
        yield Splice(span.offset, span.length, other.to_bytes(len(data), order)), Change(NUMBER, region_of(span))
