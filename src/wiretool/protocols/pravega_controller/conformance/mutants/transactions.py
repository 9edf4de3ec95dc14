"""Defects in transactions."""

from collections.abc import Callable
from typing import Any

from wiretool.conformance.mutation.mutants import Mutant, Patcher
from wiretool.protocols.pravega_controller.conformance.mutants.scopes import _answers
from wiretool.protocols.pravega_controller.server import transactions
from wiretool.protocols.pravega_controller.server.calls import transactions as calls
from wiretool.protocols.pravega_controller.server.refused import Refused, Why
from wiretool.protocols.pravega_controller.server.transactions import Transactions, TransactionState


def _low_bits_are_constant(answer: Any) -> None:
    answer.txnId.lowBits = 1


def _unknown_once_over(patcher: Patcher) -> None:
    def replace(complete: Callable[..., None]) -> Callable[..., None]:
        def wrong(self: Any, stream: Any, transaction: Any, *, is_committed: bool) -> None:
            complete(self, stream, transaction, is_committed=is_committed)
            stream.completed.clear()

        return wrong

    patcher.wrap(Transactions, "_complete", replace)


def _ends(*, is_committed: bool) -> Callable[[Patcher], None]:
    def apply(patcher: Patcher) -> None:
        def replace(complete: Callable[..., None]) -> Callable[..., None]:
            def wrong(self: Any, stream: Any, transaction: Any, **kept: Any) -> None:
                complete(self, stream, transaction, is_committed=is_committed)

            return wrong

        patcher.wrap(Transactions, "_complete", replace)

    return apply


def _not_twice(patcher: Patcher) -> None:
    def replace(end: Callable[..., None]) -> Callable[..., None]:
        def wrong(self: Any, scope: str, stream: str, high: int, low: int, now_ns: int) -> None:
            found = self._scopes.stream(scope, stream)
            if (high, low) not in found.open_transactions:
                raise Refused(Why.FAILURE, "not open")
            end(self, scope, stream, high, low, now_ns)

        return wrong

    patcher.wrap(Transactions, "commit", replace)
    patcher.wrap(Transactions, "abort", replace)


def _always_fine(*names: str) -> Callable[[Patcher], None]:
    def apply(patcher: Patcher) -> None:
        def replace(end: Callable[..., None]) -> Callable[..., None]:
            def wrong(*given: Any) -> None:
                try:
                    end(*given)
                except Refused:
                    return

            return wrong

        for name in names:
            patcher.wrap(Transactions, name, replace)

    return apply


def _ping_is_fine(patcher: Patcher) -> None:
    patcher.set(calls, "_PINGED", dict.fromkeys(TransactionState, calls._PINGED[TransactionState.OPEN]))


def _states(instead: TransactionState, of: TransactionState) -> Callable[[Patcher], None]:
    return lambda patcher: patcher.set(calls, "_STATES", {**calls._STATES, of: calls._STATES[instead]})


def _bounds(least: int, most: int) -> Callable[[Patcher], None]:
    def apply(patcher: Patcher) -> None:
        patcher.set(transactions, "LEASE_MS_MIN", least)
        patcher.set(transactions, "LEASE_MS_MAX", most)

    return apply


def _no_leases(patcher: Patcher) -> None:
    patcher.set(Transactions, "_lease", lambda self, stream, transaction, lease_ms, now_ns: None)


def _leases_not_renewed(patcher: Patcher) -> None:
    patcher.wrap(
        Transactions,
        "_lease",
        lambda lease: (
            lambda self, stream, transaction, *given: (
                lease(self, stream, transaction, *given) if transaction.timer is None else None
            )
        ),
    )


