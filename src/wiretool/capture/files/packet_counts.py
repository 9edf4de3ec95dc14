"""Counts of captured packets: how many were read, how many carry TCP, and what the others are."""

from collections import Counter
from dataclasses import dataclass, field

#: Kinds of packets that are listed one by one; the others are added up.
KINDS_LISTED_MAX = 6
#: A fragment that waits for the others: only those whose datagram stays incomplete are not read.
FRAGMENT = "IP fragment"
INCOMPLETE_FRAGMENT = "IP fragment of an incomplete datagram"
#: The link layers that are understood, and what they must carry.
READABLE = "TCP over IPv4 or IPv6 on Ethernet, Linux cooked capture, loopback or raw IP"


@dataclass(slots=True)
class PacketCounts:
    """How many packets were read, how many of them gave a TCP segment, and the kinds of the others."""

    packets: int = 0
    tcp: int = 0
    others: Counter[str] = field(default_factory=Counter)

    def replace_with(self, other: "PacketCounts") -> None:
        """Take over the counts of `other`."""
        self.packets, self.tcp, self.others = other.packets, other.tcp, other.others

    def add(self, other: "PacketCounts") -> None:
        """Count in the packets of `other`."""
        self.packets += other.packets
        self.tcp += other.tcp
        self.others.update(other.others)

    def count_lost_fragments(self, count: int) -> None:
        """Count as not read this many fragments of incomplete datagrams; fewer again if `count` is negative."""
        if count:
            self.others[FRAGMENT] -= count
            self.others[INCOMPLETE_FRAGMENT] += count

    @property
    def unread(self) -> dict[str, int]:
        """The packets that were not read, by kind, the most frequent kind first."""
        kinds = ((kind, count) for kind, count in self.others.items() if count > 0 and kind != FRAGMENT)
        return dict(sorted(kinds, key=lambda pair: (-pair[1], pair[0])))

    @property
    def is_nothing_read(self) -> bool:
        """Whether there were packets and none of them gave a TCP segment."""
        return self.packets > 0 and not self.tcp

    def describe_unread(self) -> str:
        """Return the kinds of the packets that were not read, as in `10 UDP, 2 ARP`; empty where there are none."""
        unread = list(self.unread.items())
        listed = [f"{count:,} {kind}" for kind, count in unread[:KINDS_LISTED_MAX]]
        if rest := sum(count for _, count in unread[KINDS_LISTED_MAX:]):
            listed.append(f"{rest:,} of other kinds")
        return ", ".join(listed)

    def summarize(self) -> str:
        """Return one line about the packets that were not read; empty where all were."""
        count = sum(self.unread.values())
        if not count:
            return ""
        return f"{count:,} of {self.packets:,} packets not read: {self.describe_unread()}"

    def as_json(self) -> dict[str, object]:
        """`{"packets": 20, "tcp": 8, "not_read": {"UDP": 10, "ARP": 2}}`"""
        return {"packets": self.packets, "tcp": self.tcp, "not_read": self.unread}
