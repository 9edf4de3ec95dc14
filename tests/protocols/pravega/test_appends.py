"""Appends put together: the decoder rules D1 to D22, and what a hole excuses."""

from typing import NoReturn

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.protocols.pravega.talk import (
    HELLO,
    OTHER,
    SEGMENT,
    SET_UP,
    SETUP,
    SETUP_OTHER,
    WORLD,
    WRITER,
    Talk,
    ack,
    block,
    end,
    event,
    kinds,
)
from wiretool import limits
from wiretool.codec.message import Message
from wiretool.errors import ProtocolViolation
from wiretool.protocols.pravega.appends import Appends, Writer, bodies_of, event_frame, events_of
from wiretool.protocols.pravega.messages import (
    ConditionalAppend,
    ConditionalBlockEnd,
    KeepAlive,
    Padding,
    SetupAppend,
)
from wiretool.protocols.pravega.structures import InnerEvent

PADDING = bytes.fromhex("ffffffff00000003000000")
CONDITIONAL = ConditionalAppend(
    writer_id=WRITER, event_number=3, expected_offset=100, event=InnerEvent(data=b"if"), request_id=9
)
RAW = ConditionalBlockEnd(writer_id=WRITER, event_number=0, expected_offset=0, data=b"raw bytes", request_id=9)


def class_name(message: Message) -> str:
    return type(message).__name__


def partial(data: bytes) -> bytes:
    return bytes.fromhex("fffffffe") + len(data).to_bytes(4, "big") + data


def test_an_append_names_its_segment() -> None:
    reading = Talk(("client", SETUP)).client(end(5, HELLO))
    assert reading.append == {
        "segment": SEGMENT,
        "writer_id": WRITER,
        "event_number": 5,
        "event_count": 1,
        "expected_length": None,
        "request_id": 5,
        "length": 13,
    }
    assert reading.events == [event(5, b"hello")]


@pytest.mark.parametrize(
    ("block_data", "last", "events"),
    [
        (HELLO + WORLD, end(2, events=2, whole=27), [b"hello", b"world!"]),
        (HELLO + PADDING, end(1, whole=13), [b"hello"]),
        (HELLO + partial(WORLD[:3]), end(2, WORLD[3:], events=2, whole=13), [b"hello", b"world!"]),
        (HELLO + partial(WORLD), end(2, events=2, whole=13), [b"hello", b"world!"]),
        (partial(b""), end(1, HELLO), [b"hello"]),
        (HELLO + PADDING + b"ignored", end(1, whole=13), [b"hello"]),
        (HELLO, end(1, b"dropped", whole=13), [b"hello"]),
    ],
)
def test_a_block_is_put_together(block_data: bytes, last: Message, events: list[bytes]) -> None:
    talk = Talk(("client", SETUP))
    assert talk.client(block(block_data)).append is None
    reading = talk.client(last)
    assert not reading.defects
    assert [bytes.fromhex(each["data"]) for each in reading.events or []] == events
    assert [each["event_number"] for each in reading.events or []] == list(range(1, len(events) + 1))


def test_events_that_are_counted_but_not_there_leave_the_numbers_open() -> None:
    reading = Talk(("client", SETUP)).client(end(7, HELLO + WORLD, events=3))
    assert reading.events == [{"length": 5, "data": b"hello".hex()}, {"length": 6, "data": b"world!".hex()}]
    nothing = Talk(("client", SETUP)).client(end(7))
    assert (nothing.events, nothing.append and nothing.append["length"]) == ([], 0)


@pytest.mark.parametrize("data", [b"no events", HELLO + b"x", bytes(8) * 3, HELLO[:-1], b"\0\0\0\0"])
def test_a_raw_append_has_no_events(data: bytes) -> None:
    reading = Talk(("client", SETUP)).client(end(1, data))
    assert not reading.defects
    assert (reading.events, reading.append and reading.append["length"]) == ([], len(data))


@given(st.lists(st.binary(max_size=9), max_size=5))
def test_events_come_back(bodies: list[bytes]) -> None:
    data = b"".join(map(event_frame, bodies))
    assert bodies_of(data, len(bodies)) == bodies
    assert events_of(data, len(bodies), 9) == [event(10 - len(bodies) + i, body) for i, body in enumerate(bodies)]


@given(st.binary(max_size=60), st.integers(-5, 5))
def test_any_bytes_have_events_or_none(data: bytes, num_events: int) -> None:
    bodies = bodies_of(data, num_events)
    assert b"".join(map(event_frame, bodies)) in (b"", data)


def test_a_conditional_append() -> None:
    reading = Talk(("client", SETUP)).client(CONDITIONAL)
    assert reading.events == [event(3, b"if")]
    assert reading.append is not None
    assert (reading.append["expected_length"], reading.append["length"]) == (100, 10)