def _halved(patcher: Patcher) -> None:
    patcher.wrap(
        Transactions,
        "_lease",
        lambda lease: (
            lambda self, stream, transaction, lease_ms, now_ns: lease(self, stream, transaction, lease_ms // 2, now_ns)
        ),
    )


def _outlives_seal(patcher: Patcher) -> None:
    patcher.set(Transactions, "abort_all", lambda self, stream, now_ns: None)


def _on_sealed(patcher: Patcher) -> None:
    def replace(create: Callable[..., Any]) -> Callable[..., Any]:
        def wrong(self: Any, scope: str, stream: str, *given: Any) -> Any:
            if self._scopes.has_stream(scope, stream):
                self._scopes.stream(scope, stream).is_sealed = False
            return create(self, scope, stream, *given)

        return wrong

    patcher.wrap(Transactions, "create", replace)


def _not_after_scaling(patcher: Patcher) -> None:
    def replace(merge: Callable[..., None]) -> Callable[..., None]:
        def wrong(self: Any, stream: Any, transaction: Any, now_ns: int) -> None:
            if stream.active.reference != transaction.epoch.reference:
                raise Refused(Why.FAILURE, "the stream was scaled")
            merge(self, stream, transaction, now_ns)

        return wrong

    patcher.wrap(Transactions, "_merge", replace)


def _keeps_old_epoch(patcher: Patcher) -> None:
    """After a commit over a scaling the stream stays with the segments of the transaction."""

    def replace(begin: Callable[..., None]) -> Callable[..., None]:
        def wrong(self: Any, stream: Any, epoch: Any, now_ns: int) -> None:
            if stream.active.reference == stream.active.number:
                begin(self, stream, epoch, now_ns)

        return wrong

    patcher.wrap(Transactions, "_begin_copy", replace)


def _epoch_not_in_id(patcher: Patcher) -> None:
    patcher.set(transactions, "_HIGH_EPOCH_BIT", 0)


def _found_by_id(patcher: Patcher) -> None:
    def replace(find: Callable[..., TransactionState]) -> Callable[..., TransactionState]:
        def wrong(self: Any, scope: str, stream: str, high: int, low: int) -> TransactionState:
            for each in self._scopes.all:
                for other in each.streams:
                    if (high, low) in other.open_transactions:
                        return find(self, each.name, other.name, high, low)
            return find(self, scope, stream, high, low)

        return wrong

    patcher.wrap(Transactions, "state", replace)


def _first_segment(answer: Any) -> None:
    del answer.activeSegments[1:]


def _first_epoch(patcher: Patcher) -> None:
    def replace(create: Callable[..., Any]) -> Callable[..., Any]:
        def wrong(self: Any, scope: str, stream: str, *given: Any) -> Any:
            transaction = create(self, scope, stream, *given)
            transaction.epoch = self._scopes.stream(scope, stream).epochs[0]
            return transaction

        return wrong

    patcher.wrap(Transactions, "create", replace)


MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        "txn-id-constant",
        "Every transaction gets the same id.",
        _answers("createTransaction", _low_bits_are_constant),
    ),
    Mutant("txn-id-without-epoch", "The id of a transaction does not name its epoch.", _epoch_not_in_id),
    Mutant("txn-forgotten", "A transaction that ended is unknown.", _unknown_once_over),
    Mutant("txn-abort-commits", "An aborted transaction is reported as COMMITTED.", _ends(is_committed=True)),
    Mutant("txn-commit-aborts", "A committed transaction is reported as ABORTED.", _ends(is_committed=False)),
    Mutant("txn-not-twice", "A transaction is not ended again in the same way.", _not_twice),
    Mutant("txn-commit-always", "Every commit succeeds.", _always_fine("commit")),
    Mutant("txn-abort-always", "Every abort succeeds.", _always_fine("abort")),
    Mutant("txn-ping-always", "Every ping is answered with OK.", _ping_is_fine),
    Mutant(
        "txn-open-unknown", "An open transaction is UNKNOWN.", _states(TransactionState.UNKNOWN, TransactionState.OPEN)
    ),
    Mutant(
        "txn-unknown-open",
        "A transaction that never was is OPEN.",
        _states(TransactionState.OPEN, TransactionState.UNKNOWN),
    ),
    Mutant("lease-unbounded", "A lease has no upper limit.", _bounds(10_000, 10**9)),
    Mutant("lease-any-short", "A lease has no lower limit.", _bounds(0, 600_000)),
    Mutant("lease-bounds-open", "The longest and the shortest lease are refused.", _bounds(10_001, 599_999)),
    Mutant("lease-endless", "A lease never ends.", _no_leases),
    Mutant("lease-not-renewed", "A ping does not renew the lease.", _leases_not_renewed),
    Mutant("lease-halved", "A lease is over after half of it.", _halved),
    Mutant("txn-outlives-seal", "Transactions stay open when their stream is sealed.", _outlives_seal),
    Mutant("txn-on-sealed", "A transaction is opened on a sealed stream.", _on_sealed),
    Mutant("txn-not-after-scaling", "A transaction cannot be committed after a scaling.", _not_after_scaling),
    Mutant("txn-keeps-old-epoch", "A commit after a scaling undoes it.", _keeps_old_epoch),
    Mutant("txn-found-by-id", "A transaction is found under the name of any stream.", _found_by_id),
    Mutant(
        "txn-first-segment",
        "Only the first segment of a transaction is returned.",
        _answers("createTransaction", _first_segment),
    ),
    Mutant("txn-first-epoch", "A transaction is opened on the segments of the first epoch.", _first_epoch),
)
