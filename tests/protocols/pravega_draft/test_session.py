"""What may be said when in the draft, what blocks add up to, and which request a reply answers."""

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.strategies import messages
from tests.protocols.pravega_draft.talk import (
    HELLO,
    ID,
    OTHER,
    SETUP,
    Talk,
    ack_level,
    begin,
    end,
    kinds,
    pieces,
)
from wiretool import limits
from wiretool.codec.message import Message, Side
from wiretool.protocols.pravega.framing import frame
from wiretool.protocols.pravega_draft import PROTOCOL
from wiretool.protocols.pravega_draft.blocks import Phase
from wiretool.protocols.pravega_draft.framing import BY_CODE, encode, may_send
from wiretool.protocols.pravega_draft.messages import (
    MESSAGES,
    AppendSetup,
    BeginAppendBlock,
    DataAppended,
    EndAppendBlock,
    Event,
    KeepAlive,
    NoSuchSegment,
    Padding,
    PartialMessage,
    ReadSegment,
    SegmentIsSealed,
    SegmentRead,
    SetupAppend,
    Unknown,
)
from wiretool.protocols.pravega_draft.session import PHASES, TABLE

SIDES: tuple[Side, ...] = get_args(Side)
KEEP = KeepAlive(data=b"")
READ = ReadSegment(segment="seg", offset=10, suggested_length=100)


def read_reply(offset: int, data: bytes = b"12345", *, at_tail: bool = False) -> SegmentRead:
    return SegmentRead(segment="seg", offset=offset, at_tail=at_tail, end_of_segment=False, data=data)


# -- blocks --------------------------------------------------------------------------------------------------------


def test_a_block() -> None:
    talk = Talk(("client", SETUP), ("server", ack_level(100)), ("client", begin(100, 26)), ("client", HELLO))
    reading = talk.client(HELLO, end(126, 26))
    assert reading.append == {"segment": "seg", "connection_id": ID, "connection_offset": 100, "length": 26}
    assert reading.events == [{"length": 5, "data": b"hello".hex()}] * 2
    assert not any(each.defects for each in talk.readings)


@pytest.mark.parametrize("level", [0, 100])
@pytest.mark.parametrize("off", [0, 5, -1])
def test_a_first_block_that_was_sent_before_the_answer_begins_where_that_says(level: int, off: int) -> None:
    """S14: with a new appender, whose level is 0, as with one that goes on."""
    at = level + off
    talk = Talk(("client", SETUP), ("client", begin(at, 13)), ("client", HELLO), ("client", end(at + 13, 13)))
    assert kinds(talk.server(ack_level(level))) == (["bad-connection-offset"] if off else [])
    talk.client(begin(at + 13, 13), HELLO, end(at + 26, 13))
    assert not any(each.defects for at, each in enumerate(talk.readings) if at != 4)


def test_behind_a_hole_nobody_knows_which_block_was_the_first() -> None:
    talk = Talk(("client", SETUP), ("client", begin(5, 13)), ("client", HELLO), ("client", end(18, 13)))
    talk.conversation.hole("client")
    assert kinds(talk.server(ack_level(0))) == []


def test_padding_and_pieces_headers_are_not_stored() -> None:
    first, last = pieces(HELLO, 4)
    between = 13 + (8 + 3) + (8 + 1 + 4) + (8 + 1 + 9)
    talk = Talk(("client", SETUP))
    reading = talk.client(begin(0, between), HELLO, Padding(length=3), first, last, end(26, 26))
    assert reading.append is not None
    assert reading.append["length"] == 26
    assert not any(each.defects for each in talk.readings)


def test_a_cut_event_completes_the_block_behind_its_end() -> None:
    first, middle, last = pieces(HELLO, 4, 9)
    talk = Talk(("client", SETUP))
    reading = talk.client(begin(0, 13 + 13), HELLO, first, end(26, 26))
    assert (reading.append, reading.defects) == (None, [])
    assert talk.client(KEEP, middle).append is None
    reading = talk.client(last)
    assert reading.append is not None
    assert reading.append["length"] == 26
    assert not talk.client(begin(26, 13), HELLO, end(39, 13)).defects


