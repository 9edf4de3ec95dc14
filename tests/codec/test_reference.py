"""The slow decoder, which is the truth."""

from typing import Annotated

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.strategies import attempt, messages, outcome, required_bytes, tiles
from wiretool.codec.compiled import decoder
from wiretool.codec.message import IfLeft, Message, Since
from wiretool.codec.nested import Nested
from wiretool.codec.reference import annotate, decode, encode
from wiretool.codec.types import I32, I64, Bytes32, Flag, ListOf, Text, UuidText
from wiretool.errors import DecodeError, EncodeError


class Pair(Message, frozen=True, kw_only=True):
    """A structure."""

    name: Text
    number: I64


class Sample(Message, frozen=True, kw_only=True):
    """A message with something of everything."""

    id: UuidText
    number: I32
    is_on: Flag
    name: Text
    data: Bytes32
    pairs: Annotated[tuple[Pair, ...], ListOf(Nested(Pair))]
    late: Annotated[I64, Since(3), IfLeft(8)] = -1
    later: Annotated[Text, Since(4), IfLeft(1)] = ""


ID = "00000000-0000-0001-0000-000000000002"
SAMPLE = Sample(id=ID, number=5, is_on=True, name="n", data=b"d", pairs=(Pair(name="p", number=1),), late=9, later="l")


@given(messages(Sample))
def test_a_message_comes_back(sample: Sample) -> None:
    raw = encode(sample)
    assert decode(Sample, raw) == (sample, len(raw))


@given(messages(Sample), st.data())
def test_every_cut_is_refused_but_in_the_optional_tail(sample: Sample, data: st.DataObject) -> None:
    raw = encode(sample)
    cut = data.draw(st.integers(0, len(raw) - 1))
    found, err = attempt(lambda: decode(Sample, raw[:cut]))
    if found is None:
        assert err is not None
        assert err.offset <= cut
        return
    assert required_bytes(sample) <= found[1] <= cut
    assert (found[0].id, found[0].pairs) == (sample.id, sample.pairs)


@given(st.binary(max_size=120))
def test_any_bytes_mean_the_same_to_both_decoders(raw: bytes) -> None:
    slow = outcome(lambda: decode(Sample, raw))
    assert outcome(lambda: decoder(Sample)(raw, 0, len(raw))) == slow


@given(messages(Sample), st.binary(max_size=5), st.binary(max_size=5))
def test_spans_tile_the_message_and_what_is_left_over(sample: Sample, before: bytes, behind: bytes) -> None:
    raw = encode(sample)
    value, spans = annotate(Sample, before + raw + behind, len(before))
    assert value == sample
    assert tiles(spans, len(before), len(before + raw + behind))


def test_spans_say_what_they_are() -> None:
    _, spans = annotate(Sample, encode(SAMPLE) + b"!")
    assert [(span.path, span.value) for span in spans] == [
        ("Sample.id", ID),
        ("Sample.number", 5),
        ("Sample.is_on", True),
        ("Sample.name", "n"),
        ("Sample.data", b"d"),
        ("Sample.pairs.count", 1),
        ("Sample.pairs[0].name", "p"),
        ("Sample.pairs[0].number", 1),
        ("Sample.late", 9),
        ("Sample.later", "l"),
        ("Sample.(left over)", b"!"),
    ]


def test_an_optional_field_needs_its_bytes() -> None:
    old = encode(Sample(id=ID, number=5, is_on=True, name="", data=b"", pairs=()), version=2)
    without = decode(Sample, old)[0]
    assert (without.late, without.later) == (-1, "")
    assert decode(Sample, old + bytes(2)) == (without, len(old) + 2)
    assert decode(Sample, old + bytes(8))[0].late == 0
    with pytest.raises(DecodeError, match=r"truncated-field at byte \d+ \(Sample\.later\)"):
        decode(Sample, old + bytes(9))


def test_an_older_version_has_no_place_for_a_later_field() -> None:
    assert encode(SAMPLE, version=4) == encode(SAMPLE)
    with pytest.raises(EncodeError, match=r"Sample\.later: version 3 has no such field \(since 4\)"):
        encode(SAMPLE, version=3)


def test_an_error_names_the_field_and_the_byte() -> None:
    raw = encode(SAMPLE)
    with pytest.raises(DecodeError, match=r"truncated-field at byte 16 \(Sample\.number\): expected 4 bytes, 3 left"):
        decode(Sample, raw[:19])


def test_a_value_without_bytes_is_refused() -> None:
    with pytest.raises(EncodeError, match=r"Sample\.number: i32 takes a whole number"):
        encode(Sample(id=ID, number=2**31, is_on=True, name="", data=b"", pairs=()))
