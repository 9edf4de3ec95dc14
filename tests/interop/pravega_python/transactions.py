"""Transactions of events."""

from typing import Any

from tests.interop.numbered import numbered, seen
from tests.interop.pravega_python.client import Scenario, outcome, prepare, read_all, write


def transactions(manager: Any, scope: str, count: int, keys: int, rounds: int) -> dict[str, Any]:
    """Transactions committed and aborted in turn; events beside them; what each says of itself on the way."""
    prepare(manager, scope, 2)
    writer = manager.create_transaction_writer(scope, "stream", 1)
    report: dict[str, Any] = {"ids": [], "open": [], "closed": []}
    for index in range(rounds):
        for is_kept in (True, False):
            txn = writer.begin_txn()
            # The numbers of what is aborted are those that the next one keeps.
            for key, text in numbered(count, keys, first=(index + (not is_kept)) * count // keys):
                txn.write_event(text, key)
            report["ids"].append(f"{txn.get_txn_id():032x}")
            report["open"].append(txn.is_open())
            (txn.commit if is_kept else txn.abort)()
            report["closed"].append(txn.is_open())
    report["write_closed"] = outcome(txn.write_event, "key0 -1 too late", "key0")
    report["commit_closed"] = outcome(txn.commit)
    return {**report, **seen(read_all(manager, scope, rounds * count))}


def found_again(manager: Any, scope: str, count: int, keys: int) -> dict[str, Any]:
    """An open transaction looked up by its id; nothing of it can be read before it is committed."""
    prepare(manager, scope)
    writer = manager.create_transaction_writer(scope, "stream", 1)
    txn = writer.begin_txn()
    for key, text in numbered(count, keys):
        txn.write_event(text, key)
    again = writer.get_txn(txn.get_txn_id())
    report = {"same_id": again.get_txn_id() == txn.get_txn_id(), "open": again.is_open()}
    write(manager, scope, 1, 1, first=10**6)
    report["before"] = seen(read_all(manager, scope, 1, "before"))
    txn.commit()
    return {**report, "open_after": again.is_open(), "after": seen(read_all(manager, scope, count + 1))}


SCENARIOS: dict[str, Scenario] = {"found_again": found_again, "transactions": transactions}
