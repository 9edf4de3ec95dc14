"""What programs call: bytes to messages, and back."""

import pytest

import wiretool
from tests.protocols.pravega.talk import SETUP, WRITER, end
from tests.protocols.sbp.test_framing import heartbeat
from wiretool.codec.message import Message, Side
from wiretool.errors import DecodeError, EncodeError, ProtocolViolation, Truncated, UsageError
from wiretool.protocols.pravega.messages import Hello, Unknown
from wiretool.protocols.sbp.tables import HeartbeatRequest

HELLO = bytes.fromhex("ffffff81000000080000001100000005")


def test_hello_both_ways() -> None:
    (hello,) = wiretool.decode(HELLO, protocol="pravega", side="client")
    assert hello == Hello(high_version=17, low_version=5)
    assert wiretool.encode(hello) == HELLO


def test_several_messages_in_order() -> None:
    said: list[Message] = [Hello(high_version=17, low_version=5), SETUP, end(1, bytes(8))]
    assert wiretool.decode(b"".join(map(wiretool.encode, said)), protocol="pravega", side="client") == said
    assert wiretool.decode(b"", protocol="pravega", side="client") == []


@pytest.mark.parametrize("cut", [1, 7, 8, 15])
def test_a_frame_that_is_not_whole(cut: int) -> None:
    with pytest.raises(Truncated, match="incomplete at byte 16: the stream ends before the frame does"):
        wiretool.decode(HELLO + HELLO[:cut], protocol="pravega", side="client")


def test_bytes_that_are_no_frame() -> None:
    with pytest.raises(DecodeError) as caught:
        wiretool.decode(HELLO + bytes.fromhex("0000006480000000"), protocol="pravega", side="client")
    assert (caught.value.kind, caught.value.offset) == ("frame-too-large", 16)


def test_a_defect_says_where_it_is_in_all_the_bytes() -> None:
    bad = bytes.fromhex("ffffff810000000400000011")
    with pytest.raises(DecodeError) as caught:
        wiretool.decode(HELLO + bad, protocol="pravega", side="client")
    assert (caught.value.kind, caught.value.path) == ("truncated-field", "Hello.low_version")
    assert len(HELLO) < caught.value.offset <= len(HELLO + bad)


def test_a_good_message_at_a_bad_time() -> None:
    with pytest.raises(ProtocolViolation, match=WRITER[:8]) as caught:
        wiretool.decode(wiretool.encode(end(1, bytes(8))), protocol="pravega", side="client")
    assert caught.value.side == "client"


@pytest.mark.parametrize("side", ["klient", "", "both"])
def test_a_side_that_is_none(side: Side) -> None:
    with pytest.raises(UsageError, match="side is client or server, not"):
        wiretool.decode(HELLO, protocol="pravega", side=side)


def test_a_protocol_that_is_none() -> None:
    with pytest.raises(UsageError, match="no protocol is called 'auto'"):
        wiretool.decode(HELLO, protocol="auto", side="client")
    with pytest.raises(UsageError, match="no protocol is called 'x'"):
        wiretool.encode(Hello(high_version=1, low_version=1), protocol="x")


def test_the_protocol_follows_from_the_message() -> None:
    table = HeartbeatRequest(client_id="c")
    (frame,) = wiretool.decode(wiretool.encode(table), protocol="sbp", side="client")
    assert frame == heartbeat(checksum=0)


def test_what_is_no_message_has_no_bytes() -> None:
    class Strange(Message, frozen=True, kw_only=True):
        pass

    with pytest.raises(EncodeError, match="Strange is not a message of a known protocol"):
        wiretool.encode(Strange())


def test_a_message_without_a_name_is_refused_and_can_be_sent() -> None:
    raw = bytes.fromhex("0000004800000002aabb")
    with pytest.raises(DecodeError, match="unknown-type at byte 0"):
        wiretool.decode(raw, protocol="pravega", side="client")
    assert wiretool.encode(Unknown(type=0x48, data=b"\xaa\xbb"), protocol="pravega") == raw
