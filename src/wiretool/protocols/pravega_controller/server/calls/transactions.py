"""Calls about transactions."""

from collections.abc import Callable, Mapping

from wiretool.protocols.pravega.server.tokens import Permission
from wiretool.protocols.pravega_controller import controller_pb2 as pb
from wiretool.protocols.pravega_controller.server.context import Call, Context, said, segment_range
from wiretool.protocols.pravega_controller.server.refused import Refused
from wiretool.protocols.pravega_controller.server.transactions import TransactionState

_PINGED = {
    TransactionState.OPEN: pb.PingTxnStatus.OK,
    TransactionState.COMMITTED: pb.PingTxnStatus.COMMITTED,
    TransactionState.ABORTING: pb.PingTxnStatus.ABORTED,
    TransactionState.ABORTED: pb.PingTxnStatus.ABORTED,
    TransactionState.UNKNOWN: pb.PingTxnStatus.UNKNOWN,
}
_STATES = {
    TransactionState.OPEN: pb.TxnState.OPEN,
    TransactionState.COMMITTED: pb.TxnState.COMMITTED,
    TransactionState.ABORTING: pb.TxnState.ABORTING,
    TransactionState.ABORTED: pb.TxnState.ABORTED,
    TransactionState.UNKNOWN: pb.TxnState.UNKNOWN,
}


def create_transaction(context: Context, request: pb.CreateTxnRequest, now_ns: int) -> pb.CreateTxnResponse:
    """Open a transaction."""
    info = request.streamInfo
    transaction = context.state.transactions.create(info.scope, info.stream, request.lease, now_ns)
    return pb.CreateTxnResponse(
        txnId=pb.TxnId(highBits=transaction.high_bits, lowBits=transaction.low_bits),
        activeSegments=[segment_range(info.scope, info.stream, segment) for segment in transaction.epoch.segments],
        delegationToken=context.token(info.scope, info.stream, Permission.READ_UPDATE, now_ns),
    )


def commit_transaction(context: Context, request: pb.TxnRequest, now_ns: int) -> pb.TxnStatus:
    """Put a transaction's events into its stream. The writer's timestamp is not used."""
    return _ended(context.state.transactions.commit, request, now_ns)


def abort_transaction(context: Context, request: pb.TxnRequest, now_ns: int) -> pb.TxnStatus:
    """Drop a transaction's events."""
    return _ended(context.state.transactions.abort, request, now_ns)


def _ended(end: Callable[[str, str, int, int, int], None], request: pb.TxnRequest, now_ns: int) -> pb.TxnStatus:
    """The status has more words, but the real controller has FAILURE for each refusal."""
    info, txn = request.streamInfo, request.txnId
    try:
        end(info.scope, info.stream, txn.highBits, txn.lowBits, now_ns)
    except Refused:
        return pb.TxnStatus(status=pb.TxnStatus.FAILURE)
    return pb.TxnStatus()


def ping_transaction(context: Context, request: pb.PingTxnRequest, now_ns: int) -> pb.PingTxnStatus:
    """Renew a transaction's lease."""
    info, txn = request.streamInfo, request.txnId
    ping = context.state.transactions.ping
    try:
        state = ping(info.scope, info.stream, txn.highBits, txn.lowBits, request.lease, now_ns)
    except Refused as refused:
        return said(pb.PingTxnStatus, refused)
    return pb.PingTxnStatus(status=_PINGED[state])


def check_transaction_state(context: Context, request: pb.TxnRequest, now_ns: int) -> pb.TxnState:
    """Tell how far a transaction is."""
    info, txn = request.streamInfo, request.txnId
    state = context.state.transactions.state(info.scope, info.stream, txn.highBits, txn.lowBits)
    return pb.TxnState(state=_STATES[state])


def list_completed_transactions(
    context: Context, request: pb.ListCompletedTxnRequest, now_ns: int
) -> pb.ListCompletedTxnResponse:
    """Tell the transactions of a stream that ended last."""
    info = request.streamInfo
    completed = context.state.transactions.completed(info.scope, info.stream)
    return pb.ListCompletedTxnResponse(
        response=[
            pb.TxnResponse(
                txnId=pb.TxnId(highBits=high_bits, lowBits=low_bits),
                status=pb.TxnResponse.COMMITTED if is_committed else pb.TxnResponse.ABORTED,
            )
            for (high_bits, low_bits), is_committed in completed.items()
        ]
    )


CALLS: Mapping[str, Call] = {
    "createTransaction": create_transaction,
    "commitTransaction": commit_transaction,
    "abortTransaction": abort_transaction,
    "pingTransaction": ping_transaction,
    "checkTransactionState": check_transaction_state,
    "listCompletedTransactions": list_completed_transactions,
}
