"""Frames: how far they reach, where they may begin, and their spans."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.strategies import tiles
from tests.protocols.pravega.talk import HELLO, SEGMENT, SETUP, end
from wiretool.codec.message import Side
from wiretool.errors import DecodeError, EncodeError
from wiretool.protocols.pravega import PROTOCOL, framing
from wiretool.protocols.pravega.commands import BY_CODE
from wiretool.protocols.pravega.messages import AppendBlock, Hello, KeepAlive, Unknown
from wiretool.protocols.pravega_draft.messages import SetupAppend as DraftSetupAppend

GREETING = Hello(high_version=17, low_version=5)


def test_a_frame() -> None:
    assert framing.encode(GREETING, "client").hex() == "ffffff81" + "00000008" + "00000011" + "00000005"
    assert framing.encode(KeepAlive(), "server").hex() == "00000064" + "00000000"


def test_an_unknown_frame_keeps_its_bytes() -> None:
    unknown = Unknown(type=72, data=b"abc")
    assert framing.encode(unknown, "client").hex() == "00000048" + "00000003" + "616263"
    with pytest.raises(EncodeError, match=r"Unknown\.type: i32 takes a whole number"):
        framing.encode(Unknown(type=2**31, data=b""), "client")


def test_what_has_no_frame() -> None:
    with pytest.raises(EncodeError, match="SetupAppend is not a command of pravega"):
        framing.encode(DraftSetupAppend(connection_id="", segment=""), "client")


@pytest.mark.parametrize(("side", "most"), [("client", 0xFFFFF7), ("server", 0xFFFFFF)])
def test_the_largest_frame_of_each_side(side: Side, most: int) -> None:
    assert framing.PAYLOAD_BYTES_MAX[side] == most
    assert len(framing.encode(Unknown(type=72, data=bytes(most)), side)) == most + 8
    with pytest.raises(EncodeError, match=f"takes {most} bytes at most, this one {most + 1}"):
        framing.encode(Unknown(type=72, data=bytes(most + 1)), side)
    conversation = PROTOCOL.open(True)
    header = b"\0\0\0\x64" + most.to_bytes(4, "big")
    assert conversation.extent(side, header, 0, 8) == most + 8
    header = b"\0\0\0\x64" + (most + 1).to_bytes(4, "big")
    with pytest.raises(DecodeError, match=rf"frame-too-large at byte 4 \(length\): a payload of {most + 1} bytes"):
        conversation.extent(side, header, 0, 8)


def test_a_length_is_unsigned() -> None:
    with pytest.raises(DecodeError, match="a payload of 2147483648 bytes"):
        framing.extent(100)(bytes.fromhex("0000006480000000"), 0, 8)


@given(st.binary(max_size=7), st.binary(max_size=5))
def test_a_header_that_is_not_whole_says_nothing(before: bytes, header: bytes) -> None:
    data = before + header
    assert framing.extent(100)(data, len(before), len(data)) == 0


def test_a_buffer_that_is_all_there_is() -> None:
    raw = framing.encode(GREETING, "client")
    assert framing.parse(raw + b"more") == GREETING
    for data, kind in (
        (raw[:7], "short-header"),
        (raw[:15], "length-exceeds-buffer"),
        (b"\0\0\0\x06" + bytes(4), "unknown-type"),
    ):
        with pytest.raises(DecodeError) as caught:
            framing.parse(data)
        assert caught.value.kind == kind


def test_candidates_are_what_the_side_may_send() -> None:
    data = b"..".join(framing.encode(message, "client") for message in (GREETING, SETUP, KeepAlive()))
    found = list(framing.HEADERS["client"].find(data, 0, len(data)))
    for message in (GREETING, SETUP, KeepAlive()):
        assert data.index(framing.encode(message, "client")) in found
    setup = data.index(framing.encode(SETUP, "client"))
    assert setup not in framing.HEADERS["server"].find(data, 0, len(data))


def test_what_stands_in_blocks_is_no_candidate() -> None:
    data = HELLO + bytes.fromhex("fffffffe00000002abcd" + "ffffffff00000002abcd")
    assert list(framing.HEADERS["client"].find(data, 0, len(data))) == []


@given(st.lists(st.sampled_from([b"\0", b"\xff", b"\x04", b"\x81", b"\x64"]), max_size=60).map(b"".join))
def test_every_header_is_a_candidate(data: bytes) -> None:
    for side in ("client", "server"):
        found = list(framing.HEADERS[side].find(data, 0, len(data)))
        codes = [b"\0\0\0\x64", b"\xff\xff\xff\x81"] + ([b"\0\0\0\x04"] if side == "client" else [])
        assert found == [at for at in range(len(data)) if data[at : at + 4] in codes and data[at + 4 : at + 5] == b"\0"]


def test_spans_of_a_frame() -> None:
    raw = b".." + framing.encode(SETUP, "client") + b"!"
    spans = PROTOCOL.open(False).annotate("client", raw, 2, len(raw))
    assert tiles(spans, 2, len(raw))
    assert [(span.path, span.value) for span in spans[:2]] == [("type", 1), ("length", len(raw) - 11)]
    assert ("SetupAppend.segment", SEGMENT) in [(span.path, span.value) for span in spans]
    assert (spans[-1].path, spans[-1].value) == ("SetupAppend.(left over)", b"!")


@given(st.sampled_from([*BY_CODE, 72, 385]), st.binary(max_size=60))
def test_spans_tile_any_frame(code: int, payload: bytes) -> None:
    raw = framing.frame(code, payload, 100)
    assert tiles(framing.annotate(BY_CODE.get(code), raw, 0, len(raw)), 0, len(raw))


def test_fields_up_to_the_broken_one() -> None:
    payload = framing.encode(end(7, b"ab"), "client")[8:31]
    fields = framing.readable_fields(BY_CODE[4], payload, 0, len(payload))
    assert fields == {"writer_id": end(7).writer_id, "size_of_whole_events": 0}
    assert framing.readable_fields(AppendBlock, b"", 0, 0) == {}


@given(st.lists(st.sampled_from([b"\0\0\0\1", b"\0\0\0\4\0", b"\xff\xff\xff\x81\0", b"\0", b"\xff", b"?"]), max_size=9))
def test_candidates_are_the_same_wherever_a_search_begins(parts: list[bytes]) -> None:
    data = b"".join(parts)
    every = list(framing.HEADERS["client"].find(data, 0, len(data)))
    for at in range(len(data)):
        assert list(framing.HEADERS["client"].find(data, at, len(data))) == [each for each in every if each >= at]


def test_a_search_that_begins_with_a_header_looks_no_further_at_first() -> None:
    frame = framing.encode(GREETING, "client")
    found = framing.HEADERS["client"].find(frame * 2, 0, 2 * len(frame))
    assert next(found) == 0
    assert list(found) == [len(frame)]
