"""For every protocol: strategies of whole messages with their senders, and conversations in which all of them occur."""

import random
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from itertools import islice

from hypothesis import strategies as st

from tests.bench.talk import Sent
from tests.helpers.examples import parts
from tests.helpers.strategies import SIDES, Saying
from wiretool.codec.message import Message

__all__ = ["SAYINGS", "SIDES", "TALKS", "before", "comparable", "talk"]

SAYINGS: Mapping[str, Callable[[], st.SearchStrategy[Saying]]] = parts("examples", "sayings")
#: Conversations of a thousand frames.
TALKS: Mapping[str, Callable[[random.Random], Iterator[Sent]]] = parts("examples", "conversation")
_BEFORE = parts("examples", "before")
_COMPARABLE = parts("examples", "comparable")
_BEGINNINGS = parts("examples", "beginning")


def comparable(message: Message) -> Message:
    """The message as reading gives it back: what the writer fills in is left out."""
    for without_filled_in in _COMPARABLE.values():
        message = without_filled_in(message)
    return message


def before(protocol: str, message: Message) -> list[Sent]:
    """What has to be said on a connection before the frame of a message tells what it is."""
    said = _BEFORE[protocol](message) if protocol in _BEFORE else []
    return [Sent(side, data) for side, data in said]


@cache
def talk(name: str, frames: int = 60) -> tuple[Sent, ...]:
    """The beginning of a conversation of that protocol, a frame each."""
    if name in _BEGINNINGS:
        whole: tuple[Sent, ...] = _BEGINNINGS[name]()
        return whole
    return tuple(islice(TALKS[name](random.Random(3)), frames))
