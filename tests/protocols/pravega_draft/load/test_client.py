"""Appends against the mock of the 2017 draft."""

from random import Random
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.load.mock_stage import Place, Saying
from wiretool.codec.event_trailer import MARK_BYTES
from wiretool.codec.message import Message
from wiretool.errors import Unmet
from wiretool.load.events import Filler, Maker, writer_of
from wiretool.load.link import Failed
from wiretool.load.verify.stored_events import Checker
from wiretool.protocols.pravega_draft.framing import encode
from wiretool.protocols.pravega_draft.load.client import HEAD, Acks, Appends, Store, VaryingAppends, segment_name
from wiretool.protocols.pravega_draft.messages import (
    AppendSetup,
    DataAppended,
    KeepAlive,
    NoSuchSegment,
    SegmentIsSealed,
    SegmentRead,
    WrongHost,
)
from wiretool.protocols.pravega_draft.server.mock import DraftMock

RUN = "run"
SEGMENT, OTHER = segment_name(RUN, 0), segment_name(RUN, 1)
KEY = writer_of(RUN, 0, 0)
ID = str(UUID(int=KEY))
FILLER = Filler(0)


class Writing:
    """An appender with its events, on one connection after another."""

    def __init__(self, place: Place, source: Appends | VaryingAppends, segment: str = SEGMENT) -> None:
        self.place = place
        self.source = source
        self.segment = segment
        self.acknowledged = 0
        self.connect()

    def connect(self) -> None:
        """Begin on a new connection."""
        self.link = self.place.wire()
        level = Store(self.link).set_up(ID, self.segment)
        self.source.last = self.acknowledged = self.source.go_on(level)
        self.feed = Acks(ID, self.source).feed

    def append(self) -> int:
        """Send one; what is acknowledged then."""
        self.link.send(self.source.next())
        self.acknowledged = max(self.acknowledged, self.feed(self.link.receive()))
        return self.acknowledged

    def stored(self) -> bytes:
        """All that its segment has."""
        return b"".join(Store(self.place.wire()).read(self.segment))

    def check(self) -> list[str]:
        """What is wrong with what is stored."""
        checker = Checker(self.segment, run=RUN, head=HEAD, filler=FILLER)
        checker.feed(self.stored())
        outcome = checker.end({KEY: self.acknowledged}, {KEY: self.source.last})
        assert outcome.checked >= self.acknowledged
        return outcome.findings


def maker() -> Maker:
    return Maker(KEY, head=HEAD, filler=FILLER)


def fixed(events: int = 1, size: int = 100) -> Appends:
    return Appends(ID, maker(), events=events, size=size)


def varying(events: int = 5) -> VaryingAppends:
    sizes = Random(1)
    return VaryingAppends(ID, maker(), events=events, draw=lambda: sizes.randint(MARK_BYTES, 500))


def ack(level: int, connection_id: str = ID) -> bytes:
    return encode(DataAppended(connection_id=connection_id, connection_offset_ack_level=level))


def saying(*said: Message | bytes) -> Store:
    return Store(Saying(Place(DraftMock()), *(each if isinstance(each, bytes) else encode(each) for each in said)))


@pytest.mark.parametrize(("events", "size"), [(1, 100), (100, 100), (3, 20), (1, 3_000_000), (3, 6_000_000)])
def test_fixed_appends_are_stored_as_they_are_meant(events: int, size: int) -> None:
    writing = Writing(Place(DraftMock()), fixed(events, size))
    assert [writing.append() for _ in range(3)] == [events, 2 * events, 3 * events]
    assert writing.source.size == events * size
    assert writing.stored() == maker().batch([size] * (3 * events), 1)
    assert writing.check() == []


def test_varying_appends_are_stored_as_they_are_meant() -> None:
    writing = Writing(Place(DraftMock()), varying())
    assert [writing.append() for _ in range(3)] == [5, 10, 15]
    assert writing.check() == []


