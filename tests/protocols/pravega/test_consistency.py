"""Pravega's consistency model: clean captures and mocks have no anomaly, and each fault has its own."""

from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import msgspec
import pytest

from tests.consistency.world import Client, World, model_of_records, names
from wiretool.codec.message import Message
from wiretool.dissect.dissector import read
from wiretool.protocols.base.registry import PROTOCOLS
from wiretool.protocols.pravega.appends import event_frame
from wiretool.protocols.pravega.failures import NoSuchSegment
from wiretool.protocols.pravega.messages import (
    AppendBlockEnd,
    AppendSetup,
    ConditionalAppend,
    DataAppended,
    Hello,
    ReadSegment,
    SegmentRead,
    SetupAppend,
)
from wiretool.protocols.pravega.segments import (
    CreateSegment,
    DeleteSegment,
    GetStreamSegmentInfo,
    MergeSegments,
    MergeSegmentsBatch,
    SealSegment,
    SegmentAttributeUpdated,
    TruncateSegment,
    UpdateSegmentAttribute,
)
from wiretool.protocols.pravega.structures import InnerEvent
from wiretool.records import Record

CAPTURES = Path(__file__).parents[3] / "captures"
SEGMENT = "scope/stream/0.#epoch.0"
WRITER = str(UUID(int=7))


def create(client: Client, segment: str = SEGMENT) -> None:
    client.send(Hello(high_version=16, low_version=5))
    client.send(CreateSegment(request_id=1, segment=segment, target_rate=0, scale_type=0))


def set_up(client: Client, segment: str = SEGMENT, writer: str = WRITER) -> None:
    replies = client.send(SetupAppend(request_id=2, writer_id=writer, segment=segment))
    assert isinstance(replies[0].fields, AppendSetup)


def append(client: Client, number: int, *bodies: bytes, writer: str = WRITER) -> list[Record]:
    data = b"".join(event_frame(body) for body in bodies)
    return client.send(
        AppendBlockEnd(
            writer_id=writer,
            size_of_whole_events=len(data),
            data=data,
            num_events=len(bodies),
            last_event_number=number,
            request_id=3,
        )
    )


@pytest.fixture
def world() -> World:
    return World("pravega")


@pytest.fixture
def writer(world: World) -> Client:
    client = world.client()
    create(client)
    set_up(client)
    return client


def test_a_sound_store_is_read_back_whole(world: World, writer: Client) -> None:
    for number in range(1, 6):
        append(writer, number, b"event %d" % number)
    append(writer, 8, b"six", b"seven", b"eight")
    assert world.ask_all() == 1
    assert (world.anomalies, world.model.judged) == ([], 8)


def test_an_append_that_is_not_stored_is_lost(world: World, writer: Client) -> None:
    append(writer, 1, b"one")
    world.mock.keep(writer.number, "nothing")
    sent, acknowledged = len(world.records) + 1, len(world.records) + 2
    append(writer, 2, b"two")
    world.ask_all()
    (anomaly,) = world.anomalies
    assert anomaly.name == "lost-event"
    assert anomaly.place == f"segment {SEGMENT}"
    assert anomaly.why == "the segment ends at byte 11; it was acknowledged up to byte 22"
    assert anomaly.evidence[:2] == (sent, acknowledged)
    assert world.records[anomaly.evidence[2] - 1].message == "StreamSegmentInfo"
    assert world.model.judged == 2


def test_an_append_in_whose_place_the_next_one_is_stored_is_lost(world: World, writer: Client) -> None:
    world.mock.keep(writer.number, "nothing")
    append(writer, 1, b"one")
    append(writer, 2, b"number two")
    world.ask_all()
    assert names(world.anomalies) == ["lost-event"]
    assert "hold the append of record" in world.anomalies[0].why


def test_of_equal_appends_at_one_place_one_is_lost(world: World, writer: Client) -> None:
    world.mock.keep(writer.number, "nothing")
    append(writer, 1, b"same")
    append(writer, 2, b"same")
    world.ask_all()
    assert names(world.anomalies) == ["lost-event"]
    assert "acknowledges another append" in world.anomalies[0].why


