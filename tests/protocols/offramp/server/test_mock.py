"""The Offramp mock around its consumers: who may read what, memory and time, its own messages, any bytes."""

import json
from base64 import b64encode

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wsproto import events as ws

from tests.protocols.offramp.server.network import (
    HIGH_WATER,
    MAX,
    SECOND_NS,
    START_NS,
    Client,
    deflate,
    joined,
    kinds,
    opened,
    places,
    served,
)
from wiretool import limits
from wiretool.errors import UsageError
from wiretool.protocols.offramp.server import OfframpMock
from wiretool.server.mock import Send

#: As wsproto tells a refusal: its head, its body, and the end of that.
REFUSED = ["RejectConnection", "RejectData", "RejectData"]


# -- who may read what -----------------------------------------------------------------------------------------------


def basic(credentials: str) -> list[tuple[bytes, bytes]]:
    return [(b"Authorization", b"Basic " + b64encode(credentials.encode()))]


@pytest.mark.parametrize(
    ("credentials", "query", "status"),
    [
        (None, "", 101),
        (None, "?grants=PUBLIC", 401),
        ("ann:secret", "", 101),
        ("ann:secret", "?grants=PII", 101),
        ("ann:wrong", "", 401),
        ("user:pass", "", 401),
        ("bob:word", "?grants=PII", 403),
    ],
)
def test_authorisation(credentials: str | None, query: str, status: int) -> None:
    rules = {"one": {"ann": {"PUBLIC", "PII"}, "*": {"PUBLIC"}}}
    net = served(auth={"ann": "secret", "bob": "word"}, permissions=rules)
    client = Client(net, query=query, headers=basic(credentials) if credentials else ())
    (first,) = client.take()[:1]
    assert (101 if isinstance(first, dict) else first.status_code) == status


def test_where_nobody_is_named_there_is_the_user_of_the_original() -> None:
    assert kinds(Client(served(), headers=basic("user:pass")).take()) == ["CONNECTION"]
    assert kinds(Client(served(), headers=basic("user:word")).take()) == REFUSED


@pytest.mark.parametrize(("query", "text"), [("", ""), ("?grants=PII", "Ann")])
def test_personal_fields_need_the_grant(query: str, text: str) -> None:
    net = served()
    client = opened(net, query=query, headers=basic("user:pass"))
    client.request(1)
    net.publish("one", {"who": [{"name": "Ann", "age": 7}, {"name": None}], "x": "y"}, pii=["who.name", "who.age", "z"])
    payload = client.take()[1]["payload"]
    assert payload == {"who": [{"name": text, "age": 7}, {"name": None}], "x": "y"}


def test_only_named_roads_exist_where_some_are_named() -> None:
    net = served(roads=["one"])
    assert kinds(Client(net, road="two").take()) == REFUSED
    opened(net)
    with pytest.raises(UsageError, match="no road 'two'"):
        net.publish("two", 1)


@pytest.mark.parametrize(
    ("options", "code"),
    [({"road": "two"}, 1000), ({"query": "?grants=PII"}, 1011)],
)
def test_the_original_refuses_after_the_upgrade(options: dict[str, str], code: int) -> None:
    net = served(roads=["one"], like_real=True)
    client = Client(net, **options)  # type: ignore[arg-type]
    assert client.take() == [ws.CloseConnection(code=code, reason="")]
    assert not net.closed
    client.close(code)
    assert net.closed == {0: "refused after the upgrade"}


# -- memory and time -------------------------------------------------------------------------------------------------


def test_a_slow_consumer_costs_bounded_memory_and_is_given_up() -> None:
    net = served()
    net.drains = False
    client, _ = joined(net, MAX)
    for _ in range(100):
        net.publish("one", "x" * 10_000)
    assert len(net.got[0]) < HIGH_WATER + 20_000
    client.say(ws.Ping())
    assert kinds(client.take())[-1] == "Pong"
    net.wait(limits.OFFRAMP_SEND_S + 1)
    assert net.closed == {0: "the client received nothing for 20 s"}
    assert net.aborted == {0}


def test_a_consumer_that_takes_in_time_gets_all() -> None:
    net = served()
    net.drains = False
    client, _ = joined(net, MAX)
    for _ in range(100):
        net.publish("one", "x" * 10_000)
    got = 0
    while got < 100:
        got += len(client.messages())
        net.wait(15)
        client.say(ws.Pong())
        net.drain(0)
    assert not net.closed


