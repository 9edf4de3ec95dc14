"""The books: what became of every captured payload byte."""

import json

from wiretool.ledger import Account, ConnectionAccount, Ledger


def filled() -> Ledger:
    ledger = Ledger()
    second = ledger.open(1, "c:2", "s:1")
    first = ledger.open(0, "c:1", "s:1")
    first.protocol = "pravega"
    first.account.add(Account(payload_bytes=10, frame_bytes=7, problem_bytes=3, frames=2, problems=1))
    second.account.add(Account(payload_bytes=5, other_bytes=5, gap_bytes=9, gaps=1, duplicate_bytes=4))
    return ledger


def test_the_total_is_the_sum() -> None:
    total = filled().total
    assert total == Account(15, 7, 3, 5, 9, 4, 2, 1, 1)
    assert total.payload_bytes == total.frame_bytes + total.problem_bytes + total.other_bytes


def test_the_total_of_nothing_is_nothing() -> None:
    assert Ledger().total == Account()
    assert Ledger().as_json()["connections"] == []


def test_counts_kept_elsewhere_are_added_before_the_accounts_are_read() -> None:
    ledger, counts = filled(), [4, 5]

    def count() -> None:
        ledger.open(9, "c:3", "s:1").account.frames = counts.pop() if counts else 0

    ledger.complete_with(count)
    assert ledger.total.frames == 2 + 5
    ledger.complete_with(None)
    assert ledger.total.frames == 2 + 5 + 4
    assert len(ledger.connections) == 4


def test_its_json_has_the_connections_in_order_of_appearance() -> None:
    form = json.loads(json.dumps(filled().as_json()))
    assert [row["connection"] for row in form["connections"]] == [0, 1]
    assert form["connections"][0] == {
        "connection": 0,
        "client": "c:1",
        "server": "s:1",
        "protocol": "pravega",
        "payload_bytes": 10,
        "frame_bytes": 7,
        "problem_bytes": 3,
        "other_bytes": 0,
        "gap_bytes": 0,
        "duplicate_bytes": 0,
        "frames": 2,
        "gaps": 0,
        "problems": 1,
    }
    assert set(form["total"]) == set(form["connections"][0]) - {"connection", "client", "server", "protocol"}


def test_an_account_belongs_to_its_connection() -> None:
    assert ConnectionAccount(0, "c", "s").account is not ConnectionAccount(0, "c", "s").account
