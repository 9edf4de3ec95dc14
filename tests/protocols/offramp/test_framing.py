"""Headers, masks and extents of WebSocket frames, against another implementation where there is one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wsproto.frame_protocol import FrameProtocol

from tests.helpers.strategies import attempt
from tests.protocols.offramp.talk import frame
from wiretool import limits
from wiretool.codec.message import Side
from wiretool.errors import DecodeError, EncodeError, OverLimit
from wiretool.protocols.offramp import framing

sides: st.SearchStrategy[Side] = st.sampled_from(["client", "server"])
LONG = [125, 126, 127, 0xFFFF, 0x1_0000]


@given(sides, st.sampled_from([1, 2]), st.binary(max_size=200), st.binary(min_size=4, max_size=4))
def test_frames_read_as_another_implementation_reads_them(side: Side, opcode: int, payload: bytes, mask: bytes) -> None:
    data = frame(side, framing.FIN | 2, payload, mask)
    peer = FrameProtocol(client=side == "server", extensions=[])
    peer.receive_bytes(data)
    assert b"".join(bytes(each.payload) for each in peer.received_frames()) == payload  # type: ignore[arg-type]
    header = framing.read_header(data, 0, len(data))
    assert header is not None
    assert framing.payload_of(header, data, 0, len(data)) == payload
    assert framing.frame_extent(side, data, 0, len(data)) == len(data)


@pytest.mark.parametrize("count", LONG)
def test_lengths_take_their_shortest_form(count: int) -> None:
    peer = FrameProtocol(client=True, extensions=[])
    data = frame("server", framing.FIN | 2, bytes(count))
    peer.receive_bytes(data)
    assert sum(len(each.payload) for each in peer.received_frames()) == count
    assert data == bytes(peer_made(count))


def peer_made(count: int) -> bytes:
    return bytes(FrameProtocol(client=False, extensions=[]).send_data(bytes(count)))


@pytest.mark.parametrize("head", ["02fe0015", "82fe0015", "82ff0000000000000015", "02950000"])
def test_longer_forms_of_a_length_are_read(head: str) -> None:
    data = bytes.fromhex(head) + bytes(40)
    extent = framing.frame_extent("client", data, 0, len(data))
    assert extent == 21 + 4 + (len(bytes.fromhex(head)) if head[3] != "5" else 2)


@given(sides, st.binary(max_size=30), st.integers(0, 4))
def test_any_bytes_have_an_extent_or_none(side: Side, data: bytes, at: int) -> None:
    at = min(at, len(data))
    whole, defect = attempt(lambda: framing.frame_extent(side, data, at, len(data)))
    if defect is not None:
        assert defect.kind in ("bad_frame_header", "message_too_big")
        return
    for end in range(at, len(data)):
        assert framing.frame_extent(side, data, at, end) in (0, whole)


def test_a_header_that_is_none() -> None:
    with pytest.raises(DecodeError, match="bad_frame_header at byte 0: opcode 3 means nothing; a client must mask"):
        framing.frame_extent("client", b"abc\x83\x05hello", 3, 10)
    with pytest.raises(OverLimit, match="message_too_big at byte 0: a frame of 67108865 bytes"):
        framing.frame_extent(
            "server", b"abc\x82\x7f" + (limits.WEBSOCKET_MESSAGE_BYTES_MAX + 1).to_bytes(8, "big"), 3, 13
        )


@pytest.mark.parametrize(
    ("side", "data", "kind"),
    [
        ("client", "830500000000", "reserved_opcode"),
        ("client", "a18000000000", "reserved_bits"),
        ("client", "818568656c6c6f", ""),
        ("client", "8100", "unmasked_client_frame"),
        ("server", "818000000000", "masked_server_frame"),
        ("client", "c18000000000", ""),
        ("client", "c98000000000", "reserved_bits"),
        ("server", "c000", "reserved_bits"),
        ("server", "897e007e", "control_too_long"),
        ("server", "0900", "control_fragmented"),
    ],
)
def test_defects_of_a_header(side: Side, data: str, kind: str) -> None:
    raw = bytes.fromhex(data)
    header = framing.read_header(raw, 0, len(raw))
    assert header is not None
    found = framing.header_defects(side, header, may_deflate=True)
    assert kind in [defect.kind for defect in found] or (not kind and not found)


def test_without_compression_its_bit_is_reserved() -> None:
    header = framing.read_header(b"\xc2\x00", 0, 2)
    assert header is not None
    (defect,) = framing.header_defects("server", header, may_deflate=False)
    assert str(defect) == "reserved_bits at byte 0: reserved bits 100 are set"


def test_a_mask_has_four_bytes() -> None:
    with pytest.raises(EncodeError, match="a mask has 4 bytes, not 3"):
        framing.frame_bytes(0x81, b"x", b"abc")


@pytest.mark.parametrize(
    ("side", "data", "expected"),
    [
        ("client", b"GET / HTTP/1.1", True),
        ("client", b"A", None),
        ("client", b"\x81\x80", False),
        ("client", b"A\x80", False),
        ("server", b"HTTP/1.1 200", True),
        ("server", b"H", None),
        ("server", b"\x48\x05", False),
        ("server", b"\x82\x05", False),
    ],
)
def test_http_is_told_from_frames_by_two_bytes(side: Side, data: bytes, expected: bool | None) -> None:
    assert framing.is_http(side, data, 0, len(data)) is expected
