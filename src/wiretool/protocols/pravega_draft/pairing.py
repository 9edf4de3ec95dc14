"""Which request a reply answers. The draft has no request ids: replies name the segment or the appender."""

from collections import deque
from collections.abc import Callable
from itertools import islice

from wiretool import limits

#: Requests for one segment, and blocks of one appender, that are remembered.
_WAITING_MAX = 256


class Asked:
    """A request for a segment; `n` is the number of its record, `offset` where the next reply to a read begins."""

    __slots__ = ("connection_id", "is_answered", "n", "offset")

    def __init__(self, n: int, *, connection_id: str = "", offset: int = 0) -> None:
        self.n = n
        self.connection_id = connection_id
        self.offset = offset
        self.is_answered = False


class Requests:
    """SetupAppend and ReadSegment of one connection, by segment; a read may have several replies (S18)."""

    def __init__(self) -> None:
        self._by_segment: dict[str, list[Asked]] = {}
        self._has_gaps = False

    def lose(self) -> None:
        """Note that bytes of either side are missing: a waiting request may have been answered unseen."""
        self._has_gaps = True

    def ask(self, segment: str, asked: Asked) -> None:
        """Remember a request; a read that has been answered before gets no more."""
        if segment not in self._by_segment and len(self._by_segment) >= limits.REQUESTS_OPEN_MAX:
            for old in list(islice(self._by_segment, limits.REQUESTS_OPEN_MAX // 2)):
                del self._by_segment[old]
        waiting = [one for one in self._by_segment.get(segment, ()) if not one.is_answered]
        self._by_segment[segment] = [*waiting[-_WAITING_MAX:], asked]

    def set_up(self, segment: str, connection_id: str) -> int | None:
        """The record of the SetupAppend of this appender."""
        return self._take(segment, lambda one: one.connection_id == connection_id)

    def read(self, segment: str, offset: int, size: int) -> int | None:
        """The record of the ReadSegment that asked for this offset, or whose last reply ended there."""
        found = [one for one in self._by_segment.get(segment, ()) if not one.connection_id and one.offset == offset]
        for one in found if self._has_gaps else found[:1]:
            one.offset += size
            one.is_answered = True
        return None if not found or (self._has_gaps and len(found) > 1) else found[0].n

    def refused(self, segment: str) -> int | None:
        """The record of the oldest request that has had no reply; after a gap it is not known which one that is."""
        return None if self._has_gaps else self._take(segment, lambda one: not one.is_answered)

    def _take(self, segment: str, fits: Callable[[Asked], bool]) -> int | None:
        waiting = self._by_segment.get(segment, [])
        found = next((one for one in waiting if fits(one)), None)
        if found is None:
            return None
        waiting.remove(found)
        if not waiting:
            del self._by_segment[segment]
        return found.n


class Acks:
    """Blocks that wait to be acknowledged: per appender, where they end and the number of their record."""

    def __init__(self) -> None:
        self._waiting: dict[str, deque[tuple[int, int]]] = {}
        self._has_gaps = False

    def lose(self) -> None:
        """Note that bytes of either side are missing: the newest block that was captured may not be the newest one."""
        self._has_gaps = True

    def sent(self, connection_id: str, end_offset: int, n: int) -> None:
        """A block was sent."""
        if connection_id not in self._waiting and len(self._waiting) >= limits.WRITERS_MAX:
            self._waiting.clear()
        self._waiting.setdefault(connection_id, deque(maxlen=_WAITING_MAX)).append((end_offset, n))

    def acked(self, connection_id: str, offset: int) -> int | None:
        """The record of the newest block that ends at or before the offset; after a gap, of one that ends at it."""
        waiting = self._waiting.get(connection_id)
        end, n = offset, None
        while waiting and waiting[0][0] <= offset:
            end, n = waiting.popleft()
        return n if end == offset or not self._has_gaps else None

    def settle(self, connection_id: str) -> None:
        """The appender is set up anew."""
        self._waiting.pop(connection_id, None)
