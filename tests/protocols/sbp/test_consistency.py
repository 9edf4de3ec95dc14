"""SBP's consistency model: clean captures and mocks have no anomaly, and each fault has its own."""

from collections.abc import Iterable, Iterator
from itertools import count
from typing import Any

import msgspec
import pytest

from tests.consistency.world import Client, World, model_of_records, names
from wiretool.codec import reference
from wiretool.protocols.sbp import tables
from wiretool.protocols.sbp.framing import encode_frame
from wiretool.protocols.sbp.messages import APPEND, FETCH, SbpFrame
from wiretool.protocols.sbp.records import AppendEntry, RecordBatchMeta
from wiretool.protocols.sbp.server.batches import Batches
from wiretool.protocols.sbp.server.mock import SbpMock
from wiretool.records import Record
from wiretool.server.options import MockOptions

CREATE_RANGE, SEAL_RANGE = 0x2004, 0x2002
SERVERS = (tables.RangeServer(server_id=0, advertise_addr="10.0.0.2:10911"),)
RANGE = tables.Range(stream_id=7, epoch=0, index=0, start=0, servers=SERVERS)
IDS = count(1)


def entry(base: int, payload: bytes, records: int = 1, stream_id: int = 7) -> bytes:
    meta = RecordBatchMeta(stream_id=stream_id, range_index=0, base_offset=base, last_offset_delta=records)
    return reference.encode(AppendEntry(meta=meta, payload=payload))


def append(client: Client, *entries: bytes) -> Record:
    header = tables.AppendRequest(timeout_ms=1000)
    return client.send(SbpFrame(opcode=APPEND, stream_id=next(IDS), header=header, payload=b"".join(entries)))[0]


def fetch(client: Client, offset: int, *, limit: int = -1, size: int = 1 << 20) -> Record:
    header = tables.FetchRequest(max_wait_ms=size, range=RANGE, offset=offset, limit=limit, max_bytes=size)
    return client.send(SbpFrame(opcode=FETCH, stream_id=next(IDS), header=header))[0]


@pytest.fixture
def world() -> World:
    return World("sbp")


@pytest.fixture
def writer(world: World) -> Client:
    client = world.client()
    made = client.send(SbpFrame(opcode=CREATE_RANGE, header=tables.CreateRangeRequest(timeout_ms=1, range=RANGE)))
    assert made[0].message == "CREATE_RANGE"
    return client


def keep(world: World, how: str, base: int) -> None:
    """Let the mock store the batch at an offset otherwise."""
    assert isinstance(world.mock, SbpMock)
    keeper = world.mock.range_server.keeper
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


def test_a_sound_server_is_read_back_whole(world: World, writer: Client) -> None:
    append(writer, entry(0, b"one"), entry(1, b"two and three", 2))
    append(writer, entry(3, b"four"))
    assert world.ask_all() == 1
    assert (world.anomalies, world.model.judged) == ([], 4)


def test_every_range_is_read_back_by_itself(world: World, writer: Client) -> None:
    other = tables.Range(stream_id=8, epoch=0, index=0, start=0, servers=SERVERS)
    writer.send(SbpFrame(opcode=CREATE_RANGE, header=tables.CreateRangeRequest(timeout_ms=1, range=other)))
    append(writer, entry(0, b"one"), entry(0, b"two", stream_id=8))
    assert world.ask_all() == 2
    assert (world.anomalies, world.model.judged) == ([], 2)


@pytest.mark.parametrize(("base", "expected"), [(0, "from offset 0 on"), (1, "from offset 0 on"), (2, "from offset 2")])
def test_a_batch_that_is_not_stored_is_lost(world: World, writer: Client, base: int, expected: str) -> None:
    keep(world, "nothing", base)
    for offset in range(3):
        append(writer, entry(offset, b"event %d" % offset))
    world.ask_all()
    (anomaly,) = world.anomalies
    assert anomaly.name == "lost-event"
    assert anomaly.place == f"range 0 of stream 7 on {writer.server}"
    assert anomaly.why.endswith(f"does not return the batch at offset {base}")
    assert expected in anomaly.why
    assert [world.records[n - 1].message for n in anomaly.evidence] == ["APPEND", "APPEND", "FETCH"]
    assert world.model.judged == 3


def test_a_batch_that_is_stored_twice_is_doubled(world: World, writer: Client) -> None:
    keep(world, "twice", 1)
    for offset in range(3):
        append(writer, entry(offset, b"event %d" % offset))
    world.ask_all()
    assert names(world.anomalies) == ["doubled-event"]
    assert world.anomalies[0].why == "one answer has the batch at offset 1 twice"


def test_a_batch_that_is_stored_otherwise_is_changed(world: World, writer: Client) -> None:
    keep(world, "changed", 1)
    for offset in range(3):
        append(writer, entry(offset, b"event %d" % offset))
    world.ask_all()
    assert names(world.anomalies) == ["changed-event"]


