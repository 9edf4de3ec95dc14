"""A systematic part of a run: each field of each kind of message takes each odd value once.

Random choices reach deep sessions, but would need minutes until a certain field of a rare message has a certain value.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Literal

from wiretool.errors import EncodeError
from wiretool.fuzz.mutations.base import MutationContext, region_of
from wiretool.fuzz.mutations.fields import leaves_of, odd_values
from wiretool.fuzz.mutations.numbers import boundaries, is_little, is_number
from wiretool.fuzz.sequence import Change, FuzzSequence, Sending, SetField, Splice

NUMBER, FIELD = "number/boundary", "field/value"


class Sweep:
    """Yields sequences with one field changed, kinds of messages in turn."""

    def __init__(
        self,
        seeds: Sequence[FuzzSequence],
        context: Callable[[str], MutationContext],
        rng: random.Random,
        mutations: Sequence[str],
    ) -> None:
        """`mutations` are the names of those in use: a sweep of others is left out."""
        self._context = context
        self._mutations = frozenset(mutations)
        self._rng = rng
        self._turns = [self._changed(places) for places in _places(seeds)]

    def next(self) -> FuzzSequence | None:
        """Return the next sequence; None at the end."""
        while self._turns:
            at = self._rng.randrange(len(self._turns))
            found = next(self._turns[at], None)
            if found is not None:
                return found
            self._turns[at] = self._turns[-1]
            self._turns.pop()
        return None

    def _changed(self, places: Sequence[tuple[FuzzSequence, int]]) -> Iterator[FuzzSequence]:
        for sequence, at in places:
            step = sequence.steps[at]
            assert isinstance(step, Sending)
            context = self._context(sequence.setup)
            changed = [
                *(self._numbers(step, context) if NUMBER in self._mutations else ()),
                *(self._fields(step, context) if FIELD in self._mutations else ()),
            ]
            self._rng.shuffle(changed)
            for edit, change in changed:
                made = context.edited(step, (edit,), change)
                if made is not None:
                    yield replace(sequence, steps=(*sequence.steps[:at], made, *sequence.steps[at + 1 :]))

    def _numbers(self, step: Sending, context: MutationContext) -> Iterator[tuple[Splice, Change]]:
        for span in context.spans(step.data):
            if not is_number(span):
                continue
            data = step.data[span.offset : span.offset + span.length]
            order: Literal["little", "big"] = "little" if is_little(span, data) else "big"
            for other in boundaries(8 * len(data), int.from_bytes(data, order)):
                made = other.to_bytes(len(data), order)
                yield Splice(span.offset, span.length, made), Change(NUMBER, region_of(span))

    def _fields(self, step: Sending, context: MutationContext) -> Iterator[tuple[SetField, Change]]:
        record = step.record
        if record is None or not context.has_fields(record):
            return
        for steps, value in leaves_of(context.adapter.form(record)):
            region = ".".join("[]" if isinstance(each, int) else each for each in steps)
            for other in odd_values(value):
                try:
                    context.check_field(record, SetField(steps, other))
                except EncodeError:
                    continue
                yield SetField(steps, other), Change(FIELD, region)


def _places(seeds: Sequence[FuzzSequence]) -> list[list[tuple[FuzzSequence, int]]]:
    """Return for each kind of message two seeds that have it, and where: one of medium length, and the shortest.

    In the shortest ones the message is often refused; those in which the session goes on after it are preferred.
    """
    found: dict[tuple[str, int], list[tuple[FuzzSequence, int]]] = {}
    for seed in seeds:
        for at, step in enumerate(seed.steps):
            if isinstance(step, Sending) and step.data:
                kind = (step.message, 0) if step.message else ("", len(step.data))
                found.setdefault(kind, []).append((seed, at))
    by_cost = [sorted(places, key=_cost) for places in found.values()]
    return [[places[len(places) // 2], *places[: len(places) > 1]] for places in by_cost]


def _cost(place: tuple[FuzzSequence, int]) -> tuple[bool, int]:
    sequence, at = place
    return at == len(sequence.steps) - 1, len(sequence.steps)
