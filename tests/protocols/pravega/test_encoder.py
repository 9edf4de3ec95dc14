"""Appends written in blocks, and read again."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.protocols.pravega.talk import HELLO, OTHER, SETUP, SETUP_OTHER, WORLD, WRITER
from wiretool.errors import EncodeError
from wiretool.protocols.pravega import PROTOCOL
from wiretool.protocols.pravega import encoder as encoder_module
from wiretool.protocols.pravega.appends import event_frame
from wiretool.protocols.pravega.encoder import AppendEncoder
from wiretool.protocols.pravega.messages import Hello, KeepAlive


def set_up(block_size: int) -> AppendEncoder:
    encoder = AppendEncoder(block_size)
    encoder.send(SETUP)
    encoder.send(SETUP_OTHER)
    return encoder


def appended(raw: bytes) -> list[tuple[str, int, str]]:
    """Writer, number and data of every event that a conversation finds in the bytes."""
    conversation = PROTOCOL.open(False)
    found: list[tuple[str, int, str]] = []
    at = 0
    while at < len(raw):
        length = conversation.extent("client", raw, at, len(raw))
        reading = conversation.read("client", raw, at, at + length, 1)
        assert not reading.defects
        if reading.append is not None:
            writer = reading.append["writer_id"]
            found += [(writer, event["event_number"], event["data"]) for event in reading.events or []]
        at += length
    return found


@given(
    st.sampled_from([0, 1, 20, 64, 200]),
    st.lists(st.tuples(st.sampled_from([WRITER, OTHER]), st.binary(max_size=60), st.booleans()), max_size=20),
)
def test_whatever_the_blocks_the_events_arrive(block_size: int, work: list[tuple[str, bytes, bool]]) -> None:
    encoder = AppendEncoder(block_size)
    raw = encoder.send(SETUP) + encoder.send(SETUP_OTHER)
    sent: list[tuple[str, int, str]] = []
    for writer, body, flush in work:
        number = sum(each[0] == writer for each in sent)
        sent.append((writer, number, body.hex()))
        raw += encoder.append(writer, number, event_frame(body))
        raw += encoder.send(KeepAlive()) if flush else b""
    raw += encoder.flush()
    for writer in (WRITER, OTHER):
        assert [each for each in appended(raw) if each[0] == writer] == [each for each in sent if each[0] == writer]


def test_a_block_that_is_open_ends_before_another_writer_is_done() -> None:
    encoder = set_up(100)
    raw = encoder.append(WRITER, 1, HELLO)
    assert encoder.append(OTHER, 1, WORLD) == b""
    raw += encoder.flush()
    assert appended(raw) == [(WRITER, 1, b"hello".hex()), (OTHER, 1, b"world!".hex())]


def test_a_long_queue_breaks_the_block(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoder_module, "QUEUED_EVENTS_MAX", 2)
    encoder = set_up(100)
    encoder.append(WRITER, 1, HELLO)
    assert [bool(encoder.append(OTHER, number, WORLD)) for number in (1, 2, 3)] == [False, False, True]


def test_what_is_refused() -> None:
    encoder = set_up(100)
    with pytest.raises(EncodeError, match="no SetupAppend for writer nobody"):
        encoder.append("nobody", 1, HELLO)
    with pytest.raises(EncodeError, match="an append of 0 events"):
        encoder.append(WRITER, 1, HELLO, 0)
    encoder.append(WRITER, 1, HELLO)
    with pytest.raises(EncodeError, match="event 1 after event 1"):
        encoder.append(WRITER, 1, HELLO)
    with pytest.raises(EncodeError, match="Hello while appends are under way"):
        encoder.send(Hello(high_version=17, low_version=5))
    with pytest.raises(EncodeError, match="a block of 16777215 bytes fits no frame"):
        set_up(0xFFFFFF).append(WRITER, 1, HELLO)
