"""Mutations of HTTP/2, HPACK and gRPC: the bytes that they claim, on the wire, and servers that survive them."""

import gzip

import pytest

from tests.fuzz.mutation_runs import Mutated, findings_with, mutated, reaching
from wiretool.protocols.pravega_controller import frames
from wiretool.protocols.pravega_controller.fuzz import FUZZ
from wiretool.protocols.pravega_controller.fuzz.frame_mutation import RawFrame, frame_of
from wiretool.protocols.pravega_controller.fuzz.grpc import nested
from wiretool.protocols.pravega_controller.fuzz.header_blocks import BROKEN_BLOCKS, ODD_FIELDS, literal
from wiretool.protocols.pravega_controller.headers import read_alone

PROTOCOL = "pravega-controller"
NAMES = tuple(each.name for each in FUZZ.mutations)


def cut(data: bytes) -> list[RawFrame]:
    """Return the frames of a message, the last one as far as it goes; the preface is left out."""
    found = []
    data = data.removeprefix(frames.PREFACE)
    while len(data) >= frames.HEADER_BYTES:
        header = frames.read_header(data, 0)
        end = frames.HEADER_BYTES + header.length
        length = None if end <= len(data) else header.length
        found.append(RawFrame(header.type, header.flags, header.stream, data[frames.HEADER_BYTES : end], length))
        data = data[end:]
    return found


def made(name: str, rounds: int = 3) -> list[tuple[RawFrame, list[RawFrame]]]:
    """Return the frame of each message that a mutation changed, and the frames in its place."""
    return [(before_of(each), cut(each.after.data)) for each in mutated(PROTOCOL, name, rounds=rounds)]


def before_of(each: Mutated) -> RawFrame:
    frame = frame_of(each.before.data)
    assert frame is not None
    return frame


def further(name: str, kind: int, rounds: int = 6) -> list[RawFrame]:
    """Return the frames of a type that a mutation adds."""
    return [frame for before, found in made(name, rounds) for frame in found if frame.type == kind and frame != before]


@pytest.mark.parametrize("name", NAMES)
def test_frames_are_changed_and_reach_the_server(name: str) -> None:
    found = mutated(PROTOCOL, name)
    assert len(found) >= 100
    assert all(each.after.changes[-1].mutation == name for each in found)
    assert all(each.after.changes[-1].region for each in found)
    assert reaching(PROTOCOL, found) >= 20


def test_settings_are_odd() -> None:
    found = further("http2/settings", frames.SETTINGS_TYPE)
    values = {
        (int.from_bytes(each.payload[:2], "big"), int.from_bytes(each.payload[2:6], "big"))
        for each in found
        if len(each.payload) == 6
    }
    assert {(2, 2), (4, 2**31), (5, 16_383), (5, 2**24)} <= values
    assert any(len(each.payload) % 6 for each in found)
    assert any(each.stream for each in found)
    assert any(each.flags == frames.ACK and each.payload for each in found)


def test_windows_are_zero_or_overflow() -> None:
    found = further("http2/window", frames.WINDOW_UPDATE)
    assert {0, 2**31 - 1, 2**31} <= {int.from_bytes(each.payload, "big") for each in found if len(each.payload) == 4}
    assert any(len(each.payload) != 4 for each in found)
    assert {0, 2, 99} <= {each.stream for each in found}


def test_resets_are_on_idle_streams() -> None:
    found = further("http2/reset", frames.RST_STREAM)
    assert {0, 2, 99} <= {each.stream for each in found}
    assert any(len(each.payload) != 4 for each in found)


def test_continuations_are_out_of_place() -> None:
    shapes = {tuple(each.type for each in found) for _, found in made("http2/continuation", 6)}
    headers, continuation, ping = frames.HEADERS, frames.CONTINUATION, frames.PING
    assert (headers, ping, continuation) in shapes
    assert (headers, continuation, continuation) in shapes
    assert (continuation, frames.DATA) in shapes
    assert any(shape.count(continuation) > 90 for shape in shapes)


