"""Appends against the mock store, which refuses what the real one refuses."""

from random import Random
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.load.stage import Wire
from wiretool.codec.event_trailer import MARK_BYTES
from wiretool.errors import Unmet
from wiretool.load.events import Filler, Maker, writer_of
from wiretool.load.link import Failed
from wiretool.load.verify.stored_events import Checker
from wiretool.protocols.pravega.framing import encode
from wiretool.protocols.pravega.load.client import HEAD, Acks, Appends, ConditionalAppends, Store, VaryingAppends
from wiretool.protocols.pravega.messages import DataAppended, Hello, KeepAlive, SegmentRead
from wiretool.protocols.pravega.segments import CreateSegment, SegmentCreated, SegmentTruncated, TruncateSegment

RUN, SEGMENT = "run", "bench-run/load/0.#epoch.0"
KEY = writer_of(RUN, 0, 0)
WRITER = str(UUID(int=KEY))
FILLER = Filler(0)


def maker() -> Maker:
    return Maker(KEY, head=HEAD, filler=FILLER)


def stored(store: Store) -> bytes:
    return b"".join(store.read(SEGMENT))


def ack(number: int, writer: str = WRITER) -> bytes:
    return encode(DataAppended(writer_id=writer, event_number=number), "server")


def check(store: Store, sent: int) -> list[str]:
    checker = Checker(SEGMENT, run=RUN, head=HEAD, filler=FILLER)
    checker.feed(stored(store))
    outcome = checker.end({KEY: sent}, {KEY: sent})
    assert outcome.checked == sent
    return outcome.findings


@pytest.fixture
def store() -> Store:
    store = Store(Wire())
    store.make_segment(SEGMENT)
    assert store.set_up(WRITER, SEGMENT) == 0
    return store


@pytest.mark.parametrize(("events", "size"), [(1, 100), (100, 100), (3, 20), (1, 3_000_000)])
def test_fixed_appends_are_stored_as_they_are_meant(store: Store, events: int, size: int) -> None:
    appends, acks = Appends(WRITER, maker(), events=events, size=size), Acks(WRITER)
    for number in (1, 2, 3):
        store.link.send(appends.next())
        assert acks.feed(store.link.receive()) == appends.last == number * events
    assert appends.size == events * size
    assert stored(store) == maker().batch([size] * (3 * events), 1)
    assert check(store, 3 * events) == []


def test_conditional_appends_are_stored_as_they_are_meant(store: Store) -> None:
    appends, acks = ConditionalAppends(WRITER, maker(), size=100), Acks(WRITER)
    for number in (1, 2, 3):
        store.link.send(appends.next())
        assert acks.feed(store.link.receive()) == appends.last == number
    assert appends.size == 100
    assert stored(store) == maker().batch([100] * 3, 1)
    assert check(store, 3) == []


def test_a_conditional_append_to_a_segment_that_is_longer_is_refused(store: Store) -> None:
    store.link.send(Appends(WRITER, maker(), events=1, size=50).next())
    acks = Acks(WRITER)
    acks.feed(store.link.receive())
    appends = ConditionalAppends(WRITER, maker(), size=100)
    appends.last = 1
    store.link.send(appends.next())
    with pytest.raises(Failed, match="an append was answered with ConditionalCheckFailed") as caught:
        acks.feed(store.link.receive())
    assert caught.value.kind == "an append answered with ConditionalCheckFailed"


def test_varying_appends_are_stored_as_they_are_meant(store: Store) -> None:
    sizes = Random(1)
    appends = VaryingAppends(WRITER, maker(), events=5, draw=lambda: sizes.randint(MARK_BYTES, 500))
    acks, size = Acks(WRITER), 0
    for number in (1, 2, 3):
        store.link.send(appends.next())
        assert acks.feed(store.link.receive()) == appends.last == number * 5
        size += appends.size
    assert len(stored(store)) == size + 15 * HEAD.width
    assert check(store, 15) == []


