"""Mutations of append blocks: another one begins before the first has ended, or it begins twice or never ends."""

import random

from wiretool.fuzz.mutations.base import MessageMutation, MutationContext
from wiretool.fuzz.sequences.sequence import Change, Sending, Splice

#: Blocks that are open at once, one inside the other.
DEPTHS = (1, 1, 2, 50)


class NestedBlock(MessageMutation):
    """A mutation that repeats the message that begins a block; protocols with blocks name that message."""

    name = "block/nested"
    description = "a block begins inside a block, up to fifty times, or a message of another block is inside it"

    def __init__(self, begins: str) -> None:
        """Take the name of the message that begins a block."""
        self._begins = begins

    def fits(self, sending: Sending) -> bool:
        return sending.message == self._begins and bool(sending.data)

    def change(self, sending: Sending, rng: random.Random, context: MutationContext) -> Sending | None:
        others = [
            step
            for seed in context.others("")
            for step in seed.sendings
            if step.message == self._begins and step.data and step.data != sending.data
        ]
        inner = rng.choice(others).data if others and rng.random() < 0.5 else sending.data
        splice = Splice(len(sending.data), 0, inner * rng.choice(DEPTHS))
        return context.edited(sending, (splice,), Change(self.name, "block"))
