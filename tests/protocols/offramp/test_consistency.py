"""Offramp's consistency model: what a consumer gets again, passed over or otherwise."""

import json
from collections.abc import Callable, Sequence

import msgspec
import pytest

from tests.consistency.world import Client, World, model_of_records, names
from wiretool.protocols.base.registry import PROTOCOLS
from wiretool.protocols.offramp import handshake
from wiretool.protocols.offramp.messages import CommitEvent, MessageEvent, RequestEvent
from wiretool.protocols.offramp.server.consumer import Consumer
from wiretool.protocols.offramp.server.feed import FeedMessage
from wiretool.records import Record
from wiretool.server.options import MockOptions

HEADERS = (
    ("Host", "here"),
    ("Upgrade", "websocket"),
    ("Connection", "Upgrade"),
    ("Sec-WebSocket-Key", "d2lyZXRvb2wtdGVzdGluZw=="),
    ("Sec-WebSocket-Version", "13"),
)
PASS = ("Authorization", "Basic dXNlcjpwYXNz")
Spoil = Callable[[bytes], Sequence[bytes]]


def feed(count: int) -> list[FeedMessage]:
    return [
        FeedMessage(payload={"number": number, "name": "x"}, partition=0, timestamp=5, pii=("name",))
        for number in range(count)
    ]


@pytest.fixture
def world() -> World:
    return World("offramp", MockOptions(feed=feed(6), roads=["bookings"]), is_new=False)


def connect(world: World, stream: str = "s", *, grants: str = "", start: str = "EARLIEST") -> Client:
    client = world.client()
    target = f"/offramp/v2/roads/bookings/streams/{stream}/messages?defaultOffset={start}{grants}"
    replies = client.send(handshake.request(target, (*HEADERS, PASS) if grants else HEADERS))
    assert [reply.message for reply in replies] == ["HandshakeResponse", "CONNECTION"]
    return client


def request(client: Client, count: int) -> list[int]:
    replies = client.send(RequestEvent(count=count))
    return [reply.fields.offset for reply in replies if isinstance(reply.fields, MessageEvent)]


def commit(client: Client, offset: int) -> None:
    (reply,) = client.send(CommitEvent(correlationId="c", offsets={"0": offset}))
    assert reply.message == "COMMIT_RESPONSE"


def spoil(monkeypatch: pytest.MonkeyPatch, offset: int, replaced: Spoil) -> None:
    """Let the mock deliver other texts in the place of the message at an offset."""
    deliver = Consumer._next
    waiting: list[bytes] = []

    def deliver_otherwise(consumer: Consumer) -> bytes | None:
        while not waiting:
            text = deliver(consumer)
            if text is None:
                return None
            waiting.extend(replaced(text) if json.loads(text)["offset"] == offset else [text])
        return waiting.pop(0)

    monkeypatch.setattr(Consumer, "_next", deliver_otherwise)


def test_messages_come_again_after_the_last_commit(world: World) -> None:
    first = connect(world)
    assert request(first, 4) == [0, 1, 2, 3]
    commit(first, 2)
    world.carry_out(world.mock.lost(first.number, world.now_ns))
    assert request(connect(world), 10) == [2, 3, 4, 5]
    assert world.anomalies == []
    assert world.model.judged == 3  # offsets 2 and 3 came again, and the commit held


def test_all_known_messages_are_read_back(world: World) -> None:
    client = connect(world)
    request(client, 6)
    before = world.model.judged
    assert world.ask_all() == 1
    assert (world.anomalies, world.model.judged - before) == ([], 6)


def test_consumers_with_the_grant_see_other_payloads(world: World) -> None:
    request(connect(world), 6)
    request(connect(world, "other", grants="&grants=PII"), 6)
    payloads = {json.dumps(each.fields.payload) for each in world.records if isinstance(each.fields, MessageEvent)}
    assert len(payloads) == 12
    assert world.ask_all() == 2
    assert (world.anomalies, world.model.judged) == ([], 12)