def test_streams_are_even_or_used_and_data_comes_first() -> None:
    found = made("http2/stream", 6)
    opened = {each.stream for _, frames_now in found for each in frames_now if each.type == frames.HEADERS}
    assert {0, 2, 2**31 - 1} <= opened
    shapes = {tuple(each.type for each in frames_now) for _, frames_now in found}
    assert (frames.DATA, frames.HEADERS) in shapes
    assert (frames.HEADERS, frames.HEADERS) in shapes


def test_padding_is_longer_than_the_frame() -> None:
    found = [frame for _, (frame, *_) in made("http2/padding")]
    assert all(frame.flags & frames.PADDED for frame in found)
    assert any(frame.payload and frame.payload[0] >= len(frame.payload) for frame in found)
    assert any(frame.payload and 0 < frame.payload[0] < len(frame.payload) for frame in found)


def test_lengths_are_not_those_of_the_payload() -> None:
    lengths = {frames.read_header(each.after.data, 0).length for each in mutated(PROTOCOL, "http2/length")}
    assert {0, 16_385, 2**24 - 1} <= lengths


def test_streams_depend_on_themselves() -> None:
    found = made("http2/priority")
    alone = [frame for _, (frame, *_) in found if frame.type == frames.PRIORITY and len(frame.payload) == 5]
    assert any(int.from_bytes(frame.payload[:4], "big") == frame.stream for frame in alone)
    within = [frame for _, (frame, *_) in found if frame.type == frames.HEADERS and frame.flags & frames.PRIORITISED]
    assert any(int.from_bytes(frame.payload[:4], "big") == frame.stream for frame in within)


def test_control_frames_have_wrong_lengths() -> None:
    assert {0, 7, 9} <= {len(each.payload) for each in further("http2/control", frames.PING)}
    assert any(len(each.payload) < 8 for each in further("http2/control", frames.GOAWAY))
    assert further("http2/control", frames.PUSH_PROMISE)


def test_frames_have_unknown_types() -> None:
    kinds = {frame.type for _, found in made("http2/unknown") for frame in found}
    assert {10, 66, 255} <= kinds


def test_header_blocks_are_broken() -> None:
    payloads = [frame.payload for _, (frame, *_) in made("hpack/broken", 6)]
    assert all(any(broken in payload for payload in payloads) for broken in BROKEN_BLOCKS)


def test_tables_are_filled() -> None:
    found = made("hpack/large")
    assert any(frame.payload.count(b"\xbe") >= 1_500 for _, (frame, *_) in found)
    assert max(sum(len(frame.payload) for frame in frames_now) for _, frames_now in found) > 32_000


def test_fields_are_odd_and_decode() -> None:
    """The fields are encoded correctly: it is their meaning that a server has to refuse."""
    blocks = [frame.payload for _, (frame, *_) in made("hpack/field", 6)]
    assert all(any(literal(*field) in block for block in blocks) for field in ODD_FIELDS)
    for field in ODD_FIELDS:
        assert read_alone(literal(*field)) == ((field[0].decode("latin-1"), field[1].decode("latin-1")),)


def test_messages_have_odd_prefixes() -> None:
    bodies = [frame.payload for _, found in made("grpc/prefix") for frame in found if len(frame.payload) >= 5]
    lengths = {int.from_bytes(body[1:5], "big") - len(body[5:]) for body in bodies}
    assert 1 in lengths
    assert -1 in lengths
    assert max(lengths) > 2**31
    assert {0, 1, 255} <= {body[0] for body in bodies}
    assert any(body[0] == 1 and body[5:7] == gzip.compress(b"")[:2] for body in bodies)


def test_protobuf_is_odd() -> None:
    bodies = [frame.payload[5:] for _, found in made("grpc/protobuf", 6) for frame in found]
    assert {0, 1, 3, 4, 5, 6, 7} <= {body[0] & 7 for body in bodies if body}
    assert any(nested(5000) in body for body in bodies)
    assert any(body[:1] == b"\x00" for body in bodies)


def test_calls_have_odd_fields() -> None:
    payloads = b"".join(frame.payload for _, found in made("grpc/call") for frame in found)
    assert literal(b"grpc-encoding", b"no-such") in payloads
    assert literal(b"grpc-timeout", b"-1S") in payloads


@pytest.mark.parametrize("name", NAMES)
def test_clean_mocks_survive(name: str) -> None:
    assert findings_with(PROTOCOL, name, runs=60) == []
