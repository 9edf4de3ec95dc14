"""Appends against the mock of SBP's newest schema, which refuses what the real ones refuse."""

from collections import Counter
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import HERE
from tests.load.mock_stage import MockWire, Place, Saying
from tests.protocols.sbp.server.recorded import frames_of, read_recording
from wiretool.codec.event_trailer import MARK_BYTES
from wiretool.errors import Unmet
from wiretool.load.events import Filler, Maker, writer_of
from wiretool.load.link import Failed
from wiretool.load.verify.stored_events import Checker
from wiretool.protocols.sbp.framing import encode_frame, read_frame
from wiretool.protocols.sbp.load.client import HEAD, Appends, Binding, RangeTalk, VaryingAppends, acks, bind, heartbeat
from wiretool.protocols.sbp.load.frames import Place as Where
from wiretool.protocols.sbp.load.frames import place_from
from wiretool.protocols.sbp.messages import APPEND, GOAWAY, PING, SbpFrame
from wiretool.protocols.sbp.schema import LATEST
from wiretool.protocols.sbp.server.mock import SbpMock
from wiretool.protocols.sbp.tables import (
    AppendResponse,
    AppendResultEntry,
    CreateRangeResponse,
    CreateStreamResponse,
    FetchResponse,
    HeartbeatResponse,
    Range,
    Status,
    Stream,
    SystemError,
)

CAPTURES = HERE.parent / "captures"
RUN = "run"
KEY = writer_of(RUN, 0, 0)
FILLER = Filler(0)
GOOD = Status(code=1200)


class Writing:
    """A writer with its events, on one connection after another."""

    def __init__(self, place: Place, *, events: int = 1, size: int = 100, door: str = "") -> None:
        self.place = place
        self.door = door
        self.source: Appends | VaryingAppends = Appends(maker(), events=events, size=size)
        self.acknowledged = 0
        self.where: Where | None = None
        self.connect()

    def connect(self) -> None:
        """Begin on a new connection."""
        self.link = self.place.wire(self.door)
        self.bound = bind(self.link, self.where, own_id=KEY, acknowledged=self.acknowledged)
        self.where = self.bound.place
        self.source.bind(self.where, self.bound.next_id)
        self.source.last = self.acknowledged = self.bound.last
        self.feed = acks(self.bound.next_id, self.bound.last, self.source.events).feed

    def append(self) -> int:
        """Send one; what is acknowledged then."""
        self.link.send(self.source.next())
        self.acknowledged = max(self.acknowledged, self.feed(self.link.receive()))
        return self.acknowledged

    def check(self) -> list[str]:
        """What is wrong with what is stored."""
        checker = Checker("s", run=RUN, head=HEAD, filler=FILLER)
        for piece in RangeTalk(self.place.wire(self.door)).read(str(self.where)):
            checker.feed(piece)
        outcome = checker.end({KEY: self.acknowledged}, {KEY: self.source.last})
        assert outcome.checked >= self.acknowledged
        return outcome.findings


def maker() -> Maker:
    return Maker(KEY, head=HEAD, filler=FILLER)


def ack(stream_id: int, *codes: int, time: int = 5, status: Status | None = GOOD, **more: Any) -> bytes:
    entries = tuple(AppendResultEntry(status=Status(code=code), timestamp_ms=time) for code in codes or (1200,))
    header = AppendResponse(status=status, entries=entries)
    return answer(header, stream_id=stream_id, **more)


def answer(header: Any, *, stream_id: int = 1, flags: int = 3, opcode: int = 0) -> bytes:
    opcode = opcode or type(header).declaration.type_id
    return encode_frame(SbpFrame(opcode=opcode, flags=flags, stream_id=stream_id, header=header), "server")


def saying(*said: bytes) -> RangeTalk:
    return RangeTalk(Saying(Place(SbpMock()), *said))


@pytest.mark.parametrize(("events", "size"), [(1, 100), (100, 100), (3, 20), (1, 3_000_000)])
@pytest.mark.parametrize("has_two_doors", [False, True])
def test_fixed_appends_are_stored_as_they_are_meant(events: int, size: int, has_two_doors: bool) -> None:
    writing = Writing(Place(SbpMock(has_two_doors=has_two_doors)), events=events, size=size)
    assert [writing.append() for _ in range(3)] == [events, 2 * events, 3 * events]
    assert writing.source.size == events * size
    stored = b"".join(RangeTalk(writing.place.wire()).read(str(writing.where)))
    assert stored == maker().batch([size] * (3 * events), 1)
    assert writing.check() == []