def test_frames_are_what_encoding_each_anew_gives() -> None:
    one, other = fixed(3), VaryingAppends(ID, maker(), events=3, draw=lambda: 100)
    for _ in range(3):
        assert one.next() == other.next()
    assert one.last == other.last == 9


@pytest.mark.parametrize("source", [fixed(2), varying(2)], ids=["fixed", "varying"])
@pytest.mark.parametrize("is_lost", [False, True])
def test_an_appender_goes_on_behind_what_is_stored(source: Appends | VaryingAppends, is_lost: bool) -> None:
    source.last = source.go_on(0)
    writing = Writing(Place(DraftMock()), source)
    writing.append()
    old = writing.link
    frames = [bytes(source.next()) for _ in range(3)]
    old.send(frames[0] if is_lost else frames[0] + frames[1])
    writing.connect()
    assert writing.acknowledged == (4 if is_lost else 6)
    writing.append()
    old.send(frames[2])  # too late: it is refused, and its connection closed
    assert old.is_closed
    writing.append()
    assert writing.check() == []


def test_segments_are_apart_and_may_have_several_appenders() -> None:
    place = Place(DraftMock())
    first, second = Writing(place, fixed()), Writing(place, fixed(), OTHER)
    for _ in range(3):
        first.append()
        second.append()
    store = Store(place.wire())
    read = [b"".join(store.read(name)) for name in (SEGMENT, OTHER, SEGMENT)]
    assert read == [first.stored()] * 3
    assert len(read[0]) == 3 * 108


def test_a_segment_that_nobody_wrote_to_has_nothing() -> None:
    store = Store(Place(DraftMock()).wire())
    store.set_up(ID, SEGMENT)
    assert list(store.read(SEGMENT)) == []
    assert list(store.read(SEGMENT)) == []


def test_a_segment_is_read_in_as_many_pieces_as_it_takes() -> None:
    writing = Writing(Place(DraftMock()), fixed(1, 3_000_000))
    for _ in range(3):
        writing.append()
    assert len(list(Store(writing.place.wire()).read(SEGMENT))) > 3
    assert writing.check() == []


def test_a_segment_that_is_not_there() -> None:
    store = Store(Place(DraftMock(segments=["other"])).wire())
    with pytest.raises(Failed, match="SetupAppend was answered with NoSuchSegment") as caught:
        store.set_up(ID, SEGMENT)
    assert caught.value.kind == "SetupAppend answered with NoSuchSegment"
    with pytest.raises(Failed, match="ReadSegment was answered with NoSuchSegment"):
        list(store.read(SEGMENT))


def test_a_segment_that_is_sealed_takes_nothing() -> None:
    writing = Writing(Place(DraftMock()), fixed())
    writing.append()
    writing.place.mock.operate("seal", {"segment": SEGMENT}, 0)
    with pytest.raises(Failed, match="an append was answered with SegmentIsSealed"):
        writing.append()


def test_what_the_server_let_go_of_cannot_be_checked() -> None:
    writing = Writing(Place(DraftMock(retain_bytes=1_000_000)), fixed(1, 400_000))
    for _ in range(6):
        writing.append()
    with pytest.raises(Unmet, match=rf"{SEGMENT} starts at byte [1-9]\d* now; .* cannot be checked"):
        writing.stored()


def read_of(data: bytes, offset: int = 0, *, at_tail: bool = False) -> SegmentRead:
    return SegmentRead(segment=SEGMENT, offset=offset, at_tail=at_tail, end_of_segment=False, data=data)


ALIVE = KeepAlive(data=b"")


@pytest.mark.parametrize(
    "said",
    [
        [read_of(b"ab"), ALIVE, read_of(b"ab")],
        [read_of(b"ab"), ALIVE, read_of(b"", 2)],
        [read_of(b""), ALIVE],
        [read_of(b"ab"), ALIVE, NoSuchSegment(segment=SEGMENT)],
        [WrongHost(segment=SEGMENT, correct_host="elsewhere:1")],
    ],
)
def test_reads_that_do_not_go_on_are_told(said: list[Message]) -> None:
    with pytest.raises(Failed, match="ReadSegment was answered with "):
        list(saying(*said).read(SEGMENT))