@pytest.mark.parametrize(
    ("messages_said", "kind"),
    [
        ([begin(0, 13)], "append-before-setup"),
        ([HELLO], "event-outside-block"),
        ([SETUP, end(0, 0)], "end-without-begin"),
        ([SETUP, begin(0, 0), begin(0, 0)], "block-not-ended"),
        ([SETUP, begin(0, -1)], "bad-block-length"),
        ([SETUP, begin(0, 13), HELLO, end(14, 13)], "bad-connection-offset"),
        ([SETUP, begin(0, 13), HELLO, end(13, 13, OTHER)], "writer-mismatch"),
        ([SETUP, begin(0, 14), HELLO, end(13, 13)], "bad-block-length"),
        ([SETUP, begin(0, 13), HELLO, end(12, 12)], "bad-block-length"),
        ([SETUP, begin(0, 13), HELLO, end(13, 13), begin(14, 0)], "bad-connection-offset"),
        (pieces(HELLO, 4)[:1] * 2, "partial-already-open"),
        (pieces(HELLO, 4)[1:], "partial-not-open"),
        ([pieces(KEEP, 4)[0], PartialMessage(part="END", data=b"\0\0\0\1")], "partial-length-mismatch"),
        (pieces(pieces(KEEP, 4)[0], 4), "partial-already-open"),
        (pieces(Unknown(type=77, data=b""), 4), "unknown-type"),
        ([pieces(SETUP, 4)[0], PartialMessage(part="END", data=b"\0\0\0\0")], "truncated-field"),
        ([read_reply(0)], "wrong-side"),
    ],
)
def test_what_breaks_a_rule(messages_said: list[Message], kind: str) -> None:
    talk = Talk()
    assert kinds(talk.client(*messages_said)) == [kind]
    assert not any(reading.defects for reading in talk.readings[:-1])


def test_after_a_broken_block_the_next_one_counts() -> None:
    talk = Talk(("client", SETUP), ("client", begin(0, 99)), ("client", HELLO))
    assert kinds(talk.client(begin(13, 13))) == ["block-not-ended"]
    assert talk.client(HELLO, end(26, 13)).append is not None


def test_the_appender_goes_on_where_it_was_acknowledged() -> None:
    talk = Talk(("client", SETUP), ("server", ack_level(100)))
    assert kinds(talk.client(begin(0, 0))) == ["bad-connection-offset"]
    assert not Talk(("client", SETUP)).client(begin(500, 0)).defects


def test_a_whole_message_in_pieces_says_what_it_says() -> None:
    talk = Talk(("client", READ))
    first, last = pieces(read_reply(10), 7)
    assert talk.server(first).reply_to is None
    reading = talk.server(last)
    assert reading.reply_to == 1
    assert isinstance(reading.fields, dict)
    assert (reading.fields["part"], reading.fields["message"]) == ("END", "SegmentRead")
    assert reading.fields["fields"]["offset"] == 10


def test_pieces_of_the_two_sides_do_not_mix() -> None:
    talk = Talk(("client", pieces(READ, 3)[0]))
    assert not talk.server(pieces(read_reply(10), 3)[0]).defects


def test_a_block_too_large_to_hold_is_not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "DRAFT_BLOCK_BYTES_MAX", 20)
    reading = Talk(("client", SETUP)).client(begin(0, 26), HELLO, HELLO, end(26, 26))
    assert (reading.append, reading.defects) == (None, [])


# -- what was not captured -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "said", [[HELLO], [end(5, 5)], [begin(7, 0)], [pieces(HELLO, 4)[1]], [pieces(HELLO, 3, 4)[1], pieces(HELLO, 4)[1]]]
)
def test_a_beginning_that_was_not_captured_excuses(said: list[Message]) -> None:
    assert not Talk(is_whole=False).client(*said).defects
    talk = Talk()
    talk.conversation.hole("client")
    assert not talk.client(*said).defects


def test_a_hole_forgets_the_open_block_and_the_offsets() -> None:
    talk = Talk(("client", SETUP), ("server", ack_level(0)), ("client", begin(0, 99)))
    talk.conversation.hole("client")
    assert (talk.client(HELLO, end(13, 13)).append, talk.readings[-1].defects) == (None, [])
    assert talk.client(begin(500, 13), HELLO, end(513, 13)).append is not None


