"""The conversations of the vectors, with the mock as the server: its answers are those that were decided."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from wsproto import events as ws

from tests.protocols.offramp.server.network import Client, Network, opened
from tests.protocols.offramp.vectors import HEADERS, ROADS, USERS, frame_of
from wiretool.protocols.offramp import framing, http
from wiretool.protocols.offramp.encoding import encode
from wiretool.protocols.offramp.handshake import read_handshake, request
from wiretool.protocols.offramp.messages import HandshakeResponse
from wiretool.protocols.offramp.server import OfframpMock
from wiretool.protocols.offramp.server.feed import FeedMessage

VECTORS = json.loads((Path(__file__).parents[3] / "vectors" / "offramp.json").read_text())
#: The code for a message that is too big: the vectors' limit is that of the reference server (decision 22).
TOO_BIG = 1009
Record = Mapping[str, Any]


def network(*, like_real: bool = False) -> Network:
    """The server of the vectors: roads of one partition, one of which has messages."""
    feed = [FeedMessage(road="one", payload={"f": "v"}, timestamp=1_500_000_000_000)] * 100
    feed += [FeedMessage(road="slowcommit", payload={"f": "v"})] * 100
    mock = OfframpMock(
        roads=tuple(ROADS),
        permissions=ROADS,
        feed=feed,
        partitions=1,
        auth={name: password for name, (password, _) in USERS.items()},
        agent_name="exp-pod",
        like_real=like_real,
    )
    return Network(mock)


def of(kind: str, sender: str = "") -> pytest.MarkDecorator:
    """The records of a list, for a test of each."""
    records = [
        record for record in VECTORS[kind] if not sender or sender in (record.get("sender"), record.get("direction"))
    ]
    assert records
    return pytest.mark.parametrize("record", records, ids=[record["name"] for record in records])


# -- handshakes ------------------------------------------------------------------------------------------------------


def ask(net: Network, record: Record) -> tuple[HandshakeResponse, bytes]:
    """The answer to a handshake, and what follows it."""
    headers = {**HEADERS, **record["header_changes"]}
    pairs = tuple((name, value) for name, value in headers.items() if value is not None)
    asked = request(record["request_target"], pairs, method=record.get("method", "GET"))
    connection = net.connect()
    net.send(connection, encode(asked, "client"))
    data = bytes(net.got[connection])
    size = http.http_extent("server", data, 0, len(data), answers_head=False, is_over=False)
    answer = read_handshake("server", data, 0, size).message
    assert isinstance(answer, HandshakeResponse)
    return answer, data[size:]


@of("handshakes")
def test_handshakes_are_answered_as_decided(record: Record) -> None:
    answer, rest = ask(network(), record)
    assert answer.status == record["expect"]["status"]
    assert bool(rest) == ("first_event" in record["expect"])


@of("handshakes")
def test_handshakes_are_answered_as_observed(record: Record) -> None:
    observed = record["harness_observed"]
    answer, rest = ask(network(like_real=True), record)
    assert answer.status == observed["status"]
    assert ", ".join(answer.extensions) == observed.get("sec-websocket-extensions", "")
    if "sec-websocket-version" in observed:
        assert http.header_values(answer.headers, "Sec-WebSocket-Version") == [observed["sec-websocket-version"]]
    if "then_close" in observed:
        assert rest == b"\x88\x02" + observed["then_close"].to_bytes(2, "big")
    else:
        assert bool(rest) == ("first_event" in observed)


# -- frames ----------------------------------------------------------------------------------------------------------


def heard(client: Client) -> list[Record]:
    """What the mock has said, in the words of the vectors."""
    said: list[Record] = []
    for event in client.take():
        if isinstance(event, ws.Pong):
            said.append({"pong": bytes(event.payload).hex()})
        elif isinstance(event, ws.CloseConnection):
            said.append({"close": event.code, "reason": event.reason})
        else:
            assert isinstance(event, dict)
            said.append({"bin": event})
    return said


@of("frames", "client")
def test_frames_are_answered_as_decided(record: Record) -> None:
    expect = record["expect"]
    net = network(like_real=expect.get("close") == TOO_BIG)
    client = opened(net)
    client.network.send(client.connection, frame_of(record))
    said = heard(client)
    is_over = client.connection in net.closed
    counts = net.mock.outbox.counts
    if "error" in expect:
        assert said == [{"close": 1011, "reason": ""}]
    elif "close" in expect:
        assert [each["close"] for each in said] == [expect["close"]]
        assert is_over
    elif "close_echo" in expect:
        assert said == [{"close": expect["close_echo"], "reason": expect.get("reason", "")}]
        assert is_over
    else:
        assert not is_over
        assert ("pong" not in expect) or said == [{"pong": expect["pong"]}]
        assert not expect.get("ignored") or said == []
        for name in [event["type"] for event in [*expect.get("events", ()), expect.get("event")] if event]:
            assert counts["client", name]
    check_observed(said, record)


def check_observed(said: Sequence[Record], record: Record) -> None:
    """The events are those that the original said; only a COMMIT before any demand is refused here."""
    if "error" in record["expect"]:
        return
    events = [each["bin"] for each in said if "bin" in each]
    observed = [each["bin"] for each in record["harness_observed"] if isinstance(each, dict) and "bin" in each]
    assert [event["type"] for event in events] == [event.get("type", "COMMIT_RESPONSE") for event in observed]
    for mine, theirs in zip(events, observed, strict=True):
        if mine["type"] != "COMMIT_RESPONSE":
            assert mine == theirs


# -- events ----------------------------------------------------------------------------------------------------------


@of("json", "c2s")
def test_events_are_taken_or_end_the_connection(record: Record) -> None:
    net = network()
    client = opened(net)
    frame = framing.frame_bytes(framing.FIN | 1, record["text"].encode(), b"\x37\xfa\x21\x3d")
    net.send(client.connection, frame)
    said = heard(client)
    if "error" in record:
        assert said == [{"close": 1011, "reason": ""}]
    else:
        assert all("bin" in each for each in said)
        assert net.mock.outbox.counts["client", record["expect"]["type"]] == 1


# -- dialogues -------------------------------------------------------------------------------------------------------


def summed(news: Sequence[Any]) -> list[Record]:
    """Events as the vectors have them: messages counted."""
    out: list[dict[str, Any]] = []
    for event in news:
        if isinstance(event, ws.CloseConnection):
            out.append({"close": event.code})
        elif event["type"] != "MESSAGE":
            out.append(event)
        elif out and "messages" in out[-1]:
            out[-1]["messages"] += 1
        else:
            out.append({"messages": 1})
    return list(out)


@of("dialogues")
def test_dialogues(record: Record) -> None:
    net = network()
    client = Client(net, road=record["road"], query="?defaultOffset=EARLIEST")
    news = client.take()
    for step in record["steps"]:
        if "send" in step:
            client.send(step["send"])
        net.wait(step.get("wait_s", 0))
    assert summed(news + client.take()) in [record["expect"], *record.get("or", ())]
