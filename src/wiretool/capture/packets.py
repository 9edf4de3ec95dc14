"""One captured packet, whatever file or interface it came from."""

from typing import NamedTuple


class Packet(NamedTuple):
    """What was captured of one packet, and when."""

    #: From 1, over everything that is read together.
    number: int
    #: Since the epoch.
    time_ns: int
    #: The number under which tcpdump.org registers the link layer (LINKTYPE_x).
    link_type: int
    data: bytes
    #: Bytes it had on the wire, at least `len(data)`.
    length: int


class Tick(NamedTuple):
    """A sign of life from a source that waits for packets: those captured before this time have been given out."""

    #: Since the epoch, by the clock of the packets.
    time_ns: int