def test_a_piece_without_a_beginning_is_excused_once() -> None:
    talk = Talk(is_whole=False)
    last = pieces(HELLO, 4)[1]
    assert not talk.client(last).defects
    assert kinds(talk.client(last)) == ["partial-not-open"]


# -- replies -------------------------------------------------------------------------------------------------------


def test_replies_name_the_segment_or_the_appender() -> None:
    other = SetupAppend(connection_id=OTHER, segment="seg")
    talk = Talk(("client", SETUP), ("client", other), ("client", READ), ("client", KEEP))
    assert [
        talk.server(reply).reply_to
        for reply in (ack_level(0, OTHER), NoSuchSegment(segment="seg"), SegmentIsSealed(segment="seg"), KEEP, KEEP)
    ] == [2, 1, 3, 4, None]


def test_a_read_may_have_several_replies() -> None:
    talk = Talk(("client", READ))
    assert [talk.server(read_reply(offset)).reply_to for offset in (10, 15, 20, 30)] == [1, 1, 1, None]
    talk.client(ReadSegment(segment="seg", offset=25, suggested_length=1))
    assert talk.server(read_reply(25)).reply_to == 6


@pytest.mark.parametrize("side", SIDES)
def test_after_a_gap_only_names_and_offsets_prove_what_a_reply_answers(side: Side) -> None:
    talk = Talk(("client", SETUP), ("client", begin(0, 13)), ("client", HELLO), ("client", end(13, 13)))
    talk.client(READ, KEEP)
    talk.conversation.hole(side)
    talk.client(KEEP)
    assert talk.server(KEEP).reply_to is None, "it may answer a lost one"
    assert talk.server(read_reply(9)).reply_to is None
    assert talk.server(read_reply(10)).reply_to == 5
    assert talk.server(NoSuchSegment(segment="seg")).reply_to is None
    assert talk.server(DataAppended(connection_id=ID, connection_offset_ack_level=13)).reply_to == 4


@pytest.mark.parametrize("side", SIDES)
def test_after_a_gap_an_ack_beyond_a_block_may_be_of_a_lost_one(side: Side) -> None:
    talk = Talk(("client", SETUP), ("client", begin(0, 13)), ("client", HELLO), ("client", end(13, 13)))
    talk.conversation.hole(side)
    assert talk.server(DataAppended(connection_id=ID, connection_offset_ack_level=26)).reply_to is None


def test_an_ack_covers_the_blocks_before_its_offset() -> None:
    talk = Talk(("client", SETUP))
    for offset in (0, 13, 26):
        talk.client(begin(offset, 13), HELLO, end(offset + 13, 13))
    assert talk.server(DataAppended(connection_id=ID, connection_offset_ack_level=30)).reply_to == 7
    assert talk.server(DataAppended(connection_id=ID, connection_offset_ack_level=39)).reply_to == 10
    assert talk.server(DataAppended(connection_id=ID, connection_offset_ack_level=39)).reply_to is None


# -- everything ----------------------------------------------------------------------------------------------------


def in_phase(phase: Phase) -> Talk:
    """A connection that is in a phase."""
    talk = Talk(("client", SETUP))
    if phase == "lost":
        talk.conversation.hole("client")
    elif phase == "block":
        talk.client(begin(0, 0))
    elif phase == "tail":
        talk.client(begin(0, 13), pieces(HELLO, 4)[0], end(13, 13))
    return talk


SAMPLES: dict[type[Message], Message] = {
    PartialMessage: pieces(HELLO, 4)[0],
    SetupAppend: SETUP,
    AppendSetup: ack_level(0),
    BeginAppendBlock: begin(0, 0),
    EndAppendBlock: end(0, 0),
    Event: HELLO,
    KeepAlive: KEEP,
}
WRONG_TIME = {Event: "event-outside-block", BeginAppendBlock: "block-not-ended", EndAppendBlock: "end-without-begin"}


@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("cls", MESSAGES, ids=lambda cls: cls.__name__)
@given(data=st.data())
def test_each_message_in_each_phase(phase: Phase, side: Side, cls: type[Message], data: st.DataObject) -> None:
    message = SAMPLES.get(cls) or data.draw(messages(cls))
    reading = in_phase(phase).say(side, message)
    if (phase, side, cls) in TABLE:
        is_piece_behind_a_piece = cls is PartialMessage and phase == "tail" and side == "client"
        assert kinds(reading) == (["partial-already-open"] if is_piece_behind_a_piece else [])
    else:
        assert kinds(reading)[:1] == [WRONG_TIME[cls] if may_send(side, cls) else "wrong-side"]


