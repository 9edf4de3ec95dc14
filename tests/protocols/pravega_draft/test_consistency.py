"""The consistency model of Pravega's 2017 draft."""

from collections.abc import Iterator
from uuid import UUID

import msgspec
import pytest

from tests.consistency.world import Client, World, model_of_records, names
from wiretool.protocols.pravega.appends import event_frame
from wiretool.protocols.pravega.server.segments import Segment
from wiretool.protocols.pravega_draft.framing import encode
from wiretool.protocols.pravega_draft.messages import (
    AppendSetup,
    BeginAppendBlock,
    DataAppended,
    EndAppendBlock,
    Event,
    ReadSegment,
    SegmentRead,
    SetupAppend,
)
from wiretool.protocols.pravega_draft.server.mock import DraftMock
from wiretool.records import Record

SEGMENT = "scope/stream/0"
FIRST, SECOND = str(UUID(int=1)), str(UUID(int=2))


class Appender:
    """One appender of the segment on a connection."""

    def __init__(self, client: Client, connection_id: str = FIRST) -> None:
        self.client = client
        self.connection_id = connection_id
        self.set_up(client)

    def set_up(self, client: Client) -> None:
        self.client = client
        (reply,) = client.send(SetupAppend(connection_id=self.connection_id, segment=SEGMENT))
        assert isinstance(reply.fields, AppendSetup)
        self.offset = reply.fields.connection_offset_ack_level

    def append(self, *bodies: bytes) -> list[Record]:
        size, start = sum(8 + len(body) for body in bodies), self.offset
        self.offset += size
        begin = BeginAppendBlock(connection_id=self.connection_id, connection_offset=start, length=size)
        end = EndAppendBlock(connection_id=self.connection_id, connection_offset=self.offset, block_length=size)
        for message in (begin, *(Event(data=body) for body in bodies)):
            self.client.send_bytes(encode(message))
        return self.client.send(end)


def keep(world: World, how: str, body: bytes) -> None:
    """Let the mock store an event otherwise; one that is stored late comes after the next."""
    assert isinstance(world.mock, DraftMock)
    segments, late = world.mock.segments, bytearray()
    append = segments.append

    def append_otherwise(segment: Segment, data: bytes, now_ns: int) -> int:
        if data == event_frame(body):
            if how == "late":
                late.extend(data)
                return segment.data.end
            data = {"nothing": b"", "twice": data + data, "changed": data[:-1] + b"!"}[how]
        stored = data + bytes(late)
        late.clear()
        return append(segment, stored, now_ns) if stored else segment.data.end

    vars(segments)["append"] = append_otherwise


@pytest.fixture
def world() -> World:
    return World("pravega-draft")


@pytest.fixture
def appender(world: World) -> Appender:
    return Appender(world.client())


def test_a_sound_store_is_read_back_whole(world: World, appender: Appender) -> None:
    other = Appender(world.client(), SECOND)
    appender.append(b"one", b"two")
    other.append(b"three")
    appender.append(b"four")
    assert world.ask_all() == 1
    assert (world.anomalies, world.model.judged) == ([], 4)


@pytest.mark.parametrize("has_other", [False, True])
def test_an_event_that_is_not_stored_is_lost(world: World, appender: Appender, has_other: bool) -> None:
    if has_other:
        Appender(world.client(), SECOND).append(b"zero")
    keep(world, "nothing", b"two")
    for body in (b"one", b"two", b"three"):
        appender.append(body)
    world.ask_all()
    (anomaly,) = world.anomalies
    assert (anomaly.name, anomaly.place) == ("lost-event", f"segment {SEGMENT}")
    assert anomaly.why.startswith("it is not among the events up to byte ")
    messages = [world.records[n - 1].message for n in anomaly.evidence]
    assert messages == ["EndAppendBlock", "DataAppended", "SegmentRead"]
    assert world.model.judged == 3 + has_other


def test_an_event_that_is_stored_twice_is_doubled(world: World, appender: Appender) -> None:
    keep(world, "twice", b"two")
    for body in (b"one", b"two", b"three"):
        appender.append(body)
    world.ask_all()
    assert names(world.anomalies) == ["doubled-event"]


