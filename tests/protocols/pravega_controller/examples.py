"""Example messages, what comes before them, and a conversation of a thousand frames."""

import random
from collections.abc import Iterator

from tests.bench.talk import FRAMES, Sent
from tests.protocols.pravega_controller import talk
from tests.protocols.pravega_controller.talk import before, sayings

__all__ = ["before", "conversation", "sayings"]


def conversation(rng: random.Random) -> Iterator[Sent]:
    """Calls, one after another."""
    return (Sent(side, data) for side, data in talk.talk(rng, FRAMES))
