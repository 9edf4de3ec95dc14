"""The column path of the newest protocol: it says what the row path says, and leaves the same state."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.bench.sbp_requests import make_capture
from tests.helpers.tables import mutated, tables
from tests.protocols.sbp.talk import Said, in_bulk, one_by_one, state_of
from wiretool import limits
from wiretool.batches.rows import records_of
from wiretool.codec import reference
from wiretool.codec.columns import Flags
from wiretool.codec.frames.boundaries import FrameBoundaries
from wiretool.codec.message import Side
from wiretool.dissect.columns.read import read_batches
from wiretool.dissect.dissector import read
from wiretool.protocols.base.columns import NO_REPLY, Frames
from wiretool.protocols.sbp import tables as latest
from wiretool.protocols.sbp.columns.conversation import COLUMNS, FRAMES_MIN
from wiretool.protocols.sbp.framing import encode_frame, extent
from wiretool.protocols.sbp.messages import APPEND, FETCH, GOAWAY, PING, SbpFrame, operations_of
from wiretool.protocols.sbp.records import AppendEntry, RecordBatchMeta
from wiretool.protocols.sbp.schema import LATEST
from wiretool.protocols.sbp.session import Requests
from wiretool.protocols.sbp.wire import open_conversation

OK = latest.Status(code=1200, message="OK")


def entry(body: bytes = b"x", **meta: Any) -> bytes:
    return reference.encode(AppendEntry(meta=RecordBatchMeta(**meta), payload=body))


def frame(side: Side = "client", **fields: Any) -> tuple[Side, bytes]:
    return side, encode_frame(SbpFrame(**fields), side)


def append(stream_id: int, payload: bytes = b"", **fields: Any) -> tuple[Side, bytes]:
    header = latest.AppendRequest(timeout_ms=5)
    return frame(opcode=APPEND, stream_id=stream_id, header=header, payload=payload or entry(), **fields)


def answer(stream_id: int, **fields: Any) -> tuple[Side, bytes]:
    fields = {"opcode": APPEND, "flags": 3, "header": latest.AppendResponse(status=OK), **fields}
    return frame("server", stream_id=stream_id, **fields)


def check(said: Said, *, began: bool = True) -> int:
    """How many frames took the slow way; AssertionError where the two paths differ."""
    expected = one_by_one(open_conversation(began), said)
    conversation = open_conversation(began)
    found, slow = in_bulk(conversation, COLUMNS, said)
    assert found == expected
    return slow


def plain(count: int) -> Said:
    """Requests and their answers in turn."""
    return [each for at in range(1, count + 1) for each in (append(at), answer(at))]


def test_requests_and_answers() -> None:
    assert check(plain(200)) == 0


def test_few_frames_go_one_by_one() -> None:
    said = plain(FRAMES_MIN)[: FRAMES_MIN - 1]
    assert check(said) == len(said)


@pytest.mark.parametrize(
    ("odd", "slow"),
    [
        (answer(999), 1),
        (append(900, flags=4), 0),
        (append(901, payload=entry() + b"\x22"), 1),
        (append(902, checksum=7), 1),
        (append(903, header_format=2), 1),
        (frame(opcode=APPEND, stream_id=904), 1),
        (frame(opcode=APPEND, stream_id=905, payload=entry()), 0),
        (frame(opcode=FETCH, stream_id=906, payload=entry()), 1),
        (frame(opcode=APPEND, stream_id=907, header=b"abc", payload=entry()), 1),
        (frame(opcode=0x7777, stream_id=908), 1),
        (frame(opcode=0, stream_id=909), 1),
        (frame(opcode=PING, stream_id=910, header=b"any", payload=b"thing"), 0),
        (frame(opcode=GOAWAY), 0),
        (frame("server", opcode=GOAWAY, flags=1), 1),
        (frame(opcode=0x2002, stream_id=911, header=latest.SealRangeRequest(kind=1, range=latest.Range())), 1),
        (answer(5, flags=7, header=latest.SystemError(status=OK)), 1),
        (append(912, payload=entry("é".encode())), 0),
        (append(913, payload=entry(b"\xff") + entry(stream_id=7)), 0),
        (append(914, payload=b"\x23" + entry()[1:]), 1),
        (append(3), 0),
    ],
)
def test_one_odd_frame(odd: tuple[Side, bytes], slow: int) -> None:
    said = plain(100)
    assert check([*said[:90], odd, *said[90:]]) == slow


def test_header_longer_than_the_frame() -> None:
    side, raw = append(1)
    said = plain(40)
    assert check([*said, (side, raw[:13] + b"\xff\xff\xff" + raw[16:])]) == 1


def test_answers_out_of_order_in_parts_and_left_open() -> None:
    said = [append(at) for at in range(300)]
    said += [answer(at, flags=1) for at in range(0, 300, 3)]
    said += [answer(at) for at in reversed(range(0, 300, 2))]
    said += [append(at) for at in range(0, 300, 4)]
    assert check(said) == 0


def test_both_sides_ask() -> None:
    asked = [frame("server", opcode=PING, stream_id=at) for at in range(80)]
    said = [each for at in range(80) for each in (append(at), asked[at])]
    said += [frame(opcode=PING, flags=3, stream_id=at) for at in range(80)] + [answer(at) for at in range(80)]
    assert check(said) == 0


def test_one_identifier_again_and_again() -> None:
    said = [each for _ in range(100) for each in (append(0), answer(0))] + [append(0)] * 300 + [answer(0)] * 300
    assert check(said) > 0


def test_more_requests_than_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "REQUESTS_OPEN_MAX", 100)
    said = [append(at) for at in range(250)] + [answer(at) for at in range(250)]
    assert check(said) == 150


def test_answers_whose_requests_were_not_captured_are_columns() -> None:
    """Where all was captured they are defects, each read by itself."""
    said = [*plain(100), *(answer(at) for at in range(500, 628)), *plain(100), append(500), append(501), answer(501)]
    assert check(said, began=False) == 0
    assert check(said) == 128


def test_what_server_it_is_shows_in_its_answers() -> None:
    conversation = open_conversation(True)
    in_bulk(conversation, COLUMNS, plain(50))
    assert conversation.role == "range server"


def test_entries_of_one_payload_without_end() -> None:
    said = plain(60)
    assert check([*said, append(800, payload=entry(b"") * 100), append(801, payload=entry(b"") * 1000)]) == 1


@st.composite
def conversations(draw: st.DrawFn) -> Said:
    """Frames of both sides over few identifiers, some of them damaged."""
    said = []
    for _ in range(draw(st.integers(FRAMES_MIN, FRAMES_MIN + 12))):
        table = draw(st.sampled_from((*LATEST.tables[:8], *LATEST.tables[8:14])))
        is_request = table.declaration.sender == "client"
        opcode = table.declaration.type_id
        made = SbpFrame(
            opcode=draw(st.sampled_from([opcode] * 9 + [*operations_of(LATEST)])),
            flags=draw(st.sampled_from([0] * 9 + [4] if is_request else [3] * 6 + [1, 7])),
            stream_id=draw(st.integers(0, 12)),
            header=draw(st.one_of(st.none(), tables(table))),
            payload=entry(draw(st.binary(max_size=6))) if opcode in (APPEND, FETCH) else b"",
        )
        side: Side = "client" if is_request == draw(st.sampled_from([True] * 9 + [False])) else "server"
        raw = encode_frame(made, side)
        if draw(st.integers(0, 9)) == 0:
            raw = raw[:4] + draw(mutated(raw[4:]).filter(lambda body: len(body) >= 16))
            raw = len(raw[4:]).to_bytes(4, "big") + b"\x17" + raw[5:]
        said.append((side, raw))
    return said


@settings(deadline=None)
@given(said=conversations(), many=st.sampled_from([2, 5, 64]))
def test_any_conversation(said: Said, many: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("wiretool.protocols.sbp.columns.pairs.MANY_MIN", many)
        patch.setattr("wiretool.protocols.sbp.columns.frames.KIND_FRAMES_MIN", 1)
        check(said)


def boundaries(data: bytes) -> FrameBoundaries:
    """The frames of a client that said this."""
    whole = np.zeros(1, np.int64), np.array([len(data)], np.int64)
    return COLUMNS.find_boundaries(data, *whole, np.zeros(1, np.bool_), np.zeros(0, np.int64))


@given(said=conversations(), cut=st.integers(0, 40))
def test_split_is_as_extent(said: Said, cut: int) -> None:
    data = b"".join(each for _, each in said)[: -cut or None]
    found = boundaries(data)
    at, starts = 0, []
    while at < len(data) and 0 < extent(data, at, len(data)) <= len(data) - at:
        starts.append(at)
        at += extent(data, at, len(data))
    assert not found.is_broken[0]
    assert (found.starts.tolist(), found.ends[0]) == (starts, at)
    assert found.needs[0] == extent(data, at, len(data))


@pytest.mark.parametrize("bad", [b"\0\0\0\x0f", b"\x01\0\0\x01", b"\0\0\0\x10\x18"])
def test_split_is_broken_where_no_frame_begins(bad: bytes) -> None:
    data = append(1)[1] + bad
    assert boundaries(data).is_broken[0]


def test_requests_many_at_once() -> None:
    requests = Requests()
    requests.leave_open({1: (APPEND, 10), 2: (FETCH, 20)})
    assert requests.open_among([2, 3]) == {2: [(FETCH, 20)]}
    requests.forget([1])
    assert (requests.count, list(requests.all_open())) == (1, [(2, [(FETCH, 20)])])


@pytest.mark.parametrize("frames_per_packet", [1, 5])
def test_a_whole_capture(tmp_path: Path, frames_per_packet: int) -> None:
    path = tmp_path / "sbp.pcap"
    count = make_capture(path, packets=400, frames_per_packet=frames_per_packet, connections=2)
    batches = list(read_batches(path))
    records = [record for batch in batches for record in records_of(batch)]
    assert records == list(read(path))
    assert [record.kind for record in records] == ["frame"] * count
    assert sum(len(batch.records) for batch in batches) < count // 4
    assert sum(record.reply_to is not None for record in records) == count // 2


def test_equal_captures_are_equal(tmp_path: Path) -> None:
    for name in ("one", "two"):
        make_capture(tmp_path / name, packets=10)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    with pytest.raises(ValueError, match="connections is 0"):
        make_capture(tmp_path / "none", connections=0)


def test_forms_are_those_of_the_row_path() -> None:
    """The same keys, in the same order."""
    said = [append(1)] * FRAMES_MIN
    conversation = open_conversation(True)
    found, slow = in_bulk(conversation, COLUMNS, said)
    expected = one_by_one(open_conversation(True), said)
    assert msgspec.json.encode(found.readings[0][1]) == msgspec.json.encode(expected.readings[0][1])
    assert slow == 0


def test_few_frames_of_each_kind_go_one_by_one() -> None:
    said = [frame(opcode=code, stream_id=code, header=b"any") for code in range(1, 9) for _ in range(3)]
    assert check(said) == len(said)


# -- many connections --------------------------------------------------------------------------------------------------


def check_together(saids: Sequence[Said], *, began: bool = True) -> list[int]:
    """Return how many frames of each connection are read by themselves; AssertionError where columns differ from rows.

    They must have the same state and replies.
    """
    expected, alone = [], [open_conversation(began) for _ in saids]
    talks = [open_conversation(began) for _ in saids]
    every = [(row, owner) for owner, said in enumerate(saids) for row in range(len(said))]
    every.sort()
    data = b"".join(saids[owner][row][1] for row, owner in every)
    ends = np.cumsum([len(saids[owner][row][1]) for row, owner in every])
    is_server = np.array([saids[owner][row][0] == "server" for row, owner in every])
    numbers = 10 * (np.arange(len(every)) + 1)
    for (row, owner), number in zip(every, numbers.tolist(), strict=True):
        side, raw = saids[owner][row]
        expected.append(alone[owner].read(side, raw, 0, len(raw), number).reply_to)
    owners = np.array([owner for _, owner in every])
    frames = Frames(data, np.append(0, ends[:-1]), ends, is_server, numbers)
    is_left, singles = np.zeros(len(talks), np.bool_), list[int]()

    def read_one(row: int) -> None:
        assert is_left[owners[row]], "a conversation is left before a frame of it is read by itself"
        singles.append(row)
        start = int(frames.starts[row])
        side: Side = "server" if is_server[row] else "client"
        reading = talks[owners[row]].read(side, data, start, int(ends[row]), int(numbers[row]))
        assert reading.reply_to == expected[row]

    def leave(those: Flags) -> None:
        is_left[those] = True

    groups = COLUMNS.read(frames, owners, talks, leave, read_one)
    rows = sorted([*singles, *(row for group in groups for row in group.rows.tolist())])
    assert rows == list(range(len(every)))
    for group in groups:
        assert group.reply_to is not None
        replies = [None if n == NO_REPLY else n for n in group.reply_to.tolist()]
        assert replies == [expected[row] for row in group.rows.tolist()]
    for talk, other in zip(talks, alone, strict=True):
        assert state_of(talk) == state_of(other)
    return [sum(owners[row] == index for row in singles) for index in range(len(talks))]


def test_connections_with_equal_identifiers() -> None:
    left_open = [*plain(9), append(50), append(51), answer(50, flags=1)]
    goes_away = [*plain(9), frame(opcode=GOAWAY, stream_id=90), frame("server", opcode=GOAWAY, flags=3, stream_id=90)]
    assert check_together([plain(9), left_open, goes_away, plain(3)]) == [0] * 4


@pytest.mark.parametrize(
    "odd",
    [
        answer(999),
        append(902, checksum=7),
        frame(opcode=0x2002, stream_id=911, header=latest.SealRangeRequest(kind=1, range=latest.Range())),
        frame(opcode=0x7777, stream_id=908),
        append(3),
    ],
)
def test_one_odd_frame_concerns_its_connection_only(odd: tuple[Side, bytes]) -> None:
    said = [*plain(3)[:5], append(3), odd, *plain(40)]
    before, singles, after = check_together([plain(40), said, plain(40)])
    assert (before, after) == (0, 0)
    assert singles < FRAMES_MIN


def test_a_connection_with_too_many_requests_is_read_in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "REQUESTS_OPEN_MAX", 40)
    asked = [append(at) for at in range(41)]
    assert check_together([plain(20), [*asked, *(answer(at) for at in range(41))], plain(19)]) == [0, 1, 0]


@settings(max_examples=15)
@given(saids=st.lists(conversations(), min_size=1, max_size=4), began=st.booleans())
def test_any_conversations_together(saids: Sequence[Said], began: bool) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("wiretool.protocols.sbp.columns.frames.KIND_FRAMES_MIN", 1)
        check_together(saids, began=began)
