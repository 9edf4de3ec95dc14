"""Frames and connections: what is malformed ends its own connection, and nothing else."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.protocols.pravega.server.talk import OTHER, SEGMENT, Client, Cluster, acked, append, create, read, set_up
from wiretool import limits
from wiretool.protocols.pravega.commands import BY_CODE, MESSAGES, may_send
from wiretool.protocols.pravega.failures import NoSuchSegment
from wiretool.protocols.pravega.framing import HEADER_BYTES, encode, frame, type_at
from wiretool.protocols.pravega.messages import AppendSetup, Event, Hello, KeepAlive, PartialEvent, SegmentRead
from wiretool.protocols.pravega.segments import (
    FlushedToStorage,
    FlushToStorage,
    GetStreamSegmentInfo,
    LocateOffset,
)
from wiretool.protocols.pravega.server.mock import PravegaMock

VECTORS = Path(__file__).parents[3] / "vectors" / "pravega.json"
INFO = GetStreamSegmentInfo(request_id=9, segment_name=SEGMENT)
UNKNOWN = frame(999, b"", limits.PRAVEGA_PAYLOAD_BYTES_MAX)


def vectors(stage: tuple[str, ...], *, is_good: bool) -> list[Mapping[str, Any]]:
    return [
        record
        for record in json.loads(VECTORS.read_text())
        if record["version"] == "pravega" and record["stage"] in stage and ("error" not in record) == is_good
    ]


def frames_in(data: bytes) -> Iterator[bytes]:
    """The frames one by one, so that each is answered before the next is sent; the last may be none."""
    at = 0
    while at < len(data):
        end = min(len(data), at + HEADER_BYTES + int.from_bytes(data[at + 4 : at + 8], "big"))
        yield data[at:end]
        at = end


def speak(client: Client, data: bytes) -> None:
    """Say frame after frame, to segments that are there."""
    for piece in frames_in(data):
        client.say_bytes(piece)
        if client.why_closed is not None:
            return


@pytest.fixture
def cluster() -> Cluster:
    cluster = Cluster()
    cluster.client().create("seg", "seg2", "other")
    return cluster


@pytest.mark.parametrize("record", vectors(("codec", "append"), is_good=False), ids=lambda record: str(record["name"]))
def test_a_malformed_frame_ends_its_connection(record: Mapping[str, Any], cluster: Cluster) -> None:
    bystander, client = cluster.client(), cluster.client()
    data = bytes.fromhex(record["hex"])
    speak(client, data)
    is_clients = BY_CODE.get(type_at(data, 0)) is None or may_send("client", BY_CODE[type_at(data, 0)])
    assert client.why_closed is not None
    assert client.why_closed.startswith(record["error_kind"] if is_clients else "wrong-side")
    assert bystander.say(KeepAlive()) == [KeepAlive()]


@pytest.mark.parametrize("record", vectors(("parse",), is_good=False), ids=lambda record: str(record["name"]))
def test_a_frame_that_is_not_whole_is_waited_for(record: Mapping[str, Any], cluster: Cluster) -> None:
    client = cluster.client()
    assert client.say_bytes(bytes.fromhex(record["hex"])) == []
    assert client.why_closed is None
    client.end()
    assert client.why_closed == ""


@pytest.mark.parametrize("record", vectors(("append",), is_good=True), ids=lambda record: str(record["name"]))
def test_what_the_decoder_assembles_is_stored(record: Mapping[str, Any], cluster: Cluster) -> None:
    client = cluster.client()
    speak(client, bytes.fromhex(record["hex"]))
    assert client.why_closed is None
    stored = {"seg": b"", "seg2": b"", "other": b""}
    for message in record["expect"]["fields"]["messages"]:
        fields = message["fields"]
        if message["type"] == "APPEND" and fields["expected_length"] in (None, len(stored[fields["segment"]])):
            stored[fields["segment"]] += bytes.fromhex(fields["data"])
    segments = cluster.mock.store.segments
    assert {name: segments.info(name).read(0, 1_000) for name in stored} == stored


def test_what_came_with_a_broken_frame_is_done_but_not_answered(cluster: Cluster) -> None:
    client = cluster.client()
    client.set_up("seg")
    assert client.say_bytes(encode(append(1, b"hello"), "client") + UNKNOWN) == []
    assert client.why_closed == "unknown-type at byte 0 (type): no command has type 999"
    assert cluster.mock.store.segments.info("seg").length == 5


def test_what_came_before_it_is_answered(cluster: Cluster) -> None:
    client = cluster.client()
    assert client.say(KeepAlive()) == [KeepAlive()]
    assert client.say_bytes(UNKNOWN) == []
    assert client.why_closed is not None


@pytest.mark.parametrize("cls", [cls for cls in MESSAGES if not may_send("client", cls)], ids=lambda cls: cls.__name__)
def test_no_client_may_say_what_servers_say(cls: Any, cluster: Cluster) -> None:
    client = cluster.client()
    client.say_bytes(frame(cls.declaration.type_id, b"", limits.PRAVEGA_PAYLOAD_BYTES_MAX))
    assert client.why_closed is not None
    kind = "event-outside-block" if cls in (Event, PartialEvent) else "wrong-side"
    assert client.why_closed.startswith(f"{kind}: " if cls.declaration.since <= 16 else "unknown-type")


def test_the_admin_port_takes_what_the_main_port_does_not() -> None:
    cluster = Cluster(PravegaMock(has_admin=True))
    flush = FlushToStorage(container_id=0, request_id=5)
    main, admin = cluster.client(), cluster.client("admin")
    main.say(flush)
    assert main.why_closed is not None
    assert main.why_closed.startswith("admin-on-main-port: FlushToStorage from the client in phase idle")
    assert admin.say(flush) == [FlushedToStorage(request_id=5)]
    admin.say(set_up())
    assert admin.why_closed is not None
    assert admin.why_closed.startswith("wrong-side: SetupAppend from the client")
    foreign = cluster.client("admin")
    foreign.say(FlushToStorage(container_id=4, request_id=5))
    assert foreign.why_closed is not None
    assert foreign.why_closed.startswith("no-container")


@pytest.mark.parametrize(
    ("high", "low", "is_open"),
    [(17, 5, True), (15, 5, True), (5, 5, True), (16, 16, True), (4, 1, False), (20, 17, False), (0, 0, False)],
)
def test_hello_is_answered_whatever_it_says(high: int, low: int, is_open: bool, cluster: Cluster) -> None:
    client = cluster.client()
    greeting = Hello(high_version=high, low_version=low)
    told = [Hello(high_version=16, low_version=5)]
    assert client.say(greeting, KeepAlive()) == ([*told, KeepAlive()] if is_open else told)
    assert (client.why_closed is None) == is_open


def test_a_server_knows_the_commands_of_its_version() -> None:
    older, newer = Cluster(), Cluster(PravegaMock(wire_version=17))
    locate = LocateOffset(request_id=1, segment=SEGMENT, target_offset=0)
    client = older.client()
    client.say(locate)
    assert client.why_closed == "unknown-type at byte 0 (type): LocateOffset came with wire version 17"
    assert newer.client().say(locate) == [NoSuchSegment(request_id=1, segment=SEGMENT)]
    assert newer.client().say(Hello(high_version=17, low_version=5)) == [Hello(high_version=17, low_version=5)]


def test_replies_to_one_read_are_bounded(cluster: Cluster) -> None:
    client = cluster.client()
    client.set_up("seg")
    client.say(append(1, bytes(2 * 1024 * 1024)))
    asked = [read(0, 2 * 1024 * 1024, "seg", number=number) for number in range(5)]
    answered = client.say(*asked, KeepAlive())
    assert [type(reply) for reply in answered] == [SegmentRead] * 2
    mock = cluster.mock
    cluster.do(mock.drained(client.number, cluster.now_ns))
    assert len(client.hear()) == 2
    cluster.do(mock.drained(client.number, cluster.now_ns))
    assert [type(reply) for reply in client.hear()] == [SegmentRead, KeepAlive]
    cluster.do(mock.drained(client.number, cluster.now_ns))
    assert client.hear() == []


def test_messages_are_counted(cluster: Cluster) -> None:
    cluster.mock.outbox.counts.clear()
    client = cluster.client()
    client.set_up("seg")
    client.say(append(1, b"a"), append(2, b"b"))
    assert cluster.mock.outbox.counts == {
        ("client", "SetupAppend"): 1,
        ("server", "AppendSetup"): 1,
        ("client", "AppendBlockEnd"): 2,
        ("server", "DataAppended"): 2,
    }


def test_a_reply_that_cannot_be_written_ends_the_connection(cluster: Cluster) -> None:
    """A name of bare zero bytes is read, but takes twice the bytes when it is written."""
    name = bytes(40_000)
    payload = (9).to_bytes(8, "big") + len(name).to_bytes(2, "big") + name + bytes(2)
    client = cluster.client()
    client.say_bytes(frame(INFO.declaration.type_id, payload, limits.PRAVEGA_PAYLOAD_BYTES_MAX))
    assert client.why_closed is not None
    assert client.why_closed.startswith("NoSuchSegment cannot be sent")


@given(st.data())
def test_however_the_bytes_come(data: st.DataObject) -> None:
    """Cut anywhere, with the answers to each message awaited, the answers are the same."""
    said = [
        create(),
        set_up(),
        append(1, b"hello"),
        read(0),
        create(OTHER),
        set_up(OTHER),
        append(2, b"world"),
        read(2, segment=OTHER),
    ]
    client = Cluster().client()
    heard = []
    for message in said:
        frame = encode(message, "client")
        cuts = sorted(data.draw(st.lists(st.integers(0, len(frame)), max_size=4)))
        for at, end in zip([0, *cuts], [*cuts, len(frame)], strict=True):
            if at < end:
                heard += client.say_bytes(frame[at:end])
    assert client.why_closed is None
    assert [type(reply) for reply in heard].count(AppendSetup) == 2
    assert acked(1, 5) in heard
    assert acked(2, 5) in heard
    assert [reply.data for reply in heard if isinstance(reply, SegmentRead)] == [b"hello", b"rld"]