def test_a_long_backlog_goes_out_in_turns() -> None:
    net = served()
    net.publish("one", *["x" * 10_000] * 100)
    client = opened(net)
    actions = net.mock.received(0, client.ws.send(ws.TextMessage(data='{"type":"REQUEST","count":100}')), net.now_ns)
    sent = sum(len(action.data) for action in actions if isinstance(action, Send))
    assert limits.OFFRAMP_TURN_BYTES_MAX <= sent < limits.OFFRAMP_TURN_BYTES_MAX + 20_000
    assert net.mock.wake_ns == net.now_ns
    net.carry(actions)
    assert kinds(client.take()) == ["REBALANCE"] + ["MESSAGE"] * 100


def test_cancel_is_heeded_while_messages_wait() -> None:
    net = served()
    net.drains = False
    client, _ = joined(net, MAX)
    for _ in range(100):
        net.publish("one", "x" * 10_000)
    client.send({"type": "CANCEL"})
    before = len(client.messages())
    net.drain(0)
    assert client.take() == []
    assert 0 < before < 100


def test_replies_that_nobody_takes_hold_further_events_back() -> None:
    net = served()
    net.drains = False
    client = opened(net)
    texts = "x" * 8_000
    for _ in range(700):
        client.send({"type": "COMMIT", "correlationId": texts, "offsets": {}})
    assert limits.MOCK_REPLY_BYTES_MAX <= len(net.got[0]) < limits.MOCK_REPLY_BYTES_MAX + 10_000
    answered = len(client.take())
    net.drain(0)
    assert answered + len(client.take()) == 700


def test_the_oldest_data_goes_first() -> None:
    net = served(retain_bytes=20_000, partitions=2)
    net.publish("one", *(["x" * 1_000] * 30))
    (road,) = net.operate("roads")["roads"]
    assert [partition["end"] for partition in road["partitions"]] == [15, 15]
    assert all(5 < partition["first"] < 10 for partition in road["partitions"])
    client = opened(net)
    client.request(99)
    firsts = [partition["first"] for partition in road["partitions"]]
    assert sorted(places(client.take()[1:])) == [(p, n) for p in (0, 1) for n in range(firsts[p], 15)]


def test_a_silent_client_is_asked_and_then_given_up() -> None:
    net = served()
    client = opened(net)
    net.wait(limits.OFFRAMP_SILENCE_S)
    assert client.take() == [ws.Ping(payload=b"")]
    client.say(ws.Pong())
    net.wait(limits.OFFRAMP_SILENCE_S)
    assert client.take() == [ws.Ping(payload=b"")]
    net.wait(limits.OFFRAMP_SILENCE_S)
    assert net.closed == {0: "no bytes from the client for 30 s"}


def test_the_original_waits_for_ever() -> None:
    net = served(like_real=True)
    client = opened(net)
    net.wait(1_000)
    assert client.take() == []
    assert not net.closed
    assert net.mock.wake_ns is None


def test_whoever_never_speaks_is_given_up() -> None:
    net = served(like_real=True)
    net.connect()
    net.wait(limits.OFFRAMP_SILENCE_S)
    assert 0 in net.aborted


def test_a_close_that_is_not_answered() -> None:
    net = served()
    client = opened(net)
    client.send("{")
    assert client.take() == [ws.CloseConnection(code=1011, reason="")]
    net.wait(limits.OFFRAMP_SILENCE_S)
    assert 0 in net.aborted


# -- its own messages ------------------------------------------------------------------------------------------------


