"""Appends against the mock of SBP v0.1 in schema S1."""

from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.load.mock_stage import Place, Saying
from tests.protocols.sbp_0_1.server.talk import batch_s1
from wiretool.codec.event_trailer import MARK_BYTES
from wiretool.errors import Unmet
from wiretool.load.events import Filler, Maker, writer_of
from wiretool.load.link import Failed
from wiretool.load.verify.stored_events import Checker
from wiretool.protocols.sbp.framing import encode_frame, read_frame
from wiretool.protocols.sbp.messages import APPEND, GOAWAY, SbpFrame
from wiretool.protocols.sbp_0_1.load.client import (
    HEAD,
    Appends,
    Binding,
    StreamTalk,
    VaryingAppends,
    acks,
    append_frame,
    bind,
    heartbeat,
)
from wiretool.protocols.sbp_0_1.messages import S1
from wiretool.protocols.sbp_0_1.records import BatchS1
from wiretool.protocols.sbp_0_1.server.mock import Sbp01Mock
from wiretool.protocols.sbp_0_1.tables_s1 import (
    AppendResponse,
    AppendResult,
    CreateStreamResult,
    CreateStreamsResponse,
    FetchResponse,
    FetchResult,
)

RUN = "run"
KEY = writer_of(RUN, 0, 0)
FILLER = Filler(0)


class Writing:
    """A writer with its events, on one connection after another, in a stream for each."""

    def __init__(self, place: Place, source: "Appends | VaryingAppends") -> None:
        self.place = place
        self.source = source
        self.connect()

    def connect(self) -> None:
        """Begin on a new connection, in a new stream."""
        self.link = self.place.wire()
        self.bound = bind(self.link)
        self.source.bind(*self.bound)
        self.source.last = self.acknowledged = 0
        self.feed = acks(self.bound.next_id, self.source.events).feed

    def append(self) -> int:
        """Send one; what is acknowledged then."""
        self.link.send(self.source.next())
        self.acknowledged = max(self.acknowledged, self.feed(self.link.receive()))
        return self.acknowledged

    def stored(self) -> bytes:
        """The events of its stream."""
        return b"".join(StreamTalk(self.place.wire()).read(str(self.bound.stream_id)))

    def check(self) -> list[str]:
        """What is wrong with what is stored."""
        checker = Checker("s", run=RUN, head=HEAD, filler=FILLER)
        checker.feed(self.stored())
        outcome = checker.end({KEY: self.acknowledged}, {KEY: self.source.last})
        assert outcome.checked >= self.acknowledged
        return outcome.findings


def maker() -> Maker:
    return Maker(KEY, head=HEAD, filler=FILLER)


def fixed(events: int = 1, size: int = 100) -> Appends:
    return Appends(maker(), events=events, size=size)


def varying(events: int = 5, most: int = 500) -> VaryingAppends:
    sizes = Random(1)
    return VaryingAppends(maker(), events=events, draw=lambda: sizes.randint(MARK_BYTES, most))


def ack(stream_id: int, *codes: int, base: int = 7, flags: int = 3) -> bytes:
    results = tuple(
        AppendResult(stream_id=5, base_offset=base, stream_append_time_ms=9, error_code=code) for code in codes or (0,)
    )
    return answer(AppendResponse(append_responses=results), stream_id=stream_id, flags=flags)


def answer(header: Any, *, stream_id: int = 1, flags: int = 3, opcode: int = 0, payload: bytes = b"") -> bytes:
    opcode = opcode or type(header).declaration.type_id
    frame = SbpFrame(opcode=opcode, flags=flags, stream_id=stream_id, header=header, payload=payload)
    return encode_frame(frame, "server")


def saying(*said: bytes) -> StreamTalk:
    return StreamTalk(Saying(Place(Sbp01Mock()), *said))


