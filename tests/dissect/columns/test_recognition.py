"""Connections that begin are recognised together, at the packet and with the result of one by one."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from itertools import islice
from typing import Any

import numpy as np
import pytest

from tests.bench.columns.mixed import sbp_exchanges
from tests.bench.columns.samples import table_of
from tests.dissect.columns.engines import assert_equal, by_columns, by_rows, table_packets
from tests.dissect.columns.made import Spoken, files_of, packets_made
from tests.dissect.columns.test_plain_reading import batches_of, raw_of
from tests.helpers.examples import needs_protocol
from tests.helpers.frames import TALKS
from tests.helpers.sbp_frames import schemas
from wiretool.capture.columns.plain_runs import PlainSegments
from wiretool.capture.columns.segments import SegmentTable
from wiretool.capture.tcp.stream_events import Connection, Data
from wiretool.codec.message import Side
from wiretool.dissect import connection as watch
from wiretool.dissect.columns.pace import Pace
from wiretool.dissect.columns.recognition import SEGMENTS_MAX, recognise_together
from wiretool.dissect.columns.watch import BulkWatch
from wiretool.errors import EncodeError
from wiretool.protocols.base.recognise import Chunk, Verdict, recognise
from wiretool.protocols.base.registry import PROTOCOLS, expected_on
from wiretool.protocols.sbp.framing import encode_frame
from wiretool.protocols.sbp.messages import PING, SbpFrame
from wiretool.protocols.sbp.session import SbpConversation

SBP = expected_on(10911)
Sent = tuple[Side, bytes]


@dataclass
class Holder:
    """Stands for a watch over a new connection that holds bytes."""

    held_items: Sequence[Data]
    look_at: int = 1


def some_frames(rng: random.Random) -> list[Sent]:
    """Return frames that the newest schema has, one of the older ones, both, or none."""
    kind = rng.randrange(6)
    if kind == 0:
        return [
            (each.side, each.data) for exchange in islice(sbp_exchanges(rng), rng.randrange(4)) for each in exchange
        ]
    if kind == 1:
        return [(each.side, each.data) for each in islice(TALKS["sbp-0.1"](rng), rng.randrange(6))]
    if kind == 2:
        return [("client", encode_frame(SbpFrame(opcode=PING, stream_id=rng.randrange(9)), "client"))] * rng.randrange(
            3
        )
    table = rng.choice([*schemas()["S1"].tables, *schemas()["S2"].tables])
    try:
        raw = encode_frame(table_of(table, rng), "client")
    except EncodeError:
        return []
    side: Side = "client" if table.declaration.sender == "client" else "server"
    if kind == 3 and rng.random() < 0.3:
        raw = raw[:20] + rng.randbytes(3) + raw[23:]
    return [(side, raw)]


def conversation(rng: random.Random) -> list[Sent]:
    """Return segments of a connection: a few frames each, some with a part of one."""
    frames = [each for _ in range(rng.randrange(1, 7)) for each in some_frames(rng)]
    out: list[Sent] = []
    while frames:
        count = rng.randrange(1, 5)
        some, frames = frames[:count], frames[count:]
        for side in ("client", "server"):
            data = b"".join(raw for sender, raw in some if sender == side)
            cut = rng.randrange(len(data)) if data and rng.random() < 0.2 else 0
            out += [(side, part) for part in (data[:cut], data[cut:]) if part]
    return out or [("client", b"\0")]


def one_by_one(sent: Sequence[Sent]) -> tuple[Verdict | None, int, int]:
    """Return the verdict, after how many segments it is found, and how many bytes the next look takes."""
    held, look_at = 0, 1
    for count, (_, data) in enumerate(sent, 1):
        held += len(data)
        if held < look_at:
            continue
        chunks = [Chunk(side, data) for side, data in sent[:count]]
        verdict = recognise(chunks, from_start=True, expected=SBP, every=PROTOCOLS.values(), final=False)
        if verdict is not None:
            return verdict, count, look_at
        look_at = 2 * held
    return None, len(sent), look_at


def segments_of(items: Sequence[Data]) -> SegmentTable:
    """Return a table whose segments carry these bytes."""
    lengths = np.array([len(item.data) for item in items], np.int64)
    return SegmentTable(
        b"".join(item.data for item in items),
        np.array([item.packet for item in items], np.int64),
        np.array([item.time_ns for item in items], np.int64),
        starts=np.cumsum(lengths) - lengths,
        lengths=lengths,
        keys=(),
        **dict.fromkeys(("flows", "seqs", "acks", "flags", "cuts"), np.zeros(0, np.int64)),
    )


def plain_of(talks: Sequence[Sequence[Sent]], rng: random.Random) -> PlainSegments:
    """Return the segments of connections, which take turns at random."""
    connections = [Connection(number, bytes(6), bytes(6), 0) for number in range(len(talks))]
    order = [index for index, talk in enumerate(talks) for _ in talk]
    rng.shuffle(order)
    waiting = [iter(talk) for talk in talks]
    items: list[tuple[int, Data]] = []
    for packet, index in enumerate(order):
        side, data = next(waiting[index])
        items.append((packet, Data(connections[index], side, 0, data, packet, packet)))
    flows = sorted({(item.connection.id, item.side == "server") for _, item in items})
    rows = [
        [row for row, (_, item) in enumerate(items) if (item.connection.id, item.side == "server") == flow]
        for flow in flows
    ]
    return PlainSegments(
        segments_of([item for _, item in items]),
        connections,
        np.arange(len(talks)),
        np.concatenate([np.array(each, np.int64) for each in rows]),
        np.cumsum([0, *map(len, rows)]),
        np.zeros(len(flows), np.int64),
        np.array([index for index, _ in flows]),
        np.array([is_server for _, is_server in flows]),
    )


@needs_protocol("sbp-0.1")
@pytest.mark.parametrize("seed", range(8))
def test_says_what_is_said_of_each_alone(seed: int) -> None:
    rng = random.Random(seed)
    talks = [conversation(rng) for _ in range(40)]
    early = [rng.randrange(len(talk)) if rng.random() < 0.3 else 0 for talk in talks]
    held: list[Any] = []
    for index, (talk, count) in enumerate(zip(talks, early, strict=True)):
        verdict, _, look_at = one_by_one(talk[:count])
        early[index] = count = 0 if verdict else count
        owner = Connection(index, bytes(6), bytes(6), 0)
        items = [Data(owner, side, 0, data, 0, 0) for side, data in talk[:count]]
        held.append(Holder(items, look_at if count else 1))
    plain = plain_of([talk[count:] for talk, count in zip(talks, early, strict=True)], rng)
    found = recognise_together(plain, range(len(talks)), held, SBP)
    for index, talk in enumerate(talks):
        verdict, count, look_at = one_by_one(talk)
        if index in found.decided:
            protocol, trial, row = found.decided[index]
            rows = sorted(plain.rows[np.repeat(plain.connection_of, np.diff(plain.bounds)) == index].tolist())
            assert verdict is not None
            assert (verdict.protocol, verdict.note, count) == (protocol, "", early[index] + rows.index(row) + 1)
            if protocol.name == "sbp-0.1":
                assert isinstance(trial, SbpConversation)
                assert isinstance(verdict.trial, SbpConversation)
                assert type(trial) is type(verdict.trial)
                assert (trial.is_decided, trial.schema) == (verdict.trial.is_decided, verdict.trial.schema)
        elif index in found.undecided:
            assert (verdict, look_at) == (None, found.undecided[index])
    assert len(found.decided) >= 8


@needs_protocol("sbp-0.1")  # with one protocol on the port nothing has to be weighed
def test_long_first_frames_are_left_to_the_row_path() -> None:
    ping = [("client", encode_frame(SbpFrame(opcode=PING, stream_id=1), "client"))] * (SEGMENTS_MAX + 1)
    found = recognise_together(plain_of([ping], random.Random(1)), [0], [Holder([])], SBP)  # type: ignore[list-item]
    assert found == ({}, {})


@pytest.mark.parametrize("packets", [1, 23, 200, 65_536])
@pytest.mark.parametrize("protocols", [("sbp",), ("sbp-0.1",), ("sbp", "sbp-0.1", "pravega", "offramp", "foreign")])
def test_any_tables_give_the_records_of_rows(protocols: Sequence[str], packets: int) -> None:
    times = 2 if packets < 200 else 9  # a table costs much more than a packet
    kinds = [Spoken(each, each=1 + at % 3, mtu=(60, 200, 1460)[at % 3]) for at, each in enumerate([*protocols] * times)]
    for harms in (frozenset[str](), frozenset(("times", "noise"))):
        raw = files_of(packets_made(kinds, harms, packets, 40), "pcap", 1)[0]
        rows = by_rows(BytesIO(raw))
        with table_packets(packets):
            assert_equal(by_columns(BytesIO(raw)), rows)


@pytest.mark.parametrize("protocol", ["sbp", "sbp-0.1"])
@pytest.mark.parametrize("packets", [90, 65_536])
def test_connections_that_are_not_read_together_are_recognised_again(
    protocol: str, packets: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    raw = raw_of([Spoken(protocol, each=3)] * 20, 40)
    rows = by_rows(BytesIO(raw))
    forgotten: list[BulkWatch] = []
    forget = BulkWatch.forget_protocol

    def noted(each: BulkWatch) -> None:
        forget(each)
        forgotten.append(each)

    monkeypatch.setattr(BulkWatch, "forget_protocol", noted)
    monkeypatch.setattr(Pace, "is_much", lambda pace, frames, tiny: frames > 0)
    with table_packets(packets):
        assert_equal(by_columns(BytesIO(raw)), rows)
    assert len(forgotten) >= 15


@pytest.mark.parametrize("protocol", ["sbp", "sbp-0.1"])
def test_no_frame_of_a_new_connection_is_read_by_itself(protocol: str, monkeypatch: pytest.MonkeyPatch) -> None:
    raw = raw_of([Spoken(protocol, each=3, end="")] * 60, 40)
    asked: list[object] = []
    monkeypatch.setattr(watch, "recognise", lambda *chunks, **options: asked.append(chunks))
    batches = batches_of(raw, 65_536)
    assert not asked
    assert not sum(len(batch.records) for batch in batches)


def _found(verdict: Verdict | None) -> tuple[object, str, str] | None:
    return None if verdict is None else (verdict.protocol, verdict.note, verdict.why)


@needs_protocol("sbp-0.1")
def test_a_middle_that_is_proved_at_its_front_is_what_weighing_says(monkeypatch: pytest.MonkeyPatch) -> None:
    rng, proved = random.Random(0), 0
    for _ in range(800):
        side: Side = rng.choice(("client", "server"))
        chunk = Chunk(side, b"".join(data for sender, data in conversation(rng) + conversation(rng) if sender == side))
        options: dict[str, Any] = {"from_start": False, "expected": SBP, "every": PROTOCOLS.values(), "final": False}
        verdict = recognise([chunk], **options)
        proved += verdict is not None and verdict.is_in_step
        with monkeypatch.context() as patch:
            patch.setattr(SbpConversation, "is_proved_by_trust", False)
            weighed = recognise([chunk], **options)
        assert _found(verdict) == _found(weighed)
    assert proved
