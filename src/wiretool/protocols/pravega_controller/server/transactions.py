"""Transactions: events that are written beside a stream, and appear in it together or not at all."""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from enum import Enum, auto

from wiretool import limits
from wiretool.protocols.pravega_controller.server.names import transaction_name
from wiretool.protocols.pravega_controller.server.refused import Refused, Why
from wiretool.protocols.pravega_controller.server.scopes import Scopes
from wiretool.protocols.pravega_controller.server.store import Store
from wiretool.protocols.pravega_controller.server.streams import Epoch, Stream, StreamSegment, Transaction
from wiretool.server.timers import Timers

#: What a lease may be, as the real controller takes it.
LEASE_MS_MIN = 10_000
LEASE_MS_MAX = 600_000
#: For so long a lease that is over is overlooked (seen: 0.14 to 0.5 s).
LEASE_SLACK_MS = 300
#: For so long appends to a transaction that is being aborted are still answered: a real controller answers, and its
#: clients may still be setting up their appends, before it removes the segments.
ABORT_NS = 100_000_000
_NS_PER_MS = 1_000_000
_LOW_BITS = 63
_HIGH_EPOCH_BIT = 32


class TransactionState(Enum):
    """The progress of a transaction. Committing takes no time here."""

    UNKNOWN = auto()
    OPEN = auto()
    COMMITTED = auto()
    ABORTING = auto()
    ABORTED = auto()


