"""Unfinished frames of all connections have one bound: what is over it becomes problems, every byte accounted."""

import random
from collections.abc import Sequence
from io import BytesIO
from struct import pack

import pytest

from tests.dissect.columns.engines import assert_equal, by_columns, by_rows, table_packets
from tests.helpers import frames
from tests.helpers.captures import Talk, packets_of, pcap_bytes
from wiretool import limits
from wiretool.codec.message import Side
from wiretool.dissect.connection import NOT_HELD
from wiretool.dissect.dissector import read
from wiretool.ledger import Ledger
from wiretool.memory_budget import MemoryBudget
from wiretool.protocols.base.registry import PROTOCOLS
from wiretool.protocols.pravega.messages import AppendBlock, Hello, KeepAlive, SetupAppend
from wiretool.protocols.pravega_draft import messages as draft
from wiretool.records import Record

HELLO = PROTOCOLS["pravega"].encode(Hello(high_version=17, low_version=5), "client")
KEEP_ALIVE = PROTOCOLS["pravega"].encode(KeepAlive(), "client")
LARGE_BYTES = 60_000
#: The beginning of an append of which this much is sent at first, and as much again later.
LARGE = pack(">ii", 12, 2 * LARGE_BYTES - 8) + bytes(LARGE_BYTES - 8)
PORTS = {"pravega": 12345, "pravega-draft": 12345, "offramp": 8080}


@pytest.fixture(autouse=True)
def small_bound(monkeypatch: pytest.MonkeyPatch) -> int:
    """Have a bound that a few connections exceed."""
    monkeypatch.setattr(limits, "UNFINISHED_BYTES_MAX", 400_000)
    return 400_000


def interleaved(
    streams: Sequence[Sequence[tuple[Side, bytes]]], *, port: int = 12345, mtu: int = 1460, turn: int = 3
) -> bytes:
    """Return a capture of connections that take turns, `turn` segments each, and are open at its end."""
    talks = [Talk(("10.0.0.1", 40_000 + number), ("10.0.0.2", port)) for number in range(len(streams))]
    for talk, stream in zip(talks, streams, strict=True):
        talk.open()
        for side, data in stream:
            talk.say(side, data, mtu=mtu, acks=False)
    frames, queues = [], [list(talk.frames) for talk in talks]
    while any(queues):
        for queue in queues:
            frames += queue[:turn]
            del queue[:turn]
    return pcap_bytes(packets_of(frames))


def beginnings(count: int, after: bytes = b"") -> bytes:
    """Return a capture of connections that each begin a large frame, and one more of small frames."""
    opening: list[tuple[Side, bytes]] = [("client", HELLO), ("server", HELLO)]
    large: list[tuple[Side, bytes]] = [*opening, ("client", LARGE + after)]
    return interleaved([large] * count + [[*opening, ("client", KEEP_ALIVE * 2_000)]])


def problems(records: Sequence[Record]) -> list[Record]:
    return [record for record in records if record.error == NOT_HELD]


def test_within_the_bound_nothing_is_lost() -> None:
    records = list(read(BytesIO(beginnings(2, bytes(LARGE_BYTES)))))
    assert not problems(records)
    assert sum(record.length > LARGE_BYTES for record in records if record.kind == "frame") == 2


def test_beyond_the_bound_the_largest_become_problems_and_every_byte_is_accounted() -> None:
    ledger = Ledger()
    records = list(read(BytesIO(beginnings(12)), ledger=ledger))
    total = ledger.total
    assert problems(records)
    assert (
        total.frame_bytes + total.problem_bytes
        == total.payload_bytes
        == 12 * (len(LARGE) + 2 * len(HELLO)) + (2 * len(HELLO) + 2_000 * len(KEEP_ALIVE))
    )
    small = [record for record in records if record.connection == 12]
    assert [record.kind for record in small] == ["frame"] * 2_002
    first = problems(records)[0]
    assert first.why == "discarded: unfinished frames of all connections take more than 400,000 bytes"
    assert len(first.raw) == first.length > 10_000


def test_after_the_discarded_frame_the_connection_is_in_step() -> None:
    records = list(read(BytesIO(beginnings(12, bytes(LARGE_BYTES) + KEEP_ALIVE))))
    lost = {record.connection for record in problems(records)}
    assert lost
    for connection in lost:
        client = [each for each in records if each.connection == connection and each.side == "client"]
        assert {each.error for each in client if each.kind == "problem"} == {NOT_HELD}
        assert sum(each.length for each in client if each.kind == "problem") == 2 * LARGE_BYTES
        assert client[-1].message == "KeepAlive"


