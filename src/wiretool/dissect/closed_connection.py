"""Watches of connections of which both sides have ended, and the records of findings, which may still come."""

from collections.abc import Callable

from wiretool.capture.tcp.stream_events import Connection, Finding, Item
from wiretool.ledger import ConnectionAccount
from wiretool.records import Record


class EndedWatch:
    """Replaces a watch after both sides have ended. There may be very many."""

    __slots__ = ("_next_n", "_row")

    def __init__(self, account: ConnectionAccount, next_n: Callable[[], int]) -> None:
        self._row = account
        self._next_n = next_n

    @property
    def account(self) -> ConnectionAccount:
        """Return the account of the connection."""
        return self._row

    def take(self, item: Item) -> list[Record]:
        """Return the record of a finding; nothing else comes after the end."""
        assert isinstance(item, Finding), "bytes, gaps and ends come before the end of both sides"
        return [finding_record(item, self._row, self._next_n())]

    def note_duplicates(self, connection: Connection) -> None:
        """Count what was sent twice, as a watch does."""
        self._row.account.duplicate_bytes = sum(connection.duplicate_bytes.values())


def finding_record(item: Finding, row: ConnectionAccount, n: int) -> Record:
    """Return the record, with that number, of bytes that do not fit the stream of a connection; count them."""
    account, size = row.account, len(item.data)
    account.payload_bytes += size
    account.problems += 1
    account.problem_bytes += size
    return Record(
        n=n,
        kind="problem",
        time_ns=item.time_ns,
        connection=row.connection,
        client=row.client,
        server=row.server,
        side=item.side,
        protocol=row.protocol,
        packets=(item.packet, item.packet),
        offset=item.offset,
        length=size,
        error=item.kind,
        why=item.why,
        raw=item.data,
    )