def test_an_append_that_is_stored_twice_is_doubled(world: World, writer: Client) -> None:
    append(writer, 1, b"one")
    world.mock.keep(writer.number, "twice")
    append(writer, 2, b"two")
    append(writer, 3, b"three")
    world.ask_all()
    (anomaly,) = world.anomalies
    assert anomaly.name == "doubled-event"
    assert anomaly.why == "a further copy of an event begins at byte 22; it was sent once"
    assert [world.records[n - 1].message for n in anomaly.evidence] == ["AppendBlockEnd", "DataAppended", "SegmentRead"]


def test_a_reader_that_waits_finds_the_copy_before_the_acknowledgement(world: World, writer: Client) -> None:
    reader = world.client()
    reader.send_bytes(_encoded(ReadSegment(segment=SEGMENT, offset=0, suggested_length=100, request_id=9)))
    world.mock.keep(writer.number, "twice")
    append(writer, 1, b"one")
    messages = [record.message for record in world.records]
    assert messages.index("SegmentRead") < messages.index("DataAppended")
    assert names(world.anomalies) == ["doubled-event"]


def test_events_that_were_sent_twice_may_be_there_twice(world: World, writer: Client) -> None:
    append(writer, 1, b"same")
    append(writer, 2, b"same")
    world.ask_all()
    assert (world.anomalies, world.model.judged) == ([], 2)


def test_an_append_that_is_stored_late_is_not_where_it_was_acknowledged(world: World, writer: Client) -> None:
    world.mock.keep(writer.number, "late")
    append(writer, 1, b"one")
    append(writer, 2, b"second")
    world.ask_all()
    (anomaly,) = world.anomalies
    assert anomaly.name == "lost-event"
    assert anomaly.why == "bytes 0 to 11 hold other events; its bytes begin at byte 14"


def test_a_read_with_another_byte_is_a_changed_event(world: World, writer: Client) -> None:
    append(writer, 1, b"one", b"two")
    world.ask_all()
    anomalies, judged = model_of_records("pravega", _with_changed_reads(world.records, b"two", b"tWo"))
    assert names(anomalies) == ["changed-event"]
    assert "first at byte 20" in anomalies[0].why
    assert judged == 2


def test_a_later_read_that_differs_is_a_changed_event(world: World, writer: Client) -> None:
    append(writer, 1, b"one")
    world.ask_all()
    before = len(world.records)
    world.ask_all()
    changed = [*world.records[:before], *_with_changed_reads(world.records[before:], b"one", b"oNe")]
    anomalies, _ = model_of_records("pravega", changed)
    assert names(anomalies) == ["changed-event"]
    assert anomalies[0].evidence[2] > before


def test_a_store_that_forgets_everything_loses_the_events(world: World, writer: Client) -> None:
    append(writer, 1, b"one", b"two")
    world.mock.restart(world.now_ns)
    world.ask_all()
    (anomaly,) = world.anomalies
    assert anomaly.name == "lost-event"
    assert "2 acknowledged events" in anomaly.why
    assert world.records[anomaly.evidence[2] - 1].message == NoSuchSegment.declaration.name


def test_segments_that_clients_delete_or_truncate_are_not_asked_for(world: World, writer: Client) -> None:
    append(writer, 1, b"one")
    append(writer, 2, b"two")
    writer.send(TruncateSegment(request_id=8, segment=SEGMENT, truncation_offset=11))
    assert world.ask_all() == 1
    assert (world.anomalies, world.model.judged) == ([], 1)
    writer.send(DeleteSegment(request_id=9, segment=SEGMENT))
    assert world.ask_all() == 0
    writer.send(GetStreamSegmentInfo(request_id=10, segment_name=SEGMENT))
    assert world.anomalies == []


def test_a_segment_that_is_created_again_is_another_one(world: World, writer: Client) -> None:
    append(writer, 1, b"one")
    world.ask_all()
    writer.send(DeleteSegment(request_id=9, segment=SEGMENT))
    world.now_ns += 60_000_000_000
    create(writer)
    set_up(writer)
    append(writer, 1, b"two")
    world.ask_all()
    assert (world.anomalies, world.model.judged) == ([], 2)