@pytest.mark.parametrize(("events", "size"), [(1, 100), (100, 100), (3, 20), (1, 3_000_000)])
def test_fixed_appends_are_stored_as_they_are_meant(events: int, size: int) -> None:
    writing = Writing(Place(Sbp01Mock()), fixed(events, size))
    assert [writing.append() for _ in range(3)] == [events, 2 * events, 3 * events]
    assert writing.source.size == events * size
    assert writing.stored() == maker().batch([size] * (3 * events), 1)
    assert writing.check() == []


@pytest.mark.parametrize("most", [500, 400_000])
def test_varying_appends_are_stored_as_they_are_meant(most: int) -> None:
    writing = Writing(Place(Sbp01Mock()), varying(most=most))
    assert [writing.append() for _ in range(9)] == list(range(5, 50, 5))
    assert writing.check() == []


def test_many_batches_are_read_in_their_order() -> None:
    writing = Writing(Place(Sbp01Mock()), fixed(3))
    for _ in range(200):
        writing.append()
    assert writing.check() == []
    pieces = list(StreamTalk(writing.place.wire()).read(str(writing.bound.stream_id)))
    assert len(pieces) == 200


@pytest.mark.parametrize("events", [1, 3])
def test_frames_are_what_encoding_each_anew_gives(events: int) -> None:
    one, other = fixed(events), VaryingAppends(maker(), events=events, draw=lambda: 100)
    for source in (one, other):
        source.bind(7, 4)
    for turn in range(3):
        bodies = [FILLER.event(100, KEY, turn * events + number) for number in range(1, events + 1)]
        anew = append_frame(7, bodies)
        frame = bytes(one.next())
        assert frame == other.next() == anew[:8] + (4 + turn).to_bytes(4, "big") + anew[12:]
        reading = read_frame(S1, frame, 0, len(frame))
        assert reading.defects == []
        assert reading.batches is not None
        [(batch, _)] = reading.batches.found
        assert isinstance(batch, BatchS1)
        assert [record.meta.offset_delta for record in batch.records] == list(range(events))
    assert one.last == other.last == 3 * events


def test_an_append_that_no_frame_takes_is_told() -> None:
    with pytest.raises(Failed, match=r"a frame takes 16777216 bytes at most, .* make --batch or --event-size smaller"):
        fixed(1, 16 * 1024 * 1024 - 64).bind(7, 1)
    source = VaryingAppends(maker(), events=1, draw=lambda: 16 * 1024 * 1024 - 64)
    source.bind(7, 1)
    with pytest.raises(Failed, match=r"an append of 16,777,[0-9]* bytes: a frame takes 16,777,216; make --batch"):
        source.next()


def test_a_writer_that_comes_back_goes_on_in_another_stream() -> None:
    writing = Writing(Place(Sbp01Mock()), fixed(2))
    first = writing.bound
    writing.append()
    writing.link.send(writing.source.next())  # its answer is lost
    writing.connect()
    assert (first, writing.bound) == (Binding(0, 2), Binding(1, 2))
    writing.append()
    assert writing.check() == []
    writing.bound, writing.source.last, writing.acknowledged = first, 4, 2
    assert writing.check() == []


def test_a_server_without_data_nodes_is_told() -> None:
    with pytest.raises(Failed, match="CREATE_STREAMS was answered with Unknown: required 1, available 0"):
        Writing(Place(Sbp01Mock(nodes={})), fixed())


def test_a_range_that_is_sealed_takes_nothing() -> None:
    writing = Writing(Place(Sbp01Mock()), fixed())
    writing.append()
    writing.place.mock.operate("seal", {"stream": 0}, 0)
    with pytest.raises(Failed, match="Invalid_Request: range 0 of stream 0 is sealed") as caught:
        writing.append()
    assert caught.value.kind == "an append answered with Invalid_Request"


def test_what_the_server_let_go_of_cannot_be_checked() -> None:
    writing = Writing(Place(Sbp01Mock(retain_bytes=10_000)), fixed(1, 2_000))
    for _ in range(6):
        writing.append()
    with pytest.raises(Unmet, match=r"stream 0 starts at offset [1-9] now; .* cannot be checked"):
        writing.check()


