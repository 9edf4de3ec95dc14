"""The consistency model of SBP v0.1, in both of its schemas."""

from collections.abc import Callable
from itertools import count

import pytest

from tests.consistency.world import Client, World, model_of_records, names
from tests.protocols.sbp_0_1.server.talk import append_s1, append_s2, batch_s1, batch_s2
from wiretool import limits
from wiretool.consistency.batch_log import AppendedBatch
from wiretool.protocols.base.registry import PROTOCOLS
from wiretool.protocols.sbp.messages import SbpFrame
from wiretool.protocols.sbp.server.batches import Batches
from wiretool.protocols.sbp_0_1 import tables_s1 as s1
from wiretool.protocols.sbp_0_1 import tables_s2 as s2
from wiretool.protocols.sbp_0_1.consistency import Sbp01Consistency
from wiretool.protocols.sbp_0_1.server.mock import Sbp01Mock
from wiretool.records import Record
from wiretool.server.options import MockOptions

CREATE_STREAMS, DELETE_STREAMS, TRIM_STREAMS, SEAL_RANGES = 0x3001, 0x3002, 0x3005, 0x2002
IDS = count(1)
Append = Callable[..., Record]


@pytest.fixture(params=["S1", "S2"])
def world(request: pytest.FixtureRequest) -> World:
    return World("sbp-0.1", MockOptions(schema=request.param))


@pytest.fixture
def writer(world: World) -> Client:
    client = world.client()
    make = SbpFrame(opcode=CREATE_STREAMS, stream_id=next(IDS), header=_create(world))
    assert client.send(make)[0].message == "CREATE_STREAMS"
    return client


def _create(world: World) -> s1.CreateStreamsRequest | s2.CreateStreamsRequest:
    if world.options.schema == "S1":
        return s1.CreateStreamsRequest(stremas=(s1.Stream(replica_nums=1),))
    return s2.CreateStreamsRequest(streams=(s2.Stream(replica_num=1),))


def append(client: Client, *bodies: bytes, records: int = 1) -> Record:
    if client.world.options.schema == "S1":
        frame = append_s1(next(IDS), *((0, batch_s1(records, body)) for body in bodies))
    else:
        frame = append_s2(next(IDS), *((0, 0, batch_s2(records, body)) for body in bodies))
    return client.send(frame)[0]


def keep(world: World, how: str, base: int) -> None:
    """Let the mock store the batch at an offset otherwise."""
    assert isinstance(world.mock, Sbp01Mock)
    keeper = world.mock.store.keeper
    put = keeper.put

    def put_otherwise(batches: Batches, at: int, data: bytes) -> None:
        if at != base or how == "twice":
            put(batches, at, data)
        if at == base and how == "twice":
            batches._bases.append(at)
            batches._data.append(data)
        if at == base and how == "changed":
            put(batches, at, data[:-1] + b"!")

    vars(keeper)["put"] = put_otherwise


def test_a_sound_data_node_is_read_back_whole(world: World, writer: Client) -> None:
    append(writer, b"one", b"two")
    append(writer, b"three", records=3)
    assert world.ask_all() == 1
    assert (world.anomalies, world.model.judged) == ([], 5)


@pytest.mark.parametrize("base", [0, 1, 2])
def test_a_batch_that_is_not_stored_is_lost(world: World, writer: Client, base: int) -> None:
    keep(world, "nothing", base)
    for number in range(3):
        append(writer, b"event %d" % number)
    world.ask_all()
    (anomaly,) = world.anomalies
    assert anomaly.name == "lost-event"
    assert anomaly.why.endswith(f"does not return the batch at offset {base}")
    assert [world.records[n - 1].message for n in anomaly.evidence] == ["APPEND", "APPEND", "FETCH"]


def test_the_last_batch_may_be_missing_until_it_is_replicated(world: World, writer: Client) -> None:
    keep(world, "nothing", 0)
    append(writer, b"one")
    (question,) = world.model.questions()
    world.ask(question, is_patient=False)
    assert (world.anomalies, world.model.judged) == ([], 0)
    world.ask_all()
    assert names(world.anomalies) == ["lost-event"]


@pytest.mark.parametrize(("before_s", "lost"), [(0.5, 0), (1.5, 40)])
def test_only_some_times_of_acknowledgements_are_kept(
    monkeypatch: pytest.MonkeyPatch, writer: Client, before_s: float, lost: int
) -> None:
    """However many there are; none counts as older than it is."""
    monkeypatch.setattr(limits, "CONSISTENCY_ACKNOWLEDGEMENTS_MAX", 8)
    world = writer.world
    for base in range(40):
        keep(world, "nothing", base)
        append(writer, b"event %d" % base)
    model = world.model
    assert isinstance(model, Sbp01Consistency)
    assert len(model._latest) == 8
    world.now_ns += int(before_s * 1_000_000_000)
    (question,) = model.questions()
    world.ask(question, is_patient=False)
    assert names(world.anomalies) == ["lost-event"] * lost


@pytest.mark.parametrize("span_s", [0.5, 10.0])
def test_a_read_right_after_many_acknowledgements_denies_the_old_ones(
    monkeypatch: pytest.MonkeyPatch, writer: Client, span_s: float
) -> None:
    monkeypatch.setattr(limits, "CONSISTENCY_ACKNOWLEDGEMENTS_MAX", 8)
    world = writer.world
    for base in range(40):
        keep(world, "nothing", base)
        append(writer, b"event %d" % base)
        world.now_ns += int(span_s / 40 * 1_000_000_000)
    (question,) = world.model.questions()
    world.ask(question, is_patient=False)
    assert bool(world.anomalies) == (span_s > 1)


