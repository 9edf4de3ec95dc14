"""Messages to frames."""

from typing import Any

import pytest

from tests.protocols.pravega_controller.readings import after_opening
from tests.protocols.pravega_controller.talk import (
    CONTINUATION,
    DATA,
    END_HEADERS,
    END_STREAM,
    HEADERS,
    Peer,
    Sent,
    frame,
    request,
)
from wiretool.codec.jsonform import fields_from_json
from wiretool.codec.message import Message, Side
from wiretool.errors import EncodeError
from wiretool.protocols.pravega_controller import PROTOCOL
from wiretool.protocols.pravega_controller import controller_pb2 as schema
from wiretool.protocols.pravega_controller.calls import CALLS
from wiretool.protocols.pravega_controller.encoding import FILLER_FIELD, data_frame, encode, with_message
from wiretool.protocols.pravega_controller.headers import path_of
from wiretool.protocols.pravega_controller.messages import Headers, Ping


def uri(**fields: Any) -> Message:
    return fields_from_json(CALLS["getURI", "server"].declared, fields)


def test_the_message_of_a_call_is_a_data_frame() -> None:
    body = b"\0\0\0\0\x06\x0a\x01h\x10\x81\x01"
    assert encode(uri(endpoint="h", port=129), "server") == frame(DATA, 0, 1, body)
    assert data_frame(uri(endpoint="h", port=129), 7, end_stream=True) == frame(DATA, END_STREAM, 7, body)
    asked = PROTOCOL.from_json("getURI", "client", {"segmentId": 0})
    assert encode(asked, "client") == frame(DATA, END_STREAM, 1, b"\0\0\0\0\0")


def test_another_message_takes_the_place_of_one() -> None:
    raw = frame(DATA, END_STREAM | 8, 9, b"\x02\0\0\0\0\x03\x0a\x01hxx")
    assert with_message(raw, uri(endpoint="tap", port=1)) == data_frame(uri(endpoint="tap", port=1), 9, end_stream=True)
    with pytest.raises(EncodeError, match="a frame of type 6 carries no message"):
        with_message(encode(Ping(opaque_data=bytes(8)), "client"), uri())


@pytest.mark.parametrize("missing", [1, 2, 3, 120, 127, 128, 129, 130, 131, 300, 16_000, 16_389])
def test_a_shorter_message_is_filled_up(missing: int) -> None:
    """To the size that was counted against the window; what it says is the same."""
    shorter = uri(endpoint="h", port=1)
    raw = data_frame(shorter, 9, end_stream=False)
    made = with_message(raw + bytes(missing), shorter)
    assert len(made) == len(raw) + (missing if missing > 1 else 0)
    parsed = schema.NodeUri.FromString(made[9 + 5 :])
    assert (parsed.endpoint, parsed.port) == ("h", 1)
    assert int.from_bytes(made[10:14], "big") == len(made) - 9 - 5


def test_no_message_has_the_field_that_fills() -> None:
    for message in schema.DESCRIPTOR.message_types_by_name.values():
        assert FILLER_FIELD not in message.fields_by_number


def test_headers_say_what_they_mean() -> None:
    fields = {"stream_id": 1, "headers": [["grpc-status", "5"], ["grpc-message", "a%20b"]], "grpc_status": "OK"}
    message = PROTOCOL.from_json("Headers", "server", fields)
    assert isinstance(message, Headers)
    assert (message.grpc_status, message.grpc_message, message.method) == ("NOT_FOUND", "a b", None)


@pytest.mark.parametrize(
    ("name", "side", "fields", "why"),
    [
        ("getUri", "client", {}, r"no message is called 'getUri' \(did you mean getURI\?\)"),
        ("Ping", "client", {"opaque_data": "00"}, "a Ping frame does not have 1 bytes"),
        ("Preface", "server", {}, "a server sends no Preface"),
        ("PushPromise", "client", {"stream_id": 1, "promised_stream_id": 2}, "a client sends no PushPromise"),
        ("Data", "client", {"stream_id": 0}, "on stream 0; expected a stream other than 0"),
        ("Data", "client", {"stream_id": -1}, "stream -1"),
        ("Data", "client", {"stream_id": 1, "data": "x"}, "expected hex"),
        ("Headers", "client", {"stream_id": 1, "headers": None}, "goes on in another frame"),
        (
            "Headers",
            "client",
            {"stream_id": 1, "end_headers": False, "headers": [["te", "trailers"]]},
            "goes on in another frame",
        ),
        ("Headers", "client", {"stream_id": 1, "headers": [["x", None]]}, "not known"),
        ("Headers", "client", {"stream_id": 1, "headers": [["x"]]}, "a name and a value"),
        ("Headers", "client", {"stream_id": 1, "headers": [["x", 1]]}, "expected a string"),
        ("Settings", "client", {"settings": {"MAX_FRAME": 1}}, "expected a number, or one of HEADER_TABLE_SIZE"),
        ("Settings", "client", {"settings": {"MAX_FRAME_SIZE": 2**32}}, "is not a u32"),
        ("Settings", "client", {"settings": []}, "expected an object"),
        (
            "Settings",
            "client",
            {"ack": True, "settings": {"ENABLE_PUSH": 1}},
            "stream 0, and nothing in",
        ),
        ("Settings", "client", {"settings": {"5": 1}}, "expected a number, or one of"),
        ("RstStream", "client", {"stream_id": 1, "error_code": "CANCELLED"}, "or one of NO_ERROR"),
        ("RstStream", "client", {"stream_id": 1, "error_code": -1}, "does not fit 4 bytes"),
        ("WindowUpdate", "client", {"stream_id": 1, "window_increment": 0}, "expected an increment from 1 to 2"),
        ("Unknown", "client", {"type": 256, "flags": 0, "stream_id": 0}, "type 256"),
    ],
)
def test_what_cannot_be_sent(name: str, side: Side, fields: dict[str, Any], why: str) -> None:
    with pytest.raises(EncodeError, match=why):
        encode(PROTOCOL.from_json(name, side, fields), side)


def test_settings_and_errors_without_a_name_are_numbers() -> None:
    message = PROTOCOL.from_json("Settings", "server", {"settings": {"65027": 1, "MAX_FRAME_SIZE": 16384}})
    assert encode(message, "server")[9:].hex() == "fe0300000001000500004000"
    message = PROTOCOL.from_json("RstStream", "server", {"stream_id": 3, "error_code": 8})
    assert encode(message, "server") == encode(
        PROTOCOL.from_json("RstStream", "server", {"stream_id": 3, "error_code": "CANCEL"}), "server"
    )


def test_a_header_block_in_several_frames_encodes_again() -> None:
    """Only the record of the last frame has the fields of the block; the frames before it are encoded without bytes."""
    client = Peer("client")
    block = client.block(request(path_of("sealStream")))
    parts = ((HEADERS, 0, block[:5]), (CONTINUATION, 0, block[5:9]), (CONTINUATION, END_HEADERS, block[9:]))
    before = after_opening(*(Sent("client", frame(kind, flags, 1, part)) for kind, flags, part in parts))
    encoded = [encode(reading.fields, "client") for reading in before if isinstance(reading.fields, Message)]
    assert len(encoded) == 3
    after = after_opening(*(Sent("client", raw) for raw in encoded))
    assert [(each.message, each.fields, each.defects) for each in after] == [
        (each.message, each.fields, each.defects) for each in before
    ]
