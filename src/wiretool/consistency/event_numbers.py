"""The numbers by which a resent event is told from a new one."""

from collections.abc import Sequence

from wiretool import limits


class EventNumbers:
    """The numbers of the events that were sent, of each writer in each segment: an event may be sent again."""

    def __init__(self) -> None:
        self._numbers: dict[str, set[tuple[str, int]]] = {}
        self._count = 0
        #: Whether there were too many to keep: then a resent event may look like a new one.
        self.is_full = False

    def add(self, segment: str, writer_id: str, numbers: Sequence[int]) -> list[bool]:
        """Add numbers; return of each whether it is new."""
        known = self._numbers.setdefault(segment, set())
        fresh = [(writer_id, number) not in known for number in numbers]
        known.update((writer_id, number) for number in numbers)
        self._count += sum(fresh)
        if self._count > limits.CONSISTENCY_EVENTS_MAX:
            self.clear()
            self.is_full = True
        return fresh

    def forget(self, segment: str) -> None:
        """The segment is a new one of that name."""
        self._count -= len(self._numbers.pop(segment, ()))

    def clear(self) -> None:
        """Forget all numbers."""
        self._numbers.clear()
        self._count = 0
