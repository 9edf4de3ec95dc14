"""Hostile bytes of Offramp: strange JSON, deflate bombs, and control characters."""

import json

import pytest

from tests.bench.talk import Sent
from tests.helpers.hostile import MB, in_time, peak_bytes, streamed, write_all
from tests.protocols.offramp.talk import Deflater, asking, frame, upgrading
from wiretool import limits
from wiretool.records import Record

__all__ = ["in_time"]


def offramp_says(*payloads: bytes, first: int = 0x82) -> list[Sent]:
    said = [Sent("client", asking("permessage-deflate")), Sent("server", upgrading("permessage-deflate"))]
    return said + [Sent("server", frame("server", first, payload)) for payload in payloads]


@pytest.mark.parametrize(
    "text",
    [
        b"[" * 200_000,
        b'{"type":"MESSAGE","payload":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"type":"MESSAGE","partition":' + b"9" * 200_000 + b"}",
        b'{"a":' * 50_000 + b"1" + b"}" * 50_000,
        b'{"type":"MESSAGE","partition":1e999999,"offset":-0.0,"schema":1,"payload":{}}',
        b'{"type":"MESSAGE","partition":0,"offset":0,"schema":1,"payload":"\\ud800\\u0000\\u001b"}',
    ],
    ids=["open", "nested", "digits", "objects", "floats", "surrogates"],
)
@pytest.mark.usefixtures("in_time")
def test_strange_json(text: bytes) -> None:
    records = streamed(offramp_says(text), 8080)
    assert len([record for record in records if record.kind == "frame"]) == 3
    write_all(records)


@pytest.mark.usefixtures("in_time")
def test_deflate_bombs() -> None:
    bomb = Deflater()(bytes(limits.WEBSOCKET_MESSAGE_BYTES_MAX + MB))
    assert len(bomb) < MB
    made: list[Record] = []
    says = offramp_says(*[bomb] * 4, first=0xC2)
    peak = peak_bytes(lambda: made.extend(streamed(says, 8080)))
    assert {record.error for record in made if record.kind == "problem"} >= {"message_too_big"}
    assert peak < 6 * limits.WEBSOCKET_MESSAGE_BYTES_MAX


def test_control_characters_never_reach_a_terminal() -> None:
    hostile = "\x1b]0;owned\x07\x9b31m\u202e\r\n\x00"
    event = json.dumps({"type": hostile, "agentName": hostile, hostile: [hostile]}).encode()
    says = [*offramp_says(event, b'{"type":"CONNECTION","agentName":"' + hostile.encode() + b'"}')]
    says[0] = Sent("client", says[0].data.replace(b"Host: localhost", b"Host: \x1b[31mlocal\x07host\xff"))
    write_all(streamed(says, 8080))