def test_varying_appends_are_stored_as_they_are_meant() -> None:
    writing, sizes = Writing(Place(SbpMock()), events=5), Random(1)
    writing.source = VaryingAppends(maker(), events=5, draw=lambda: sizes.randint(MARK_BYTES, 500))
    writing.connect()
    assert [writing.append() for _ in range(3)] == [5, 10, 15]
    assert writing.check() == []


def test_frames_are_what_encoding_each_anew_gives() -> None:
    fixed, varying = Appends(maker(), events=3, size=100), VaryingAppends(maker(), events=3, draw=lambda: 100)
    for source in (fixed, varying):
        source.bind(Where(7, 0), 4)
        source.last = 300
    for _ in range(3):
        assert fixed.next() == varying.next()
    assert fixed.last == varying.last == 309


def test_an_append_that_no_frame_takes_is_told() -> None:
    fixed = Appends(maker(), events=1, size=16 * 1024 * 1024 - 64)
    with pytest.raises(Failed, match=r"a frame takes 16777216 bytes at most, .* make --batch or --event-size smaller"):
        fixed.bind(Where(7, 0), 1)
    varying = VaryingAppends(maker(), events=1, draw=lambda: 16 * 1024 * 1024 - 64)
    varying.bind(Where(7, 0), 1)
    with pytest.raises(Failed, match=r"an append of 16,777,[0-9]* bytes: a frame takes 16,777,216; make --batch"):
        varying.next()


def test_a_stream_is_made_with_the_placement_driver_and_without_one_a_range_alone() -> None:
    first, second = (Writing(Place(SbpMock(has_two_doors=two))) for two in (False, True))
    assert first.bound == Binding(Where(0, 0), 0, 5)
    assert second.bound == Binding(Where(KEY & 2**63 - 1, 0), 0, 4)
    assert place_from(str(second.where)) == second.where


def test_a_range_that_is_elsewhere_is_told() -> None:
    mock = SbpMock(has_two_doors=True)
    mock.bound("sbp", "range.server", 10911)
    with pytest.raises(Failed, match=r"memory is a placement driver alone, .* range.server:10911: load that address"):
        Writing(Place(mock), door="placement-driver")


def test_a_placement_driver_that_does_not_lead_is_told() -> None:
    mock = SbpMock(has_two_doors=True, followers=1)
    with pytest.raises(Failed, match="memory is a placement driver that does not lead") as caught:
        Writing(Place(mock), door="placement-driver-2")
    assert caught.value.exit_code == 4


def test_a_placement_driver_without_servers_is_told() -> None:
    with pytest.raises(Failed, match="CREATE_RANGE was answered with PD_NO_AVAILABLE_RS: required 1"):
        Writing(Place(SbpMock(servers={})))


@pytest.mark.parametrize("lost", ["before it came", "before its answer", "while it is not durable"])
def test_a_writer_goes_on_behind_what_is_stored(lost: str) -> None:
    writing = Writing(Place(SbpMock(commit_ns=1_000_000)), events=2)
    writing.append()
    frame = writing.source.next()
    if lost != "before it came":
        writing.link.send(frame)
    if lost == "before its answer":
        writing.link.receive()
    writing.connect()
    assert writing.bound.last == (4 if lost == "before its answer" else 2)
    if lost == "while it is not durable":
        with pytest.raises(Failed, match="APPEND_TO_PENDING_OFFSET: The append request is on the fly"):
            writing.append()
        writing.place.pass_by()
        writing.connect()
        assert writing.bound.last == 4
    writing.append()
    assert writing.check() == []


def test_a_store_that_lost_what_it_acknowledged_takes_nothing_more_and_is_found_out() -> None:
    writing = Writing(Place(SbpMock()))
    for _ in range(3):
        writing.append()
    writing.place.mock.forget()
    writing.connect()
    assert writing.bound.last == 3
    with pytest.raises(Failed, match="APPEND_TO_OVERTAKEN_OFFSET"):
        writing.append()
    checker = Checker("s", run=RUN, head=HEAD, filler=FILLER)
    assert "events 1 to 3 of writer 0.0" in str(checker.end({KEY: 3}, {KEY: 4}).findings)


