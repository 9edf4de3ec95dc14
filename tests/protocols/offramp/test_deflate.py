"""Compressed messages, with their context and without."""

import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wsproto.extensions import PerMessageDeflate
from wsproto.frame_protocol import FrameProtocol

from tests.protocols.offramp.talk import Deflater
from wiretool import limits
from wiretool.errors import DecodeError, OverLimit
from wiretool.protocols.offramp import deflate
from wiretool.protocols.offramp.deflate import Inflater, looks_deflated

texts = st.lists(st.binary(max_size=40) | st.just(b"the same again and again"), min_size=1, max_size=8)


@given(texts, st.booleans())
def test_what_was_deflated_inflates(messages: list[bytes], resets: bool) -> None:
    deflater, inflater = Deflater(resets=resets), Inflater(resets=resets)
    for message in messages:
        data = deflater(message)
        assert looks_deflated(data, is_whole=True)
        assert looks_deflated(data[: len(data) // 2], is_whole=False)
        assert inflater.peek(data) == message
        assert inflater.inflate(data) == message


@given(texts)
def test_what_another_implementation_deflated_inflates(messages: list[bytes]) -> None:
    extension = PerMessageDeflate()
    extension.finalize("permessage-deflate")
    peer = FrameProtocol(client=False, extensions=[extension])
    inflater = Inflater()
    for message in messages:
        data = bytes(peer.send_data(message))
        assert inflater.inflate(data[2:]) == message


@given(texts, st.integers(0, 8), st.booleans())
def test_messages_are_looked_at_before_their_turn(messages: list[bytes], ahead: int, resets: bool) -> None:
    """Those give the same again in their turn, also one that is given back."""
    deflater, inflater = Deflater(resets=resets), Inflater(resets=resets)
    datas = [deflater(message) for message in messages]
    for most in (ahead, ahead // 2):
        assert [*map(inflater.measure(), datas[:most])] == [len(message) for message in messages[:most]]
    for data, message in zip(datas, messages, strict=True):
        assert inflater.inflate(data) == message
        inflater.know(message)
        assert inflater.inflate(data) == message


def test_an_error_is_raised_in_its_turn() -> None:
    deflater, inflater = Deflater(), Inflater()
    good = deflater(b"good")
    assert [*map(inflater.measure(), (good, b"\x07garbage", b"\xff"))] == [4, 0, 0]
    assert inflater.inflate(good) == b"good"
    with pytest.raises(DecodeError, match="does not inflate"):
        inflater.inflate(b"\x07garbage")
    assert inflater.inflate(b"\xff") is None


def test_without_context_a_message_is_exact_or_not_there() -> None:
    deflater, inflater = Deflater(), Inflater()
    same = b'{"type":"MESSAGE","partition":0}'
    assert inflater.inflate(deflater(same)) == same
    deflater(b"this one is lost, and what goes back to it is too")
    inflater.forget()
    assert inflater.inflate(deflater(b"lost, and what goes back to it is too")) is None
    new = bytes(range(256))
    data = deflater(new)
    assert inflater.inflate(data) == new
    assert inflater.inflate(deflater(new)) == new
    assert inflater.inflate(deflater(same)) is None
    assert inflater.inflate(deflater(same)) in (same, None)


@given(texts, st.integers(0, 7))
def test_after_a_hole_nothing_is_made_up(messages: list[bytes], hole: int) -> None:
    deflater, inflater = Deflater(), Inflater()
    for number, message in enumerate(messages):
        data = deflater(message)
        if number == hole:
            inflater.forget()
        else:
            assert inflater.inflate(data) in (message, None)


def test_a_side_that_resets_is_read_on_after_a_hole() -> None:
    deflater, inflater = Deflater(resets=True), Inflater(resets=True)
    assert inflater.inflate(deflater(b"one and one")) == b"one and one"
    deflater(b"two and two")
    inflater.forget()
    assert inflater.inflate(deflater(b"three and three")) == b"three and three"


def test_a_start_in_the_middle_finds_a_context_for_itself() -> None:
    deflater, inflater = Deflater(), Inflater(is_sure=False)
    assert inflater.inflate(deflater(b"one and one and two")) == b"one and one and two"
    assert inflater.inflate(deflater(b"one and one and two")) == b"one and one and two"
    fresh = Deflater(resets=True)
    assert inflater.inflate(fresh(b"three and three")) == b"three and three"


@pytest.mark.parametrize("data", [b"\xff\xff", b"\x00\x01", b"", b"\x4a\x4c"])
def test_what_does_not_inflate_is_a_defect_where_the_context_is_known(data: bytes) -> None:
    for resets in (False, True):
        with pytest.raises(DecodeError, match="bad_deflate"):
            Inflater(resets=resets).inflate(data)
    assert Inflater(is_sure=False).inflate(data) is None
    assert Inflater().peek(data) is None
    assert not looks_deflated(data, is_whole=True)


def test_after_a_defect_the_context_is_lost() -> None:
    deflater, inflater = Deflater(), Inflater()
    same = b"again and again and again"
    assert inflater.inflate(deflater(same)) == same
    with pytest.raises(DecodeError, match="bad_deflate"):
        inflater.inflate(deflater(same)[:-1])
    assert inflater.inflate(deflater(same)) is None


def test_final_blocks_end_nothing() -> None:
    inflater = Inflater()
    window = b""
    for message in (b"hello hello hello", b"hello hello again", b"hello"):
        made = zlib.compressobj(6, zlib.DEFLATED, -15, zdict=window) if window else zlib.compressobj(6, 8, -15)
        data = made.compress(message) + made.flush() + b"\0"
        assert inflater.inflate(data) == message
        window += message


def test_final_blocks_without_end_are_refused() -> None:
    with pytest.raises(DecodeError, match="has more than 64 final blocks"):
        Inflater().inflate(b"\x03\x00" * (limits.DEFLATE_FINAL_BLOCKS_MAX + 5))


def test_a_bomb_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "WEBSOCKET_MESSAGE_BYTES_MAX", 1_000_000)
    monkeypatch.setattr(deflate, "_LOOK_BYTES", 500_000)
    data = Deflater()(bytes(2_000_000))
    assert len(data) < 3_000
    inflater = Inflater()
    assert inflater.peek(data) is None
    assert looks_deflated(data, is_whole=True)
    with pytest.raises(OverLimit, match="message_too_big at byte 0: inflates to more than 1000000 bytes"):
        inflater.inflate(data)
    assert inflater.inflate(Deflater()(b"new")) == b"new"


def test_a_message_that_ends_inside_a_block_is_a_defect() -> None:
    data = Deflater()(b"a stored block of its own, cut off" + bytes(range(256)))
    with pytest.raises(DecodeError, match="ends inside a block"):
        Inflater().inflate(data[:200])


@given(st.binary(max_size=60))
def test_any_bytes_inflate_or_do_not(data: bytes) -> None:
    looks_deflated(data, is_whole=True)
    looks_deflated(data, is_whole=False)
    whole = Inflater().peek(data)
    try:
        assert Inflater().inflate(data) == whole
    except DecodeError:
        assert whole is None