def test_messages_at_a_rate() -> None:
    net = served(rate=50, seed=3)
    client, _ = joined(net, MAX)
    net.wait(2)
    first = client.take()
    assert len(first) == 100
    assert [event["payload"]["id"] for event in first] == list(range(100))
    assert {event["timestampMs"] for event in first} <= {
        (START_NS + n * SECOND_NS // 50) // 1_000_000 for n in range(101)
    }
    again = served(rate=50, seed=3)
    other, _ = joined(again, MAX)
    again.wait(2)
    assert other.take() == first
    client.close()
    net.lose(0)
    net.wait(5)
    assert net.operate("roads")["roads"][0]["partitions"] == [{"first": 0, "end": 100}]
    assert net.mock.wake_ns is None


def test_a_clock_that_jumps_makes_no_flood() -> None:
    net = served(rate=10)
    client, _ = joined(net, MAX)
    net.now_ns += 3_600 * SECOND_NS
    net.carry(net.mock.woken(net.now_ns))
    assert kinds(client.take()).count("MESSAGE") == 10


def test_restart_forgets_everything_but_the_feed() -> None:
    net = served(2)
    client = opened(net)
    client.request(1)
    client.commit({0: 2})
    net.publish("one", "extra")
    net.carry(net.mock.restart(net.now_ns))
    assert net.aborted == {0}
    again = opened(net)
    again.request(9)
    assert places(again.take()[1:]) == [(0, 0), (0, 1)]


def test_stop_says_goodbye() -> None:
    net = served()
    client = opened(net)
    net.connect()
    net.carry(net.mock.stopped(net.now_ns))
    assert client.take() == [ws.CloseConnection(code=1001, reason="the server is stopping")]


def test_stop_gives_nobody_the_partitions_of_another() -> None:
    net = served(50, partitions=2)
    clients = [opened(net) for _ in range(3)]
    for client in clients:
        client.request(100)
        client.take()
    for client in clients:
        client.take()
    net.carry(net.mock.stopped(net.now_ns))
    goodbye = ws.CloseConnection(code=1001, reason="the server is stopping")
    assert [client.take() for client in clients] == [[goodbye]] * 3


def test_counts() -> None:
    net = served(2)
    client = opened(net)
    client.request(2)
    client.send("")
    client.send("{")
    counts = net.mock.outbox.counts
    assert dict(counts) == {
        ("client", "HandshakeRequest"): 1,
        ("server", "HandshakeResponse"): 1,
        ("server", "CONNECTION"): 1,
        ("client", "REQUEST"): 1,
        ("server", "REBALANCE"): 1,
        ("server", "MESSAGE"): 2,
        ("client", "Empty"): 1,
        ("client", "Unknown"): 1,
        ("server", "Close"): 1,
    }


# -- any way to cut the bytes ----------------------------------------------------------------------------------------


@given(st.integers(1, 400), st.booleans())
def test_any_chunking_gives_the_same(chunk: int, compresses: bool) -> None:
    def talk(size: int | None) -> bytes:
        net = served(20)
        client = Client(net, extensions=deflate() if compresses else (), chunk=size)
        client.take()
        client.request(3)
        client.commit({0: 2})
        client.send({"type": "CANCEL"})
        client.request(-1)
        client.say(ws.Ping(payload=b"x"))
        client.request(MAX)
        client.take()
        client.close()
        return bytes(net.got[0]).partition(b"\r\n\r\n")[2]

    assert talk(chunk) == talk(None)


@given(st.binary(max_size=200), st.booleans())
def test_any_bytes_are_answered_or_awaited(data: bytes, is_open: bool) -> None:
    net = served(1)
    connection = opened(net).connection if is_open else net.connect()
    net.send(connection, data)
    net.end(connection)
    assert connection in net.closed


@pytest.mark.parametrize(
    ("what", "arguments", "why"),
    [
        ("publish", {"payload": 1}, "publish: missing road; expected a road"),
        ("publish", {"road": "one"}, "field payload is missing"),
        ("publish", {"road": "one", "payload": 1, "partition": 9}, "partition 9: road 'one' has 1"),
        ("publish", {"road": "one", "payload": float("nan")}, "is not JSON"),
        ("publish", {"road": "one", "payload": 1, "colour": 1}, "field colour is unknown"),
        ("explode", {}, "no operation 'explode': there are publish, rebalance, roads$"),
    ],
)
def test_what_cannot_be_operated(what: str, arguments: dict[str, object], why: str) -> None:
    with pytest.raises(UsageError, match=why):
        served().operate(what, **arguments)


@pytest.mark.parametrize("options", [{"partitions": 0}, {"rate": -1}, {"rate": float("inf")}])
def test_options_that_make_no_sense(options: dict[str, float]) -> None:
    with pytest.raises(UsageError, match="at least one"):
        OfframpMock(**options)  # type: ignore[arg-type]


def test_payloads_go_out_as_they_came() -> None:
    net = served()
    client, _ = joined(net, 9)
    payloads = [None, "é\u2028", 2**70, {"a": [1.5, True, {}]}, json.loads("1e300")]
    net.publish("one", *payloads)
    assert [event["payload"] for event in client.take()] == payloads