def test_a_payload_without_its_checksum_is_not_judged(world: World, writer: Client) -> None:
    append(writer, entry(0, b"one"))
    fetch(writer, 0)
    for has_checksum in (True, False):
        records = list(_with_payloads(world.records, b"one", b"oNe", has_checksum=has_checksum))
        anomalies, judged = model_of_records("sbp", records)
        assert (names(anomalies), judged) == ((["changed-event"], 1) if has_checksum else ([], 0))


def test_an_append_that_is_refused_need_not_be_there(world: World, writer: Client) -> None:
    append(writer, entry(0, b"one"))
    append(writer, entry(0, b"again"), entry(5, b"too far"))
    world.ask_all()
    assert (world.anomalies, world.model.judged) == ([], 1)


def test_an_append_without_an_answer_may_be_there_or_not(world: World, writer: Client) -> None:
    keep(world, "nothing", 0)
    append(writer, entry(0, b"one"))
    answer = world.records.pop()
    assert answer.side == "server"
    fetch(writer, 0)
    assert model_of_records("sbp", world.records) == ([], 0)


@pytest.mark.parametrize(
    ("offset", "limit", "size", "is_proof"),
    [(0, -1, 100, True), (0, 1, 100, True), (0, 0, 100, False), (1, -1, 100, False), (0, -1, 0, False)],
)
def test_an_empty_answer_denies_only_what_was_asked_for(
    world: World, writer: Client, offset: int, limit: int, size: int, is_proof: bool
) -> None:
    keep(world, "nothing", 0)
    append(writer, entry(0, b"one"))
    fetch(writer, offset, limit=limit, size=size)
    assert names(world.anomalies) == (["lost-event"] if is_proof else [])


def test_a_read_before_the_acknowledgement_denies_nothing(world: World, writer: Client) -> None:
    append(writer, entry(0, b"one"))
    keep(world, "nothing", 1)
    fetch(writer, 1)
    append(writer, entry(1, b"two"))
    assert world.anomalies == []
    fetch(writer, 1)
    assert names(world.anomalies) == ["lost-event"]


def test_sealed_ranges_keep_their_batches(world: World, writer: Client) -> None:
    append(writer, entry(0, b"one"))
    writer.send(SbpFrame(opcode=SEAL_RANGE, header=tables.SealRangeRequest(timeout_ms=1, kind=1, range=RANGE)))
    append(writer, entry(1, b"two"))
    world.ask_all()
    assert (world.anomalies, world.model.judged) == ([], 1)


def test_an_offset_that_is_given_again_after_a_restart_is_not_judged(world: World, writer: Client) -> None:
    append(writer, entry(0, b"one"))
    world.carry_out(world.mock.restart(world.now_ns))
    again = world.client()
    again.send(SbpFrame(opcode=CREATE_RANGE, header=tables.CreateRangeRequest(timeout_ms=1, range=RANGE)))
    append(again, entry(0, b"another one"))
    fetch(again, 0)
    assert (world.anomalies, world.model.judged) == ([], 0)


def test_servers_have_data_of_their_own() -> None:
    world = World("sbp", MockOptions(range_servers=2))
    doors = [door.name for door in world.mock.doors]
    first, second = (world.client(name) for name in doors if "placement" not in name)
    for client in (first, second):
        client.send(SbpFrame(opcode=CREATE_RANGE, header=tables.CreateRangeRequest(timeout_ms=1, range=RANGE)))
    append(first, entry(0, b"on the first"))
    fetch(second, 0)
    assert (world.anomalies, world.model.judged) == ([], 0)
    fetch(first, 0)
    assert (world.anomalies, world.model.judged) == ([], 1)


@pytest.mark.parametrize("side", ["client", "server"])
def test_answers_to_requests_before_a_gap_are_not_used(world: World, writer: Client, side: Any) -> None:
    keep(world, "nothing", 0)
    header = tables.AppendRequest(timeout_ms=1000)
    frame = SbpFrame(opcode=APPEND, stream_id=next(IDS), header=header, payload=entry(0, b"one"))
    writer.send_bytes(encode_frame(frame, "client")[:-1])
    writer.send_bytes(encode_frame(frame, "client")[-1:])
    acknowledgement = world.records[-1]
    fetch(writer, 0)
    assert names(world.anomalies) == ["lost-event"]
    records: list[Record] = []
    for record in world.records:
        if record.n == acknowledgement.n:
            records.append(msgspec.structs.replace(record, kind="gap", side=side))
        records.append(record)
    assert model_of_records("sbp", records) == ([], 0)


def _with_payloads(records: Iterable[Record], old: bytes, new: bytes, *, has_checksum: bool) -> Iterator[Record]:
    """The FETCHes with another payload, and its checksum or the one of before."""
    from zlib import crc32

    for record in records:
        fields = record.fields
        if record.message == "FETCH" and record.side == "server" and isinstance(fields, dict) and fields["payload"]:
            data = bytes.fromhex(fields["payload"]["hex"]).replace(old, new)
            checksum = f"{crc32(data):08x}" if has_checksum else fields["checksum"]
            payload = {**fields["payload"], "hex": data.hex()}
            record = msgspec.structs.replace(record, fields={**fields, "payload": payload, "checksum": checksum})
        yield record