def test_sealed_segments_keep_their_events(world: World, writer: Client) -> None:
    append(writer, 1, b"one")
    writer.send(SealSegment(request_id=4, segment=SEGMENT))
    refused = append(writer, 2, b"two")
    assert refused[0].message == "SegmentIsSealed"
    world.ask_all()
    assert (world.anomalies, world.model.judged) == ([], 1)


@pytest.mark.parametrize("is_batch", [False, True])
def test_a_transaction_is_in_the_segment_it_was_merged_into(world: World, writer: Client, is_batch: bool) -> None:
    transaction, other = f"{SEGMENT}#transaction.1", str(UUID(int=8))
    append(writer, 1, b"before")
    create(writer, transaction)
    set_up(writer, transaction, other)
    append(writer, 1, b"in it", writer=other)
    append(writer, 2, b"in it", writer=other)
    if is_batch:
        writer.send(MergeSegmentsBatch(request_id=5, target_segment_id=SEGMENT, source_segment_ids=(transaction,)))
    else:
        writer.send(MergeSegments(request_id=5, target=SEGMENT, source=transaction))
    set_up(writer)
    append(writer, 2, b"after")
    assert world.ask_all() == 1
    assert (world.anomalies, world.model.judged) == ([], 4)


def test_a_lost_event_of_a_transaction_is_found_in_its_target(world: World, writer: Client) -> None:
    transaction, other = f"{SEGMENT}#transaction.1", str(UUID(int=8))
    create(writer, transaction)
    set_up(writer, transaction, other)
    append(writer, 1, b"first", writer=other)
    world.mock.keep(writer.number, "nothing")
    append(writer, 2, b"second", writer=other)
    merged = writer.send(MergeSegments(request_id=5, target=SEGMENT, source=transaction))
    assert merged[0].message == "SegmentsMerged"
    world.ask_all()
    assert names(world.anomalies) == ["lost-event"]


def test_a_refused_conditional_append_need_not_be_there(world: World, writer: Client) -> None:
    def at(number: int, offset: int, body: bytes) -> Record:
        sent = ConditionalAppend(
            writer_id=WRITER, event_number=number, expected_offset=offset, event=InnerEvent(data=body), request_id=4
        )
        return writer.send(sent)[0]

    assert at(1, 0, b"one").message == "DataAppended"
    assert at(2, 0, b"two").message == "ConditionalCheckFailed"
    assert at(3, 11, b"three").message == "DataAppended"
    world.ask_all()
    assert (world.anomalies, world.model.judged) == ([], 2)


def test_resent_events_are_stored_once(world: World, writer: Client) -> None:
    """The acknowledgement of the first connection is lost; the writer goes on by the number of its AppendSetup."""
    append(writer, 1, b"one")
    world.records[-1] = msgspec.structs.replace(world.records[-1], kind="other")
    again = world.client()
    set_up(again)
    append(again, 2, b"two")
    world.ask_all()
    anomalies, judged = model_of_records("pravega", world.records)
    assert (anomalies, judged) == ([], 2)


def test_a_resent_event_that_is_stored_again_is_doubled(world: World, writer: Client) -> None:
    append(writer, 1, b"one")
    append(writer, 2, b"two")
    again = world.client()
    # A store that forgets what it has of a writer takes its event a second time.
    world.mock.store.segments.info(SEGMENT).attributes[WRITER] = 1  # type: ignore[attr-defined]
    set_up(again)
    append(again, 2, b"two")
    world.ask_all()
    assert names(world.anomalies) == ["doubled-event"]


def test_the_last_number_that_comes_again_is_a_further_append(world: World, writer: Client) -> None:
    """The reference stores it, and does not acknowledge it (protocols/pravega.md §3.7)."""
    append(writer, 1, b"one")
    assert append(writer, 1, b"one") == []
    again = world.client()
    set_up(again)
    assert append(again, 1, b"one") == []
    world.ask_all()
    assert world.records[-1].fields.data == event_frame(b"one") * 3  # type: ignore[union-attr]
    assert (world.anomalies, world.model.judged) == ([], 1)


