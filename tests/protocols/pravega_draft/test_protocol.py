"""The draft as the registry knows it."""

import pytest

from tests.protocols.pravega_draft.talk import SETUP, begin, end, pieces
from wiretool import limits
from wiretool.codec.jsonform import json_form
from wiretool.codec.message import Message
from wiretool.errors import DecodeError, EncodeError
from wiretool.protocols.pravega.messages import KeepAlive as PravegaKeepAlive
from wiretool.protocols.pravega_draft import PROTOCOL
from wiretool.protocols.pravega_draft.blocks import Blocks
from wiretool.protocols.pravega_draft.messages import Unknown
from wiretool.protocols.pravega_draft.pairing import Acks, Asked, Requests


def test_its_name_and_port() -> None:
    assert (PROTOCOL.name, PROTOCOL.ports) == ("pravega-draft", (12345,))
    assert [cls.declaration.type_id for cls in PROTOCOL.messages] == [
        -2,
        -1,
        0,
        1,
        2,
        3,
        4,
        5,
        6,
        7,
        50,
        51,
        52,
        53,
        100,
    ]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("SetupAppend", SETUP),
        ("SETUP_APPEND", SETUP),
        ("BeginAppendBlock", begin(1, 2)),
        ("BeginEventBlock", begin(1, 2)),
        ("BEGIN_EVENT_BLOCK", begin(1, 2)),
        ("EndEventBlock", end(1, 2)),
        ("Unknown", Unknown(type=9, data=b"x")),
    ],
)
def test_a_message_by_any_of_its_names(name: str, message: Message) -> None:
    assert PROTOCOL.from_json(name, "client", json_form(message)) == message
    assert PROTOCOL.encode(message, "client") == PROTOCOL.encode(message, "server")


def test_what_is_not_of_the_draft() -> None:
    with pytest.raises(EncodeError, match="KeepAlive is not a message of pravega-draft"):
        PROTOCOL.encode(PravegaKeepAlive(), "client")
    with pytest.raises(EncodeError, match="pravega-draft has no message 'Hello'"):
        PROTOCOL.from_json("Hello", "client", {})


def test_a_length_is_below_2_to_the_24() -> None:
    conversation = PROTOCOL.open(True)
    assert conversation.extent("client", bytes.fromhex("0000006400ffffff"), 0, 8) == 0xFFFFFF + 8
    with pytest.raises(DecodeError, match="frame-too-large"):
        conversation.extent("client", bytes.fromhex("0000006401000000"), 0, 8)


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "WRITERS_MAX", 4)
    monkeypatch.setattr(limits, "REQUESTS_OPEN_MAX", 4)
    blocks, requests, acks = Blocks(is_whole=True), Requests(), Acks()
    for n in range(30):
        blocks.set_up(f"id {n}", "seg")
        requests.ask(f"segment {n}", Asked(n))
        requests.ask("one", Asked(n))
        acks.sent(f"id {n}", n, n)
    assert len(blocks.writers) <= 4
    assert not blocks.is_whole
    assert [requests.refused(f"segment {n}") for n in range(26)] == [None] * 26
    assert requests.refused("segment 29") == 29
    assert acks.acked("id 0", 99) is None
    assert acks.acked("id 29", 99) == 29


def test_the_record_of_the_last_part_encodes_as_its_frame() -> None:
    """Its fields name the whole message, too, which the frame itself does not have."""
    conversation = PROTOCOL.open(True)
    frames = [PROTOCOL.encode(piece, "client") for piece in pieces(SETUP, 5, 9)]
    readings = [conversation.read("client", raw, 0, len(raw), n) for n, raw in enumerate(frames, 1)]
    last = readings[-1].fields
    assert isinstance(last, dict)
    assert last["message"] == "SetupAppend"
    assert PROTOCOL.encode(PROTOCOL.from_json("PartialMessage", "client", last), "client") == frames[-1]
