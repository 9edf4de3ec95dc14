"""What a consumer gets: demand, commits, and streams with several consumers."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wsproto import events as ws

from tests.protocols.offramp.server.network import (
    MAX,
    START_NS,
    Client,
    Network,
    joined,
    kinds,
    opened,
    places,
    served,
)
from wiretool.errors import UsageError
from wiretool.protocols.offramp.server import OfframpMock
from wiretool.protocols.offramp.server.feed import FeedMessage

# -- demand ----------------------------------------------------------------------------------------------------------


def test_nothing_comes_without_demand() -> None:
    client = opened(served(5))
    client.say(ws.Ping(payload=b"?"))
    assert client.take() == [ws.Pong(payload=b"?")]


def test_requests_add_up() -> None:
    client = opened(served(9))
    client.request(2)
    client.request(3)
    news = client.take()
    assert kinds(news) == ["REBALANCE"] + ["MESSAGE"] * 5
    assert places(news[1:]) == [(0, n) for n in range(5)]
    assert news[1] == {
        "type": "MESSAGE",
        "partition": 0,
        "offset": 0,
        "schema": 1,
        "timestampMs": START_NS // 1_000_000,
        "payload": {"n": 0},
    }


def test_demand_waits_for_messages() -> None:
    net = served()
    client, assignment = joined(net, 2)
    assert assignment == [0]
    net.publish("one", 1, 2, 3)
    assert client.messages() == [(0, 0), (0, 1)]
    client.request(5)
    assert client.messages() == [(0, 2)]


def test_zero_asks_for_nothing_and_less_is_an_error() -> None:
    client = opened(served(3))
    client.request(0)
    assert client.take() == []
    client.request(-7)
    assert client.take() == [{"type": "ERROR", "reason": "Requested count cannot be negative value (given -7)"}]
    client.request(1)
    assert kinds(client.take()) == ["REBALANCE", "MESSAGE"]


def test_demand_does_not_overflow() -> None:
    net = served()
    client, _ = joined(net, MAX)
    client.request(MAX)
    net.publish("one", 1)
    client.request(MAX)
    net.publish("one", 2)
    assert client.messages() == [(0, 0), (0, 1)]


def test_cancel_ends_demand_and_keeps_the_place() -> None:
    net = served()
    client, _ = joined(net, MAX)
    net.publish("one", 1)
    client.send({"type": "CANCEL"})
    client.send({"type": "CANCEL"})
    net.publish("one", 2, 3)
    assert client.messages() == [(0, 0)]
    client.request(1)
    assert client.messages() == [(0, 1)]


@given(st.lists(st.integers(-3, 6) | st.none(), max_size=12), st.integers(0, 20))
def test_never_more_than_requested(counts: list[int | None], published: int) -> None:
    net = served()
    client = opened(net)
    net.publish("one", *range(published))
    wanted = 0
    got: list[Any] = []
    for count in counts:
        if count is None:
            wanted = len(got)
            client.send({"type": "CANCEL"})
        else:
            wanted += max(count, 0)
            client.request(count)
        got += [event for event in client.take() if event["type"] == "MESSAGE"]
        assert len(got) == min(wanted, published)
    assert places(got) == [(0, n) for n in range(len(got))]


def test_partitions_take_turns_in_batches() -> None:
    messages = [FeedMessage(payload=n, partition=n % 2) for n in range(50)]
    client = opened(Network(OfframpMock(feed=messages, partitions=2)))
    client.request(10)
    client.request(40)
    assert [partition for partition, _ in places(client.take()[1:])] == ([0] * 10 + [1] * 10) * 2 + [0] * 5 + [1] * 5


# -- commits ---------------------------------------------------------------------------------------------------------


def test_a_commit_is_where_the_next_connection_begins() -> None:
    net = served(6)
    client = opened(net)
    client.request(4)
    client.take()
    client.commit({0: 2}, "first")
    assert client.take() == [{"type": "COMMIT_RESPONSE", "correlationId": "first", "success": True}]
    net.lose(client.connection)
    again = opened(net, query="")
    again.request(9)
    assert places(again.take()[1:]) == [(0, n) for n in range(2, 6)]


@pytest.mark.parametrize(
    ("offsets", "success"),
    [({}, True), ({0: 1}, True), ({0: 10**9}, True), ({5: 1}, True), ({0: -1}, False), ({0: 1, 1: -1}, False)],
)
def test_what_may_be_committed(offsets: dict[int, int], success: bool) -> None:
    client = opened(served(3))
    client.request(1)
    client.take()
    client.commit(offsets)
    assert client.take() == [{"type": "COMMIT_RESPONSE", "correlationId": "c", "success": success}]


def test_a_commit_before_any_demand_fails() -> None:
    client = opened(served(3))
    client.send('{"type":"COMMIT","offsets":{}}')
    assert client.take() == [{"type": "COMMIT_RESPONSE", "correlationId": None, "success": False}]


def test_the_original_dies_of_a_commit_before_it_has_joined() -> None:
    client = opened(served(like_real=True))
    client.request(0)
    client.commit({})
    assert client.take() == [ws.CloseConnection(code=1011, reason="")]


def test_a_foreign_partition_can_be_refused() -> None:
    client, _ = joined(served(commits_own_only=True), 1)
    client.commit({3: 1})
    client.commit({0: 1})
    assert [answer["success"] for answer in client.take()] == [False, True]


@pytest.mark.parametrize(
    ("query", "first"), [("?defaultOffset=EARLIEST", 0), ("?defaultOffset=EARLIES%54", 0), ("", 4)]
)
def test_a_commit_beyond_the_end_is_as_good_as_none(query: str, first: int) -> None:
    net = served(4)
    client = opened(net)
    client.request(1)
    client.commit({0: 99})
    client.close()
    net.lose(client.connection)
    again = opened(net, query=query)
    again.request(1)
    again.take()
    net.publish("one", "new")
    again.request(1)
    assert again.messages() == [(0, 4 if first else 1)]


def test_latest_begins_behind_what_is_there() -> None:
    net = served(3)
    client = opened(net, query="?defaultOffset=LATEST")
    net.publish("one", "still before the first demand")
    client.request(1)
    net.publish("one", "new")
    assert places(client.take()[1:]) == [(0, 4)]


# -- several consumers -----------------------------------------------------------------------------------------------


def test_consumers_of_one_stream_share_its_partitions() -> None:
    net = served(partitions=6)
    first, assignment = joined(net, MAX)
    assert assignment == [0, 1, 2, 3, 4, 5]
    second, assignment = joined(net, MAX)
    assert assignment == [3, 4, 5]
    assert first.take() == [{"type": "REBALANCE", "assignment": [0, 1, 2]}]
    third, assignment = joined(net, MAX)
    assert assignment == [4, 5]
    assert first.take() == [{"type": "REBALANCE", "assignment": [0, 1]}]
    assert second.take() == [{"type": "REBALANCE", "assignment": [2, 3]}]
    net.publish("one", *range(12))
    shares = [client.messages() for client in (first, second, third)]
    assert sorted(place for share in shares for place in share) == [
        (partition, offset) for partition in range(6) for offset in (0, 1)
    ]
    assert all(
        {partition for partition, _ in share} == set(own)
        for share, own in zip(shares, [{0, 1}, {2, 3}, {4, 5}], strict=True)
    )
    second.close()
    assert first.take()[0] == {"type": "REBALANCE", "assignment": [0, 1, 2]}
    net.lose(third.connection)
    assert first.take()[0] == {"type": "REBALANCE", "assignment": [0, 1, 2, 3, 4, 5]}


def test_those_who_leave_together_are_told_once() -> None:
    net = served(partitions=6)
    clients = [joined(net, MAX)[0] for _ in range(4)]
    for client in clients:
        client.take()
    for client in clients[1:]:
        net.carry_later(net.mock.lost(client.connection, net.now_ns))
    assert clients[0].take() == []
    net.wait(0)
    assert clients[0].take() == [{"type": "REBALANCE", "assignment": [0, 1, 2, 3, 4, 5]}]


def test_those_who_join_together_have_their_partitions_at_once_and_are_told_of_the_others_together() -> None:
    net = served(partitions=6)
    first, _ = joined(net, 1)
    late = [opened(net) for _ in range(2)]
    for client in late:
        asked = client.ws.send(ws.TextMessage(data='{"type":"REQUEST","count":1}'))
        net.carry_later(net.mock.received(client.connection, asked, net.now_ns))
    assert [client.take()[0]["assignment"] for client in late] == [[3, 4, 5], [4, 5]]
    net.wait(0)
    assert [client.take() for client in (first, *late)] == [
        [{"type": "REBALANCE", "assignment": [0, 1]}],
        [{"type": "REBALANCE", "assignment": [2, 3]}],
        [],
    ]


def test_more_consumers_than_partitions() -> None:
    net = served()
    joined(net, 1)
    assert joined(net, 1)[1] == []


def test_after_a_rebalance_everyone_begins_at_what_is_committed() -> None:
    net = served(6)
    client = opened(net)
    client.request(4)
    client.commit({0: 3})
    client.take()
    client.request(2)
    joined(net, 1)
    assert kinds(client.take()) == ["MESSAGE", "MESSAGE", "REBALANCE"]
    client.request(9)
    assert client.messages() == [(0, 3), (0, 4), (0, 5)]


def test_streams_do_not_share() -> None:
    net = served(3)
    for stream in ("a", "b"):
        client = opened(net, stream=stream)
        client.request(9)
        assert places(client.take()[1:]) == [(0, 0), (0, 1), (0, 2)]


def test_the_original_tells_a_rebalance_with_the_next_demand() -> None:
    net = served(partitions=2, like_real=True)
    first, _ = joined(net, 1)
    first.send({"type": "CANCEL"})
    joined(net, 1)
    assert first.take() == []
    first.request(1)
    assert first.take() == [{"type": "REBALANCE", "assignment": [0]}]


def test_a_rebalance_from_outside() -> None:
    net = served()
    client, _ = joined(net, 1)
    assert net.operate("rebalance", road="one", stream="s") == {"consumers": 1}
    assert client.take() == [{"type": "REBALANCE", "assignment": [0]}]
    with pytest.raises(UsageError, match="expected a road and a stream with consumers"):
        net.operate("rebalance", road="one", stream="nobody")


@given(st.lists(st.sampled_from(["join", "leave", "publish", "request", "commit"]), max_size=25), st.integers(1, 4))
def test_whoever_comes_and_goes_nothing_is_lost(steps: list[str], partitions: int) -> None:
    """Every message reaches the stream; in each assignment the offsets of a partition rise without a hole."""
    net = served(partitions=partitions)
    consumers: list[Client] = []
    seen: set[tuple[int, int]] = set()
    published = 0

    def look() -> None:
        for client in consumers:
            last: dict[int, int] = {}
            for event in client.take():
                if event["type"] == "REBALANCE":
                    last.clear()
                elif event["type"] == "MESSAGE":
                    partition, offset = event["partition"], event["offset"]
                    assert offset == last.get(partition, offset - 1) + 1
                    last[partition] = offset
                    seen.add((partition, offset))

    for step in [*steps, "join", "request"]:
        if step == "join":
            consumers.append(opened(net))
        elif step == "leave" and consumers:
            net.lose(consumers.pop(0).connection)
        elif step == "publish":
            net.publish("one", published)
            published += 1
        elif step == "request":
            for client in consumers:
                client.request(MAX)
        elif step == "commit" and consumers:
            look()
            ends = {p: max(o for q, o in seen if q == p) + 1 for p in {p for p, _ in seen}}
            whole = {p: end for p, end in ends.items() if all((p, o) in seen for o in range(end))}
            consumers[0].commit(whole)
        look()
    assert len(seen) == published