def test_what_the_server_let_go_of_cannot_be_checked() -> None:
    writing = Writing(Place(SbpMock(retain_bytes=10_000)), size=2_000)
    for _ in range(6):
        writing.append()
    with pytest.raises(Unmet, match=r"stream 0 starts at offset [1-9] now; .* cannot be checked"):
        writing.check()


def test_a_range_that_is_sealed_takes_nothing() -> None:
    writing = Writing(Place(SbpMock()))
    writing.append()
    writing.place.mock.operate("seal", {"stream": 0}, 0)
    with pytest.raises(Failed, match="RANGE_ALREADY_SEALED: The specified range is sealed") as caught:
        writing.append()
    assert caught.value.kind == "an append answered with RANGE_ALREADY_SEALED"


def test_nothing_is_read_of_a_writer_that_was_never_set_up() -> None:
    assert list(saying().read("")) == []


def test_a_heartbeat_is_answered_and_is_no_acknowledgement() -> None:
    writing, beat = Writing(Place(SbpMock())), heartbeat()
    writing.link.send(beat())
    writing.link.send(beat())
    assert writing.feed(writing.link.receive()) == 0
    assert writing.append() == 1


def test_a_server_that_goes_away_is_told() -> None:
    writing = Writing(Place(SbpMock()))
    with pytest.raises(Failed, match="the server goes away"):
        writing.feed(writing.link.receive())  # nothing is said for as long as it takes


# -- answers -----------------------------------------------------------------------------------------------------------


@given(st.integers(1, 8), st.data())
def test_acknowledgements_may_be_cut_anywhere(count: int, data: st.DataObject) -> None:
    said = b"".join(ack(number, time=number) for number in range(3, 3 + count))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(said)), max_size=4)))
    reader = acks(3, 100, 10)
    pieces = [said[left:right] for left, right in zip([0, *cuts], [*cuts, len(said)], strict=True)]
    assert max(reader.feed(piece) for piece in pieces) == 100 + 10 * count


@given(st.permutations(range(1, 7)))
def test_an_answer_that_overtakes_others_counts_when_they_have_come(order: list[int]) -> None:
    reader, seen = acks(1, 0, 2), 0
    for place, number in enumerate(order, 1):
        seen = max(seen, reader.feed(ack(number)))
        came = set(order[:place])
        assert seen == 2 * next(last for last in range(7) if last + 1 not in came)


def test_what_a_real_range_server_answers_is_taken_as_it_is_meant() -> None:
    recording = read_recording(CAPTURES / "sbp" / "rs_append.pcap", frozenset({10911}))
    taken = Counter[bool]()
    for data in (each for side in recording.sides.values() for each in frames_of(bytes(side.data))):
        frame = read_frame(LATEST, data, 0, len(data)).frame
        if frame.opcode != APPEND:
            continue
        is_good = isinstance(frame.header, AppendResponse) and [
            entry.status.code for entry in frame.header.entries or () if entry.status is not None
        ] == [1200]
        taken[is_good] += 1
        reader = acks(frame.stream_id, 0, 1)
        if is_good:
            again = data[:8] + (frame.stream_id + 1).to_bytes(4, "big") + data[12:]
            assert (reader.feed(data), reader.feed(again)) == (1, 2)
        else:
            with pytest.raises(Failed, match="an append was answered with "):
                reader.feed(data)
    assert taken[True] > 5 < taken[False]