@pytest.mark.parametrize("number", [1, 9])
def test_a_client_may_set_the_last_number_of_a_writer(world: World, writer: Client, number: int) -> None:
    """A lower number makes the store take events again, a higher one makes it drop them."""
    append(writer, 5, b"one")
    update = UpdateSegmentAttribute(
        request_id=4, segment_name=SEGMENT, attribute_id=WRITER, new_value=number, expected_value=5
    )
    (updated,) = writer.send(update)
    assert updated.fields == SegmentAttributeUpdated(request_id=4, success=True)
    again = world.client()
    set_up(again)
    append(again, 5, b"one")
    world.ask_all()
    assert world.anomalies == []


def test_an_append_after_a_set_up_that_failed_is_not_stored(world: World, writer: Client) -> None:
    """The writer appends with that number on another connection: an AppendSetup confirms that one."""
    other = SEGMENT.replace("/0.", "/1.")
    lost = world.client()
    lost.send(Hello(high_version=16, low_version=5))
    lost.send(SetupAppend(request_id=2, writer_id=WRITER, segment=other))
    append(lost, 1, b"not stored")
    create(writer, other)
    set_up(writer, other)
    append(writer, 1, b"stored")
    set_up(world.client(), other)
    world.ask_all()
    assert (world.anomalies, world.model.judged) == ([], 1)


def test_one_acknowledgement_covers_earlier_appends(world: World, writer: Client) -> None:
    append(writer, 1, b"one")
    append(writer, 2, b"two")
    append(writer, 3, b"three")
    world.ask_all()
    merged = _without_acks_of(world.records, 1, 2)
    assert model_of_records("pravega", merged) == ([], 3)
    lost = _with_changed_reads(merged, event_frame(b"two"), event_frame(b"one"))
    anomalies, judged = model_of_records("pravega", lost)
    assert (names(anomalies), judged) == (["doubled-event", "lost-event"], 3)
    changed = _with_changed_reads(merged, event_frame(b"two"), event_frame(b"tWo"))
    assert names(model_of_records("pravega", changed)[0]) == ["changed-event"]


@pytest.mark.parametrize("side", ["client", "server"])
def test_bytes_that_are_missing_make_no_anomaly(world: World, writer: Client, side: str) -> None:
    append(writer, 1, b"one")
    world.mock.keep(writer.number, "nothing")
    append(writer, 2, b"two")
    before = len(world.records)
    world.model.forget(writer.number, "client" if side == "client" else "server")
    world.ask_all()
    assert len(world.records) > before or side == "client"
    assert names(world.anomalies) == ([] if side == "client" else ["lost-event"])


def _encoded(message: ReadSegment) -> bytes:
    from wiretool.protocols.pravega.framing import encode

    return encode(message, "client")


def _with_changed_reads(records: list[Record], old: bytes, new: bytes) -> Iterator[Record]:
    for record in records:
        fields = record.fields
        if isinstance(fields, SegmentRead):
            fields = msgspec.structs.replace(fields, data=fields.data.replace(old, new))
        yield msgspec.structs.replace(record, fields=fields)


def _without_acks_of(records: list[Record], *numbers: int) -> list[Record]:
    return [
        record
        for record in records
        if not (isinstance(record.fields, DataAppended) and record.fields.event_number in numbers)
    ]


def test_a_capture_that_begins_in_the_middle_makes_no_anomaly() -> None:
    records = list(read(CAPTURES / "pravega" / "read.pcap"))
    for begin in range(0, len(records), 10):
        assert model_of_records("pravega", records[begin:])[0] == []


