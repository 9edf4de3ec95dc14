"""Mutations of WebSocket frames: the bytes that they claim, on the wire, and servers that survive them."""

import zlib

import pytest

from tests.fuzz.mutation_runs import findings_with, mutated, reaching
from wiretool.protocols.offramp import framing
from wiretool.protocols.offramp.framing import FIN, RSV1, Header
from wiretool.protocols.offramp.fuzz.websocket import CLOSE_CODES, MUTATIONS, header_of

NAMES = tuple(each.name for each in MUTATIONS)


def frames(data: bytes) -> list[tuple[Header, bytes]]:
    """Return the frames of a message with their payloads; the last one may be cut, or longer than it says."""
    found, at = [], 0
    while (header := framing.read_header(data, at, len(data))) is not None:
        end = min(at + header.size + header.length, len(data))
        found.append((header, framing.payload_of(header, data, at, end)))
        at = end
        if at >= len(data):
            break
    return found


def made(name: str, rounds: int = 3) -> list[list[tuple[Header, bytes]]]:
    """Return the frames that a mutation makes of one."""
    return [frames(each.after.data) for each in mutated("offramp", name, rounds=rounds) if header_of(each.before.data)]


@pytest.mark.parametrize("name", NAMES)
def test_frames_are_changed_and_reach_the_server(name: str) -> None:
    found = mutated("offramp", name)
    assert len(found) >= 100
    # A mutation of a compressed message may change the handshake first.
    assert reaching("offramp", found) >= 20
    assert all(each.after.changes[-1].mutation == name for each in found)


def test_masks_are_missing_or_zero() -> None:
    found = [each for (each, *_) in made("websocket/mask")]
    assert any(not header.is_masked for header, _ in found)
    assert any(header.is_masked and header.mask == bytes(4) for header, _ in found)


def test_opcodes_are_reserved() -> None:
    assert {3, 7, 11, 15} <= {header.opcode for ((header, _), *_) in made("websocket/opcode")}


def test_reserved_bits_are_set() -> None:
    bits = {header.first & 0x70 for ((header, _), *_) in made("websocket/rsv")}
    assert {0x10, 0x20, 0x40, 0x70} <= bits


def test_fragments_are_out_of_order() -> None:
    shapes = {tuple((header.opcode, header.is_final) for header, _ in each) for each in made("websocket/fragments", 6)}
    assert ((0, True),) in shapes  # a continuation without a start
    assert ((1, False),) in shapes  # a start without an end
    assert ((1, False), (1, True)) in shapes  # another message inside
    assert ((1, False), (9, False), (0, True)) in shapes  # a control frame in fragments
    assert any(len(shape) > 50 for shape in shapes)


def test_control_frames_are_long_or_not_final() -> None:
    found = [each[0] for each in made("websocket/control")]
    assert all(header.opcode in (8, 9, 10) for header, _ in found)
    assert all(header.length > 125 or not header.is_final for header, _ in found)
    assert {126, 65_536} <= {header.length for header, _ in found}
    assert any(not header.is_final for header, _ in found)


def test_close_codes_are_odd() -> None:
    found = [each[0] for each in made("websocket/close", 10)]
    assert all(header.first == FIN | 8 for header, _ in found)
    codes = {int.from_bytes(body[:2], "big") for _, body in found if len(body) >= 2}
    assert {999, 1005, 1006, 5000} <= codes <= {*CLOSE_CODES, 1000}
    assert any(len(body) == 1 for _, body in found)
    assert any(len(body) > 125 for _, body in found)


def test_lengths_are_not_minimal_or_do_not_fit() -> None:
    longer = wrong = 0
    for each in mutated("offramp", "websocket/length"):
        header = framing.read_header(each.after.data, 0, len(each.after.data))
        assert header is not None
        is_minimal = header.size == 6 + (0 if header.length <= 125 else 2 if header.length < 65_536 else 8)
        fits = header.size + header.length == len(each.after.data)
        assert not (is_minimal and fits)
        longer += fits
        wrong += not fits
    assert longer >= 20
    assert wrong >= 20


def test_compressed_messages_are_damaged() -> None:
    found = [each for each in mutated("offramp", "websocket/deflate", rounds=6) if header_of(each.after.data)]
    bodies = [frames(each.after.data)[0] for each in found]
    assert all(header.first & 0x70 == RSV1 for header, _ in bodies)
    largest, bad = 0, 0
    for _, body in bodies:
        try:
            largest = max(largest, len(zlib.decompressobj(-15).decompress(body)))
        except zlib.error:
            bad += 1
    assert largest >= 2**20
    assert bad >= 10


def test_compression_is_mostly_negotiated() -> None:
    found = mutated("offramp", "websocket/deflate")
    asked = [
        any(b"permessage-deflate" in step.data for step in each.sequence.sendings)
        for each in found
        if any(step.data.startswith(b"GET ") for step in each.sequence.sendings)
    ]
    assert 0.5 < sum(asked) / len(asked) < 1


def test_text_is_not_utf_8() -> None:
    for each in made("websocket/not-utf-8"):
        text = b"".join(payload for _, payload in each)
        with pytest.raises(UnicodeDecodeError):
            text.decode()
        assert each[-1][0].is_final


@pytest.mark.parametrize("name", NAMES)
def test_clean_mocks_survive(name: str) -> None:
    assert findings_with("offramp", name) == []
