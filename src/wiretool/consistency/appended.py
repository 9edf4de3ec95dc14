"""One append as clients sent it, and the state of its acknowledgement."""

from dataclasses import dataclass, field


@dataclass(slots=True, eq=False)
class AppendedBytes:
    """Bytes that go to a segment in one piece."""

    #: The number of its record.
    n: int
    data: bytes
    #: The events in it.
    events: int
    #: The digest of each event that has an identity of its own.
    digests: list[bytes] = field(default_factory=list)
    #: The record that acknowledged it; 0 while none has.
    acknowledged: int = 0
    #: Where it is in the segment, from the acknowledgement; -1 where that does not contain it.
    start: int = -1
    #: Where it is at most, for one whose place is unknown: it ends at this offset or before it. -1 for unknown.
    bound: int = -1
    #: Whether its events must be among those that were read; whether a read returned it or showed it to be missing; and
    #: whether it is an anomaly.
    is_due: bool = False
    is_judged: bool = False
    is_reported: bool = False
    #: Whether the server has denied to have it.
    is_retracted: bool = False

    def copy(self) -> "AppendedBytes":
        """Return the same append to another segment, without an acknowledgement."""
        return AppendedBytes(self.n, self.data, self.events, self.digests)

    @property
    def end(self) -> int:
        """Return the offset after its last byte."""
        return self.start + len(self.data)