def test_a_conditional_block_is_raw() -> None:
    reading = Talk(("client", SETUP)).client(RAW)
    assert reading.events == []
    assert reading.append is not None
    assert (reading.append["event_count"], reading.append["length"]) == (1, 9)


@pytest.mark.parametrize(
    "message", [block(HELLO), end(1, HELLO), CONDITIONAL, RAW], ids=lambda message: type(message).__name__
)
def test_an_append_before_its_set_up_is_read_and_said_to_be(message: Message) -> None:
    reading = Talk().client(message)
    assert (reading.fields, reading.append) == (message, None)
    assert kinds(reading) == ["append-before-setup"]


@pytest.mark.parametrize(
    "message",
    [block(HELLO), SETUP_OTHER, CONDITIONAL, RAW, Padding(length=3)],
    ids=lambda message: type(message).__name__,
)
def test_an_open_block_must_be_ended_first(message: Message) -> None:
    talk = Talk(("client", SETUP), ("client", block(HELLO)))
    assert kinds(talk.client(message)) == ["block-not-ended"]


def test_after_a_block_that_was_not_ended_the_next_one_counts() -> None:
    talk = Talk(("client", SETUP), ("client", block(HELLO)), ("client", block(WORLD)))
    reading = talk.client(end(1, whole=14))
    assert not reading.defects
    assert reading.events == [event(1, b"world!")]


@pytest.mark.parametrize(
    ("data", "last", "kind", "why"),
    [
        (HELLO, end(1, events=0, whole=13), "bad-event-count", "an append of 0 events"),
        (HELLO, end(1, whole=14), "bad-whole-size", "14 bytes of whole events in 13"),
        (HELLO, end(1, whole=-1), "bad-whole-size", "-1 bytes of whole events in 13"),
        (HELLO, end(1, whole=6), "bad-tail-item", "7 bytes after the whole events are not an item"),
        (HELLO + partial(b"abc")[:-1], end(1, whole=13), "bad-tail-item", "an item of 11 bytes .* 10 left"),
        (HELLO + bytes.fromhex("ffffffffffffffff"), end(1, whole=13), "bad-tail-item", "an item of 4294967303 bytes"),
        (HELLO + WORLD, end(1, whole=13), "bad-tail-item", "Event after the whole events"),
        (HELLO + bytes.fromhex("0000000600000000"), end(1, whole=13), "bad-tail-item", "type 6 after"),
        (HELLO + PADDING, end(1, b"z", whole=13), "data-after-padding", "1 bytes after padding"),
        (HELLO, end(1, whole=13, writer=OTHER), "writer-mismatch", f"the open block is of writer {WRITER}"),
    ],
)
def test_a_block_that_does_not_add_up(data: bytes, last: Message, kind: str, why: str) -> None:
    talk = Talk(("client", SETUP), ("client", SETUP_OTHER), ("client", block(data)))
    reading = talk.client(last)
    assert (kinds(reading), reading.append) == ([kind], None)
    with pytest.raises(Exception, match=why):
        raise reading.defects[0]
    assert not talk.client(block(HELLO)).defects


def test_numbers_do_not_go_back() -> None:
    talk = Talk(("client", SETUP), ("client", end(5, HELLO)))
    assert not talk.client(end(5, HELLO)).defects
    assert kinds(talk.client(end(4, HELLO))) == ["event-number-backwards"]
    assert kinds(talk.client(CONDITIONAL)) == ["event-number-backwards"]
    assert not talk.client(end(6, HELLO)).defects
    assert kinds(Talk(("client", SETUP)).client(end(-1, HELLO))) == ["event-number-backwards"]


def test_a_set_up_begins_anew_and_moves_the_writer() -> None:
    moved = SetupAppend(request_id=9, writer_id=WRITER, segment="other")
    reading = Talk(("client", SETUP), ("client", end(5, HELLO)), ("client", moved)).client(end(1, HELLO))
    assert not reading.defects
    assert reading.append is not None
    assert reading.append["segment"] == "other"


def test_writers_take_turns_and_other_commands_pass() -> None:
    talk = Talk(("client", SETUP), ("client", SETUP_OTHER), ("client", block(HELLO)), ("client", KeepAlive()))
    assert talk.client(end(1, whole=13)).events == [event(1, b"hello")]
    assert talk.client(end(1, WORLD, writer=OTHER)).events == [event(1, b"world!")]
    assert not any(reading.defects for reading in talk.readings)


def test_padding_between_blocks_is_dropped() -> None:
    assert not Talk(("client", SETUP)).client(Padding(length=4)).defects