@given(
    st.lists(st.tuples(st.sampled_from(SIDES), st.sampled_from([*BY_CODE, 9]), st.binary(max_size=40)), max_size=8),
    st.booleans(),
)
def test_any_bytes_are_read_and_asked_about(frames: list[tuple[Side, int, bytes]], is_whole: bool) -> None:
    conversation = PROTOCOL.open(is_whole)
    for n, (side, code, payload) in enumerate(frames, 1):
        data = b"?" + frame(code, payload, 1000)
        assert conversation.extent(side, data, 1, len(data)) == len(data) - 1
        assert conversation.trust(side, data, 1, len(data)) in (0, 1, 2, 4)
        assert all(0 <= at < len(data) for at in conversation.candidates(side, data, 0, len(data)))
        assert sum(span.length for span in conversation.annotate(side, data, 1, len(data))) == len(data) - 1
        reading = conversation.read(side, data, 1, len(data), n)
        assert reading.message == (BY_CODE[code].__name__ if code in BY_CODE else "Unknown")


@given(st.lists(st.sampled_from([SETUP, begin(0, 13), HELLO, end(13, 13), *pieces(HELLO, 4), KEEP]), max_size=10))
def test_any_order_is_read(said: list[Message]) -> None:
    talk = Talk()
    for message in said:
        assert talk.client(message).message == type(message).__name__


def test_what_is_behind_the_last_field_is_a_defect_here() -> None:
    reading = Talk().say_bytes("client", frame(1, encode(SETUP)[8:] + b"!", 100))
    assert (kinds(reading), reading.left_over, reading.fields) == (["trailing-bytes"], b"!", SETUP)
    assert reading.defects[0].why == "1 bytes after the last field"


def test_a_broken_message_keeps_what_can_be_read_of_it() -> None:
    talk = Talk(("client", SETUP), ("client", begin(0, 13)))
    reading = talk.say_bytes("client", encode(READ)[:-1])
    assert reading.fields == {"segment": "seg", "offset": 10}
    assert kinds(reading) == ["truncated-field"]
    assert not talk.client(end(13, 13)).defects


def test_a_search_takes_zeros_for_no_events() -> None:
    conversation = PROTOCOL.open(False)
    raw = encode(Event(data=b"")) + encode(HELLO)
    found = list(conversation.candidates("client", raw, 0, len(raw)))
    assert 8 in found
    assert 0 not in found
    assert conversation.trust("client", raw, 0, 8) == 1
    assert conversation.trust("client", bytes(16), 0, 8) == 0


def test_a_search_finds_events_too() -> None:
    raw = encode(HELLO) + encode(KEEP)
    conversation = PROTOCOL.open(False)
    assert [at for at in conversation.candidates("client", raw, 0, len(raw)) if at in (0, 13)] == [0, 13]
    assert 0 not in conversation.candidates("server", raw, 0, len(raw))


@pytest.mark.parametrize(
    ("message", "points"),
    [(HELLO, 1), (Event(data=b""), 1), (Padding(length=2), 1), (KEEP, 1), (SETUP, 2), (begin(0, 0), 2)],
    ids=lambda value: type(value).__name__,
)
def test_points(message: Message, points: int) -> None:
    raw = encode(message)
    assert PROTOCOL.open(False).trust("client", raw, 0, len(raw)) == points


def test_points_of_what_is_known_and_of_what_does_not_fit() -> None:
    conversation = Talk(("client", SETUP)).conversation
    raw = encode(begin(0, 0))
    assert conversation.trust("client", raw, 0, len(raw)) == 4
    assert conversation.trust("server", raw, 0, len(raw)) == 0
    assert conversation.trust("client", frame(-1, b"\1", 10), 0, 9) == 0
    assert conversation.trust("client", raw + b"!", 0, len(raw) + 1) == 0
    named = encode(SetupAppend(connection_id=OTHER, segment="scope/stream/0"))
    assert conversation.trust("client", named, 0, len(named)) == 4
