"""The numbers that distinguish a resent event from a new one."""

from collections.abc import Sequence

from wiretool import limits


class EventNumbers:
    """The numbers and digests of the events that were sent, of each writer in each segment.

    An event that is sent again has the same number. So may another event, where the first one was refused.
    """

    def __init__(self) -> None:
        self._numbers: dict[str, set[tuple[str, int, bytes]]] = {}
        self._count = 0
        #: Whether there were too many to keep: then a resent event may look like a new one.
        self.is_full = False

    def add(self, segment: str, writer_id: str, numbers: Sequence[int], digests: Sequence[bytes]) -> list[bytes]:
        """Add events; return the digests of those that are new."""
        known = self._numbers.setdefault(segment, set())
        events = [(writer_id, number, digest) for number, digest in zip(numbers, digests, strict=True)]
        fresh = [event[2] for event in events if event not in known]
        known.update(events)
        self._count += len(fresh)
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