def test_a_known_message_that_is_passed_over_is_lost(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    request(connect(world), 6)
    spoil(monkeypatch, 2, lambda text: [])
    world.ask_all()
    (anomaly,) = world.anomalies
    assert (anomaly.name, anomaly.place) == ("lost-event", "partition 0 of road bookings")
    assert anomaly.why == "the message at offset 2 was passed over"
    assert [world.records[n - 1].message for n in anomaly.evidence] == ["MESSAGE", "MESSAGE", "MESSAGE"]


def test_the_first_known_message_is_lost_on_a_new_stream(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    request(connect(world), 6)
    spoil(monkeypatch, 0, lambda text: [])
    request(connect(world, "another"), 6)
    assert world.anomalies == []  # it may have committed before the records began
    world.ask_all()
    assert names(world.anomalies) == ["lost-event"]


def test_a_message_after_the_commit_is_lost(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    first = connect(world)
    request(first, 4)
    commit(first, 2)
    world.carry_out(world.mock.lost(first.number, world.now_ns))
    spoil(monkeypatch, 2, lambda text: [])
    request(connect(world), 10)
    assert world.anomalies == []  # a commit may be missing
    world.end()
    (anomaly,) = world.anomalies
    assert anomaly.name == "lost-event"
    assert [world.records[n - 1].message for n in anomaly.evidence] == ["MESSAGE", "COMMIT_RESPONSE", "MESSAGE"]


def test_a_message_that_comes_twice_is_doubled(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    spoil(monkeypatch, 2, lambda text: [text, text])
    request(connect(world), 6)
    assert names(world.anomalies) == ["doubled-event"]


def test_a_message_that_comes_again_after_a_rebalance_is_not_doubled(world: World) -> None:
    first = connect(world)
    request(first, 3)
    connect(world, "s")
    world.carry_out(world.mock.operate("rebalance", {"road": "bookings", "stream": "s"}, world.now_ns)[1])
    assert request(first, 3)[0] == 0
    assert (world.anomalies, world.model.judged) == ([], 3)


def test_a_message_that_differs_is_changed(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    request(connect(world), 6)
    spoil(monkeypatch, 2, lambda text: [text.replace(b'"number":2', b'"number":7')])
    world.ask_all()
    assert names(world.anomalies) == ["changed-event"]
    assert world.anomalies[0].why == "the message at offset 2 differs from the one that was delivered before"


def test_a_consumer_that_starts_at_the_end_passes_over_nothing(world: World) -> None:
    request(connect(world), 6)
    assert request(connect(world, "new", start="LATEST"), 6) == []
    assert world.anomalies == []


@pytest.mark.parametrize(("side", "expected"), [("client", ["doubled-event"]), ("server", [])])
def test_deliveries_around_a_gap_are_not_compared(
    world: World, monkeypatch: pytest.MonkeyPatch, side: str, expected: list[str]
) -> None:
    spoil(monkeypatch, 2, lambda text: [text, text])
    client = connect(world)
    request(client, 6)
    records: list[Record] = []
    for record in world.records:
        if isinstance(record.fields, MessageEvent) and record.fields.offset == 2:
            gap = msgspec.structs.replace(record, kind="gap", side="client" if side == "client" else "server")
            records.append(gap)
        records.append(record)
    assert names(model_of_records("offramp", records)[0]) == expected


def test_commits_that_may_be_missing_prove_nothing(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    first = connect(world)
    request(first, 4)
    commit(first, 2)
    world.model.forget(first.number, "client")
    world.carry_out(world.mock.lost(first.number, world.now_ns))
    spoil(monkeypatch, 2, lambda text: [])
    request(connect(world), 10)
    world.end()
    assert world.anomalies == []


def test_a_gap_that_is_reported_late_explains_what_came_before(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    first = connect(world)
    request(first, 4)
    commit(first, 2)
    spoil(monkeypatch, 2, lambda text: [])
    world.carry_out(world.mock.lost(first.number, world.now_ns))
    request(connect(world), 10)
    world.model.forget(first.number, "client")
    world.end()
    assert world.anomalies == []


def test_a_second_handshake_before_the_reply_makes_a_connection_unknown() -> None:
    """Messages of the first road may follow a handshake for another one: they are not compared with that."""
    messages = [
        FeedMessage(payload={"number": number}, partition=0, timestamp=5, road=road)
        for number, road in enumerate(["bookings"] * 3 + ["others"] * 3)
    ]
    world = World("offramp", MockOptions(feed=messages, roads=["bookings", "others"]), is_new=False)
    client = world.client()
    targets = [f"/offramp/v2/roads/{road}/streams/s/messages?defaultOffset=EARLIEST" for road in ("bookings", "others")]
    frames = [PROTOCOLS["offramp"].encode(handshake.request(target, HEADERS), "client") for target in targets]
    client._read("client", frames[0])
    client._read("client", frames[1])
    world.carry_out(world.mock.received(client.number, frames[0], world.now_ns))
    request = PROTOCOLS["offramp"].encode(RequestEvent(count=3), "client")
    world.carry_out(world.mock.received(client.number, request, world.now_ns))
    assert any(isinstance(record.fields, MessageEvent) for record in world.records)
    world.ask_all()
    other = world.client()
    other.send(handshake.request(targets[1], HEADERS))
    other.send(RequestEvent(count=3))
    assert world.anomalies == []


def test_questions_may_be_asked_while_answers_bring_further_roads() -> None:
    roads = ["bookings", "others", "third"]
    world = World("offramp", MockOptions(feed=feed(6), roads=roads), is_new=False)

    def read(road: str) -> None:
        client = world.client()
        client.send(handshake.request(f"/offramp/v2/roads/{road}/streams/s/messages?defaultOffset=EARLIEST", HEADERS))
        client.send(RequestEvent(count=3))

    read("bookings")
    read("others")
    questions = iter(world.model.questions())
    assert next(questions).place == "road bookings"
    read("third")
    assert [question.place for question in questions] == ["road others"]