def test_pings_and_answers_to_heartbeats_are_passed_over() -> None:
    ping = encode_frame(SbpFrame(opcode=PING, stream_id=9), "server")
    beat = answer(HeartbeatResponse(client_role=3, status=GOOD), stream_id=0x4000_0000)
    assert acks(1, 0, 1).feed(ack(1) + ping + beat + ack(2)) == 2


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (ack(1, 1464), "an append was answered with APPEND_TO_COMMITTED_OFFSET"),
        (ack(1, 7), "an append was answered with code 7"),
        (ack(1, 1200, 1200), "an append was answered with 2 results"),
        (ack(1, status=Status(code=1400)), "an append was answered with BAD_REQUEST"),
        (ack(1) + ack(1), "an append was answered with a reply that matches no append: identifier 1"),
        (ack(3) + ack(3), "an append was answered with a reply that matches no append: identifier 3"),
        (ack(0), "an append was answered with a reply that matches no append: identifier 0"),
        (ack(2**32 - 1), "a reply that matches no append"),
        (ack(1, flags=1), "a part of an answer"),
        (answer(None, opcode=APPEND), "an append was answered with ERROR_CODE_UNSPECIFIED: an answer without a status"),
        (answer(SystemError(status=Status(code=1498)), opcode=APPEND, flags=7), "UNSUPPORTED_OPERATION"),
        (answer(FetchResponse(status=GOOD)), "an append was answered with FETCH 1"),
        (answer(None, opcode=GOAWAY, flags=0, stream_id=8), r"the server goes away \(GOAWAY 8\)"),
        (b"HTTP/1.1 200 OK\r\n\r\n", "an append got a reply that is not SBP: .* a Frame Length of 1213486160"),
        (ack(1)[:16] + b"\xff" * 20 + ack(1)[36:], "not SBP"),
    ],
)
def test_any_other_answer_to_an_append_is_told(said: bytes, why: str) -> None:
    with pytest.raises(Failed, match=why):
        acks(1, 0, 1).feed(said)
    learnt = acks(1, 0, 1)
    assert learnt.feed(ack(1)) == 1
    with pytest.raises(Failed):
        learnt.feed(said)


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ([answer(FetchResponse(status=GOOD))], "CREATE_STREAM was answered with FETCH with flags 0x03"),
        ([answer(CreateStreamResponse(status=GOOD))], "CREATE_STREAM was answered with no stream"),
        ([answer(CreateStreamResponse(status=GOOD), flags=1)], "CREATE_STREAM with flags 0x01"),
        ([answer(CreateStreamResponse(status=Status(code=1500, message="no room")))], "PD_INTERNAL_.*: no room"),
        (
            [
                answer(CreateStreamResponse(status=GOOD, stream=Stream(stream_id=1))),
                answer(CreateRangeResponse(status=GOOD), stream_id=2),
            ],
            "CREATE_RANGE was answered with no range",
        ),
        ([b"SSH-2.0-OpenSSH_9.6\r\n"], "CREATE_STREAM got a reply that is not SBP: "),
        ([answer(None, opcode=GOAWAY, flags=0)], "the server goes away"),
        ([answer(CreateStreamResponse(status=GOOD), stream_id=2)], "CREATE_STREAM was answered with CREATE_STREAM 2"),
    ],
)
def test_what_a_server_says_to_the_first_requests_is_held_against_them(said: list[bytes], why: str) -> None:
    with pytest.raises(Failed, match=why):
        saying(*said).make_range(1)


def test_answers_may_come_in_pieces_and_behind_pings() -> None:
    made = encode_frame(SbpFrame(opcode=PING), "server") + answer(
        CreateStreamResponse(status=GOOD, stream=Stream(stream_id=1))
    )
    placed = answer(CreateRangeResponse(status=GOOD, range=Range(stream_id=1, index=0)), stream_id=2)
    again = answer(CreateRangeResponse(status=GOOD, range=Range(stream_id=1, index=0)), stream_id=3)
    assert saying(made[:9], made[9:30], made[30:] + placed, again).make_range(1) == Where(1, 0)


def test_a_fetch_that_goes_back_is_told() -> None:
    writing = Writing(Place(SbpMock()))
    writing.append()
    link = writing.place.wire()
    RangeTalk(link).open_range(Where(0, 0))
    fetched: list[bytes] = []

    class Again(MockWire):
        """Has the first answer to a FETCH for every FETCH, with the right identifier."""

        def receive(self) -> bytes:
            said = super().receive()
            fetched.append(said)
            return fetched[0][:8] + said[8:12] + fetched[0][12:]

    again = Again(writing.place, len(writing.place.wires))
    writing.place.wires.append(again)
    writing.place.mock.opened(again.number, "sbp", writing.place.now_ns)
    with pytest.raises(Failed, match="FETCH was answered with batches from before: offset 1 was asked for"):
        list(RangeTalk(again).read("0/0"))