# -- what was not captured -----------------------------------------------------------------------------------------


def test_a_writer_from_before_the_capture_is_taken_in() -> None:
    talk = Talk(is_whole=False)
    assert not talk.client(block(HELLO)).defects
    reading = talk.client(end(100, whole=13))
    assert reading.events == [event(100, b"hello")]
    assert reading.append is not None
    assert reading.append["segment"] is None


def test_a_reply_teaches_the_segment() -> None:
    talk = Talk(is_whole=False)
    talk.client(end(100, HELLO, whole=13))
    talk.server(SET_UP)
    reading = talk.client(end(101, HELLO))
    assert reading.append is not None
    assert reading.append["segment"] == SEGMENT


def test_an_ack_proves_the_set_up() -> None:
    talk = Talk()
    talk.server(ack(7))
    assert not talk.client(end(8, HELLO)).defects


def test_the_end_of_a_block_that_was_not_captured_tells_no_append() -> None:
    talk = Talk(is_whole=False)
    reading = talk.client(end(9, WORLD[3:], events=2, whole=13))
    assert (reading.defects, reading.append, reading.events) == ((), None, None)
    assert talk.client(end(10, HELLO)).events == [event(10, b"hello")]


def test_a_lone_append_after_a_hole_is_whole_if_it_adds_up() -> None:
    talk = Talk(("client", SETUP))
    talk.conversation.hole("client")
    assert talk.client(end(9, HELLO + WORLD, events=2, whole=27)).events == [event(8, b"hello"), event(9, b"world!")]


def test_a_hole_excuses_what_it_could_explain() -> None:
    talk = Talk(("client", SETUP), ("client", end(50, HELLO)), ("client", block(HELLO)))
    talk.conversation.hole("client")
    for message in (block(WORLD), end(3, whole=14), end(4, HELLO, writer=OTHER)):
        assert not talk.client(message).defects
    assert kinds(talk.client(end(2, HELLO))) == ["event-number-backwards"]


def test_a_hole_of_the_server_excuses_nothing_of_the_client() -> None:
    talk = Talk()
    talk.conversation.hole("server")
    assert kinds(talk.client(end(1, HELLO))) == ["append-before-setup"]


def test_a_command_that_cannot_be_read_leaves_the_block_open_or_not() -> None:
    talk = Talk(("client", SETUP), ("client", block(HELLO)))
    assert kinds(talk.say_bytes("client", bytes.fromhex("0000000400000003616263"))) == ["truncated-field"]
    assert not talk.client(block(WORLD)).defects


def test_writers_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "WRITERS_MAX", 4)
    appends = Appends(is_whole=True)
    for number in range(20):
        appends.set_up(SetupAppend(request_id=1, writer_id=f"writer {number}", segment="s"))
    assert len(appends.writers) <= 4
    appends.begin(block(HELLO))


class Unscanned(dict[str, Writer]):
    """Writers that nobody may go through one by one."""

    def scan(self) -> NoReturn:
        pytest.fail("each frame may cost this, with as many writers as there may be")

    __iter__ = keys = values = items = scan


def test_no_frame_goes_through_all_writers() -> None:
    appends = Appends(is_whole=True)
    appends.set_up(SETUP)
    appends.set_up(SETUP_OTHER)
    appends.finish(end(5, HELLO))
    appends.writers = Unscanned(appends.writers)
    appends.lose()
    appends.finish(end(3, HELLO))
    with pytest.raises(ProtocolViolation, match="event 2 after event 3"):
        appends.finish(end(2, HELLO))
    assert list(appends.writers_of(SEGMENT)) == [WRITER]
    assert list(appends.writers_of("another")) == []


def test_the_writers_of_a_segment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "WRITERS_MAX", 4)
    appends = Appends(is_whole=False)
    appends.learn("late", None)
    assert list(appends.writers_of("a")) == []
    appends.learn("late", "a")
    appends.learn("late", "b")
    appends.set_up(SetupAppend(request_id=1, writer_id="moves", segment="a"))
    assert list(appends.writers_of("a")) == ["late", "moves"]
    appends.set_up(SetupAppend(request_id=2, writer_id="moves", segment="b"))
    assert (list(appends.writers_of("a")), list(appends.writers_of("b"))) == (["late"], ["moves"])
    assert list(appends.writers_of(None)) == ["late", "moves"]
    for number in range(20):
        appends.set_up(SetupAppend(request_id=1, writer_id=f"writer {number}", segment=f"segment {number}"))
        assert list(appends.writers_of(f"segment {number}")) == [f"writer {number}"]
    assert not [name for name in ("a", "b", "segment 0") if list(appends.writers_of(name))]
    assert len(appends._by_segment) <= 4
