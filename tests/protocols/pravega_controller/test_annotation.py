"""What each byte of a frame means."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.strategies import tiles
from tests.protocols.pravega_controller.talk import (
    CONTINUATION,
    DATA,
    GOAWAY,
    HEADERS,
    PUSH,
    SETTING,
    Peer,
    body,
    frame,
)
from wiretool.codec.cursor import Span
from wiretool.protocols.pravega_controller.annotation import annotate_frame
from wiretool.protocols.pravega_controller.frames import PREFACE


def shown(spans: Sequence[Span]) -> list[tuple[str, object]]:
    """Names and values behind the header of a frame."""
    return [(span.path, span.value) for span in spans[4:]]


def test_the_header_of_a_frame() -> None:
    spans = annotate_frame("client", frame(HEADERS, 0x45, 7), 0, 9)
    assert [(span.path, span.value) for span in spans] == [
        ("frame.length", 0),
        ("frame.type", "1 (Headers)"),
        ("frame.flags", "END_STREAM END_HEADERS 0x40"),
        ("frame.stream_id", 7),
    ]


def test_the_preface() -> None:
    assert [span.path for span in annotate_frame("client", PREFACE, 0, len(PREFACE))] == ["Preface"]


def test_a_message_of_a_call_by_the_numbers_of_its_fields() -> None:
    raw = frame(DATA, 0, 1, body("getURI", "server", {"endpoint": "localhost", "port": 12345}))
    assert shown(annotate_frame("server", raw, 0, len(raw))) == [
        ("message.compressed", 0),
        ("message.length", 14),
        ("message.1", "localhost"),
        ("message.2", 12345),
    ]
    raw = frame(DATA, 0, 1, body("isSegmentValid", "client", {"streamInfo": {"scope": "sc"}}))
    assert shown(annotate_frame("server", raw, 0, len(raw)))[-1] == ("message.1", b"\x0a\x02sc")


def test_padding_and_parts_of_messages() -> None:
    raw = frame(DATA, 0x08, 1, b"\x02abcxx")
    assert shown(annotate_frame("client", raw, 0, len(raw))) == [
        ("Data.pad_length", 2),
        ("Data.data", b"abc"),
        ("Data.padding", b"xx"),
    ]


def test_each_header_field() -> None:
    _, raw = Peer("client").headers(1, ((":method", "POST"), ("te", "trailers"), ("te", "trailers")))
    spans = annotate_frame("client", raw, 0, len(raw))
    assert [(span.path, span.type, span.value) for span in spans[4:]] == [
        ("Headers.headers.:method", "indexed", "POST"),
        ("Headers.headers.te", "literal, kept", "trailers"),
        ("Headers.headers.entry 62", "indexed", ""),
    ]
    block = b"\x3f\xe1\x3f" + b"\x10\x01x\x01y" + b"\x0f\x1a\x01z"
    raw = frame(HEADERS, 0x24, 1, bytes(5) + block)
    spans = annotate_frame("client", raw, 0, len(raw))
    assert [(span.path, span.type, span.value) for span in spans[5:]] == [
        ("Headers.headers.table_size", "u5+", "8192"),
        ("Headers.headers.x", "literal, never kept", "y"),
        ("Headers.headers.if-none-match", "literal", "z"),
    ]


def test_a_block_that_breaks_off_and_one_that_goes_on() -> None:
    raw = frame(HEADERS, 0, 1, b"\x83\x40\x05ab")
    assert shown(annotate_frame("client", raw, 0, len(raw))) == [
        ("Headers.headers.:method", "POST"),
        ("Headers.headers", b"\x40\x05ab"),
    ]
    raw = frame(CONTINUATION, 4, 1, b"\x83")
    assert shown(annotate_frame("client", raw, 0, len(raw))) == [("Continuation.headers", b"\x83")]
    raw = frame(PUSH, 4, 1, bytes(3) + b"\x02\x83")
    assert shown(annotate_frame("server", raw, 0, len(raw)))[0] == ("PushPromise.promised_stream_id", 2)


def test_settings_and_frames_of_fixed_form() -> None:
    raw = frame(SETTING, 0, 0, bytes.fromhex("000500004000 0063000000010000"))
    assert shown(annotate_frame("client", raw, 0, len(raw))) == [
        ("Settings.MAX_FRAME_SIZE", 16384),
        ("Settings.99", 1),
        ("Settings.data", bytes(2)),
    ]
    raw = frame(GOAWAY, 0, 0, bytes.fromhex("00000005 00000002") + b"why")
    assert shown(annotate_frame("client", raw, 0, len(raw))) == [
        ("GoAway.last_stream_id", 5),
        ("GoAway.error_code", "INTERNAL_ERROR"),
        ("GoAway.debug_data", b"why"),
    ]


@given(
    kind=st.integers(0, 12),
    flags=st.integers(0, 255),
    data=st.binary(max_size=60),
    side=st.sampled_from(["client", "server"]),
)
def test_the_spans_of_any_frame_tile_it(kind: int, flags: int, data: bytes, side: str) -> None:
    raw = b"xx" + frame(kind, flags, 1, data) + b"yy"
    assert tiles(annotate_frame(side, raw, 2, len(raw) - 2), 2, len(raw) - 2)  # type: ignore[arg-type]
