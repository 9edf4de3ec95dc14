"""TLS connections on their way to records: described by their hellos, and decrypted where the keys are known."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from wiretool.capture.tcp.stream_events import Connection, Data, End, Finding, Gap, Item
from wiretool.capture.tls.hello import (
    MalformedHello,
    first_message,
    is_client_hello,
    read_client_hello,
    read_server_hello,
    version_name,
)
from wiretool.capture.tls.keylog import KeyLog
from wiretool.codec.message import SIDES, Side
from wiretool.dissect.foreign_bytes import ForeignBytes
from wiretool.limits import TLS_HELLO_BYTES_MAX

if TYPE_CHECKING:
    from wiretool.capture.tls.connection import TlsBytes

#: The name by which `recognise` calls these connections.
TLS = "TLS"


@dataclass(frozen=True, slots=True)
class Hellos:
    """The hellos of a connection, as far as they were captured."""

    client_random: bytes = b""
    server_name: str = ""
    version: str = ""
    #: Whether more bytes may tell more.
    is_open: bool = False

    @property
    def description(self) -> str:
        """Return the version and the server name."""
        return _described(self.version, self.server_name)

    def why_unread(self, *, has_keys: bool) -> str:
        """Return why a connection is not decrypted, after a key log without its keys or without any."""
        if not self.client_random:
            return "not decrypted: its beginning was not captured"
        if has_keys:
            return "not decrypted: the key log has no secrets of this connection"
        return "not decrypted: no keys; give them with --keylog FILE"


def _described(version: str, server_name: str) -> str:
    """Return text such as `TLS 1.3 (server name example.org)`."""
    return (version or TLS) + (f" (server name {server_name})" if server_name else "")


def hellos_in(items: Sequence[Item]) -> Hellos:
    """Return the hellos in the first items of a connection."""
    sides = {
        side: b"".join(item.data for item in items if isinstance(item, Data) and item.side == side) for side in SIDES
    }
    client, server = sides["client"], sides["server"]
    if not is_client_hello(client):
        return Hellos()
    may_grow = max(len(client), len(server)) < TLS_HELLO_BYTES_MAX
    first, answer = first_message(client), first_message(server)
    try:
        hello = None if first is None else read_client_hello(first)
        version = "" if answer is None else version_name(read_server_hello(answer).version)
    except MalformedHello:
        return Hellos()
    if hello is None:
        return Hellos(is_open=may_grow)
    return Hellos(hello.random, hello.server_name, version, is_open=may_grow and not version)


@dataclass(slots=True)
class _Unread:
    """The bytes of one side that are no part of its decrypted stream: those of TLS, and those without a key."""

    of_tls: ForeignBytes = field(default_factory=ForeignBytes)
    undecrypted: ForeignBytes = field(default_factory=ForeignBytes)


class TlsReading:
    """Decrypts one connection, and counts the bytes that are no part of the decrypted streams."""

    def __init__(self, connection: Connection, keylog: KeyLog, server_name: str) -> None:
        from wiretool.capture.tls.connection import TlsConnection  # hashes and ciphers take long to load

        self._tls = TlsConnection(connection, keylog)
        self._server_name = server_name
        self._unread = {side: _Unread() for side in SIDES}

    @property
    def description(self) -> str:
        """Return the version, as soon as it is known, and the server name."""
        return _described(self._tls.version, self._server_name)

    @property
    def is_decrypted(self) -> bool:
        """Return whether the keys have opened a record after the handshake."""
        return self._tls.is_decrypted

    @property
    def held_bytes(self) -> int:
        """Return the bytes that wait for the rest of their record, or for the other side."""
        return self._tls.held_bytes

    def take(self, item: Item) -> tuple[list[Item], int]:
        """Return the decrypted items that the next one completes, and the number of bytes that were counted here."""
        return self._counted(self._tls.take(item))

    def settle(self, now_ns: int) -> tuple[list[Item], int]:
        """Return the decrypted items that new secrets complete, and the number of bytes that were counted here."""
        return self._counted(self._tls.settle(now_ns))

    def discard(self, kind: str, why: str) -> tuple[list[Item], int]:
        """Lose the bytes that wait; return a problem and a gap of each side that has some, and their number."""
        return self._counted(self._tls.discard(kind, why))

    def _counted(self, read: "Iterable[Item | TlsBytes]") -> tuple[list[Item], int]:
        items: list[Item] = []
        counted = 0
        for each in read:
            if isinstance(each, Data | Gap | Finding | End):
                items.append(each)
            else:
                self._count(each)
                counted += each.size
        return items, counted

    def unread(self, end: End) -> Iterator[tuple[Side, ForeignBytes, str]]:
        """Yield the unread bytes of the sides that end, and why they are unread."""
        for side in (end.side,) if end.side else SIDES:
            unread, self._unread[side] = self._unread[side], _Unread()
            if unread.of_tls.length:
                how = "decrypted: handshake, headers and tags of records"
                yield (
                    side,
                    unread.of_tls,
                    f"{self.description}, {how if self.is_decrypted else 'not decrypted: handshake'}",
                )
            if unread.undecrypted.length:
                yield side, unread.undecrypted, f"{self.description}, not decrypted"

    def _count(self, read: "TlsBytes") -> None:
        unread = self._unread[read.side]
        counter = unread.of_tls if read.is_read else unread.undecrypted
        if not counter.length:
            counter.first_packet = read.arrival.packet
        counter.extend(read.size, read.arrival.packet, read.arrival.time_ns)
