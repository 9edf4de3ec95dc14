"""Every message of the draft: written, read, cut short and filled with anything."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.strategies import attempt, messages, outcome, required_bytes, tiles
from wiretool.codec import reference
from wiretool.codec.compiled import decoder
from wiretool.codec.cursor import Span
from wiretool.codec.jsonform import fields_from_json, json_form
from wiretool.codec.message import Message
from wiretool.errors import DecodeError
from wiretool.protocols.pravega_draft.messages import MESSAGES, PartialMessage, SegmentRead

each_message = pytest.mark.parametrize("cls", MESSAGES, ids=lambda cls: cls.__name__)
few = settings(max_examples=20)


def read_of(flags: int) -> bytes:
    return b"\0\1s" + bytes(8) + bytes((flags,)) + b"data"


@each_message
@few
@given(data=st.data())
def test_it_comes_back(cls: type[Message], data: st.DataObject) -> None:
    message = data.draw(messages(cls))
    raw = reference.encode(message)
    assert decoder(cls)(raw, 0, len(raw)) == (message, len(raw))
    assert fields_from_json(cls, json_form(message)) == message


@each_message
@few
@given(data=st.data())
def test_a_cut_is_refused_or_in_its_tail(cls: type[Message], data: st.DataObject) -> None:
    message = data.draw(messages(cls))
    raw = reference.encode(message)
    cut = data.draw(st.integers(0, max(len(raw) - 1, 0)))
    found, err = attempt(lambda: decoder(cls)(raw, 0, cut))
    assert err is None or err.offset <= cut
    assert found is None or cut >= required_bytes(message)


@each_message
@few
@given(raw=st.binary(max_size=60))
def test_anything_means_the_same_to_both_decoders(cls: type[Message], raw: bytes) -> None:
    assert outcome(lambda: decoder(cls)(raw, 0, len(raw))) == outcome(lambda: reference.decode(cls, raw))
    found, _ = attempt(lambda: reference.annotate(cls, raw))
    assert found is None or tiles(found[1], 0, len(raw))


@pytest.mark.parametrize(
    ("flags", "tail", "end"), [(0, False, False), (0x80, True, False), (0x40, False, True), (0xC0, True, True)]
)
def test_two_flags_in_one_byte(flags: int, tail: bool, end: bool) -> None:
    message, spans = reference.annotate(SegmentRead, read_of(flags))
    assert (message.at_tail, message.end_of_segment, message.data) == (tail, end, b"data")
    assert reference.encode(message) == read_of(flags)
    assert Span(11, 1, "SegmentRead.at_tail", "bit 7", tail) in spans
    assert Span(12, 0, "SegmentRead.end_of_segment", "bit 6", end) in spans


@pytest.mark.parametrize("flags", [0x01, 0x20, 0xBF, 0xFF])
def test_the_other_bits_are_reserved(flags: int) -> None:
    with pytest.raises(DecodeError, match=r"reserved-bits-set at byte 11 \(SegmentRead\.at_tail\)"):
        decoder(SegmentRead)(read_of(flags), 0, len(read_of(flags)))


def test_a_piece_has_one_of_three_markers() -> None:
    assert decoder(PartialMessage)(b"\2ab", 0, 3)[0] == PartialMessage(part="END", data=b"ab")
    with pytest.raises(DecodeError, match=r"bad-partial-marker at byte 0 .*: 3 names nothing"):
        decoder(PartialMessage)(b"\3ab", 0, 3)