@pytest.mark.parametrize("name", ["read.pcap", "reconnect.pcap", "py_bytestream.pcap", "java_conditional.pcap"])
def test_a_changed_byte_in_a_recorded_read_is_found(name: str) -> None:
    """Of segments whose appends are in the capture; others have writers that were set up before it began."""
    records = list(read(CAPTURES / "pravega" / name))
    appended = {record.append["segment"] for record in records if record.append} - {None}
    tried = 0
    for index, record in enumerate(records):
        fields = record.fields
        if not isinstance(fields, SegmentRead) or not fields.data or fields.segment not in appended:
            continue
        for at in {0, len(fields.data) // 2, len(fields.data) - 1}:
            data = bytearray(fields.data)
            data[at] ^= 1
            changed = list(records)
            changed[index] = msgspec.structs.replace(record, fields=msgspec.structs.replace(fields, data=bytes(data)))
            assert model_of_records("pravega", changed)[0] != [], f"byte {at} of record {record.n}"
            tried += 1
    assert tried > 0


@pytest.mark.parametrize("is_sealed", [False, True])
def test_a_number_sent_before_its_set_up_is_answered_may_come_again(world: World, is_sealed: bool) -> None:
    """A second connection sends a stored number before AppendSetup names it: the store takes a further append."""
    first, second = world.client(), world.client()
    create(first)
    set_up(first)
    append(first, 1, b"event")
    if is_sealed:
        first.send(SealSegment(request_id=4, segment=SEGMENT))
    encode = PROTOCOLS["pravega"].encode
    data = event_frame(b"event")
    again = AppendBlockEnd(
        writer_id=WRITER, size_of_whole_events=len(data), data=data, num_events=1, last_event_number=1, request_id=3
    )
    setup = SetupAppend(request_id=2, writer_id=WRITER, segment=SEGMENT)
    frames = [encode(setup, "client"), encode(again, "client")]
    for frame in frames:
        second._read("client", frame)
    for frame in frames:
        world.carry_out(world.mock.received(second.number, frame, world.now_ns))
    assert any(isinstance(record.fields, AppendSetup) for record in world.records[-2:])
    world.ask_all()
    assert world.anomalies == []
    assert world.model.judged >= 1


def block(number: int, body: bytes) -> AppendBlockEnd:
    data = event_frame(body)
    return AppendBlockEnd(
        writer_id=WRITER,
        size_of_whole_events=len(data),
        data=data,
        num_events=1,
        last_event_number=number,
        request_id=3,
    )


def pipeline(client: Client, *messages: Message) -> None:
    """Send messages that all leave the client before the first reply arrives."""
    frames = [PROTOCOLS["pravega"].encode(message, "client") for message in messages]
    for frame in frames:
        client._read("client", frame)
    for frame in frames:
        client.world.carry_out(client.world.mock.received(client.number, frame, client.world.now_ns))


CREATE = CreateSegment(request_id=1, segment=SEGMENT, target_rate=0, scale_type=0)
SET_UP = SetupAppend(request_id=2, writer_id=WRITER, segment=SEGMENT)


def test_an_acknowledgement_does_not_cover_what_was_sent_after_its_append(world: World) -> None:
    """The writer was set up again and sends a lower number, which the store ignores."""
    client = world.client()
    pipeline(client, CREATE, SET_UP, block(8, b"first"), SET_UP, block(7, b"later"))
    assert [record.message for record in world.records[-2:]] == ["DataAppended", "AppendSetup"]
    world.ask_all()
    assert (world.anomalies, world.model.judged) == ([], 1)


def test_appends_may_be_sent_before_their_segment_is_created(world: World) -> None:
    """The appends count as copies of the new segment."""
    client = world.client()
    pipeline(client, CREATE, SET_UP, block(0, b"event"), SET_UP)
    pipeline(client, block(0, b"event"))
    world.ask_all()
    assert (world.anomalies, world.model.judged) == ([], 1)


def test_the_last_number_may_come_again_after_an_append_that_did_not_wait_for_its_set_up(world: World) -> None:
    client = world.client()
    client.send(CREATE)
    pipeline(client, SET_UP, block(10, b"event"))
    pipeline(client, block(10, b"event"))
    world.ask_all()
    assert (world.anomalies, world.model.judged) == ([], 1)
