"""What may be said when: the table walked, each defect named, and anything at all survived."""

from functools import cache
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.strategies import messages
from tests.protocols.pravega.talk import HELLO, SETUP, SETUP_OTHER, WRITER, Talk, block, end, kinds
from wiretool.codec.message import Message, Side
from wiretool.errors import ProtocolViolation
from wiretool.protocols.pravega import PROTOCOL
from wiretool.protocols.pravega.appends import Phase
from wiretool.protocols.pravega.commands import BY_CODE, MESSAGES, may_send
from wiretool.protocols.pravega.framing import encode, frame
from wiretool.protocols.pravega.messages import (
    AppendBlock,
    AppendBlockEnd,
    AppendSetup,
    DataAppended,
    Event,
    Hello,
    KeepAlive,
    Padding,
    PartialEvent,
    ReadSegment,
    SetupAppend,
    Unknown,
)
from wiretool.protocols.pravega.segments import FlushToStorage, SegmentCreated
from wiretool.protocols.pravega.session import APPEND_COMMANDS, PHASES, TABLE

SIDES: tuple[Side, ...] = get_args(Side)
GREETING = Hello(high_version=17, low_version=5)


def in_phase(phase: Phase) -> Talk:
    """A connection that is in a phase, its writer set up."""
    talk = Talk(("client", SETUP), is_whole=phase != "lost")
    if phase == "block":
        talk.client(block(HELLO))
    elif phase == "lost":
        talk.conversation.hole("client")
    return talk


@cache
def sample(cls: type[Message]) -> Message:
    """A message of the class that breaks no rule on values."""
    known: dict[type[Message], Message] = {
        SetupAppend: SETUP,
        AppendBlock: block(HELLO),
        AppendBlockEnd: end(1, whole=13),
    }
    return known.get(cls) or messages(cls).map(_of_the_writer).example()


def _of_the_writer(message: Message) -> Message:
    fields = {name: getattr(message, name) for name in message.__struct_fields__}
    fields |= {name: WRITER for name in ("writer_id",) if name in fields}
    fields |= {name: 9 for name in ("event_number",) if name in fields}
    return type(message)(**fields)


@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize("side", SIDES)
@pytest.mark.filterwarnings("ignore::hypothesis.errors.NonInteractiveExampleWarning")
def test_each_message_in_each_phase(phase: Phase, side: Side) -> None:
    for cls in MESSAGES:
        talk = in_phase(phase)
        reading = talk.say(side, sample(cls))
        next_phase = TABLE.get((phase, side, cls))
        if cls is FlushToStorage or cls.__name__ == "ListStorageChunks":
            assert kinds(reading) == (["admin-on-main-port"] if side == "client" else ["wrong-side"])
        elif next_phase is not None:
            assert not reading.defects, (phase, side, cls)
            assert_is_in(talk, next_phase)
        elif side == "client" and cls in (Event, PartialEvent):
            assert kinds(reading) == ["event-outside-block"]
        else:
            assert kinds(reading) == ["block-not-ended" if may_send(side, cls) else "wrong-side"]


def assert_is_in(talk: Talk, phase: Phase) -> None:
    """A phase shows in what it does to a second block."""
    reading = talk.client(block(HELLO))
    assert kinds(reading) == (["block-not-ended"] if phase == "block" else [])


def test_the_table_says_what_the_append_decoder_sees() -> None:
    inside = {cls for cls in APPEND_COMMANDS if ("block", "client", cls) in TABLE}
    assert inside == {AppendBlockEnd}
    for cls in MESSAGES:
        if may_send("server", cls):
            assert all(TABLE[phase, "server", cls] == phase for phase in PHASES)


def test_a_violation_says_who_said_what_when() -> None:
    violation = in_phase("block").client(SETUP_OTHER).defects[0]
    assert isinstance(violation, ProtocolViolation)
    assert (violation.phase, violation.side, violation.message) == ("block", "client", "SetupAppend")
    assert str(violation) == "block-not-ended: SetupAppend from the client in phase block: a block of appends is open"


def test_an_unknown_type_keeps_its_bytes() -> None:
    raw = frame(72, b"abc", 100)
    reading = Talk().say_bytes("client", raw)
    assert (reading.message, kinds(reading)) == ("Unknown", ["unknown-type"])
    assert isinstance(reading.fields, Unknown)
    assert encode(reading.fields, "client") == raw


