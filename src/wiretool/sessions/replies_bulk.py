"""How long many replies took, and what many records leave to be asked for; the memories are those of replies.py."""

from array import array
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from wiretool.codec.columns import Flags, Integers
from wiretool.sessions.replies import Asked, ReplyTimes

T = TypeVar("T")


def latencies_of(
    memory: ReplyTimes, first_n: int, times_ns: Integers, replies: Integers, asked: Integers
) -> tuple[Integers, Flags]:
    """How long each of the replies took, and whether that is known.

    The records from `first_n` on were captured at `times_ns`; of the replies the places among them are given, and
    those of what they answer, below 0 for what came before.
    """
    size = len(memory.numbers)
    is_known = (asked <= replies) & (asked > replies - size)
    then = times_ns[np.where(is_known, np.maximum(asked, 0), 0)]
    far = np.flatnonzero(asked < 0)
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


def note_requests(memory: Asked[T], first_n: int, codes: Integers, table: NDArray[Any]) -> None:
    """Remember `table[codes[i]]` of the record `first_n + i`; None for those that are no requests."""
    first_n, codes = _latest(first_n, codes, len(memory.numbers))
    _put(memory.values, first_n, table[codes].tolist())
    _put(_view(memory.numbers), first_n, np.arange(first_n, first_n + len(codes)))


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