def test_another_host_is_told() -> None:
    with pytest.raises(Failed, match=r"SetupAppend was answered with .*elsewhere:1"):
        saying(WrongHost(segment=SEGMENT, correct_host="elsewhere:1")).set_up(ID, SEGMENT)


def test_keep_alives_are_passed_over_and_replies_may_come_in_pieces() -> None:
    made = encode(AppendSetup(segment=SEGMENT, connection_id=ID, connection_offset_ack_level=7))
    assert saying(ALIVE, made[:5], made[5:]).set_up(ID, SEGMENT) == 7


@pytest.mark.parametrize("said", [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\x00\x00\x10\x00\0\0\0\x04abcd"])
def test_what_is_none_of_the_draft(said: bytes) -> None:
    with pytest.raises(Failed, match="a request to memory got a reply that is none of the draft") as caught:
        saying(said).set_up(ID, SEGMENT)
    assert caught.value.kind.startswith("none of the draft: ")
    with pytest.raises(Failed, match="an append got a reply that is none of the draft"):
        Acks(ID, fixed()).feed(said)


# -- acknowledgements --------------------------------------------------------------------------------------------------


@given(st.integers(1, 6), st.booleans(), st.data())
def test_acknowledgements_may_be_cut_anywhere_and_stand_for_those_before_them(
    count: int, is_fixed: bool, data: st.DataObject
) -> None:
    source = fixed(2) if is_fixed else varying(2)
    levels, numbers = [0], [0]
    for _ in range(count):
        frames = source.next()
        levels.append(levels[-1] + len(frames) - 72)  # a beginning and an end
        numbers.append(source.last)
    told = sorted(data.draw(st.sets(st.integers(1, count), min_size=1)))
    said = b"".join(ack(levels[index]) for index in told)
    cut = data.draw(st.integers(0, len(said)))
    acks = Acks(ID, source)
    assert max(acks.feed(said[:cut]), acks.feed(said[cut:])) == numbers[told[-1]]


@pytest.mark.parametrize("source", [fixed(2), varying(2)], ids=["fixed", "varying"])
def test_an_acknowledgement_where_no_block_ends_is_told(source: Appends | VaryingAppends) -> None:
    first = len(source.next()) - 72
    second = first + len(source.next()) - 72
    acks = Acks(ID, source)
    for level in (first - 1, first + 1, second + 1, 2 * second):
        with pytest.raises(Failed, match=f"{level:,} bytes are acknowledged, no block of the {second:,} that were"):
            acks.feed(ack(level))
    assert acks.feed(ack(second)) == 4


def test_an_appender_of_which_the_store_has_less_than_it_said_is_told_by_number_0() -> None:
    source = varying(2)
    levels = [len(source.next()) - 72 for _ in range(2)]
    assert source.last_at(sum(levels)) == 4
    assert source.go_on(levels[0]) == 0


@pytest.mark.parametrize(
    "reply",
    [ack(108, connection_id=str(UUID(int=1))), encode(SegmentIsSealed(segment=SEGMENT)), encode(read_of(b"ab"))],
)
def test_any_other_reply_to_an_append_is_told(reply: bytes) -> None:
    source = fixed()
    source.next()
    with pytest.raises(Failed, match="an append was answered with "):
        Acks(ID, source).feed(ack(108) + reply)


def test_a_keep_alive_among_acknowledgements() -> None:
    source = fixed()
    source.next()
    source.next()
    assert Acks(ID, source).feed(ack(108) + encode(ALIVE) + ack(216)) == 2
    assert Acks(ID, source).feed(encode(ALIVE)) == 0