def test_a_broken_command_keeps_what_can_be_read_of_it() -> None:
    reading = Talk().say_bytes("server", encode(SegmentCreated(request_id=7, segment="seg"), "server")[:-1])
    assert reading.message == "SegmentCreated"
    assert reading.fields == {"request_id": 7}
    assert str(reading.defects[0]) == "truncated-field at byte 18 (SegmentCreated.segment): expected 3 bytes, 2 left"


def test_what_is_left_over_is_no_defect() -> None:
    raw = frame(100, b"ping", 100)
    reading = Talk().say_bytes("client", raw)
    assert (reading.fields, reading.defects, reading.left_over) == (KeepAlive(), (), b"ping")


def test_hello_is_not_asked_for() -> None:
    talk = Talk(("client", KeepAlive()), ("client", GREETING), ("client", GREETING))
    assert not any(reading.defects for reading in talk.readings)


def test_admin_commands_need_the_admin_port() -> None:
    flush = FlushToStorage(container_id=1, request_id=5)
    assert kinds(Talk(("client", SETUP)).client(flush)) == ["admin-on-main-port"]
    assert kinds(Talk(("client", GREETING)).client(flush)) == []


def test_replies_are_wrong_from_the_client_and_requests_from_the_server() -> None:
    reply = AppendSetup(request_id=1, writer_id=WRITER, segment="s", last_event_number=0)
    assert kinds(Talk().client(reply)) == ["wrong-side"]
    assert kinds(Talk().server(SETUP)) == ["wrong-side"]
    assert kinds(Talk().server(Padding(length=1))) == ["wrong-side"]
    assert kinds(Talk().server(Event(data=b""))) == ["wrong-side"]


@pytest.mark.parametrize("is_whole", [True, False])
@given(st.data())
@settings(max_examples=30)
def test_any_conversation_is_read(is_whole: bool, data: st.DataObject) -> None:
    appends = st.sampled_from([SETUP, SETUP_OTHER, block(HELLO), end(5, HELLO), end(3, whole=13)])
    anything: st.SearchStrategy[Message] = st.one_of(appends, st.sampled_from(MESSAGES).flatmap(messages))
    talk = Talk(is_whole=is_whole)
    for side, message in data.draw(st.lists(st.tuples(st.sampled_from(SIDES), anything), max_size=8)):
        reading = talk.say(side, message)
        assert reading.fields == message
        if data.draw(st.integers(0, 9)) == 0:
            talk.conversation.hole(side)


@given(
    st.lists(st.tuples(st.sampled_from(SIDES), st.sampled_from([*BY_CODE, 6, 385]), st.binary(max_size=80)), max_size=6)
)
def test_any_bytes_are_read_and_asked_about(frames: list[tuple[Side, int, bytes]]) -> None:
    conversation = PROTOCOL.open(True)
    for n, (side, code, payload) in enumerate(frames, 1):
        data = b"?" + frame(code, payload, 1000)
        assert conversation.extent(side, data, 1, len(data)) == len(data) - 1
        assert conversation.trust(side, data, 1, len(data)) in (0, 1, 2, 4)
        assert all(0 <= at < len(data) for at in conversation.candidates(side, data, 0, len(data)))
        reading = conversation.read(side, data, 1, len(data), n)
        assert reading.message == (BY_CODE[code].__name__ if code in BY_CODE else "Unknown")
        conversation.end(side)


@given(st.binary(max_size=30), st.sampled_from(SIDES))
def test_asking_about_nothing_of_ours_changes_nothing(junk: bytes, side: Side) -> None:
    conversation = PROTOCOL.open(True)
    for at in range(len(junk) + 1):
        conversation.trust(side, junk, at, len(junk))
        list(conversation.candidates(side, junk, at, len(junk)))
    raw = encode(end(1, HELLO), "client")
    assert kinds(conversation.read("client", raw, 0, len(raw), 1)) == ["append-before-setup"]


def test_a_message_is_what_it_was_wherever_it_stands() -> None:
    ack = DataAppended(writer_id=WRITER, event_number=1)
    assert Talk().server(ack).fields == ack
    read = ReadSegment(segment="s", offset=0, suggested_length=1)
    assert Talk().client(read).fields == read
