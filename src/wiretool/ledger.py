"""What became of every captured payload byte."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from operator import attrgetter

from wiretool.capture.files.packet_counts import PacketCounts


@dataclass(slots=True)
class Account:
    """The bytes and frames of one connection, or of all.

    `payload_bytes` is the sum of frame, problem and other bytes.
    """

    payload_bytes: int = 0
    frame_bytes: int = 0
    problem_bytes: int = 0
    other_bytes: int = 0
    gap_bytes: int = 0
    duplicate_bytes: int = 0
    frames: int = 0
    gaps: int = 0
    problems: int = 0

    def add(self, other: "Account") -> None:
        """Count what `other` counted as well."""
        for name in _COUNTS:
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def as_json(self) -> dict[str, object]:
        """Return the counts by name."""
        return {name: getattr(self, name) for name in _COUNTS}


_COUNTS = tuple(each.name for each in fields(Account))


@dataclass(slots=True)
class ConnectionAccount:
    """The account of one connection, and whose it is."""

    connection: int
    client: str
    server: str
    protocol: str = ""
    #: The version of TLS and the server name, where it is a TLS connection; and whether it was decrypted.
    tls: str = ""
    is_decrypted: bool = False
    account: Account = field(default_factory=Account)


class Ledger:
    """The accounts of every connection, in order of appearance, and the counts of packets."""

    __slots__ = ("_accounts", "_complete", "packets")

    def __init__(self) -> None:
        self.packets = PacketCounts()
        self._accounts: list[ConnectionAccount] = []
        #: Adds the counts kept elsewhere; called before a caller reads the accounts.
        self._complete: Callable[[], None] | None = None

    @property
    def connections(self) -> list[ConnectionAccount]:
        """The accounts, which are complete."""
        if self._complete is not None:
            self._complete()
        return self._accounts

    @connections.setter
    def connections(self, accounts: list[ConnectionAccount]) -> None:
        self._accounts = accounts

    def open(self, connection: int, client: str, server: str) -> ConnectionAccount:
        """A new account."""
        account = ConnectionAccount(connection, client, server)
        self._accounts.append(account)
        return account

    def complete_with(self, count: Callable[[], None] | None) -> None:
        """Have `count` add to the accounts before a caller reads them; None if all counts are here."""
        if self._complete is not None:
            self._complete()
        self._complete = count

    @property
    def total(self) -> Account:
        """All accounts added up."""
        total = Account()
        for each in self.connections:
            total.add(each.account)
        return total

    def as_json(self) -> Mapping[str, object]:
        """`{"total": {...}, "packets": {...}, "connections": [...]}`"""
        return {**self.head_as_json(), "connections": list(self.rows_as_json())}

    def head_as_json(self) -> dict[str, dict[str, object]]:
        """Everything but the connections."""
        return {"total": self.total.as_json(), "packets": self.packets.as_json()}

    def rows_as_json(self) -> Iterator[Mapping[str, object]]:
        """The rows of `connections` in that, one by one: there may be very many."""
        for row in sorted(self.connections, key=attrgetter("connection")):
            names = {"connection": row.connection, "client": row.client, "server": row.server, "protocol": row.protocol}
            tls = {"tls": row.tls, "decrypted": row.is_decrypted} if row.tls else {}
            yield names | tls | row.account.as_json()
