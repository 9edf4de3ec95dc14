"""Checks of the Offramp vectors: JSON events, frames, handshakes and, as far as a codec can, dialogues."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from wsproto.extensions import PerMessageDeflate
from wsproto.frame_protocol import FrameProtocol, Opcode, ParseFailed

from wiretool.codec.frames.splitter import Splitter
from wiretool.codec.jsonform import json_form
from wiretool.codec.message import Message, Side
from wiretool.errors import DecodeError
from wiretool.protocols.base.conversation import Reading
from wiretool.protocols.offramp import PROTOCOL, events, framing
from wiretool.protocols.offramp.closing import close_code
from wiretool.protocols.offramp.connection import Connection
from wiretool.protocols.offramp.encoding import encode
from wiretool.protocols.offramp.handshake import judge_handshake, read_handshake, request, response
from wiretool.protocols.offramp.messages import MessageEvent

Record = Mapping[str, Any]
SIDES: Mapping[str, Side] = {"c2s": "client", "s2c": "server"}
TARGET = "/offramp/v2/roads/one/streams/s/messages"
#: A handshake that asks for nothing but the upgrade; the vectors name what differs from it.
HEADERS = {
    "Host": "localhost",
    "Upgrade": "websocket",
    "Connection": "Upgrade",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
}
_EVERYONE = {"*": {"PUBLIC"}}
#: The roads of the stand-in server, and who may read them.
ROADS = {
    "one": _EVERYONE,
    "empty": _EVERYONE,
    "commitfail": _EVERYONE,
    "slowcommit": _EVERYONE,
    "piiroad": {"bob": {"PUBLIC", "PII"}, "*": {"PUBLIC"}},
    "noauth": {},
}
USERS = {"bob": ("x", {"bob"}), "eve": ("x", {"eve"})}


# -- events ----------------------------------------------------------------------------------------------------------


def check_json(record: Record) -> None:
    """The text reads as the record says, by both decoders; and an event writes to a text that reads the same."""
    side = SIDES[record["direction"]]
    data = record["text"].encode()
    assert outcome(events.decode, data, side) == outcome(events.reference, data, side)
    got = outcome(events.decode, data, side)
    if "error" in record:
        assert got == record["error"]
        return
    expected = record["expect"]
    assert got == expected
    assert next(iter(expected)) == "type"
    event = PROTOCOL.from_json(expected["type"], side, expected)
    assert events.decode(events.encode(event), side) == event
    reference = record["reference"]
    if record["agrees_with_reference"] and "as" in reference:
        assert same_event(reference["as"], expected)


def outcome(decode: Any, data: bytes, side: Side) -> Any:
    """The event in JSON form, or the name of the defect."""
    try:
        return json_form(decode(data, side))
    except DecodeError as err:
        return err.kind


def same_event(left: Record, right: Record) -> bool:
    """Equal, a time stamp that only one of them knows aside."""
    names = (left.keys() | right.keys()) - {"timestampMs"}
    return all(left.get(name) == right.get(name) for name in names)


# -- frames ----------------------------------------------------------------------------------------------------------


def opened(extensions: str = "") -> Connection:
    """A connection on which the handshake is done and CONNECTION is not said yet."""
    connection = Connection(from_start=True)
    extra = (("Sec-WebSocket-Extensions", extensions),) if extensions else ()
    asked = encode(request(TARGET, (*HEADERS.items(), *extra)), "client")
    answer = encode(response(101, (("Upgrade", "websocket"), ("Connection", "upgrade"), *extra)), "server")
    connection.read("client", asked, 0, len(asked), 1)
    connection.read("server", answer, 0, len(answer), 2)
    return connection


def readings(connection: Connection, side: Side, data: bytes) -> list[Reading]:
    """What the frames in `data` say; they are all of it."""
    splitter = Splitter(connection, side)
    pieces = splitter.feed(data) + splitter.end()
    assert all(piece.kind == "frame" for piece in pieces), pieces
    out = []
    for n, piece in enumerate(pieces, 3):
        spans = connection.annotate(side, piece.data, piece.at, piece.end)
        assert sum(span.length for span in spans) == piece.length
        out.append(connection.read(side, piece.data, piece.at, piece.end, n))
    return out


def frame_of(record: Record) -> bytes:
    """The bytes of a frame vector, built where they are too many to be written out."""
    if "hex" in record:
        data = bytes.fromhex(record["hex"])
    else:
        build = record["payload_builder"]
        text = build["before"] + build["fill"] * build["fill_count"] + build["after"]
        data = framing.frame_bytes(framing.FIN | Opcode.BINARY, text.encode(), None)
        assert data.startswith(bytes.fromhex(record["hex_prefix"]))
        assert hashlib.sha256(data).hexdigest() == record["sha256"]
    assert len(data) == record["length"]
    return data


def check_frame(record: Record) -> None:
    """The bytes are the frames that the record says, with the reaction that they call for."""
    side: Side = record["sender"]
    data = frame_of(record)
    told = readings(opened(record.get("extensions", "")), side, data)
    # A lone event of a server comes before CONNECTION here: that is about its time, not about its bytes.
    defects = [defect for reading in told for defect in reading.defects if isinstance(defect, DecodeError)]
    check_expectation(record["expect"], side, told, defects)
    check_mask(record, data)
    check_peer(record, data)


def check_expectation(expect: Record, side: Side, told: Sequence[Reading], defects: Sequence[DecodeError]) -> None:
    """Each thing that is expected of the frames."""
    found = [reading.fields for reading in told if isinstance(reading.fields, Message)]
    said = [json_form(fields) for fields in found if "type" in json_form(fields)]
    if "error" in expect:
        assert expect["error"] in [defect.kind for defect in defects]
    elif "close" in expect and defects:
        assert expect["close"] in [close_code(defect) for defect in defects]
    else:
        assert not defects
    names = [reading.message for reading in told]
    for key, value in expect.items():
        if key == "event":
            assert value in said
        elif key == "events":
            assert value == said
        elif key == "event_type":
            assert value in names
        elif key == "bytes":
            (event,) = [fields for fields in found if "type" in json_form(fields)]
            assert len(events.encode(event)) == value
        elif key == "pong":
            assert any(reading.message in ("Ping", "Pong") and payload(reading) == value for reading in told)
        elif key == "ping":
            assert any(reading.message == "Ping" and payload(reading) == value for reading in told)
        elif key == "ignored":
            assert set(names) <= {"Empty", "Pong", "Fragment"}
        elif key in ("close_echo", "close") and not defects:
            (close,) = [json_form(fields) for fields, name in zip(found, names, strict=True) if name == "Close"]
            # An empty Close has no code: it reads as 1005 and is answered with 1000.
            assert value in ((1000, 1005) if close["code"] is None else (close["code"],))
            assert close["reason"] == expect.get("reason", "")
        else:
            assert key in ("error", "close", "reason"), f"nobody checks {key}"
    if not said and "event" not in expect:
        assert "event_type" not in expect


def payload(reading: Reading) -> str:
    """The payload of a Ping or Pong in hex."""
    assert isinstance(reading.fields, Message)
    text: str = json_form(reading.fields)["payload"]
    return text


def check_mask(record: Record, data: bytes) -> None:
    """The first frame has the mask of the record, and writes to the same bytes."""
    header = framing.read_header(data, 0, len(data))
    assert header is not None
    if header.is_masked:
        assert header.mask.hex() == record["mask"]
    end = header.size + header.length
    content = framing.payload_of(header, data, 0, end)
    again = framing.frame_bytes(header.first, content, header.mask if header.is_masked else None)
    assert again == data[:end]


def check_peer(record: Record, data: bytes) -> None:
    """Another implementation reads the bytes as it did when the record was made; its words for an error aside."""
    if "wsproto_readback" not in record:
        return
    expected = [dict(each) for each in record["wsproto_readback"]]
    told = list(read_by_peer(record, data))
    for mine, each in zip(told, expected, strict=True):
        if "close" in mine and "reason" not in mine:
            each.pop("reason")
        assert mine == each


def read_by_peer(record: Record, data: bytes) -> Iterator[Record]:
    """What the peer of the sender says of the bytes."""
    extensions = []
    if "extensions" in record:
        extensions.append(PerMessageDeflate())
        extensions[0].finalize(record["extensions"])
    peer = FrameProtocol(client=record["sender"] == "server", extensions=list(extensions))
    peer.receive_bytes(data)
    parts: list[Any] = []
    try:
        for frame in peer.received_frames():
            if frame.opcode is Opcode.CLOSE:
                assert isinstance(frame.payload, tuple)
                yield {"close": int(frame.payload[0]), "reason": frame.payload[1]}
            elif frame.opcode in (Opcode.PING, Opcode.PONG):
                assert isinstance(frame.payload, bytes)
                yield {frame.opcode.name.lower(): frame.payload.hex()}
            else:
                parts.append(frame.payload)
                if frame.message_finished:
                    yield {"message": frame.opcode.name.lower(), "data": shortened(parts)}
                    parts = []
    except ParseFailed as err:
        yield {"close": int(err.code)}


def shortened(parts: Sequence[Any]) -> str:
    """A message as the record has it: a long one, which is mostly fill, by its first 40 characters and its length."""
    text = "".join(part if isinstance(part, str) else part.decode("utf-8", "replace") for part in parts)
    if len(text) <= 1_000:
        return text
    assert len(set(text[40:-40])) == 1
    return f"{text[:40]}...({len(text)})"


# -- handshakes ------------------------------------------------------------------------------------------------------


def check_handshake(record: Record) -> None:
    """The request reads back as it was written, and is answered as was decided."""
    headers = {**HEADERS, **record["header_changes"]}
    pairs = tuple((name, value) for name, value in headers.items() if value is not None)
    asked = request(record["request_target"], pairs, method=record.get("method", "GET"))
    data = encode(asked, "client")
    assert read_handshake("client", data, 0, len(data)).message == asked
    assert judge_handshake(asked, ROADS, USERS) == record["expect"]["status"]
    assert record["expect"].get("first_event", "CONNECTION").split()[0] == "CONNECTION"


# -- dialogues -------------------------------------------------------------------------------------------------------


def check_dialogue(record: Record) -> None:
    """The texts are events a client may send, the expected ones are their answers, and all of it fits the session.

    How many messages come is held against what was asked for; when they come is a matter of the mock server.
    """
    assert record["road"] in ROADS
    sent, wrong = sent_events(record["steps"])
    assert all(set(step) <= {"send", "wait_s"} for step in record["steps"])
    for expected in (record["expect"], *record.get("or", ())):
        closes = [each["close"] for each in expected if "close" in each]
        assert closes == [close_code(err) for err in wrong]
        check_answers(sent, expected, is_cut_short=bool(wrong))
    assert record["harness_observed"] in (record["expect"], *record.get("or", ())) or not record["matches"]


def sent_events(steps: Sequence[Record]) -> tuple[list[Message], list[DecodeError]]:
    """What a client sends, through frames, and what is wrong in it."""
    connection = opened()
    sent: list[Message] = []
    wrong: list[DecodeError] = []
    for step in steps:
        if "send" not in step:
            continue
        data = framing.frame_bytes(framing.FIN | Opcode.TEXT, step["send"].encode(), b"\x37\xfa\x21\x3d")
        for reading in readings(connection, "client", data):
            wrong += [defect for defect in reading.defects if isinstance(defect, DecodeError)]
            if isinstance(reading.fields, Message):
                sent.append(reading.fields)
    return sent, wrong


def check_answers(sent: Sequence[Message], expected: Sequence[Record], *, is_cut_short: bool) -> None:
    """Each reply names its request; all messages come that were asked for, or fewer where something ended that."""
    answers = [each for each in expected if "type" in each]
    asked = [json_form(event) for event in sent]
    commits = [event["correlationId"] for event in asked if event["type"] == "COMMIT"]
    assert [each["correlationId"] for each in answers if each["type"] == "COMMIT_RESPONSE"] == commits
    counts = [event["count"] for event in asked if event["type"] == "REQUEST"]
    reasons = [f"Requested count cannot be negative value (given {count})" for count in counts if count < 0]
    assert [each["reason"] for each in answers if each["type"] == "ERROR"] == reasons
    messages = sum(each.get("messages", 0) for each in expected)
    wanted = sum(count for count in counts if count > 0)
    assert messages <= wanted
    if messages and not is_cut_short and not any(event["type"] == "CANCEL" for event in asked):
        assert messages == wanted
    check_server_side(expected)


def check_server_side(expected: Sequence[Record]) -> None:
    """The server's events, sent in that order, break no rule."""
    connection = opened()
    for each in expected:
        if "type" in each:
            listed: list[Message] = [PROTOCOL.from_json(each["type"], "server", each)]
        else:
            listed = [MessageEvent(partition=0, offset=0, schema=1, payload={})] * each.get("messages", 0)
        for event in listed:
            (reading,) = readings(connection, "server", PROTOCOL.encode(event, "server"))
            assert reading.fields == event
            assert not reading.defects


def protocol_of(record: Record) -> str:
    """Return the name of the protocol of a vector."""
    return "offramp"


def sent_bytes(group: str, record: Record) -> tuple[bytes, bytes]:
    """Return what the client sends, and what the server does."""
    if group == "json":
        text = record["text"].encode()
        return framing.frame_bytes(framing.FIN | 1, text, MASK), framing.frame_bytes(framing.FIN | 1, text, None)
    data = frame_of(record) if group == "frames" else b"\x81\x00"
    return data, data


MASK = b"\x01\x02\x03\x04"
CHECKS = {"json": check_json, "frames": check_frame, "handshakes": check_handshake, "dialogues": check_dialogue}