def test_a_writer_goes_on_behind_what_is_stored(store: Store) -> None:
    appends = Appends(WRITER, maker(), events=2, size=100)
    store.link.send(appends.next())
    store.link.receive()
    assert isinstance(store.link, Wire)
    again = Store(Wire(store.link.cluster))
    again.make_segment(SEGMENT)  # is there, which is as good
    assert again.set_up(WRITER, SEGMENT) == 2


def test_what_was_truncated_cannot_be_read(store: Store) -> None:
    appends = Appends(WRITER, maker(), events=2, size=100)
    store.link.send(appends.next())
    store.link.receive()
    store.ask(TruncateSegment(request_id=1, segment=SEGMENT, truncation_offset=108), SegmentTruncated)
    with pytest.raises(Unmet, match=f"{SEGMENT} starts at byte 108 now; .* cannot be checked"):
        stored(store)


@pytest.mark.parametrize("segment", ["", "none/such/0.#epoch.0"])
def test_a_segment_that_is_not_there(store: Store, segment: str) -> None:
    with pytest.raises(Failed, match="SetupAppend was answered with NoSuchSegment") as caught:
        store.set_up(WRITER, segment)
    assert caught.value.kind == "SetupAppend answered with NoSuchSegment"
    assert caught.value.exit_code == 4


class Saying(Wire):
    """Says what it is told to, whatever is asked."""

    def __init__(self, *said: bytes) -> None:
        super().__init__()
        self.said = [encode(Hello(high_version=17, low_version=5), "server"), *said]

    def send(self, data: bytes | bytearray) -> None:
        """Nobody listens."""

    def receive(self) -> bytes:
        return self.said.pop(0)


def test_keep_alives_are_passed_over_and_replies_may_come_in_pieces() -> None:
    made = encode(SegmentCreated(request_id=1, segment=SEGMENT), "server")
    Store(Saying(encode(KeepAlive(), "server"), made[:5], made[5:])).make_segment(SEGMENT)


@pytest.mark.parametrize("said", [b"HTTP/1.1 400 Bad Request\r\n\r\n" * 3, b"\x7f\0\0\0\0\0\0\x04abcd"])
def test_what_is_no_pravega(said: bytes) -> None:
    store = Store(Saying(said))
    with pytest.raises(Failed, match="got a reply that is no Pravega: ") as caught:
        store.make_segment(SEGMENT)
    assert caught.value.kind.startswith("no Pravega: ")


@given(st.lists(st.integers(1, 2**40), min_size=1, max_size=5), st.data())
def test_acknowledgements_may_be_cut_anywhere(numbers: list[int], data: st.DataObject) -> None:
    numbers.sort()
    said = b"".join(ack(number) for number in numbers)
    cut = data.draw(st.integers(0, len(said)))
    acks = Acks(WRITER)
    assert max(acks.feed(said[:cut]), acks.feed(said[cut:])) == numbers[-1]


def test_a_keep_alive_among_acknowledgements() -> None:
    assert Acks(WRITER).feed(ack(1) + encode(KeepAlive(), "server") + ack(2)) == 2


@pytest.mark.parametrize(
    "reply",
    [
        ack(1, writer=str(UUID(int=1))),
        encode(SegmentRead(segment="s", offset=0, at_tail=True, end_of_segment=False, data=b""), "server"),
        encode(CreateSegment(request_id=1, segment="s", target_rate=0, scale_type=0), "client"),
    ],
)
def test_any_other_reply_to_an_append_is_told(reply: bytes) -> None:
    with pytest.raises(Failed, match="an append was answered with "):
        Acks(WRITER).feed(ack(1) + reply)


def test_an_acknowledgement_that_is_no_pravega() -> None:
    with pytest.raises(Failed, match="an append got a reply that is no Pravega"):
        Acks(WRITER).feed(b"HTTP/1.1 200 OK\r\n\r\n")