def test_never_more_is_held_than_the_bound_and_one_segment(monkeypatch: pytest.MonkeyPatch, small_bound: int) -> None:
    """Of segments with one byte each it is the segments that cost."""
    sizes: list[int] = []
    note = MemoryBudget.note

    def noted(budget: MemoryBudget[object], holder: object, size: int) -> None:
        note(budget, holder, size)
        sizes.append(budget.size)

    monkeypatch.setattr(MemoryBudget, "note", noted)
    stream: list[tuple[Side, bytes]] = [("client", HELLO), ("server", HELLO), ("client", LARGE[:1_000])]
    list(read(BytesIO(interleaved([stream] * 5, mtu=1))))
    assert small_bound < max(sizes) <= small_bound + limits.UNFINISHED_SEGMENT_BYTES + 1


@pytest.mark.parametrize("packets", [65_536, 61])
def test_columns_discard_the_same(packets: int) -> None:
    for count in (5, 12, 30):
        raw = beginnings(count, bytes(LARGE_BYTES) + KEEP_ALIVE * 50)
        with table_packets(packets):
            columns = by_columns(BytesIO(raw))
        assert_equal(columns, by_rows(BytesIO(raw)))
    assert problems(columns.records)


def test_columns_discard_the_same_where_tables_are_smaller_than_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "UNFINISHED_BYTES_MAX", 1_500_000)
    raw = beginnings(40, bytes(LARGE_BYTES) + KEEP_ALIVE * 50)
    with table_packets(200):
        columns = by_columns(BytesIO(raw))
    assert problems(columns.records)
    assert_equal(columns, by_rows(BytesIO(raw)))


def test_bytes_of_connections_that_are_not_recognised_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "UNFINISHED_BYTES_MAX", 100_000)
    raw = interleaved([[("client", random.Random(n).randbytes(30_000))] for n in range(20)], port=12345)
    ledger = Ledger()
    list(read(BytesIO(raw), ledger=ledger))
    total = ledger.total
    assert total.payload_bytes == 20 * 30_000 == total.problem_bytes + total.other_bytes + total.frame_bytes
    assert_equal(by_columns(BytesIO(raw)), by_rows(BytesIO(raw)))


def _draft_block() -> bytes:
    """Return an open block of the draft with one event of `LARGE_BYTES`."""
    encode, name = PROTOCOLS["pravega-draft"].encode, "00000000-0000-0000-0000-000000000001"
    setup = draft.SetupAppend(connection_id=name, segment="a/b/0")
    begin = draft.BeginAppendBlock(connection_id=name, connection_offset=0, length=10 * LARGE_BYTES)
    return b"".join(encode(each, "client") for each in (setup, begin, draft.Event(data=bytes(LARGE_BYTES))))


def _fragment() -> bytes:
    """Return an upgrade and the first fragment of a message."""
    request = next(data for side, data in frames.talk("offramp") if side == "client")
    return request + b"\x01\xff" + LARGE_BYTES.to_bytes(8, "big") + bytes(4) + b"{" + b" " * (LARGE_BYTES - 1)


def _block() -> bytes:
    """Return a block of appends without its end."""
    encode, name = PROTOCOLS["pravega"].encode, "00000000-0000-0000-0000-000000000001"
    setup = SetupAppend(request_id=1, writer_id=name, segment="a/b/0", delegation_token="")
    return HELLO + encode(setup, "client") + encode(AppendBlock(writer_id=name, data=bytes(LARGE_BYTES)), "client")


@pytest.mark.parametrize("protocol", ["pravega", "pravega-draft", "offramp"])
def test_frames_kept_for_an_unfinished_message_count(protocol: str) -> None:
    data = {"pravega": _block, "pravega-draft": _draft_block, "offramp": _fragment}[protocol]()
    ledger = Ledger()
    raw = interleaved([[("client", data)]] * 12, port=PORTS[protocol], turn=10_000)
    records = list(read(BytesIO(raw), protocol=protocol, ledger=ledger))
    found = problems(records)
    assert found
    assert found[0].length == 0
    assert found[0].why.startswith("message discarded: ")
    assert ledger.total.frame_bytes == ledger.total.payload_bytes == 12 * len(data)
    assert_equal(by_columns(BytesIO(raw), protocol=protocol), by_rows(BytesIO(raw), protocol=protocol))
