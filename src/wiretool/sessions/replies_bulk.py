"""How long many replies took, and when many records were captured; the memory is that of replies.py."""

from array import array
from typing import Any

import numpy as np

from wiretool.codec.columns import Flags, Integers
from wiretool.sessions.replies import ReplyTimes


def latencies_of(
    memory: ReplyTimes, first_n: int, times_ns: Integers, replies: Integers, asked: Integers
) -> tuple[Integers, Flags]:
    """How long each of the replies took, and whether that is known.

    The records from `first_n` on were captured at `times_ns`; of the replies the places among them are given, and
    those of what they answer, below 0 for what came before.
    """
    size = len(memory.numbers)
    age = replies - asked
    is_known, is_near = (age >= 0) & (age < size), asked >= 0
    if is_known.all() and is_near.all():
        return times_ns[replies] - times_ns[asked], is_known
    then = times_ns[np.where(is_known & is_near, asked, 0)]
    far = np.flatnonzero(~is_near)
    if len(far):
        numbers = asked[far] + first_n
        is_known[far] &= _view(memory.numbers)[numbers % size] == numbers
        then[far] = _view(memory.times)[numbers % size]
    return times_ns[replies] - then, is_known


def note_times(memory: ReplyTimes, first_n: int, times_ns: Integers) -> None:
    """Remember when the records from `first_n` on were captured."""
    first_n, times_ns = _latest(first_n, times_ns, len(memory.numbers))
    _put(_view(memory.times), first_n, times_ns)
    _put(_view(memory.numbers), first_n, np.arange(first_n, first_n + len(times_ns)))


def _latest(first_n: int, values: Integers, most: int) -> tuple[int, Integers]:
    return first_n + max(len(values) - most, 0), values[-most:]


def _put(ring: Any, first_n: int, values: Any) -> None:
    """Put values in the places of the numbers from `first_n` on, modulo the length of the ring."""
    slot = first_n % len(ring)
    whole = min(len(ring) - slot, len(values))
    ring[slot : slot + whole] = values[:whole]
    ring[: len(values) - whole] = values[whole:]


def _view(numbers: "array[int]") -> Integers:
    """The same numbers, to be read and written as an array."""
    return np.frombuffer(numbers, np.int64)