def test_an_event_that_is_stored_late_by_the_only_appender_is_out_of_place(world: World, appender: Appender) -> None:
    keep(world, "late", b"one")
    appender.append(b"one")
    appender.append(b"second")
    world.ask_all()
    assert names(world.anomalies) == ["lost-event", "lost-event"]
    assert world.anomalies[0].why == "bytes 0 to 11 hold other events; its bytes begin at byte 14"


@pytest.mark.parametrize("has_other", [False, True])
def test_an_event_that_is_stored_otherwise_is_changed(world: World, appender: Appender, has_other: bool) -> None:
    if has_other:
        Appender(world.client(), SECOND).append(b"zero")
    keep(world, "changed", b"two")
    for body in (b"one", b"two", b"three"):
        appender.append(body)
    world.ask_all()
    assert names(world.anomalies) == ["changed-event"]


def test_a_resent_block_is_stored_once(world: World, appender: Appender) -> None:
    """The acknowledgement is lost, and the block is sent again: only its AppendSetup tells that it is stored."""
    appender.append(b"one")
    lost = world.records[-1]
    assert isinstance(lost.fields, DataAppended)
    appender.set_up(world.client())
    appender.append(b"two")
    world.ask_all()
    assert model_of_records("pravega-draft", [each for each in world.records if each is not lost]) == ([], 2)


def test_a_block_that_was_never_acknowledged_need_not_be_there(world: World, appender: Appender) -> None:
    keep(world, "nothing", b"two")
    appender.append(b"one")
    appender.append(b"two")
    lost = world.records[-1]
    world.ask_all()
    anomalies, judged = model_of_records("pravega-draft", [each for each in world.records if each is not lost])
    assert (anomalies, judged) == ([], 1)


def test_blocks_that_do_not_wait_for_their_set_up_are_stored(world: World, appender: Appender) -> None:
    """The client sends all of its messages before the first reply: the AppendSetup does not cover the block."""
    appender.append(b"one")
    appender.set_up(world.client())
    appender.append(b"one")
    world.ask_all()
    first = [each for each in world.records if each.connection == 0]
    rest = [each for each in world.records if each.connection != 0]
    sent = [each for each in first if each.side == "client"]
    assert model_of_records("pravega-draft", [*sent, *(each for each in first if each not in sent), *rest]) == ([], 2)


def test_a_segment_that_had_content_before_may_have_an_event_twice(world: World, appender: Appender) -> None:
    appender.append(b"one")
    before = len(world.records)
    other = Appender(world.client(), SECOND)
    other.append(b"one")
    world.ask_all()
    assert model_of_records("pravega-draft", world.records[before:]) == ([], 1)


def test_a_read_from_the_middle_is_judged_where_the_appender_is_alone(world: World, appender: Appender) -> None:
    appender.append(b"one")
    appender.append(b"two")
    appender.client.send(ReadSegment(segment=SEGMENT, offset=11, suggested_length=100))
    assert (world.anomalies, world.model.judged) == ([], 1)
    changed = list(_with_changed_reads(world.records, b"two", b"tWo"))
    assert names(model_of_records("pravega-draft", changed)[0]) == ["changed-event"]


def test_a_segment_may_be_removed_by_another_protocol(world: World, appender: Appender) -> None:
    appender.append(b"one")
    world.carry_out(world.mock.restart(world.now_ns))
    world.ask_all()
    assert (world.anomalies, world.model.judged) == ([], 0)


@pytest.mark.parametrize("side", ["client", "server"])
def test_bytes_that_are_missing_make_no_anomaly(world: World, appender: Appender, side: str) -> None:
    keep(world, "twice", b"one")
    appender.append(b"one")
    world.model.forget(0, "client" if side == "client" else "server")
    world.ask_all()
    assert names(world.anomalies) == ([] if side == "client" else ["doubled-event"])


def _with_changed_reads(records: list[Record], old: bytes, new: bytes) -> Iterator[Record]:
    for record in records:
        fields = record.fields
        if isinstance(fields, SegmentRead):
            fields = msgspec.structs.replace(fields, data=fields.data.replace(old, new))
        yield msgspec.structs.replace(record, fields=fields)