def test_a_batch_that_is_stored_otherwise_is_changed(world: World, writer: Client) -> None:
    keep(world, "changed", 1)
    for number in range(3):
        append(writer, b"event %d" % number)
    world.ask_all()
    assert names(world.anomalies) == ["changed-event"]


def test_a_batch_that_is_stored_twice_is_doubled() -> None:
    """In S2: one answer of S1 has one batch of a stream."""
    world = World("sbp-0.1", MockOptions(schema="S2"))
    client = world.client()
    client.send(SbpFrame(opcode=CREATE_STREAMS, stream_id=next(IDS), header=_create(world)))
    keep(world, "twice", 1)
    append(client, b"one", b"two")
    world.ask_all()
    assert names(world.anomalies) == ["doubled-event"]


def test_an_offset_that_is_given_twice_loses_a_batch(world: World, writer: Client) -> None:
    append(writer, b"one")
    world.carry_out(world.mock.restart(world.now_ns))
    again = world.client()
    again.send(SbpFrame(opcode=CREATE_STREAMS, stream_id=next(IDS), header=_create(world)))
    append(again, b"other")
    (anomaly,) = world.anomalies
    assert anomaly.name == "lost-event"
    assert "acknowledges another batch at offset 0" in anomaly.why
    world.ask_all()
    assert (len(world.anomalies), world.model.judged) == (1, 2)


def _trim(world: World, offset: int) -> SbpFrame:
    is_s1 = world.options.schema == "S1"
    trimmed = s1.TrimmedStream(stream_id=0, trim_offset=offset), s2.TrimmedStream(stream_id=0, trim_offset=offset)
    trim = s1.TrimeStreamsRequest(trimmed_streams=trimmed[:1]), s2.TrimStreamsRequest(trimmed_streams=trimmed[1:])
    return SbpFrame(opcode=TRIM_STREAMS, stream_id=next(IDS), header=trim[not is_s1])


def _delete(world: World) -> SbpFrame:
    is_s1 = world.options.schema == "S1"
    streams = (
        s1.DeleteStreamsRequest(streams=(s1.Stream(),)),
        s2.DeleteStreamsRequest(streams=(s2.Stream(stream_id=0),)),
    )
    return SbpFrame(opcode=DELETE_STREAMS, stream_id=next(IDS), header=streams[not is_s1])


def test_trimmed_and_deleted_streams_are_not_asked_for(world: World, writer: Client) -> None:
    append(writer, b"one", b"two")
    writer.send(_trim(world, 1))
    assert world.ask_all() == 1
    assert (world.anomalies, world.model.judged) == ([], 1)
    writer.send(_delete(world))
    assert world.ask_all() == 0


@pytest.mark.parametrize("is_trimmed", [True, False])
def test_a_change_of_the_stream_behind_an_append_may_remove_its_batch(
    world: World, writer: Client, is_trimmed: bool
) -> None:
    """Both are sent before the acknowledgement comes; a batch that is appended after the answers is judged."""
    if world.options.schema == "S1":
        sent = append_s1(next(IDS), (0, batch_s1(1, b"one")))
    else:
        sent = append_s2(next(IDS), (0, 0, batch_s2(1, b"one")))
    change = _trim(world, 1) if is_trimmed else _delete(world)
    writer.send_bytes(b"".join(PROTOCOLS["sbp-0.1"].encode(message, "client") for message in (sent, change)))
    last = "TRIM_STREAMS" if is_trimmed else "DELETE_STREAMS"
    assert [record.message for record in world.records[-2:]] == ["APPEND", last]
    assert (world.ask_all(), world.anomalies, world.model.judged) == (0, [], 0)
    if is_trimmed:
        append(writer, b"two")
        assert (world.ask_all(), world.anomalies, world.model.judged) == (1, [], 1)


@pytest.mark.parametrize(("side", "expected"), [("client", 0), ("server", 1)])
def test_a_gap_of_a_client_may_have_removed_streams(world: World, writer: Client, side: str, expected: int) -> None:
    append(writer, b"one")
    world.model.forget(writer.number, "client" if side == "client" else "server")
    assert world.ask_all() == expected
    assert (world.anomalies, world.model.judged) == ([], expected)


def test_an_append_without_an_answer_may_be_there_or_not(world: World, writer: Client) -> None:
    append(writer, b"one")
    world.ask_all()
    records = [record for record in world.records if not (record.message == "APPEND" and record.side == "server")]
    assert model_of_records("sbp-0.1", records) == ([], 0)


def test_other_ranges_of_a_stream_make_its_batches_unknown() -> None:
    """A SYNC_RANGES with another range over the same offsets may replace the one that has the batches."""
    model = Sbp01Consistency(is_new=True)

    def sync(index: int) -> Record:
        ranges = [{"stream_id": 7, "range_index": index, "start_offset": 0, "end_offset": 0, "next_offset": 0}]
        fields = {"header": {"fields": {"stream_ranges": [{"stream_id": 7, "ranges": ranges}]}}}
        return Record(
            1, "frame", 0, 0, "", "", "client", (1, 1), 0, 0, "sbp-0.1", "SYNC_RANGES", fields
        )  # fmt: skip

    model.follow(sync(0))
    model._logs.acknowledge((7, 0, ""), "stream 7", AppendedBatch(1, 2, 0, 1, b"batch"))
    model.follow(sync(0))
    assert len(list(model.questions())) == 1
    model.follow(sync(250))
    assert list(model.questions()) == []
