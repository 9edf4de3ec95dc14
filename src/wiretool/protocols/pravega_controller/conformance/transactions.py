"""Cases of transactions: states, leases, commits and aborts (protocols/pravega-controller.md, Methods)."""

from typing import Any

from wiretool.conformance.case import MUST, OBSERVED, SHOULD, Case, Wait, case
from wiretool.conformance.values import AnyOrder, Bindings, Check, Free, Saved, Subset, one_of
from wiretool.protocols.pravega_controller.conformance.steps import (
    LEASE_MS,
    Call,
    call,
    current,
    fails,
    halves,
    info,
    made,
    make_scope,
    no_entry,
    no_scope,
    seal,
    split,
    talk,
    whole,
)

_METHODS = "protocols/pravega-controller.md, Methods"
_MESSAGES = "protocols/pravega-controller.md, Messages"
_RUN = "every call against server 0.13.0 (interop tests)"
_LEASES = "facts/pravega-server.md, Added 23 November 2026: a lease of 10 s"
#: The state of a transaction becomes final a little after the answer.
_SETTLING = Wait(1.0)


def _create(key: str = "txn", segments: Any = None, lease: int = LEASE_MS) -> Call:
    """Open a transaction, and bind its id."""
    return call(
        "createTransaction",
        {"streamInfo": info(), "lease": lease, "scaleGracePeriod": Free(0)},
        txnId=_id(key),
        activeSegments=whole() if segments is None else segments,
    )


def _id(key: str = "txn") -> dict[str, Any]:
    return {"highBits": Saved(f"{key} high"), "lowBits": Saved(f"{key} low")}


def _request(id: Any = None) -> dict[str, Any]:
    return {
        "streamInfo": info(),
        "txnId": _id() if id is None else id,
        "writerId": Free(""),
        "timestamp": Free(0),
    }


def _ping(lease: int = LEASE_MS, id: Any = None) -> dict[str, Any]:
    return {"streamInfo": info(), "txnId": _id() if id is None else id, "lease": lease}


def _state(state: Any, id: Any = None) -> Call:
    return call("checkTransactionState", _request(id), state=state)


def _end(method: str, status: str = "SUCCESS", id: Any = None) -> Call:
    return call(method, _request(id), status=status)


class _Other(Saved):
    """An id that is not that of the first transaction."""

    def matches(self, value: Any, bindings: Bindings) -> bool:
        return value != bindings.values["txn low"] and super().matches(value, bindings)

    def describe(self, bindings: Bindings) -> str:
        return "another id than the first"


_COMMIT, _ABORT = "commitTransaction", "abortTransaction"
_NEVER = {"highBits": 0, "lowBits": 123_456_789}

