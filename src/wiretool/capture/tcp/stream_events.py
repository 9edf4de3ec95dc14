"""What TCP streams are made of, as they are given out: bytes, holes, what does not fit, and ends."""

from collections.abc import Mapping
from functools import lru_cache
from ipaddress import ip_address
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

Side = Literal["client", "server"]
How = Literal["fin", "rst", "reused", "capture-end", "evicted"]
#: Of nearly every connection: one for all.
NO_DUPLICATES: Mapping[Side, int] = MappingProxyType({"client": 0, "server": 0})
#: Addresses whose texts are remembered: many connections have the same ones.
ADDRESSES_MAX = 65_536


class Connection:
    """One TCP connection; who is who in it, and what is counted of it."""

    __slots__ = (
        "client",
        "client_port",
        "closed",
        "duplicate_bytes",
        "first_ns",
        "id",
        "is_understood",
        "last_ns",
        "opened",
        "packets",
        "reader",
        "reset_by",
        "server",
        "server_port",
    )

    def __init__(self, number: int, client: bytes, server: bytes, time_ns: int) -> None:
        """`client` and `server` are address and port, as they are in the headers."""
        #: From 0, in order of appearance.
        self.id = number
        self.client_port = port = int.from_bytes(client[-2:], "big")
        self.client = f"{_text_of(client[:-2])}:{port}"
        self.server_port = port = int.from_bytes(server[-2:], "big")
        self.server = f"{_text_of(server[:-2])}:{port}"
        #: Whether its SYN or SYN-ACK was captured, so that offset 0 is really the first byte.
        self.opened = False
        #: How it ended; empty as long as it did not.
        self.closed: How | Literal[""] = ""
        #: Who has reset it, if that is how.
        self.reset_by: Side | Literal[""] = ""
        #: Payload bytes that came again, by who sent them.
        self.duplicate_bytes = NO_DUPLICATES
        self.first_ns = self.last_ns = time_ns
        self.packets = 0
        #: For whoever reads its streams, who is told of bytes that come again behind the end; and whether he can take
        #: many segments of it at once, not one by one.
        self.reader: Any = None
        self.is_understood = False

    def count_again(self, side: Side, size: int) -> None:
        """So many bytes of that side came again."""
        if size:
            self.duplicate_bytes = {**self.duplicate_bytes, side: self.duplicate_bytes[side] + size}

    def __repr__(self) -> str:
        return f"Connection({self.id}, {self.client} -> {self.server})"


class Data(NamedTuple):
    """Bytes of a stream that follow on what was given out before; time and packet are those that brought them."""

    connection: Connection
    side: Side
    #: In the stream: 0 is the first byte after the SYN, or else the first byte seen.
    offset: int
    data: bytes
    time_ns: int
    packet: int


class Gap(NamedTuple):
    """Bytes of a stream that are not in the capture; time and packet are those at which that was decided."""

    connection: Connection
    side: Side
    offset: int
    length: int
    time_ns: int
    packet: int
    #: Whether so many bytes of the stream are missing; of a decrypted stream that is not known.
    is_exact: bool = True
    #: The reason; empty where they were not captured.
    why: str = ""


class Finding(NamedTuple):
    """Payload that does not fit the stream.

    overlap-differs: bytes came again and were not the same; `data` is empty, the first copy stands.
    before-start, after-gap, after-end: bytes for a place that had been passed, given here in `data`.
    rst-payload: what a reset carried; it is no part of the stream.
    """

    connection: Connection
    side: Side
    offset: int
    length: int
    kind: str
    why: str
    time_ns: int
    packet: int
    data: bytes = b""


class End(NamedTuple):
    """The end of one side, or of both when `side` is empty."""

    connection: Connection
    side: Side | Literal[""]
    how: How
    time_ns: int
    packet: int


Item = Data | Gap | Finding | End


@lru_cache(ADDRESSES_MAX)
def _text_of(raw: bytes) -> str:
    """Return an address as it is written before a port."""
    address = ip_address(raw)
    return f"[{address}]" if address.version == 6 else str(address)