class Transactions:
    """The transactions of all streams.

    An id is the epoch of the stream, then a counter over all streams whose low 63 bits make the low half: clients
    extend its sign. A transaction whose lease is over is aborted. Without `has_leases` it stays open: the Rust client
    pings for the first time when its lease of 90 s has just passed, and does not ping each of several.
    """

    def __init__(
        self, scopes: Scopes, store: Store, timers: Timers, *, has_leases: bool = True, abort_ns: int = 0
    ) -> None:
        self._scopes = scopes
        self._store = store
        self._timers = timers
        self._has_leases = has_leases
        self._abort_ns = abort_ns
        self._count = 0
        #: What became of the transactions of deleted streams, the stream that was deleted last at the end.
        self._completed_of_deleted: OrderedDict[tuple[str, str], Mapping[tuple[int, int], bool]] = OrderedDict()

    def create(self, scope: str, stream: str, lease_ms: int, now_ns: int) -> Transaction:
        """Open a transaction on the active segments of a stream."""
        if not LEASE_MS_MIN <= lease_ms <= LEASE_MS_MAX:
            raise Refused(Why.INVALID_ARGUMENT, f"a lease of {lease_ms} ms", _lease_text(lease_ms))
        found = self._scopes.stream(scope, stream)
        if found.is_sealed:
            raise Refused(Why.STREAM_SEALED, f"{scope}/{stream}", f"Stream: {stream} State: SEALED")
        epoch = found.active
        self._count += 1
        high_bits = epoch.number << _HIGH_EPOCH_BIT | self._count >> _LOW_BITS
        transaction = Transaction(high_bits, self._count & (1 << _LOW_BITS) - 1, epoch)
        for segment in epoch.segments:
            self._store.create(_part(found, segment, transaction), found.config, now_ns)
        found.open_transactions[_key(transaction)] = transaction
        self._lease(found, transaction, lease_ms, now_ns)
        return transaction

    def state(self, scope: str, stream: str, high_bits: int, low_bits: int) -> TransactionState:
        """Return the state of a transaction; UNKNOWN where there never was one, or it ended long ago."""
        if self._scopes.has_stream(scope, stream):
            found = self._scopes.stream(scope, stream)
            transaction = found.open_transactions.get((high_bits, low_bits))
            if transaction is not None:
                return TransactionState.ABORTING if transaction.is_aborting else TransactionState.OPEN
            if (high_bits, low_bits) in found.completed:
                return _end_state(is_committed=found.completed[high_bits, low_bits])
        of_deleted = self._completed_of_deleted.get((scope, stream), {})
        if (high_bits, low_bits) not in of_deleted:
            return TransactionState.UNKNOWN
        return _end_state(is_committed=of_deleted[high_bits, low_bits])

    def ping(
        self, scope: str, stream: str, high_bits: int, low_bits: int, lease_ms: int, now_ns: int
    ) -> TransactionState:
        """Renew the lease of a transaction, if it is open; return its state."""
        if self.state(scope, stream, high_bits, low_bits) is TransactionState.OPEN:
            found = self._scopes.stream(scope, stream)
            transaction = found.open_transactions[high_bits, low_bits]
            if lease_ms > LEASE_MS_MAX:
                raise Refused(Why.LEASE_TOO_LARGE, f"a lease of {lease_ms} ms")
            self._lease(found, transaction, lease_ms, now_ns)
        return self.state(scope, stream, high_bits, low_bits)

    def commit(self, scope: str, stream: str, high_bits: int, low_bits: int, now_ns: int) -> None:
        """Put the events of a transaction into the stream. Once more is fine; after an abort it is refused."""
        found = self._scopes.stream(scope, stream)
        transaction = found.open_transactions.get((high_bits, low_bits))
        if transaction is not None and not transaction.is_aborting:
            self._merge(found, transaction, now_ns)
            self._complete(found, transaction, is_committed=True)
        elif transaction is not None or not found.completed.get((high_bits, low_bits), False):
            raise Refused(Why.FAILURE, f"transaction {high_bits:016x}{low_bits:016x} is not open")

    def abort(self, scope: str, stream: str, high_bits: int, low_bits: int, now_ns: int) -> None:
        """Begin to drop the events of a transaction. Once more is fine; after a commit it is refused."""
        found = self._scopes.stream(scope, stream)
        transaction = found.open_transactions.get((high_bits, low_bits))
        if transaction is not None:
            self._begin_abort(found, transaction, now_ns)
        elif found.completed.get((high_bits, low_bits), True):
            raise Refused(Why.FAILURE, f"transaction {high_bits:016x}{low_bits:016x} is not open")

    def abort_all(self, stream: Stream, now_ns: int) -> None:
        """Abort every open transaction of a stream, at once."""
        for transaction in list(stream.open_transactions.values()):
            self._abort(stream, transaction, now_ns)

    def keep_completed(self, stream: Stream) -> None:
        """Keep what became of the transactions of a stream that is being deleted: clients may still ask."""
        self._completed_of_deleted[stream.scope, stream.name] = stream.completed
        self._completed_of_deleted.move_to_end((stream.scope, stream.name))
        if len(self._completed_of_deleted) > limits.CONTROLLER_DELETED_STREAMS_MAX:
            self._completed_of_deleted.popitem(last=False)

    def completed(self, scope: str, stream: str) -> Mapping[tuple[int, int], bool]:
        """Return the transactions that ended last, and whether they were committed; none of a missing stream."""
        if not self._scopes.has_stream(scope, stream):
            return {}
        ended = list(self._scopes.stream(scope, stream).completed.items())
        return dict(ended[-limits.CONTROLLER_COMPLETED_LISTED_MAX :])

    def _lease(self, stream: Stream, transaction: Transaction, lease_ms: int, now_ns: int) -> None:
        if not self._has_leases:
            return
        _cancel(transaction)
        expires_ns = now_ns + (lease_ms + LEASE_SLACK_MS) * _NS_PER_MS
        transaction.timer = self._timers.at(expires_ns, lambda at_ns: self._begin_abort(stream, transaction, at_ns))

    def _begin_abort(self, stream: Stream, transaction: Transaction, now_ns: int) -> None:
        """Let a transaction be aborted soon, if that has not begun."""
        if transaction.is_aborting:
            return
        if not self._abort_ns:
            self._abort(stream, transaction, now_ns)
            return
        transaction.is_aborting = True
        _cancel(transaction)
        transaction.timer = self._timers.at(
            now_ns + self._abort_ns, lambda at_ns: self._abort(stream, transaction, at_ns)
        )

    def _abort(self, stream: Stream, transaction: Transaction, now_ns: int) -> None:
        for segment in transaction.epoch.segments:
            self._store.delete(_part(stream, segment, transaction), now_ns)
        self._complete(stream, transaction, is_committed=False)

    def _complete(self, stream: Stream, transaction: Transaction, *, is_committed: bool) -> None:
        _cancel(transaction)
        del stream.open_transactions[_key(transaction)]
        stream.completed[_key(transaction)] = is_committed
        if len(stream.completed) > limits.CONTROLLER_COMPLETED_MAX:
            stream.completed.popitem(last=False)

    def _merge(self, stream: Stream, transaction: Transaction, now_ns: int) -> None:
        """Merge each part into its segment; where the stream was scaled meanwhile, into copies between two epochs."""
        epoch, active = transaction.epoch, stream.active
        parts = [_part(stream, segment, transaction) for segment in epoch.segments]
        is_scaled = active.reference != epoch.reference
        targets = [stream.store_name(each) for each in (_copies(stream, epoch) if is_scaled else active.segments)]
        self._check_merge(parts if is_scaled else [*parts, *targets], targets, now_ns)
        if is_scaled:
            self._begin_copy(stream, epoch, now_ns)
        for part, target in zip(parts, targets, strict=True):
            self._store.merge(target, [part], now_ns)
        if is_scaled:
            self._begin_copy(stream, active, now_ns)

    def _check_merge(self, needed: Sequence[str], targets: Sequence[str], now_ns: int) -> None:
        """Refused where clients have removed or sealed what a commit needs: it is done as a whole or not at all."""
        for name in needed:
            if self._store.is_sealed(name, now_ns) is None:
                raise Refused(Why.FAILURE, f"there is no segment {name}")
        for name in targets:
            if self._store.is_sealed(name, now_ns):
                raise Refused(Why.FAILURE, f"segment {name} is sealed")

    def _begin_copy(self, stream: Stream, epoch: Epoch, now_ns: int) -> None:
        """Begin an epoch with the same numbers and keys as another."""
        closed = stream.active.segments
        copies = _copies(stream, epoch)
        for copy in copies:
            self._store.create(stream.store_name(copy), stream.config, now_ns)
        stream.begin_epoch(copies, epoch.reference)
        for segment in closed:
            self._store.seal(stream.store_name(segment), now_ns)


def _copies(stream: Stream, epoch: Epoch) -> tuple[StreamSegment, ...]:
    """The segments of a copy of an epoch that is begun now, in the order of that."""
    number = len(stream.epochs)
    return tuple(segment._replace(epoch=number) for segment in epoch.segments)


def _end_state(*, is_committed: bool) -> TransactionState:
    return TransactionState.COMMITTED if is_committed else TransactionState.ABORTED


def _lease_text(lease_ms: int) -> str:
    """Return how the real controller refuses a lease."""
    if lease_ms < LEASE_MS_MIN:
        return "lease should be greater than minimum lease"
    return f"lease value too large, max value is {LEASE_MS_MAX}"


def _cancel(transaction: Transaction) -> None:
    if transaction.timer is not None:
        transaction.timer.cancel()


def _key(transaction: Transaction) -> tuple[int, int]:
    return transaction.high_bits, transaction.low_bits


def _part(stream: Stream, segment: StreamSegment, transaction: Transaction) -> str:
    """What the store calls a transaction's part of a segment."""
    return transaction_name(stream.store_name(segment), transaction.high_bits, transaction.low_bits)