CASES: tuple[Case, ...] = (
    case(
        "pravega-controller/txn/1",
        MUST,
        "A transaction is opened on the current segments, and is OPEN.",
        f"{_METHODS}; {_MESSAGES}: CreateTxnResponse, TxnState",
        made(2, _create(segments=halves()), _state("OPEN")),
    ),
    case(
        "pravega-controller/txn/2",
        MUST,
        "A transaction that is committed is COMMITTED.",
        _METHODS,
        made(1, _create(), _end(_COMMIT), _state(one_of("COMMITTING", "COMMITTED")), _SETTLING, _state("COMMITTED")),
    ),
    case(
        "pravega-controller/txn/3",
        MUST,
        "A transaction that is aborted is ABORTED.",
        _METHODS,
        made(1, _create(), _end(_ABORT), _state(one_of("ABORTING", "ABORTED")), _SETTLING, _state("ABORTED")),
    ),
    case(
        "pravega-controller/txn/4",
        MUST,
        "Committing a committed transaction succeeds, and aborting it fails.",
        _RUN,
        made(
            1,
            _create(),
            _end(_COMMIT),
            _SETTLING,
            _end(_COMMIT),
            _end(_ABORT, "FAILURE"),
            _state("COMMITTED"),
        ),
    ),
    case(
        "pravega-controller/txn/5",
        MUST,
        "Aborting an aborted transaction succeeds, and committing it fails.",
        _RUN,
        made(
            1,
            _create(),
            _end(_ABORT),
            _SETTLING,
            _end(_ABORT),
            _end(_COMMIT, "FAILURE"),
            _state("ABORTED"),
        ),
    ),
    case(
        "pravega-controller/txn/6",
        MUST,
        "A transaction that never was is UNKNOWN, and can be neither committed nor aborted.",
        _RUN,
        made(
            1,
            _state("UNKNOWN", _NEVER),
            _end(_COMMIT, "FAILURE", _NEVER),
            _end(_ABORT, "FAILURE", _NEVER),
            call("pingTransaction", _ping(id=_NEVER), status="UNKNOWN"),
        ),
    ),
    case(
        "pravega-controller/txn/7",
        MUST,
        "A ping of an open transaction is answered with OK, one of a committed transaction with COMMITTED.",
        f"{_RUN}; {_MESSAGES}: PingTxnStatus",
        made(
            1,
            _create(),
            call("pingTransaction", _ping(), status="OK"),
            _end(_COMMIT),
            _SETTLING,
            call("pingTransaction", _ping(), status="COMMITTED"),
        ),
    ),
    case(
        "pravega-controller/txn/8",
        MUST,
        "A ping of an aborted transaction is answered with ABORTED.",
        f"{_RUN}; {_MESSAGES}: PingTxnStatus",
        made(1, _create(), _end(_ABORT), _SETTLING, call("pingTransaction", _ping(), status="ABORTED")),
    ),
    case(
        "pravega-controller/txn/9",
        MUST,
        "A ping with a lease of more than ten minutes is refused, and the transaction stays open.",
        _RUN,
        made(1, _create(), call("pingTransaction", _ping(700_000), status="LEASE_TOO_LARGE"), _state("OPEN")),
    ),
    *(
        case(
            f"pravega-controller/txn/{number}",
            MUST,
            f"A transaction with a lease of {lease} ms is refused.",
            _RUN,
            made(
                1,
                fails(
                    "createTransaction",
                    {"streamInfo": info(), "lease": lease, "scaleGracePeriod": 0},
                    "UNKNOWN",
                    text,
                ),
            ),
        )
        for number, lease, text in (
            (10, 9_999, "lease should be greater than minimum lease"),
            (11, 0, "lease should be greater than minimum lease"),
            (12, 600_001, "lease value too large, max value is 600000"),
        )
    ),
    case(
        "pravega-controller/txn/13",
        MUST,
        "The longest and the shortest lease are taken.",
        _RUN,
        made(1, _create(lease=600_000), _create("other", lease=10_000)),
    ),
    case(
        "pravega-controller/txn/14",
        MUST,
        "Two transactions have two ids, and end each by itself.",
        _METHODS,
        made(
            1,
            _create(),
            call(
                "createTransaction",
                {"streamInfo": info(), "lease": LEASE_MS, "scaleGracePeriod": 0},
                txnId={"highBits": Saved("other high"), "lowBits": _Other("other low")},
            ),
            _end(_COMMIT),
            _SETTLING,
            _state("COMMITTED"),
            _state("OPEN", {"highBits": Saved("other high"), "lowBits": Saved("other low")}),
        ),
    ),
    # Costs 11 s on a server over sockets, as the shortest lease does.
    case(
        "pravega-controller/txn/15",
        MUST,
        "A transaction that is not pinged is aborted when its lease is over, and cannot be committed then.",
        _LEASES,
        made(1, _create(), _state("OPEN"), Wait(11.0), _state(one_of("ABORTING", "ABORTED")), _end(_COMMIT, "FAILURE")),
    ),
    # Costs 17 s on a server over sockets, as the shortest lease does.
    case(
        "pravega-controller/txn/16",
        MUST,
        "A ping renews the lease: the transaction is open when the first lease is over.",
        f"{_METHODS}; {_LEASES}",
        made(
            1,
            _create(),
            Wait(8.0),
            call("pingTransaction", _ping(), status="OK"),
            Wait(8.0),
            _state("OPEN"),
            _end(_COMMIT),
        ),
    ),
    case(
        "pravega-controller/txn/17",
        MUST,
        "No transaction is opened on a sealed stream.",
        _RUN,
        made(
            1,
            seal(),
            fails(
                "createTransaction",
                {"streamInfo": info(), "lease": LEASE_MS, "scaleGracePeriod": 0},
                "INTERNAL",
                r"Stream: \S+ State: SEALED.*",
            ),
        ),
    ),
    case(
        "pravega-controller/txn/18",
        MUST,
        "No transaction is opened on a stream that is missing.",
        _RUN,
        talk(
            no_scope("createTransaction", {"streamInfo": info(), "lease": LEASE_MS, "scaleGracePeriod": 0}),
            make_scope(),
            no_entry("createTransaction", {"streamInfo": info(), "lease": LEASE_MS, "scaleGracePeriod": 0}),
        ),
    ),
    case(
        "pravega-controller/txn/19",
        MUST,
        "Of a missing stream no transaction is known: each is UNKNOWN, and cannot be ended.",
        _RUN,
        talk(
            make_scope(),
            _state("UNKNOWN", _NEVER),
            _end(_COMMIT, "FAILURE", _NEVER),
            _end(_ABORT, "FAILURE", _NEVER),
            call("pingTransaction", _ping(id=_NEVER), status="UNKNOWN"),
        ),
    ),
    case(
        "pravega-controller/txn/20",
        SHOULD,
        "An open transaction is aborted when its stream is sealed.",
        _METHODS,
        made(1, _create(), seal(), _SETTLING, _state(one_of("ABORTING", "ABORTED"))),
    ),
    case(
        "pravega-controller/txn/21",
        MUST,
        "A transaction that was opened before a scaling can be committed after it; the stream keeps the new segments' "
        "keys.",
        _METHODS,
        made(
            1,
            _create(),
            split(),
            _end(_COMMIT),
            _SETTLING,
            _state("COMMITTED"),
            current(segments=AnyOrder(Subset(minKey=0.0, maxKey=0.5), Subset(minKey=0.5, maxKey=1.0))),
        ),
    ),
    case(
        "pravega-controller/txn/22",
        MUST,
        "A transaction is opened on the segments of the epoch that is active, and its id names the epoch.",
        f"{_METHODS}; facts/pravega-server.md §2",
        made(
            1,
            split(),
            call(
                "createTransaction",
                {"streamInfo": info(), "lease": LEASE_MS, "scaleGracePeriod": 0},
                txnId={"highBits": 1 << 32, "lowBits": Saved("txn low")},
                activeSegments=halves(1, 1),
            ),
        ),
    ),
    case(
        "pravega-controller/txn/23",
        OBSERVED,
        "A list of completed transactions names those that ended, or none.",
        "facts/pravega-server.md, Added 23 November 2026: always empty",
        made(
            1,
            _create(),
            _end(_COMMIT),
            _SETTLING,
            call(
                "listCompletedTransactions",
                {"streamInfo": info()},
                response=Check(
                    "none, or the committed one",
                    lambda found, seen: (
                        found
                        in (
                            [],
                            [
                                {
                                    "txnId": {"highBits": seen["txn high"], "lowBits": seen["txn low"]},
                                    "status": "COMMITTED",
                                }
                            ],
                        )
                    ),
                ),
            ),
        ),
    ),
    case(
        "pravega-controller/txn/24",
        MUST,
        "A transaction belongs to its stream: under the name of another one it is UNKNOWN.",
        _METHODS,
        made(
            1,
            _create(),
            call("checkTransactionState", {**_request(), "streamInfo": info("other")}, state="UNKNOWN"),
            _state("OPEN"),
        ),
    ),
)
