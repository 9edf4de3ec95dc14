"""The watch that decrypts its connection once that has shown to be TLS, if its secrets are known."""

from abc import ABC, abstractmethod
from collections.abc import Sequence

from wiretool.capture.tcp.stream_events import Connection, End, Item
from wiretool.capture.tls.keylog import KeyLog
from wiretool.codec.message import SIDES, Side
from wiretool.dissect.foreign_bytes import ForeignBytes
from wiretool.dissect.tls import TLS, Hellos, TlsReading, hellos_in
from wiretool.ledger import Account, ConnectionAccount
from wiretool.limits import TLS_HELLO_BYTES_MAX
from wiretool.protocols.base.recognise import Verdict
from wiretool.records import Record

BOTH: frozenset[Side] = frozenset(SIDES)


class DecryptingWatch(ABC):
    """A watch over one connection, whose items are those of its decrypted streams if it is TLS."""

    _connection: Connection
    _row: ConnectionAccount
    _account: Account
    _held: list[Item]
    _held_bytes: int
    _look_at: int
    _open_sides: frozenset[Side]
    _began: bool
    _is_decrypting = False
    #: The secrets of TLS connections, if any; and the decryption, once the connection has shown to be one of them.
    _keys: KeyLog | None = None
    _tls: TlsReading | None = None

    @abstractmethod
    def _take_clear(self, item: Item) -> list[Record]:
        """Return the records that an item completes, which is not encrypted."""

    @abstractmethod
    def _other_record(self, side: Side, foreign: ForeignBytes, why: str) -> Record:
        """Return the record of the bytes of another protocol."""

    def _tls_verdict(self, verdict: Verdict, *, final: bool) -> Verdict | None:
        """Return the verdict on a TLS connection, with what its hellos tell, for which it may wait."""
        if self._tls is not None:
            return verdict
        hellos = hellos_in(self._held)
        if self._keys is not None and self._keys.secrets_of(hellos.client_random):
            self._tls = TlsReading(self._connection, self._keys, hellos.server_name)
            self._row.tls = hellos.description
        elif not final and (hellos.is_open or self._may_get_keys(hellos)):
            return None
        self._row.tls = hellos.description
        why = verdict.why.replace(TLS, hellos.description, 1)
        has_keys = self._keys is not None and (len(self._keys) > 0 or self._keys.may_grow)
        return verdict._replace(why=f"{why}; {hellos.why_unread(has_keys=has_keys)}")

    def _may_get_keys(self, hellos: Hellos) -> bool:
        """Return whether the key log may still get the secrets: programs write them during the handshake."""
        may_grow = self._keys is not None and self._keys.may_grow
        return may_grow and bool(hellos.client_random) and self._held_bytes < TLS_HELLO_BYTES_MAX

    def _decrypt(self, tls: TlsReading) -> list[Record]:
        """Read the bytes that are held again, decrypted; their protocol is not known yet."""
        held, self._held, self._held_bytes, self._look_at = self._held, [], 0, 1
        self._open_sides, self._is_decrypting, self._began = BOTH, True, True
        return [record for item in held for record in self._take_tls(tls, item)]

    def _take_tls(self, tls: TlsReading, item: Item) -> list[Record]:
        return self._read_tls(tls, *tls.take(item))

    def _read_tls(self, tls: TlsReading, items: Sequence[Item], counted: int) -> list[Record]:
        """Return the records of decrypted items; so many bytes before, between and after them were no part of them."""
        self._account.payload_bytes += counted
        self._account.other_bytes += counted
        self._row.tls, self._row.is_decrypted = tls.description, tls.is_decrypted
        out: list[Record] = []
        for each in items:
            if isinstance(each, End):
                out += [self._other_record(*unread) for unread in tls.unread(each)]
            out += self._take_clear(each)
        return out
