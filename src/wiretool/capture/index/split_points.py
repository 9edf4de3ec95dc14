"""Where a capture file can be cut: places at which a reading may begin, each with what one must know there."""

from dataclasses import dataclass
from typing import NamedTuple

#: The turn before any packet, and the time of a capture without packets.
NO_TIME = -(1 << 63)
#: A joint about every so many bytes: a range is read in half a second, and an index of 10 GB has 160.
JOINT_BYTES = 64 * 1024 * 1024


class Place(NamedTuple):
    """Where in its file a packet stands whose fragment waits for others, and what its record says of it."""

    at: int
    captured: int
    length: int
    time_ns: int
    link_type: int


@dataclass(frozen=True, slots=True)
class Joint:
    """Where a reading may begin, and all that one has to know of what is before it."""

    #: Offset of the record (pcap) or block (pcapng) of a packet, and the packet's number, from 1.
    at: int
    number: int
    #: The turn of the packet before it (NO_TIME where there is none): the greatest time so far.
    before_ns: int = NO_TIME
    #: The time of the packet before it, which is that of a simple packet block; 0 where there is none.
    packet_ns: int = 0
    #: pcapng: offsets of the section header that holds here, and of its interface blocks so far.
    blocks: tuple[int, ...] = ()
    #: IP fragments that still wait for others, in the order of the file.
    fragments: tuple[Place, ...] = ()


@dataclass(frozen=True, slots=True)
class FileIndex:
    """A capture file with its joints, as it was when it had `size` bytes.

    Between two joints that follow one another is a range; the last one ends at `tail`. There are none in a file without
    packets, and one in a packed file, whose offsets are those of what is unpacked.
    """

    size: int
    mtime_ns: int
    inode: int
    #: The first bytes of the file: whether it is the same one is told by them, and by the inode.
    head: bytes
    #: "pcap" or "pcapng"; "" for a file of no bytes.
    kind: str
    joints: tuple[Joint, ...]
    #: Behind the last whole record: where more would follow. Its number is one more than there are packets.
    tail: Joint
    #: The least and the greatest time; NO_TIME without packets.
    first_ns: int
    last_ns: int
    #: What is wrong behind `end`, and at which byte, as CaptureError says it behind the name; "" for nothing.
    damage: str
    is_packed: bool

    @property
    def end(self) -> int:
        """Offset behind the last whole record."""
        return self.tail.at

    @property
    def packets(self) -> int:
        """How many packets are sound."""
        return self.tail.number - 1

    def span(self, first: int = 0, stop: int | None = None) -> "Span":
        """The ranges `first` to `stop`, without it; all without them."""
        bounds = [*self.joints, self.tail] if self.joints else [self.tail]
        last = len(self.joints) if stop is None else min(stop, len(self.joints))
        return self.between(bounds[first], bounds[max(first, last)])

    def between(self, since: Joint, until: Joint) -> "Span":
        """What is between two joints, of which either may be the tail of this index or of an earlier one."""
        return Span(self.kind, self.is_packed, since, until.at, until.number, until)


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of a capture file, with all that reading it takes; small enough to be sent to another process."""

    kind: str
    is_packed: bool
    since: Joint
    #: Where it ends, and the number of the packet that would be next.
    end: int
    next_number: int
    #: What is to be known there once all before it was read; None where that is not known before.
    until: Joint | None = None