def test_a_stream_that_is_not_there() -> None:
    with pytest.raises(Failed, match="FETCH was answered with Invalid_Request: no range in stream 9"):
        list(StreamTalk(Place(Sbp01Mock()).wire()).read("9"))
    assert list(saying().read("")) == []


def test_a_fetch_that_does_not_go_on_is_told() -> None:
    batch = batch_s1(0)
    found = FetchResponse(fetch_responses=(FetchResult(batch_length=len(batch)),))
    with pytest.raises(Failed, match="FETCH was answered with batches from before: offset 0 was asked for"):
        list(saying(answer(found, payload=batch)).read("1"))


def test_a_heartbeat_is_answered_and_is_no_acknowledgement() -> None:
    writing, beat = Writing(Place(Sbp01Mock()), fixed()), heartbeat()
    writing.link.send(beat())
    assert writing.feed(writing.link.receive()) == 0
    assert writing.append() == 1
    with pytest.raises(Failed, match="the server goes away"):
        writing.feed(writing.link.receive())  # nothing is said for as long as it takes


# -- answers -----------------------------------------------------------------------------------------------------------


@given(st.integers(1, 8), st.data())
def test_acknowledgements_may_be_cut_anywhere(count: int, data: st.DataObject) -> None:
    said = b"".join(ack(number, base=10 * (number - 3)) for number in range(3, 3 + count))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(said)), max_size=4)))
    reader = acks(3, 10)
    pieces = [said[left:right] for left, right in zip([0, *cuts], [*cuts, len(said)], strict=True)]
    assert max(reader.feed(piece) for piece in pieces) == 10 * count


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (ack(1, 2), "an append was answered with Invalid_Request"),
        (ack(1, 1), "an append was answered with Unknown"),
        (ack(1, 0, 0), "an append was answered with 2 results"),
        (answer(AppendResponse()), "an append was answered with 0 results"),
        (answer(None, opcode=APPEND), "an append was answered with no result"),
        (ack(2) + ack(2), "an append was answered with a reply that matches no append: identifier 2"),
        (ack(1, flags=1), "a part of an answer"),
        (answer(FetchResponse()), "an append was answered with FETCH 1"),
        (answer(None, opcode=GOAWAY, flags=0, stream_id=8), r"the server goes away \(GOAWAY 8\)"),
        (b"HTTP/1.1 200 OK\r\n\r\n", "an append got a reply that is not SBP: "),
    ],
)
def test_any_other_answer_to_an_append_is_told(said: bytes, why: str) -> None:
    with pytest.raises(Failed, match=why):
        acks(1, 1).feed(said)


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (answer(CreateStreamsResponse()), "CREATE_STREAMS was answered with 0 results"),
        (answer(None, opcode=0x3001), "CREATE_STREAMS was answered with 0 results"),
        (answer(CreateStreamsResponse(create_responses=(CreateStreamResult(),))), "answered with no stream"),
        (
            answer(CreateStreamsResponse(create_responses=(CreateStreamResult(error_code=1, error_message="full"),))),
            "CREATE_STREAMS was answered with Unknown: full",
        ),
        (answer(None, opcode=GOAWAY, flags=0), "the server goes away"),
    ],
)
def test_what_a_server_says_to_the_first_request_is_held_against_it(said: bytes, why: str) -> None:
    with pytest.raises(Failed, match=why):
        saying(said).make_stream()


def test_results_of_a_fetch_are_as_many_as_were_asked_for() -> None:
    with pytest.raises(Failed, match="FETCH was answered with 0 results"):
        list(saying(answer(FetchResponse())).read("1"))
    results = (FetchResult(), FetchResult())
    with pytest.raises(Failed, match="FETCH was answered with 2 results"):
        list(saying(answer(FetchResponse(fetch_responses=results))).read("1"))
